"""The first administrator, by the one-time link that the server prints at its first start."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel, ConfigDict, Field

from proctor.api.asking import only_known, server_of
from proctor.identity.setup import Founded, set_up

__all__ = ["SetUp", "router"]

router = APIRouter(tags=["open"])


class SetUp(BaseModel):
    """Who the first administrator is, and of which tenant an owner."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"token": "…", "tenant": "acme", "owner": "ada@example.org"}]}
    )

    token: str = Field(min_length=1, max_length=200, description="The last part of the link.")
    tenant: str = Field(min_length=1, max_length=63, description="Lower-case letters, digits and hyphens.")
    owner: str = Field(min_length=3, max_length=255, description="An e-mail address.")


@router.post("/setup", status_code=201, dependencies=[Depends(only_known)])
def create_setup(request: Request, body: SetUp) -> Founded:
    """Use the link, once. The answer holds the owner's first API key, which is told this once."""
    server = server_of(request)
    return set_up(
        server.database,
        server.secret,
        body.token,
        name=body.tenant,
        owner=body.owner,
        request_id=request.state.request_id,
    )
