"""Who asks: a user, by one of their keys, with what that key may do at this moment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from proctor.identity.errors import Forbidden
from proctor.identity.permissions import ROLES, Permission, Role

__all__ = ["Principal", "permitted"]


@dataclass(frozen=True, kw_only=True)
class Principal:
    """A user of one tenant."""

    tenant: UUID
    tenant_name: str
    user: UUID
    name: str
    role: Role
    key: UUID
    administrator: bool
    permissions: frozenset[Permission]

    def require(self, permission: Permission) -> None:
        """Raises ``Forbidden`` where it may not."""
        if permission not in self.permissions:
            raise Forbidden(f"The permission {permission.value!r} is needed.")

    def require_all(self, permissions: frozenset[Permission]) -> None:
        """Nobody hands on what they may not do themselves. Raises ``Forbidden``."""
        beyond = sorted(permissions - self.permissions)
        if beyond:
            raise Forbidden(f"It would give {', '.join(beyond)}, which this key may not do itself.")


def permitted(role: Role, scopes: Sequence[str] | None, *, administrator: bool) -> frozenset[Permission]:
    """What a key may do: what its user may, as far as it is not narrowed."""
    whole = ROLES[role] | ({Permission.PLATFORM} if administrator else frozenset())
    return whole if scopes is None else whole & {*scopes, Permission.SELF}
