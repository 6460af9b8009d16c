"""What a tenant spent, down to the calls and attempts that it was spent on, and to what the month will come."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial

from sqlalchemy import Connection

from proctor.app import Platform
from proctor.database.engine import Database
from proctor.engine.spend.entries import EntriesWanted, EntryPlace, SpendEntry, entries
from proctor.engine.spend.forecasts import Month, month_of
from proctor.engine.spend.sums import (
    SHOWN,
    SpendBy,
    SpendDay,
    SpendRow,
    SpendSum,
    Undecided,
    Unpriced,
    spend,
    undecided,
)
from proctor.identity.service import tenants
from proctor.identity.users import names_of
from proctor.sdk.usage import span

__all__ = ["SpendBy", "SpendReport", "Spendings", "UndecidedReport", "installation_spend"]


@dataclass(frozen=True, kw_only=True)
class SpendReport:
    """What was spent from ``since`` to before ``until``, the dearest rows first; days are days of UTC.

    ``days`` tell the dearest keys apart and have one more, null, for all others; days without an entry are left out.
    """

    since: datetime
    until: datetime
    by: SpendBy
    whole: SpendSum
    rows: Sequence[SpendRow]
    days: Sequence[SpendDay]
    unpriced: Sequence[Unpriced]
    """Models of which entries have no known cost: what they cost is in no sum."""


@dataclass(frozen=True, kw_only=True)
class UndecidedReport:
    """What was spent on attempts that ended without a verdict, by whose that is. Attempts that run are not in it."""

    since: datetime
    until: datetime
    rows: Sequence[Undecided]


class Spendings:
    """Of one tenant, over its platform."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def report(self, by: SpendBy, *, since: datetime | None = None, until: datetime | None = None) -> SpendReport:
        """By day and by what it was for; of the last 30 days without times. Raises ``TimeInvalid``."""
        times, tenant = span(since, until), self._platform.tenant

        def work(connection: Connection) -> SpendReport:
            found = SpendReport(**times._asdict(), by=by, **spend(connection, tenant, by, times)._asdict())
            if by is not SpendBy.USER:
                return found
            names = names_of(connection, tenant, [row.key for row in found.rows])
            return replace(found, rows=[replace(row, name=names.get(row.key, row.key)) for row in found.rows])

        return self._platform.engine.read(work)

    def undecided(self, *, since: datetime | None = None, until: datetime | None = None) -> UndecidedReport:
        """On attempts that ended without a verdict, by owner. Raises ``TimeInvalid``."""
        times, tenant = span(since, until), self._platform.tenant
        rows = self._platform.engine.read(lambda c: undecided(c, tenant, times))
        return UndecidedReport(**times._asdict(), rows=rows)

    def entries(
        self,
        wanted: EntriesWanted | None = None,
        *,
        since: datetime | None = None,
        until: datetime | None = None,
        before: EntryPlace | None = None,
        limit: int = 100,
    ) -> Sequence[SpendEntry]:
        """What sums are made of, the newest first; ``before``: only what is older. Raises ``TimeInvalid``."""
        times, tenant = span(since, until), self._platform.tenant
        asked = wanted or EntriesWanted()
        return self._platform.engine.read(lambda c: entries(c, tenant, times, asked, before=before, limit=limit))

    def month(self) -> Month:
        """This month (UTC) as the budgets count it, and to what it will come."""
        now, tenant = datetime.now(UTC), self._platform.tenant
        return self._platform.engine.read(lambda c: month_of(c, tenant, now))


def installation_spend(database: Database, *, since: datetime | None, until: datetime | None) -> SpendReport:
    """What each tenant of the installation spent, the dearest first, and no more of what is theirs: of models without a
    price, the providers. Raises ``TimeInvalid``."""
    times = span(since, until)
    found = {
        one.name: database.as_tenant(one.id, partial(spend, tenant=one.id, by=SpendBy.TENANT, times=times))
        for one in database.as_scheduler(tenants)
    }
    rows = [SpendRow(**asdict(one.whole), key=name, name=name) for name, one in found.items() if one.whole.entries]
    rows.sort(key=lambda row: (-row.cost_nano, -row.entries, row.key))
    shown = {row.key for row in rows[:SHOWN]}
    days = [replace(day, key=name if name in shown else None) for name, one in found.items() for day in one.days]
    providers: Counter[str] = Counter()
    for one in found.values():
        providers.update({row.provider: row.entries for row in one.unpriced})
    return SpendReport(
        **times._asdict(),
        by=SpendBy.TENANT,
        whole=_sum([one.whole for one in found.values()]),
        rows=rows,
        days=_folded(days),
        unpriced=[Unpriced(provider=name, model="", entries=number) for name, number in providers.most_common()],
    )


def _folded(days: Sequence[SpendDay]) -> Sequence[SpendDay]:
    """Those of one day and key as one."""
    groups: dict[tuple[datetime, str | None], list[SpendDay]] = {}
    for one in days:
        groups.setdefault((one.day, one.key), []).append(one)
    return [
        SpendDay(**asdict(_sum(groups[place])), day=place[0], key=place[1])
        for place in sorted(groups, key=lambda place: (place[0], place[1] is None, place[1] or ""))
    ]


def _sum(sums: Sequence[SpendSum]) -> SpendSum:
    return SpendSum(
        cost_nano=sum(one.cost_nano for one in sums),
        assumed_nano=sum(one.assumed_nano for one in sums),
        entries=sum(one.entries for one in sums),
        unpriced=sum(one.unpriced for one in sums),
    )
