"""Rotation: every secret of every tenant wrapped by the installation's current key.

Values are not sealed anew and no secret is replaced: only the keys that seal them are wrapped again. Each page is a
transaction of its own and a row is changed only as it was read, so the work may be cut off, repeated, and done while
secrets are set and used.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, func, select, update

from proctor.database.engine import Database
from proctor.identity.audit_log import Action, Actor, note
from proctor.identity.models import tenant_secret
from proctor.identity.service import TenantRow, tenants
from proctor.identity.vault.envelopes import Place, rewrapped
from proctor.identity.vault.errors import SecretBroken, SecretsKeyUnknown
from proctor.identity.vault.interfaces import Keyring
from proctor.identity.vault.secrets import envelope_of

__all__ = ["Rotated", "StuckSecret", "rewrap_all"]

PAGE: int = 100
"""Rows of a transaction: a second or so, where a KMS is asked for each."""


@dataclass(frozen=True, kw_only=True)
class StuckSecret:
    """A secret that could not be wrapped again: its key is not there, or its row is broken."""

    tenant: str
    name: str
    key_id: str
    reason: str


@dataclass(frozen=True, kw_only=True)
class Rotated:
    """What a rotation did. ``key_id``: the current key; ``already``: secrets that it had wrapped before."""

    key_id: str
    rewrapped: int
    already: int
    stuck: tuple[StuckSecret, ...] = ()


def rewrap_all(database: Database, keyring: Keyring) -> Rotated:
    """Wrap whatever the current key has not. Raises what the keyring raises but for keys that it does not have."""
    key, pages, already = keyring.current(), list[_Page](), 0
    for one in database.as_scheduler(tenants):
        already += database.as_tenant(one.id, partial(_settled, tenant=one.id, key=key))
        after: str | None = ""
        while after is not None:
            work = partial(_page, tenant=one, keyring=keyring, key=key, after=after)
            pages.append(database.as_tenant(one.id, work))
            after = pages[-1].last
    stuck = tuple(secret for page in pages for secret in page.stuck)
    return Rotated(key_id=key, rewrapped=sum(page.done for page in pages), already=already, stuck=stuck)


@dataclass(frozen=True, kw_only=True)
class _Page:
    """``last``: the name after which the next page begins; ``None``: there is none."""

    done: int
    last: str | None
    stuck: Sequence[StuckSecret]


def _settled(connection: Connection, *, tenant: UUID, key: str) -> int:
    """How many of a tenant's the current key has wrapped."""
    mine = (tenant_secret.c.tenant_id == tenant) & (tenant_secret.c.key_id == key)
    return connection.execute(select(func.count()).select_from(tenant_secret).where(mine)).scalar_one()


def _page(connection: Connection, *, tenant: TenantRow, keyring: Keyring, key: str, after: str) -> _Page:
    """Wrap a page of what another key has wrapped."""
    table = tenant_secret.c
    others = select(tenant_secret).where(table.tenant_id == tenant.id, table.key_id != key, table.name > after)
    rows = connection.execute(others.order_by(table.name).limit(PAGE).with_for_update()).all()
    stuck = [found for row in rows if (found := _rewrap(connection, tenant, keyring, row)) is not None]
    if done := len(rows) - len(stuck):
        note(connection, tenant.id, Actor(), Action.SECRETS_REWRAPPED, key, secrets=done)
    return _Page(done=done, last=rows[-1].name if len(rows) == PAGE else None, stuck=stuck)


def _rewrap(connection: Connection, tenant: TenantRow, keyring: Keyring, row: Any) -> StuckSecret | None:
    """Wrap one row's data key by the current key; what keeps it from that, if something does."""
    place = Place(tenant=row.tenant_id, name=row.name, version=row.version)
    try:
        fresh = rewrapped(keyring, place, envelope_of(row)).wrapped
    except (SecretsKeyUnknown, SecretBroken) as error:
        return StuckSecret(tenant=tenant.name, name=row.name, key_id=row.key_id, reason=error.code)
    mine = (tenant_secret.c.tenant_id == tenant.id) & (tenant_secret.c.name == row.name)
    connection.execute(update(tenant_secret).where(mine).values(key_id=fresh.key_id, wrapped=fresh.data))
    return None
