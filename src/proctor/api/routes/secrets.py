"""Secrets of the tenant. They are set and used; no answer ever holds a value."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.lists import Page, Paging
from proctor.app import keyring_of
from proctor.identity.permissions import Permission
from proctor.identity.vault import secrets
from proctor.identity.vault.secrets import TenantSecret

__all__ = ["router"]

router = APIRouter(tags=["secrets"])
Name = Annotated[
    str, Path(pattern="^[A-Za-z_][A-Za-z0-9_]{0,127}$", description="As a run-set file lists it under `[secrets]`.")
]


class SecretValue(BaseModel):
    """The value, which is never told again."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"value": "what-the-provider-gave-you"}]})

    value: SecretStr = Field(description="6 characters at least, 64 KiB of UTF-8 at the most.")


@router.get("/secrets", response_model=Page[TenantSecret])
def list_secrets(
    asked: Annotated[Asked, needs(Permission.SECRETS_READ)],
    paging: Paging,
    name: Annotated[str | None, Query(max_length=128, description="Only the one of this name.")] = None,
) -> Response:
    """Names, when and by whom each was set, and when an attempt last used it; in the order of the names."""
    (after,) = paging.place(str) or (None,)
    found = asked.server.database.as_tenant(
        asked.tenant, lambda c: secrets.list_secrets(c, asked.tenant, name=name, after=after, limit=paging.limit)
    )
    return answered(paging.page(found, lambda one: [one.name]))


@router.put("/secrets/{name}")
def set_secret(asked: Annotated[Asked, needs(Permission.SECRETS_WRITE)], name: Name, body: SecretValue) -> TenantSecret:
    """Set a secret, or replace it: the next attempt uses the new value. Safe to repeat."""
    keyring, value = keyring_of(asked.server.settings), body.value.get_secret_value()
    return asked.server.database.as_tenant(
        asked.tenant, lambda c: secrets.set_secret(c, asked.tenant, asked.actor, keyring, name, value)
    )


@router.delete("/secrets/{name}")
def remove_secret(asked: Annotated[Asked, needs(Permission.SECRETS_WRITE)], name: Name) -> TenantSecret:
    """Forget a secret. Attempts that need it end without a verdict until it is set again."""
    return asked.server.database.as_tenant(
        asked.tenant, lambda c: secrets.remove_secret(c, asked.tenant, asked.actor, name)
    )
