"""Tenants of the installation, for its administrators; one's own is under `/me`."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from proctor.api.asking import Asked, needs
from proctor.api.idempotency import Repeatable
from proctor.identity.audit_log import Action, Actor
from proctor.identity.permissions import Permission
from proctor.identity.service import tenant_id
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


@router.post("/tenants", status_code=201)
def create_tenant(asked: Annotated[Asked, needs(Permission.PLATFORM)], body: TenantCreation) -> Founded:
    """Make a tenant. The answer holds its owner's first API key, which is told this once."""
    server, installation = asked.server, Actor(request_id=asked.request_id)
    founded = server.database.as_tenant(
        tenant_id(body.name),
        lambda c: found_tenant(c, server.secret, installation, name=body.name, owner=body.owner),
    )
    return asked.noted(founded, Action.TENANT_CREATED, body.name)
