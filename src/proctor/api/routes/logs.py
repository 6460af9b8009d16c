"""Log lines of the tenant, searched."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response
from pydantic import AwareDatetime

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.lists import Page, Paging
from proctor.api.threads import slowly
from proctor.identity.permissions import Permission
from proctor.sdk.logs import LogsWanted
from proctor.telemetry.searching import LEVELS, LogLine

__all__ = ["router"]

router = APIRouter(tags=["logs"])
_Name = Query(min_length=1, max_length=200)
_LEVEL = Query(max_length=10, description="This one and above.", json_schema_extra={"enum": list(LEVELS)})


@router.get("/logs", response_model=Page[LogLine])
@slowly
def search_logs(
    asked: Annotated[Asked, needs(Permission.LOGS_READ)],
    paging: Paging,
    run_set: Annotated[str | None, _Name] = None,
    attempt: Annotated[str | None, _Name] = None,
    user: Annotated[str | None, Query(max_length=300, description="By id, or by name for who may read users.")] = None,
    model: Annotated[str | None, Query(max_length=200, description="A model or a profile by name.")] = None,
    level: Annotated[str | None, _LEVEL] = None,
    trace: Annotated[str | None, Query(pattern="^[0-9a-f]{32}$", description="A trace's id.")] = None,
    text: Annotated[str | None, Query(max_length=200, description="Anywhere in the line, in either case.")] = None,
    since: Annotated[AwareDatetime | None, Query(description="Without: of what is named, else a day ago.")] = None,
    until: Annotated[AwareDatetime | None, Query(description="Now without.")] = None,
) -> Response:
    """The newest first. A page may hold fewer than it could, or none, and have a `next` all the same."""
    wanted = LogsWanted(
        run_set=run_set,
        attempt=attempt,
        user=None if user is None else _known_to(asked, user),
        model=model,
        level=level,
        trace=trace,
        text=text,
        since=since,
        until=until,
    )
    page = asked.client.logs(wanted, cursor=paging.cursor, limit=paging.limit)
    return answered({"items": paging.narrowed(page.items), "next": page.next})


def _known_to(asked: Asked, user: str) -> str:
    """Who is not named by an id: whose name it is, only those may learn who may read users. Raises ``Forbidden``."""
    try:
        UUID(user)
    except ValueError:
        if user != asked.principal.name:
            asked.principal.require(Permission.USERS_READ)
    return user
