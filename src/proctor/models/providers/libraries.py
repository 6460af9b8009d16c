"""Which libraries a provider needs, found out before anything runs."""

from __future__ import annotations

from importlib.util import find_spec

from proctor.models.errors import ModelsExtraMissing
from proctor.models.providers.catalogue import Provider

__all__ = ["refuse_missing_library"]


def refuse_missing_library(provider: Provider, *, in_sandbox: bool) -> None:
    """Raises ``ModelsExtraMissing``. ``in_sandbox``: whether programs in sandboxes are to reach it."""
    if provider.through_litellm and find_spec("litellm") is None:
        remedy = "Install Proctor with it: pip install -e '.[litellm]' in its folder."
        raise ModelsExtraMissing(f"{provider.name} is reached through litellm, which is not installed.", remedy=remedy)
    if (in_sandbox or not provider.is_mock) and find_spec("aiohttp") is None:
        raise ModelsExtraMissing(f"{provider.name} is reached over HTTP, and aiohttp is not installed.")
