"""What may be asked of a server, and which role may ask it.

A role is a set of permissions; a key may be narrowed to some of its user's. What a request may do is decided from the
role as it is at that moment, so that a user who loses a role loses it on every key at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

__all__ = ["ROLES", "Permission", "Role", "outranks"]


class Permission(StrEnum):
    """One thing that a route asks for."""

    SELF = "self"
    """To see who one is, and to keep one's own keys."""
    RUNS_READ = "runs:read"
    """Run sets, leaderboards, cells, attempts and comparisons."""
    EVIDENCE_READ = "evidence:read"
    """Logs, artifacts and kept states: what agents and verifiers wrote, and exports that hold them."""
    LOGS_READ = "logs:read"
    """Log lines: who asked for what and when, by ids, and what became of it."""
    SUITES_READ = "suites:read"
    SUITES_WRITE = "suites:write"
    DATASETS_READ = "datasets:read"
    """Datasets with their examples, and exports of them."""
    DATASETS_WRITE = "datasets:write"
    """To import datasets and to make versions and splits of them."""
    EVALUATORS_READ = "evaluators:read"
    EVALUATORS_WRITE = "evaluators:write"
    """To register evaluators and to try them: their code runs in sandboxes."""
    RUNS_WRITE = "runs:write"
    """To start, pause, resume and cancel run sets, and to label them: it spends money."""
    RESULTS_WRITE = "results:write"
    """To grade again, to classify by another policy, to repair and to import."""
    USAGE_READ = "usage:read"
    USERS_READ = "users:read"
    USERS_WRITE = "users:write"
    """Users, service accounts and everybody's keys."""
    AUDIT_READ = "audit:read"
    SECRETS_READ = "secrets:read"
    """Names of secrets, who set them and when they were used. No permission shows a value."""
    SECRETS_WRITE = "secrets:write"
    """To set, replace and remove secrets."""
    TENANT_WRITE = "tenant:write"
    """Quotas and what else holds for the whole tenant."""
    PLATFORM = "platform"
    """Other tenants' existence: administrators of the installation alone have it, by no role."""


class Role(StrEnum):
    """Roles, the weakest first."""

    VIEWER = "viewer"
    REVIEWER = "reviewer"
    MEMBER = "member"
    ADMIN = "admin"
    OWNER = "owner"


_P = Permission
_VIEWER = frozenset({_P.SELF, _P.RUNS_READ, _P.SUITES_READ, _P.DATASETS_READ, _P.EVALUATORS_READ, _P.EVIDENCE_READ})
_REVIEWER = _VIEWER | {_P.RESULTS_WRITE}
_MEMBER = _REVIEWER | {
    *(_P.SUITES_WRITE, _P.DATASETS_WRITE, _P.EVALUATORS_WRITE, _P.RUNS_WRITE),
    *(_P.USAGE_READ, _P.SECRETS_READ, _P.LOGS_READ),
}
_ADMIN = _MEMBER | {_P.USERS_READ, _P.USERS_WRITE, _P.AUDIT_READ, _P.SECRETS_WRITE}
ROLES: Mapping[Role, frozenset[Permission]] = {
    Role.VIEWER: _VIEWER,
    Role.REVIEWER: _REVIEWER,
    Role.MEMBER: _MEMBER,
    Role.ADMIN: _ADMIN,
    Role.OWNER: _ADMIN | {_P.TENANT_WRITE},
}
_RANK = {role: rank for rank, role in enumerate(Role)}


def outranks(role: Role, other: Role) -> bool:
    """Whether ``role`` is above ``other``."""
    return _RANK[role] > _RANK[other]
