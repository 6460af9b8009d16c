"""The one way out of a sandbox that may reach some hosts only: a proxy of the worker's, listening inside."""

from proctor.sandboxes.egress.proxy import PROXY, EgressProxy, proxy_variables
from proctor.sandboxes.egress.rules import Rules

__all__ = ["PROXY", "EgressProxy", "Rules", "proxy_variables"]
