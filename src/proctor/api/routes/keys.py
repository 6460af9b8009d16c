"""API keys: one's own, and for whoever keeps users everybody's."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.idempotency import Repeatable
from proctor.api.lists import Page, Paging
from proctor.identity import api_keys
from proctor.identity.api_keys import LONGEST_OVERLAP, OVERLAP, ApiKey, IssuedKey, NewKey
from proctor.identity.errors import KeyRefused, KeyUnknown
from proctor.identity.permissions import Permission, outranks
from proctor.identity.principals import permitted
from proctor.identity.users import User, find_user

__all__ = ["router"]

router = APIRouter(tags=["identity"], route_class=Repeatable)


class KeyCreation(BaseModel):
    """What key is to be made."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "nightly CI", "scopes": ["runs:read", "runs:write"]}]}
    )

    name: str = Field(min_length=1, max_length=100, description="What it is for.")
    user: UUID | None = Field(default=None, description="Whose it is; one's own without.")
    scopes: list[Permission] | None = Field(
        default=None, description="What it is narrowed to; its user's role without."
    )
    expires_at: AwareDatetime | None = Field(default=None, description="Never without.")


class KeyRotation(BaseModel):
    """How long the old key still works."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"overlap_sec": 3600}]})

    overlap_sec: float = Field(default=OVERLAP.total_seconds(), ge=0, le=LONGEST_OVERLAP.total_seconds())


@router.get("/keys", response_model=Page[ApiKey])
def list_keys(
    asked: Annotated[Asked, needs(Permission.SELF)],
    paging: Paging,
    user: Annotated[UUID | None, Query(description="Whose; one's own without the permission for others.")] = None,
    name: Annotated[str | None, Query(max_length=100, description="Only those of this name.")] = None,
    revoked: Annotated[
        bool | None, Query(description="Only those that are revoked, or only those that are not.")
    ] = None,
) -> Response:
    """Keys without their secrets: everybody's for whoever keeps users, else one's own."""
    (after,) = paging.place(UUID) or (None,)
    whose = user if _keeps_users(asked) else asked.principal.user
    wanted = api_keys.KeysWanted(user=whose, name=name, revoked=revoked)
    found = asked.server.database.as_tenant(
        asked.tenant, lambda c: api_keys.list_keys(c, asked.tenant, wanted, after=after, limit=paging.limit)
    )
    return answered(paging.page(found, lambda key: [key.id]))


@router.post("/keys", status_code=201)
def create_key(asked: Annotated[Asked, needs(Permission.SELF)], body: KeyCreation) -> IssuedKey:
    """Make a key, as wide as its user's role and as the key that asks. Its text, `secret`, is told this once."""
    new = NewKey(user=body.user or asked.principal.user, name=body.name, scopes=body.scopes, expires_at=body.expires_at)

    def work(connection: Connection) -> IssuedKey:
        user = _user(connection, asked, new.user)
        whole = permitted(user.role, None, administrator=user.administrator)
        may = whole & asked.principal.permissions
        scopes = sorted(may) if new.scopes is None and whole != may else new.scopes
        narrowed = NewKey(user=new.user, name=new.name, scopes=scopes, expires_at=new.expires_at)
        return api_keys.issue_key(connection, asked.tenant, asked.actor, narrowed, may=may, secret=asked.server.secret)

    return asked.once(work)


@router.post("/keys/{key}/rotate", status_code=201)
def rotate_key(asked: Annotated[Asked, needs(Permission.SELF)], key: UUID, body: KeyRotation) -> IssuedKey:
    """A new key in its place; the old one works for a while longer."""

    def work(connection: Connection) -> IssuedKey:
        _refuse_wider(connection, asked, _refuse_others(connection, asked, key))
        overlap = timedelta(seconds=body.overlap_sec)
        return api_keys.rotate_key(
            connection, asked.tenant, asked.actor, key, secret=asked.server.secret, overlap=overlap
        )

    made = asked.once(work)
    asked.forget_principals()
    return made


@router.delete("/keys/{key}")
def revoke_key(asked: Annotated[Asked, needs(Permission.SELF)], key: UUID) -> ApiKey:
    """From now on it opens nothing."""

    def work(connection: Connection) -> ApiKey:
        _refuse_others(connection, asked, key)
        return api_keys.revoke_key(connection, asked.tenant, asked.actor, key)

    ended = asked.server.database.as_tenant(asked.tenant, work)
    asked.forget_principals()
    return ended


def _keeps_users(asked: Asked) -> bool:
    return Permission.USERS_WRITE in asked.principal.permissions


def _refuse_others(connection: Connection, asked: Asked, key: UUID) -> ApiKey:
    """The key. Raises ``KeyUnknown`` for one of somebody that one may not keep keys of."""
    found = api_keys.find_key(connection, asked.tenant, key)
    if found.user_id == asked.principal.user:
        return found
    owner = find_user(connection, asked.tenant, found.user_id)
    if not _keeps_users(asked) or outranks(owner.role, asked.principal.role):
        raise KeyUnknown()
    return found


def _refuse_wider(connection: Connection, asked: Asked, key: ApiKey) -> None:
    """Whoever rotates a key is told the new one: it may do nothing that they may not. Raises ``Forbidden``."""
    owner = find_user(connection, asked.tenant, key.user_id)
    asked.principal.require_all(permitted(owner.role, key.scopes, administrator=owner.administrator))


def _user(connection: Connection, asked: Asked, user: UUID) -> User:
    """Whose key it is to be. Raises ``Forbidden``, ``KeyUnknown``, ``UserUnknown``, ``KeyRefused``."""
    if user != asked.principal.user:
        asked.principal.require(Permission.USERS_WRITE)
    found = find_user(connection, asked.tenant, user)
    if outranks(found.role, asked.principal.role):
        raise KeyUnknown()
    if found.disabled_at is not None:
        raise KeyRefused("The user is disabled.", where="user")
    return found
