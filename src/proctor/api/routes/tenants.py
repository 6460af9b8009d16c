"""Tenants of the installation, for its administrators; one's own is under `/me`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, ConfigDict, Field

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.idempotency import Repeatable
from proctor.api.lists import Page, Paging
from proctor.identity.audit_log import Action, Actor
from proctor.identity.permissions import Permission
from proctor.identity.service import TenantRow, tenant_id, tenants
from proctor.identity.setup import Founded, found_tenant

__all__ = ["router"]

router = APIRouter(tags=["installation"], route_class=Repeatable)


class TenantCreation(BaseModel):
    """A new tenant and who owns it."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "acme", "owner": "ada@example.org"}]}
    )

    name: str = Field(min_length=1, max_length=63, description="Lower-case letters, digits and hyphens.")
    owner: str = Field(min_length=3, max_length=255, description="An e-mail address.")


@router.get("/tenants", response_model=Page[TenantRow])
def list_tenants(
    asked: Annotated[Asked, needs(Permission.PLATFORM)],
    paging: Paging,
    name: Annotated[str | None, Query(max_length=63, description="Only the one of this name.")] = None,
) -> Response:
    """Every tenant of the installation, by name."""
    (after,) = paging.place(str) or ("",)
    everyone = sorted(asked.server.database.as_scheduler(tenants), key=lambda one: one.name)
    found = [one for one in everyone if one.name > after and name in (None, one.name)][: paging.limit]
    return answered(paging.page(found, lambda one: [one.name]))


@router.post("/tenants", status_code=201)
def create_tenant(asked: Annotated[Asked, needs(Permission.PLATFORM)], body: TenantCreation) -> Founded:
    """Make a tenant. The answer holds its owner's first API key, which is told this once."""
    server, installation = asked.server, Actor(request_id=asked.request_id)
    founded = server.database.as_tenant(
        tenant_id(body.name),
        lambda c: found_tenant(c, server.secret, installation, name=body.name, owner=body.owner),
    )
    return asked.noted(founded, Action.TENANT_CREATED, body.name)
