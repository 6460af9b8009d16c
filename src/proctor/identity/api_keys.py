"""A user's API keys: told once, kept as keyed hashes, narrowed, rotated with an overlap, revoked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, func, insert, select, update

from proctor.identity.audit_log import Action, Actor, note
from proctor.identity.errors import KeyRefused, KeyUnknown, ScopeInvalid
from proctor.identity.keys import hash_of, new_key
from proctor.identity.models import api_key
from proctor.identity.permissions import Permission
from proctor.kernel.canonical import Json
from proctor.kernel.ids import new_id

__all__ = ["ApiKey", "IssuedKey", "NewKey", "issue_key", "list_keys", "revoke_key", "rotate_key"]

OVERLAP = timedelta(hours=24)
"""How long a rotated key still works unless somebody says otherwise: a day to carry the new one everywhere."""
LONGEST_OVERLAP = timedelta(days=30)
UNNARROWED: str = "all of its user's role"
"""What the audit log says of a key without scopes: that a list is empty means that it may do nothing."""


@dataclass(frozen=True, kw_only=True)
class NewKey:
    """What key is to be made. ``scopes``: permissions it is narrowed to, ``None``: its user's, whatever they are."""

    user: UUID
    name: str
    scopes: Sequence[Permission] | None = None
    expires_at: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class ApiKey:
    """A key without its secret."""

    id: UUID
    user_id: UUID
    name: str
    prefix: str
    scopes: tuple[str, ...] | None
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    last_used_at: datetime | None
    replaced_by: UUID | None


@dataclass(frozen=True, kw_only=True)
class IssuedKey:
    """A new key; ``secret`` is its text, which is told this once: ``None`` where a request is answered again."""

    key: ApiKey
    secret: str | None


def issue_key(
    connection: Connection, tenant: UUID, actor: Actor, new: NewKey, *, may: frozenset[Permission], secret: bytes
) -> IssuedKey:
    """Make a key. ``may``: what both its user and whoever makes it may. Raises ``ScopeInvalid``, ``KeyRefused``."""
    if new.expires_at is not None and new.expires_at <= datetime.now(UTC):
        raise KeyRefused("That time is over.", where="expires_at")
    beyond = sorted(set(new.scopes or ()) - may)
    if beyond:
        raise ScopeInvalid(f"Not both may {', '.join(beyond)}.", where="scopes")
    issued = _insert(connection, tenant, new, secret)
    told: dict[str, Json] = {
        "name": new.name,
        "user": str(new.user),
        "scopes": UNNARROWED if new.scopes is None else sorted(new.scopes),
    }
    note(connection, tenant, actor, Action.KEY_CREATED, str(issued.key.id), **told)
    return issued


def _insert(connection: Connection, tenant: UUID, new: NewKey, secret: bytes) -> IssuedKey:
    parts, text = new_key(tenant)
    identity = new_id()
    values = {"id": identity, "user_id": new.user, "name": new.name, "prefix": parts.prefix}
    scopes = None if new.scopes is None else sorted(set(new.scopes))
    connection.execute(
        insert(api_key).values(
            tenant_id=tenant, hash=hash_of(text, secret), scopes=scopes, expires_at=new.expires_at, **values
        )
    )
    return IssuedKey(key=find_key(connection, tenant, identity), secret=text)


@dataclass(frozen=True, kw_only=True)
class KeysWanted:
    """Which keys: of a user, of a name, revoked or not. What is ``None`` fits all."""

    user: UUID | None = None
    name: str | None = None
    revoked: bool | None = None


def list_keys(
    connection: Connection,
    tenant: UUID,
    wanted: KeysWanted = KeysWanted(),
    *,
    after: UUID | None = None,
    limit: int = 100,
) -> Sequence[ApiKey]:
    """A page in the order in which they were made."""
    query = select(api_key).where(api_key.c.tenant_id == tenant).order_by(api_key.c.id).limit(limit)
    if wanted.user is not None:
        query = query.where(api_key.c.user_id == wanted.user)
    if wanted.name is not None:
        query = query.where(api_key.c.name == wanted.name)
    if wanted.revoked is not None:
        query = query.where(api_key.c.revoked_at.is_not(None) == wanted.revoked)
    if after is not None:
        query = query.where(api_key.c.id > after)
    return [_key(row) for row in connection.execute(query)]


def find_key(connection: Connection, tenant: UUID, identity: UUID, *, user: UUID | None = None) -> ApiKey:
    """``user``: whose it has to be. Raises ``KeyUnknown``."""
    query = select(api_key).where(_is(tenant, identity))
    row = connection.execute(query if user is None else query.where(api_key.c.user_id == user)).one_or_none()
    if row is None:
        raise KeyUnknown()
    return _key(row)


def revoke_key(connection: Connection, tenant: UUID, actor: Actor, identity: UUID) -> ApiKey:
    """From now on it opens nothing; to revoke it again changes nothing. Raises ``KeyUnknown``."""
    found = find_key(connection, tenant, identity)
    if found.revoked_at is None:
        connection.execute(update(api_key).where(_is(tenant, identity)).values(revoked_at=func.now()))
        note(connection, tenant, actor, Action.KEY_REVOKED, str(identity), name=found.name)
    return find_key(connection, tenant, identity)


def rotate_key(
    connection: Connection, tenant: UUID, actor: Actor, identity: UUID, *, secret: bytes, overlap: timedelta = OVERLAP
) -> IssuedKey:
    """A new key in the place of one, which works for ``overlap`` longer. Raises ``KeyUnknown``."""
    row = connection.execute(select(api_key).where(_is(tenant, identity)).with_for_update()).one_or_none()
    if row is None or row.revoked_at is not None or row.replaced_by is not None:
        raise KeyUnknown()
    old = _key(row)
    scopes = None if old.scopes is None else [Permission(scope) for scope in old.scopes]
    new = NewKey(user=old.user_id, name=old.name, scopes=scopes, expires_at=_moved(old))
    issued = _insert(connection, tenant, new, secret)
    ends = func.now() + min(overlap, LONGEST_OVERLAP)
    last = func.least(ends, func.coalesce(api_key.c.expires_at, ends))
    values = {"expires_at": last, "replaced_by": issued.key.id}
    connection.execute(update(api_key).where(_is(tenant, identity)).values(values))
    note(connection, tenant, actor, Action.KEY_ROTATED, str(identity), name=old.name, to=str(issued.key.id))
    return issued


def _moved(old: ApiKey) -> datetime | None:
    """A key that lives for a time lives as long again."""
    return None if old.expires_at is None else old.expires_at + (old.expires_at - old.created_at)


def _is(tenant: UUID, identity: UUID) -> Any:
    return (api_key.c.tenant_id == tenant) & (api_key.c.id == identity)


def _key(row: Any) -> ApiKey:
    fields = {name: getattr(row, name) for name in ApiKey.__dataclass_fields__}
    return ApiKey(**{**fields, "scopes": None if row.scopes is None else tuple(row.scopes)})
