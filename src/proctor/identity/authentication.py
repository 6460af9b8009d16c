"""From the text of an API key to who asks.

The hash is taken before any query, so that the time which a wrong key takes says nothing of which keys there are; an
unknown, a revoked and an expired key are one and the same answer.
"""

from __future__ import annotations

import hmac
from datetime import timedelta
from typing import Any

from sqlalchemy import Connection, bindparam, func, or_, select, update

from proctor.database.engine import Database
from proctor.identity.errors import Unauthenticated
from proctor.identity.keys import KeyParts, hash_of, read_key
from proctor.identity.models import api_key, tenant, tenant_user
from proctor.identity.permissions import Role
from proctor.identity.principals import Principal, permitted

__all__ = ["authenticate"]

_USE_NOTED_EVERY = timedelta(minutes=1)
"""A key in use is not written at each request."""


def authenticate(database: Database, secret: bytes, text: str) -> Principal:
    """Whose key it is. Raises ``Unauthenticated``."""
    digest, parts = hash_of(text, secret), read_key(text)
    if parts is None:
        raise Unauthenticated()
    row = database.as_tenant(parts.tenant, lambda connection: _look(connection, parts, digest))
    if row is None:
        raise Unauthenticated()
    role = Role(row.role)
    return Principal(
        tenant=parts.tenant,
        tenant_name=row.tenant_name,
        user=row.user_id,
        name=row.user_name,
        role=role,
        key=row.id,
        administrator=row.administrator,
        permissions=permitted(role, row.scopes, administrator=row.administrator),
    )


def _look(connection: Connection, parts: KeyParts, digest: bytes) -> Any:
    found = connection.execute(_FIND, {"tenant": parts.tenant, "prefix": parts.prefix})
    row = found.one_or_none()
    if row is None or not hmac.compare_digest(row.hash, digest):
        return None
    if row.old:
        mine = (api_key.c.tenant_id == parts.tenant) & (api_key.c.id == row.id)
        connection.execute(update(api_key).where(mine).values(last_used_at=func.now()))
    return row


_FIND = (
    select(
        api_key.c.id,
        api_key.c.user_id,
        api_key.c.hash,
        api_key.c.scopes,
        (or_(api_key.c.last_used_at.is_(None), api_key.c.last_used_at < func.now() - _USE_NOTED_EVERY)).label("old"),
        tenant_user.c.role,
        tenant_user.c.administrator,
        tenant_user.c.name.label("user_name"),
        tenant.c.name.label("tenant_name"),
    )
    .join(tenant_user, (tenant_user.c.tenant_id == api_key.c.tenant_id) & (tenant_user.c.id == api_key.c.user_id))
    .join(tenant, tenant.c.tenant_id == api_key.c.tenant_id)
    .where(
        api_key.c.tenant_id == bindparam("tenant"),
        api_key.c.prefix == bindparam("prefix"),
        api_key.c.revoked_at.is_(None),
        or_(api_key.c.expires_at.is_(None), api_key.c.expires_at > func.now()),
        tenant_user.c.disabled_at.is_(None),
    )
)
"""Made once: each request asks it."""
