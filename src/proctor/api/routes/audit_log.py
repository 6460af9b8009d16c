"""The audit log of the tenant."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Response

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.lists import DEFAULT_PAGE, Fields, Limit, Page, PageCursor, page_of, place_of
from proctor.identity.audit_log import AuditEntry, entries
from proctor.identity.permissions import Permission

__all__ = ["router"]

router = APIRouter(tags=["identity"])


@router.get("/audit-log", response_model=Page[AuditEntry])
def list_audit_log(
    asked: Annotated[Asked, needs(Permission.AUDIT_READ)],
    limit: Limit = DEFAULT_PAGE,
    cursor: PageCursor = None,
    fields: Fields = None,
) -> Response:
    """Who did what that matters to security, oldest first."""
    (after,) = place_of(cursor, _number) or (0,)
    found = asked.server.database.as_tenant(asked.tenant, lambda c: entries(c, asked.tenant, after=after, limit=limit))
    return answered(page_of(found, limit=limit, place=lambda entry: [entry.seq], fields=fields))


def _number(part: object) -> int:
    if not isinstance(part, int) or not 0 <= part < 1 << 63:
        raise ValueError(part)
    return part
