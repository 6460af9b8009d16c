"""Who may use a server: one's own key, users, keys, tenants and the audit log, for whoever may see to them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar
from uuid import UUID

from proctor.identity.api_keys import ApiKey, IssuedKey
from proctor.identity.audit_log import AuditEntry
from proctor.identity.permissions import Permission, Role
from proctor.identity.service import TenantRow
from proctor.identity.setup import Founded
from proctor.identity.users import User
from proctor.identity.vault.secrets import TenantSecret
from proctor.sdk.remote.answers import part, read
from proctor.sdk.remote.errors import ServerRefused
from proctor.sdk.remote.transport import Transport

__all__ = ["IdentityClient", "Me"]

_Named = TypeVar("_Named", User, ApiKey)


@dataclass(frozen=True, kw_only=True)
class Me:
    """Whoever a key belongs to, and what it may do."""

    tenant: UUID
    tenant_name: str
    user: UUID
    name: str
    role: Role
    administrator: bool
    permissions: tuple[Permission, ...]


class IdentityClient:
    """The identity routes of a server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def set_up(self, token: str, *, tenant: str, owner: str) -> Founded:
        """Use the one-time link. Raises what the server refuses it with."""
        body = {"token": token, "tenant": tenant, "owner": owner}
        return read(Founded, self._transport.send("POST", "setup", body=body, again=False).json())

    def me(self) -> Me:
        """Whoever asks."""
        return read(Me, self._transport.get("me"))

    def users(self) -> list[User]:
        """The tenant's users."""
        return [read(User, one) for one in self._transport.pages("users")]

    def user(self, reference: str) -> User:
        """A user by name, or by id or the beginning of one."""
        return _one(self.users(), reference, "user")

    def create_user(self, name: str, role: Role, *, service: bool) -> User:
        """Make one."""
        body = {"name": name, "role": role.value, "kind": "service" if service else "person"}
        return read(User, self._transport.post("users", body))

    def change_user(self, user: UUID, *, role: Role | None = None, disabled: bool | None = None) -> User:
        """Another role, or no way in any more."""
        body: Mapping[str, Any] = {"role": role and role.value, "disabled": disabled}
        return read(User, self._transport.patch(f"users/{user}", body))

    def keys(self) -> list[ApiKey]:
        """Keys without their secrets: everybody's for whoever keeps users, else one's own."""
        return [read(ApiKey, one) for one in self._transport.pages("keys")]

    def key(self, reference: str) -> ApiKey:
        """A key that was not revoked, by name, prefix, or id or the beginning of one."""
        return _one([one for one in self.keys() if one.revoked_at is None], reference, "key")

    def create_key(
        self, name: str, *, user: UUID | None, scopes: Sequence[Permission] | None, expires_at: datetime | None
    ) -> IssuedKey:
        """Make one; its text is told this once."""
        body = {
            "name": name,
            "user": user and str(user),
            "scopes": None if scopes is None else [scope.value for scope in scopes],
            "expires_at": expires_at and expires_at.isoformat(),
        }
        return read(IssuedKey, self._transport.post("keys", body))

    def rotate_key(self, key: UUID, *, overlap_sec: float) -> IssuedKey:
        """A new key in its place; the old one works for a while longer."""
        return read(IssuedKey, self._transport.post(f"keys/{key}/rotate", {"overlap_sec": overlap_sec}))

    def revoke_key(self, key: UUID) -> ApiKey:
        """From now on it opens nothing."""
        return read(ApiKey, self._transport.delete(f"keys/{key}"))

    def secrets(self) -> list[TenantSecret]:
        """The tenant's secrets without their values."""
        return [read(TenantSecret, one) for one in self._transport.pages("secrets")]

    def set_secret(self, name: str, value: str) -> TenantSecret:
        """Set or replace one; the next attempt uses the new value."""
        return read(TenantSecret, self._transport.put(f"secrets/{part(name)}", {"value": value}))

    def remove_secret(self, name: str) -> TenantSecret:
        """Forget one."""
        return read(TenantSecret, self._transport.delete(f"secrets/{part(name)}"))

    def tenants(self) -> list[TenantRow]:
        """Every tenant of the installation, by name, for its administrators."""
        return read(list[TenantRow], list(self._transport.pages("tenants")))

    def create_tenant(self, name: str, owner: str) -> Founded:
        """Make a tenant, as an administrator of the installation."""
        return read(Founded, self._transport.post("tenants", {"name": name, "owner": owner}))

    def audit_log(self) -> Iterator[AuditEntry]:
        """Who did what that matters to security, oldest first."""
        return (read(AuditEntry, one) for one in self._transport.pages("audit-log"))


def _one(found: Sequence[_Named], reference: str, kind: str) -> _Named:
    """Raises ``ServerRefused`` as the server would for none or several."""
    hits = [one for one in found if reference in (one.name, getattr(one, "prefix", None))]
    hits = hits or [one for one in found if len(reference) >= 4 and str(one.id).startswith(reference)]
    if len(hits) == 1:
        return hits[0]
    told = ", ".join(getattr(one, "prefix", str(one.id)) for one in hits)
    words = f"Several {kind}s fit {reference!r}: {told}." if hits else f"There is no {kind} {reference!r}."
    raise ServerRefused(f"{kind}-unknown", words, where=None, remedy=f"`proctor {kind} list` names those there are.")
