"""Users and service accounts of a tenant. Nobody gives a role above their own, and one owner always stays."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from sqlalchemy import Connection, Text, cast, func, insert, select, update
from sqlalchemy.exc import IntegrityError as AlreadyThere

from proctor.identity.audit_log import Action, Actor, note, replaced
from proctor.identity.errors import Forbidden, LastOwner, NameTaken, UserChanged, UserNameInvalid, UserUnknown
from proctor.identity.models import tenant_user
from proctor.identity.permissions import Role, outranks
from proctor.kernel.canonical import Json
from proctor.kernel.ids import new_id

__all__ = ["NewUser", "User", "change_user", "create_user", "find_user", "list_users", "names_of", "user_named"]

Kind = Literal["person", "service"]
_PERSON = re.compile(r"[a-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}@[a-z0-9.-]{1,190}")
_SERVICE = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@dataclass(frozen=True, kw_only=True)
class NewUser:
    """Who is to be made: a person by e-mail address, or a service account by name."""

    name: str
    role: Role
    kind: Kind = "person"
    administrator: bool = False

    def __post_init__(self) -> None:
        """An address is kept in small letters: nobody is there twice. Raises ``UserNameInvalid``."""
        if self.kind == "person":
            object.__setattr__(self, "name", self.name.lower())
        form = _PERSON if self.kind == "person" else _SERVICE
        if form.fullmatch(self.name) is None:
            raise UserNameInvalid(where="name")


@dataclass(frozen=True, kw_only=True)
class User:
    """A person or a service account."""

    id: UUID
    name: str
    kind: Kind
    role: Role
    administrator: bool
    version: int
    created_at: datetime
    disabled_at: datetime | None


def create_user(connection: Connection, tenant: UUID, actor: Actor, new: NewUser, *, by: Role) -> User:
    """Make a user. Raises ``Forbidden`` for a role above ``by``, ``NameTaken``."""
    _refuse_above(new.role, by)
    identity = new_id()
    values = {"id": identity, "name": new.name, "kind": new.kind, "role": new.role.value}
    try:
        with connection.begin_nested():
            connection.execute(insert(tenant_user).values(tenant_id=tenant, administrator=new.administrator, **values))
    except AlreadyThere as error:
        raise NameTaken(where="name") from error
    note(connection, tenant, actor, Action.USER_CREATED, str(identity), role=new.role.value, kind=new.kind)
    return find_user(connection, tenant, identity)


@dataclass(frozen=True, kw_only=True)
class UsersWanted:
    """Which users. What is ``None`` fits all."""

    role: Role | None = None
    kind: Kind | None = None
    name: str | None = None


def list_users(
    connection: Connection,
    tenant: UUID,
    wanted: UsersWanted = UsersWanted(),
    *,
    after: UUID | None = None,
    limit: int = 100,
) -> Sequence[User]:
    """A page in the order in which they were made."""
    query = select(tenant_user).where(tenant_user.c.tenant_id == tenant).order_by(tenant_user.c.id).limit(limit)
    if wanted.role is not None:
        query = query.where(tenant_user.c.role == wanted.role.value)
    if wanted.kind is not None:
        query = query.where(tenant_user.c.kind == wanted.kind)
    if wanted.name is not None:
        query = query.where(tenant_user.c.name == wanted.name)
    if after is not None:
        query = query.where(tenant_user.c.id > after)
    return [_user(row) for row in connection.execute(query)]


def find_user(connection: Connection, tenant: UUID, identity: UUID) -> User:
    """Raises ``UserUnknown``."""
    row = connection.execute(select(tenant_user).where(_is(tenant, identity))).one_or_none()
    if row is None:
        raise UserUnknown()
    return _user(row)


def user_named(connection: Connection, tenant: UUID, name: str) -> User:
    """By e-mail address, or a service account's name. Raises ``UserUnknown``."""
    query = select(tenant_user).where(tenant_user.c.tenant_id == tenant, func.lower(tenant_user.c.name) == name.lower())
    row = connection.execute(query).one_or_none()
    if row is None:
        raise UserUnknown()
    return _user(row)


def names_of(connection: Connection, tenant: UUID, users: Sequence[str]) -> Mapping[str, str]:
    """The names of those of these ids that are users'."""
    identity = cast(tenant_user.c.id, Text)
    query = select(identity, tenant_user.c.name).where(tenant_user.c.tenant_id == tenant, identity.in_(users))
    return {row[0]: row.name for row in connection.execute(query)}


def change_user(
    connection: Connection,
    tenant: UUID,
    actor: Actor,
    identity: UUID,
    *,
    by: Role,
    role: Role | None = None,
    disabled: bool | None = None,
    version: int | None = None,
) -> User:
    """Another role, or no way in any more; ``version``: the one that the change was decided by.

    Raises ``UserUnknown``, ``UserChanged``, ``Forbidden``, ``LastOwner``.
    """
    owners = select(tenant_user.c.id).where(tenant_user.c.tenant_id == tenant, tenant_user.c.role == Role.OWNER.value)
    connection.execute(owners.with_for_update())  # two owners who remove each other take turns
    user = find_user(connection, tenant, identity)
    if version is not None and version != user.version:
        raise UserChanged()
    _refuse_above(user.role, by)
    _refuse_above(role or user.role, by)
    values: dict[str, Any] = {"version": tenant_user.c.version + 1}
    if role is not None:
        values["role"] = role.value
    if disabled is not None:
        values["disabled_at"] = func.now() if disabled else None
    connection.execute(update(tenant_user).where(_is(tenant, identity)).values(values))
    left = owners.where(tenant_user.c.disabled_at.is_(None), tenant_user.c.kind == "person")
    if connection.execute(left.limit(1)).one_or_none() is None:
        raise LastOwner()
    after = find_user(connection, tenant, identity)
    note(connection, tenant, actor, Action.USER_CHANGED, str(identity), **replaced(_told(user), _told(after)))
    return after


def _told(user: User) -> dict[str, Json]:
    return {"role": user.role.value, "disabled": user.disabled_at is not None}


def _refuse_above(role: Role, by: Role) -> None:
    if outranks(role, by):
        raise Forbidden(f"Only an {role.value} may do that to or for an {role.value}.")


def _is(tenant: UUID, identity: UUID) -> Any:
    return (tenant_user.c.tenant_id == tenant) & (tenant_user.c.id == identity)


def _user(row: Any) -> User:
    fields = {name: getattr(row, name) for name in User.__dataclass_fields__}
    return User(**{**fields, "role": Role(row.role)})
