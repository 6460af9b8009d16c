"""What was spent, on what, on whose account without a verdict, and to what the month will come."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query, Response
from pydantic import AwareDatetime, StringConstraints

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.lists import Page, Paging
from proctor.api.threads import slowly
from proctor.engine.outcomes import Owner
from proctor.engine.spend.entries import EntriesWanted, EntryPlace, SpendEntry
from proctor.engine.spend.forecasts import Month
from proctor.engine.spend.sums import SpendBy, SpendDay
from proctor.identity.permissions import Permission
from proctor.sdk.spending import SpendReport, UndecidedReport, installation_spend
from proctor.sdk.usage import as_csv as written_csv

__all__ = ["router"]

router = APIRouter(tags=["usage"])
_Reads = Annotated[Asked, needs(Permission.USAGE_READ)]
_Name = Annotated[str, StringConstraints(max_length=500)]
_Since = Annotated[AwareDatetime | None, Query(description="30 days before the end without.")]
_Until = Annotated[AwareDatetime | None, Query(description="Now without.")]
_Csv = Annotated[bool, Query(description="The days as CSV instead of JSON.")]
_AS_CSV: dict[int | str, dict[str, Any]] = {
    200: {"content": {"application/json": {}, "text/csv": {}}, "description": "The dearest first; and day by day."}
}


@router.get("/spend", response_model=SpendReport, responses=_AS_CSV)
@slowly
def show_spend(
    asked: _Reads,
    by: Annotated[SpendBy, Query(description="What it is told apart by.")] = SpendBy.RUN_SET,
    since: _Since = None,
    until: _Until = None,
    as_csv: _Csv = False,
) -> Response:
    """What was spent, by day (UTC) and by what it was for: calls of models, and attempts that said what they cost."""
    return _told(asked.client.spend.report(by, since=since, until=until), as_csv=as_csv)


@router.get("/tenants/spend", response_model=SpendReport, responses=_AS_CSV)
@slowly
def show_spend_of_tenants(
    asked: Annotated[Asked, needs(Permission.PLATFORM)],
    since: _Since = None,
    until: _Until = None,
    as_csv: _Csv = False,
) -> Response:
    """What every tenant spent, by day (UTC), for administrators of the installation."""
    return _told(installation_spend(asked.server.database, since=since, until=until), as_csv=as_csv)


def _told(report: SpendReport, *, as_csv: bool) -> Response:
    if as_csv:
        return Response(written_csv(SpendDay, report.days), media_type="text/csv; charset=utf-8")
    return answered(report)


@router.get("/spend/undecided", response_model=UndecidedReport)
@slowly
def show_undecided_spend(asked: _Reads, since: _Since = None, until: _Until = None) -> Response:
    """What was spent on attempts that ended without a verdict, by whose that is."""
    return answered(asked.client.spend.undecided(since=since, until=until))


@router.get("/spend/month")
@slowly
def show_month(asked: _Reads) -> Month:
    """This month (UTC) as the budgets count it, and to what it will come.

    The forecast draws the days that are left from the whole days of the last four weeks, 2,000 times; the band holds
    the middle 80 % of these months.
    """
    return asked.client.spend.month()


async def _wanted(
    run_set: Annotated[UUID | Literal[""] | None, Query(description="Only of this run set; empty: of none.")] = None,
    profile: Annotated[_Name | None, Query(description="Only of this profile; empty: of none.")] = None,
    provider: Annotated[_Name | None, Query(description="Only of models of this provider; empty: of none.")] = None,
    model: Annotated[_Name | None, Query(description="Only of this model, provider/model; empty: of none.")] = None,
    kind: Annotated[_Name | None, Query(description="Only those for this, or `reported`.")] = None,
    user: Annotated[_Name | None, Query(description="Only on this user's account; empty: on nobody's.")] = None,
    owner: Annotated[
        Owner | None, Query(description="Only of attempts that ended without a verdict by its fault.")
    ] = None,
    unpriced: Annotated[bool | None, Query(description="Only those whose cost nobody knows, or only others.")] = None,
) -> EntriesWanted:
    return EntriesWanted(
        run_set=run_set,
        profile=profile,
        provider=provider,
        model=model,
        kind=kind,
        user=user,
        owner=owner,
        unpriced=unpriced,
    )


@router.get("/spend/entries", response_model=Page[SpendEntry])
@slowly
def list_spend_entries(
    asked: _Reads,
    paging: Paging,
    wanted: Annotated[EntriesWanted, Depends(_wanted)],
    since: _Since = None,
    until: _Until = None,
) -> Response:
    """What sums of spend are made of, the newest first: calls of models, and attempts without calls of ours."""
    place = paging.place(_moment, UUID)
    found = asked.client.spend.entries(
        wanted,
        since=since,
        until=until,
        before=None if place is None else EntryPlace(*place),
        limit=paging.limit,
    )
    return answered(paging.page(found, lambda row: [row.at.isoformat(), row.id]))


def _moment(part: str) -> datetime:
    found = datetime.fromisoformat(part)
    if found.tzinfo is None:
        raise ValueError(part)
    return found
