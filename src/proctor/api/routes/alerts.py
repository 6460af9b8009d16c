"""Which alerts somebody of the tenant has seen: they need nobody else until a time is over."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.lists import Page, Paging
from proctor.health import acknowledgements
from proctor.health.acknowledgements import Acknowledged, Acknowledgement
from proctor.identity.permissions import Permission

__all__ = ["router"]

router = APIRouter(tags=["alerts"])
LONGEST_HOURS: int = 168
"""A week: whoever comes back from a holiday is told again."""
LONGEST_NOTE: int = 200
"""A sentence: it stands in a line of the page."""
Alert = Annotated[
    str,
    Path(
        pattern="^[a-z][A-Za-z0-9_.:@~+-]{0,199}$",
        description="The alert's own key, such as `queue.slow` or `run-set.ID.paused`: whoever tells of it names it.",
    ),
]
_Reads = Annotated[Asked, needs(Permission.RUNS_READ)]
_Writes = Annotated[Asked, needs(Permission.RUNS_WRITE)]


class AcknowledgementWanted(BaseModel):
    """For how long an alert needs nobody, and why."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"note": "the budget is raised on Monday", "hours": 24}]},
    )

    note: str = Field(default="", max_length=LONGEST_NOTE)
    hours: int = Field(default=24, ge=1, le=LONGEST_HOURS, description="From now on.")


@router.get("/alerts/acknowledgements", response_model=Page[Acknowledgement])
def list_acknowledgements(asked: _Reads, paging: Paging) -> Response:
    """Alerts that somebody has seen and whose time is not over; in the order of their keys."""
    (after,) = paging.place(str) or (None,)
    found = asked.server.database.as_tenant(
        asked.tenant, lambda c: acknowledgements.current(c, asked.tenant, after=after, limit=paging.limit)
    )
    return answered(paging.page(found, lambda one: [one.alert]))


@router.put("/alerts/acknowledgements/{alert}")
def acknowledge(asked: _Writes, alert: Alert, body: AcknowledgementWanted) -> Acknowledgement:
    """Say that an alert is seen, in place of what was said of it before. Safe to repeat."""
    said = Acknowledged(alert=alert, note=body.note, hours=body.hours)
    return asked.server.database.as_tenant(
        asked.tenant, lambda c: acknowledgements.acknowledge(c, asked.tenant, asked.actor, said)
    )


@router.delete("/alerts/acknowledgements/{alert}")
def take_back(asked: _Writes, alert: Alert) -> Acknowledgement:
    """The alert needs somebody again, before its time is over."""
    return asked.server.database.as_tenant(
        asked.tenant, lambda c: acknowledgements.take_back(c, asked.tenant, asked.actor, alert)
    )
