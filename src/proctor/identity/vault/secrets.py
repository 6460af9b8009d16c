"""A tenant's secrets: set, named in a list, opened for an attempt, removed. Nobody is told a value again."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Select, delete, func, or_, select, update
from sqlalchemy.dialects.postgresql import insert

from proctor.database.engine import Database
from proctor.identity.audit_log import Action, Actor, note
from proctor.identity.models import tenant_secret, tenant_user
from proctor.identity.vault.envelopes import Envelope, Place, seal, unseal
from proctor.identity.vault.errors import SecretNameInvalid, SecretUnknown, SecretValueInvalid
from proctor.identity.vault.interfaces import Keyring, Wrapped
from proctor.kernel.masking import SHORTEST_MASKED

__all__ = ["TenantSecret", "list_secrets", "missing_secrets", "open_secrets", "remove_secret", "set_secret"]

LARGEST_BYTES: int = 64 * 1024
"""Half of what Linux takes for one variable of a program's environment."""
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,127}")
_USE_NOTED_EVERY = timedelta(minutes=1)
"""A secret in use is not written at each attempt."""


@dataclass(frozen=True, kw_only=True)
class TenantSecret:
    """A secret without its value. ``version`` counts how often it was set; ``set_by`` is a user's name."""

    name: str
    version: int
    set_at: datetime
    set_by: str
    last_used_at: datetime | None


def set_secret(
    connection: Connection, tenant: UUID, actor: Actor, keyring: Keyring, name: str, value: str
) -> TenantSecret:
    """Set or replace one. Raises ``SecretNameInvalid``, ``SecretValueInvalid`` and what the keyring raises."""
    _refuse(name, value)
    place = Place(tenant=tenant, name=name, version=_next_version(connection, tenant, name))
    envelope = seal(keyring, place, value)
    values = {
        "version": place.version,
        "key_id": envelope.wrapped.key_id,
        "wrapped": envelope.wrapped.data,
        "sealed": envelope.sealed,
        "set_at": func.now(),
        "set_by": actor.user,
    }
    connection.execute(
        insert(tenant_secret)
        .values(tenant_id=tenant, name=name, **values)
        .on_conflict_do_update(index_elements=["tenant_id", "name"], set_=values)
    )
    note(connection, tenant, actor, Action.SECRET_SET, name, version=place.version)
    return _find(connection, tenant, name)


def _refuse(name: str, value: str) -> None:
    if _NAME.fullmatch(name) is None:
        raise SecretNameInvalid(where="name")
    try:
        size = len(value.encode())
    except UnicodeEncodeError:
        raise SecretValueInvalid(where="value") from None  # it holds the value
    if len(value) < SHORTEST_MASKED or size > LARGEST_BYTES or "\0" in value:
        raise SecretValueInvalid(where="value")


def _next_version(connection: Connection, tenant: UUID, name: str) -> int:
    """The one after the row's own; until the transaction ends nobody else takes it."""
    connection.execute(select(func.pg_advisory_xact_lock(func.hashtextextended(f"secret/{tenant}/{name}", 0))))
    found = connection.execute(select(tenant_secret.c.version).where(_is(tenant, name))).scalar_one_or_none()
    return (found or 0) + 1


def list_secrets(
    connection: Connection, tenant: UUID, *, name: str | None = None, after: str | None = None, limit: int = 100
) -> Sequence[TenantSecret]:
    """A page in the order of their names; ``name``: that one alone."""
    query = _shown(tenant).order_by(tenant_secret.c.name).limit(limit)
    if name is not None:
        query = query.where(tenant_secret.c.name == name)
    if after is not None:
        query = query.where(tenant_secret.c.name > after)
    return [TenantSecret(**row._mapping) for row in connection.execute(query)]


def remove_secret(connection: Connection, tenant: UUID, actor: Actor, name: str) -> TenantSecret:
    """Forget one; it as it was. Raises ``SecretUnknown``."""
    found = _find(connection, tenant, name)
    connection.execute(delete(tenant_secret).where(_is(tenant, name)))
    note(connection, tenant, actor, Action.SECRET_REMOVED, name, version=found.version)
    return found


def missing_secrets(connection: Connection, tenant: UUID, names: Iterable[str]) -> list[str]:
    """Those of the names that are not set."""
    wanted = list(names)
    query = select(tenant_secret.c.name).where(tenant_secret.c.tenant_id == tenant, tenant_secret.c.name.in_(wanted))
    found = set(connection.execute(query).scalars())
    return [name for name in wanted if name not in found]


def open_secrets(database: Database, tenant: UUID, keyring: Keyring, names: Iterable[str]) -> Mapping[str, str]:
    """The values of those of the names that are set, as they are now. Raises what the keyring raises, ``SecretBroken``.

    No transaction waits for the keyring.
    """
    table = tenant_secret.c
    mine = (table.tenant_id == tenant) & table.name.in_(list(names))
    old = or_(table.last_used_at.is_(None), table.last_used_at < func.now() - _USE_NOTED_EVERY)
    rows = database.as_tenant(tenant, lambda c: c.execute(select(tenant_secret, old.label("old")).where(mine)).all())
    opened = {row.name: unseal(keyring, _place(row), envelope_of(row)) for row in rows}
    if any(row.old for row in rows):
        used = update(tenant_secret).where(mine, old).values(last_used_at=func.now())
        database.as_tenant(tenant, lambda c: c.execute(used) and None)
    return opened


def envelope_of(row: Any) -> Envelope:
    """What a row of the table holds."""
    return Envelope(wrapped=Wrapped(key_id=row.key_id, data=row.wrapped), sealed=row.sealed)


def _place(row: Any) -> Place:
    return Place(tenant=row.tenant_id, name=row.name, version=row.version)


def _find(connection: Connection, tenant: UUID, name: str) -> TenantSecret:
    row = connection.execute(_shown(tenant).where(tenant_secret.c.name == name)).one_or_none()
    if row is None:
        raise SecretUnknown()
    return TenantSecret(**row._mapping)


def _shown(tenant: UUID) -> Select[Any]:
    table = tenant_secret.c
    shown = (table.name, table.version, table.set_at, tenant_user.c.name.label("set_by"), table.last_used_at)
    whose = (tenant_user.c.tenant_id == table.tenant_id) & (tenant_user.c.id == table.set_by)
    return select(*shown).join(tenant_user, whose).where(table.tenant_id == tenant)


def _is(tenant: UUID, name: str) -> Any:
    return (tenant_secret.c.tenant_id == tenant) & (tenant_secret.c.name == name)
