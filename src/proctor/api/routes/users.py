"""Users and service accounts of the tenant."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.idempotency import Repeatable
from proctor.api.lists import Page, Paging
from proctor.identity import users
from proctor.identity.errors import UserChanged
from proctor.identity.permissions import ROLES, Permission, Role, outranks
from proctor.identity.users import Kind, NewUser, User

__all__ = ["router"]

router = APIRouter(tags=["identity"], route_class=Repeatable)


class UserCreation(BaseModel):
    """Who is to be made."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "bob@example.org", "role": "member"}]}
    )

    name: str = Field(min_length=1, max_length=255, description="An e-mail address; of a service account, a name.")
    role: Role
    kind: Literal["person", "service"] = "person"


class UserChange(BaseModel):
    """What is to be changed."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"role": "admin"}, {"disabled": True}]})

    role: Role | None = None
    disabled: bool | None = None


@router.get("/users", response_model=Page[User])
def list_users(
    asked: Annotated[Asked, needs(Permission.USERS_READ)],
    paging: Paging,
    role: Annotated[Role | None, Query(description="Only those of this role.")] = None,
    kind: Annotated[Kind | None, Query(description="Only people, or only service accounts.")] = None,
    name: Annotated[str | None, Query(max_length=255, description="Only the one of this name.")] = None,
) -> Response:
    """The tenant's users, in the order in which they were made."""
    (after,) = paging.place(UUID) or (None,)
    wanted = users.UsersWanted(role=role, kind=kind, name=name)
    found = asked.server.database.as_tenant(
        asked.tenant, lambda c: users.list_users(c, asked.tenant, wanted, after=after, limit=paging.limit)
    )
    return answered(paging.page(found, lambda user: [user.id]))


@router.post("/users", status_code=201)
def create_user(asked: Annotated[Asked, needs(Permission.USERS_WRITE)], body: UserCreation) -> User:
    """Make a user, of no higher role than one's own."""
    new = NewUser(name=body.name, role=body.role, kind=body.kind)
    _refuse_wider(asked, body.role)
    return asked.once(lambda c: users.create_user(c, asked.tenant, asked.actor, new, by=asked.principal.role))


@router.get("/users/{user}")
def show_user(asked: Annotated[Asked, needs(Permission.USERS_READ)], user: UUID, response: Response) -> User:
    """One user. Its ETag is the version that a change may name as If-Match."""
    found = asked.server.database.as_tenant(asked.tenant, lambda c: users.find_user(c, asked.tenant, user))
    response.headers["ETag"] = f'"{found.version}"'
    return found


@router.patch("/users/{user}")
def change_user(
    asked: Annotated[Asked, needs(Permission.USERS_WRITE)],
    user: UUID,
    body: UserChange,
    if_match: Annotated[str | None, Header(description="The ETag that the change was decided by.")] = None,
) -> User:
    """Give a user another role, or no way in any more. One owner always stays."""
    if body.role is not None:
        _refuse_wider(asked, body.role)
    changed = asked.server.database.as_tenant(
        asked.tenant,
        lambda c: users.change_user(
            c,
            asked.tenant,
            asked.actor,
            user,
            by=asked.principal.role,
            role=body.role,
            disabled=body.disabled,
            version=_version(if_match),
        ),
    )
    asked.forget_principals()
    return changed


def _refuse_wider(asked: Asked, role: Role) -> None:
    """A narrowed key gives nobody a role that may what it may not. What its user may not is told by name later."""
    if not outranks(role, asked.principal.role):
        asked.principal.require_all(ROLES[role])


def _version(tag: str | None) -> int | None:
    """Raises ``UserChanged`` for a tag that no user ever had."""
    if tag is None or tag == "*":
        return None
    number = tag.strip('"')
    if not number.isdigit() or len(number) > 9:
        raise UserChanged()
    return int(number)
