"""The first administrator of an installation, by a one-time link: no default password, no default tenant."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from sqlalchemy import Connection, func, select, update
from sqlalchemy.dialects.postgresql import insert

from proctor.database.engine import Database
from proctor.identity.api_keys import IssuedKey, NewKey, issue_key
from proctor.identity.audit_log import Action, Actor, note
from proctor.identity.errors import LinkInvalid, NameTaken, SetupDone
from proctor.identity.keys import hash_of
from proctor.identity.models import platform_setup, tenant
from proctor.identity.permissions import Permission, Role
from proctor.identity.principals import permitted
from proctor.identity.service import tenant_id
from proctor.identity.users import NewUser, User, create_user, list_users

__all__ = ["Founded", "found_tenant", "is_set_up", "new_setup_token", "set_up"]

LINK_LIVES = timedelta(hours=24)
_ROW = 1
_NOBODY = UUID(int=0)
"""The table of the setup is nobody's; a transaction names some tenant all the same."""


@dataclass(frozen=True, kw_only=True)
class Founded:
    """A new tenant with its first owner and that owner's first key."""

    tenant: UUID
    name: str
    owner: User
    issued: IssuedKey


def is_set_up(database: Database) -> bool:
    """Whether the installation has its first administrator."""
    query = select(platform_setup.c.used_at)
    return database.as_tenant(_NOBODY, lambda c: c.execute(query).scalar_one_or_none()) is not None


def new_setup_token(database: Database, secret: bytes) -> str | None:
    """The token of a one-time link, in the place of any before; ``None`` where there is an administrator already."""
    token = secrets.token_urlsafe(32)
    values = {"link_hash": hash_of(token, secret), "expires_at": func.now() + LINK_LIVES}
    statement = (
        insert(platform_setup)
        .values(id=_ROW, **values)
        .on_conflict_do_update(index_elements=["id"], set_=values, where=platform_setup.c.used_at.is_(None))
        .returning(platform_setup.c.id)
    )
    made = database.as_tenant(_NOBODY, lambda connection: connection.execute(statement).scalar_one_or_none())
    return None if made is None else token


def set_up(database: Database, secret: bytes, token: str, *, name: str, owner: str, request_id: str) -> Founded:
    """Use the link: the tenant of that name, and its owner as the installation's administrator.

    Raises ``SetupDone``, ``LinkInvalid``, ``TenantNameInvalid``, ``UserNameInvalid``.
    """
    digest, identity = hash_of(token, secret), tenant_id(name)

    def work(connection: Connection) -> Founded:
        row = connection.execute(select(platform_setup).with_for_update()).one_or_none()
        if row is not None and row.used_at is not None:
            raise SetupDone()
        valid = platform_setup.c.expires_at > func.now()
        used = update(platform_setup).where(platform_setup.c.link_hash == digest, valid).values(used_at=func.now())
        if connection.execute(used).rowcount == 0:
            raise LinkInvalid()
        actor = Actor(request_id=request_id)
        founded = found_tenant(connection, secret, actor, name=name, owner=owner, administrator=True)
        note(connection, identity, actor, Action.SETUP_DONE, str(founded.owner.id))
        return founded

    return database.as_tenant(identity, work)


def found_tenant(
    connection: Connection, secret: bytes, actor: Actor, *, name: str, owner: str, administrator: bool = False
) -> Founded:
    """A tenant with its first owner, in a transaction of that tenant's. One that the command line has worked for
    keeps what it has. Raises ``NameTaken`` where it has users, ``TenantNameInvalid``, ``UserNameInvalid``."""
    identity = tenant_id(name)
    connection.execute(insert(tenant).values(tenant_id=identity, name=name).on_conflict_do_nothing())
    connection.execute(select(tenant).where(tenant.c.tenant_id == identity).with_for_update())
    if list_users(connection, identity, limit=1):
        raise NameTaken(where="tenant")
    note(connection, identity, actor, Action.TENANT_CREATED, name)
    new = NewUser(name=owner, role=Role.OWNER, administrator=administrator)
    user = create_user(connection, identity, actor, new, by=Role.OWNER)
    may: frozenset[Permission] = permitted(Role.OWNER, None, administrator=administrator)
    key = NewKey(user=user.id, name="first key")
    issued = issue_key(connection, identity, actor, key, may=may, secret=secret)
    return Founded(tenant=identity, name=name, owner=user, issued=issued)
