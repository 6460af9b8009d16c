"""The audit log of the tenant."""

from __future__ import annotations

from typing import Annotated, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import AwareDatetime

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.lists import Page, Paging
from proctor.identity.audit_log import Action, AuditEntry, EntriesWanted, entries
from proctor.identity.permissions import Permission

__all__ = ["router"]

router = APIRouter(tags=["identity"])


@router.get("/audit-log", response_model=Page[AuditEntry])
def list_audit_log(
    asked: Annotated[Asked, needs(Permission.AUDIT_READ)],
    paging: Paging,
    action: Annotated[Action | None, Query(description="Only what was done so.")] = None,
    actor: Annotated[UUID | None, Query(description="Only what this user did.")] = None,
    since: Annotated[AwareDatetime | None, Query(description="Nothing from before.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="Nothing from then on.")] = None,
    order: Annotated[Literal["oldest", "newest"], Query(description="What comes first.")] = "oldest",
) -> Response:
    """Who did what that matters to security."""
    (after,) = paging.place(_number) or (0,)
    wanted = EntriesWanted(action=action, actor=actor, since=since, until=until, newest_first=order == "newest")
    found = asked.server.database.as_tenant(
        asked.tenant, lambda c: entries(c, asked.tenant, wanted, after=after, limit=paging.limit)
    )
    return answered(paging.page(found, lambda entry: [entry.seq]))


def _number(part: object) -> int:
    if not isinstance(part, int) or not 0 <= part < 1 << 63:
        raise ValueError(part)
    return part
