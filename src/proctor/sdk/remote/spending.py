"""What a tenant of a server spent, answered by the server."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from proctor.engine.spend.entries import EntriesWanted, EntryPlace, SpendEntry
from proctor.engine.spend.forecasts import Month
from proctor.engine.spend.sums import SpendBy
from proctor.sdk.cursors import Listing
from proctor.sdk.remote.answers import read
from proctor.sdk.remote.transport import API, Transport
from proctor.sdk.spending import SpendReport, UndecidedReport

__all__ = ["RemoteSpendings"]


class RemoteSpendings:
    """What ``proctor.sdk.spending.Spendings`` answers, answered by a server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def report(self, by: SpendBy, *, since: datetime | None = None, until: datetime | None = None) -> SpendReport:
        """By day and by what it was for; of the last 30 days without times."""
        return read(SpendReport, self._transport.get("spend", by=by.value, **_times(since, until)))

    def of_tenants(self, *, since: datetime | None = None, until: datetime | None = None) -> SpendReport:
        """The same of every tenant, as an administrator of the installation."""
        return read(SpendReport, self._transport.get("tenants/spend", **_times(since, until)))

    def undecided(self, *, since: datetime | None = None, until: datetime | None = None) -> UndecidedReport:
        """On attempts that ended without a verdict, by owner."""
        return read(UndecidedReport, self._transport.get("spend/undecided", **_times(since, until)))

    def entries(
        self,
        wanted: EntriesWanted | None = None,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        before: EntryPlace | None = None,
        limit: int = 100,
    ) -> Sequence[SpendEntry]:
        """What sums are made of, the newest first; ``before``: only those older than that one."""
        said = {**(wanted or EntriesWanted()).asked, **_times(since, until)}
        asked = {name: _text(value) for name, value in said.items() if value is not None}
        place = None if before is None else [before.at.isoformat(), before.id]
        cursor = None if place is None else Listing(f"{API}/spend/entries", tuple(asked.items())).cursor(place)
        found = self._transport.get("spend/entries", **asked, cursor=cursor, limit=limit)
        return read(list[SpendEntry], found["items"])

    def month(self) -> Month:
        """This month (UTC) as the budgets count it, and to what it will come."""
        return read(Month, self._transport.get("spend/month"))


def _times(since: datetime | None, until: datetime | None) -> dict[str, str | None]:
    return {
        "since": None if since is None else since.isoformat(),
        "until": None if until is None else until.isoformat(),
    }


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
