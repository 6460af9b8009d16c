"""What is installed on the server: its agents, and the providers of models that it knows."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Response

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.lists import Page, Paging
from proctor.api.threads import slowly
from proctor.identity.permissions import Permission
from proctor.identity.vault.secrets import missing_secrets
from proctor.models.wires.interfaces import WireName
from proctor.sdk.agents import AgentLine
from proctor.sdk.providers import ProviderLine, list_providers

__all__ = ["router"]

router = APIRouter(tags=["installed"])
_Reads = Annotated[Asked, needs(Permission.RUNS_READ)]


@router.get("/agents", response_model=Page[AgentLine])
@slowly
def list_agents(
    asked: _Reads,
    paging: Paging,
    name: Annotated[str | None, Query(max_length=100, description="Only the one of this name.")] = None,
    prepared: Annotated[bool | None, Query(description="Only those whose programs are, or are not, there.")] = None,
) -> Response:
    """Agents: version, origin, wires, keys, what each reports, and whether its programs are on the server's machine."""
    found = [one for one in asked.client.agents() if name in (None, one.name) and (prepared in (None, one.prepared))]
    return answered(paging.cut(found, lambda one: one.name))


@router.get("/providers", response_model=Page[ProviderLine])
def list_all_providers(
    asked: _Reads,
    paging: Paging,
    name: Annotated[str | None, Query(max_length=100, description="Only the one of this name.")] = None,
    wire: Annotated[WireName | None, Query(description="Only those that speak it.")] = None,
) -> Response:
    """Providers by name: how each is reached, what a key bears, and which keys the tenant's secrets have. No value."""
    lines = list_providers(
        asked.platform.known_models.catalogue,
        lambda keys: asked.server.database.as_tenant(asked.tenant, lambda c: missing_secrets(c, asked.tenant, keys)),
    )
    found = [one for one in lines if name in (None, one.name) and (wire is None or wire.value in one.wires)]
    return answered(paging.cut(found, lambda one: one.name))
