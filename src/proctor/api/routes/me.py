"""Who one is."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter
from pydantic import BaseModel

from proctor.api.asking import Asked, needs
from proctor.identity.permissions import Permission, Role
from proctor.identity.principals import Principal

__all__ = ["Me", "me_of", "router"]

router = APIRouter(tags=["identity"])


class Me(BaseModel):
    """Whoever the key belongs to, and what it may do."""

    tenant: UUID
    tenant_name: str
    user: UUID
    name: str
    role: Role
    administrator: bool
    permissions: list[Permission]


@router.get("/me")
def show_me(asked: Annotated[Asked, needs(Permission.SELF)]) -> Me:
    """Whoever asks."""
    return me_of(asked.principal)


def me_of(who: Principal) -> Me:
    """What one is told of oneself."""
    return Me(
        tenant=who.tenant,
        tenant_name=who.tenant_name,
        user=who.user,
        name=who.name,
        role=who.role,
        administrator=who.administrator,
        permissions=sorted(who.permissions),
    )
