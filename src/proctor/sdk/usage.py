"""What a tenant used over a time, what it may use, and how far it is."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING
from uuid import UUID

from sqlalchemy import Connection

from proctor.app import Platform
from proctor.database.engine import Database
from proctor.engine.quotas import exceeded
from proctor.engine.spend.sums import Times, uncounted
from proctor.engine.usage import By, UsageRow, Used, usage, used_now
from proctor.identity.audit_log import starters
from proctor.identity.quotas import Quota, quota_of, stored_bytes
from proctor.identity.service import tenants
from proctor.kernel.errors import UsageError
from proctor.models.spending.reading import CallRow, CallsWanted, calls

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

__all__ = ["Allowance", "Apart", "TimeInvalid", "UsageReport", "Usages", "as_csv", "installation_usage", "span"]

_DEFAULT = timedelta(days=30)
_RUN_SETS: int = 100_000
"""That a user's usage is summed over."""


class Apart(StrEnum):
    """What usage may be told apart by."""

    TENANT = "tenant"
    USER = "user"
    RUN_SET = "run_set"
    PROFILE = "profile"
    MODEL = "model"


@dataclass(frozen=True, kw_only=True)
class UsageReport:
    """What was used by attempts begun from ``since`` to before ``until``, the dearest rows first."""

    since: datetime
    until: datetime
    by: Apart
    rows: Sequence[UsageRow]


@dataclass(frozen=True, kw_only=True)
class Allowance:
    """What a tenant may use, what it uses, and which quotas it is over: its work is then served after the others'."""

    quota: Quota
    used: Used
    stored_bytes: int | None
    """When it was last measured, within ten minutes; ``None``: not yet."""
    over: Sequence[str]
    uncounted: int
    """Calls and attempts of this month (UTC) of unknown cost: the month's cost has nothing for them, and is at least so
    much."""


class TimeInvalid(UsageError):
    """Usage is told from one time to a later one."""

    code = "usage-time"
    remedy = "Let `since` be before `until`."


class Usages:
    """Of one tenant, over its platform."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def report(self, by: Apart, *, since: datetime | None = None, until: datetime | None = None) -> UsageReport:
        """Attempts, sandbox seconds and cost; of the last 30 days without times. Raises ``TimeInvalid``."""
        begin, end = span(since, until)
        rows = self._platform.engine.read(lambda c: self._rows(c, by, begin, end))
        return UsageReport(since=begin, until=end, by=by, rows=rows)

    def allowance(self) -> Allowance:
        """What it may use, and how far it is."""
        tenant = self._platform.tenant

        def work(connection: Connection) -> Allowance:
            quota, used = quota_of(connection, tenant), used_now(connection, tenant)
            stored, unknown = stored_bytes(connection, tenant), uncounted(connection, tenant)
            over = exceeded(quota, used, stored)
            return Allowance(quota=quota, used=used, stored_bytes=stored, over=over, uncounted=unknown)

        return self._platform.engine.read(work)

    def ledger(
        self, wanted: CallsWanted | None = None, *, before: UUID | None = None, limit: int = 100
    ) -> list[CallRow]:
        """Calls of models, the newest first; ``before``: only those made before that one."""
        tenant = self._platform.tenant
        return self._platform.engine.read(
            lambda c: calls(c, tenant, wanted or CallsWanted(), before=before, limit=limit)
        )

    def _rows(self, connection: Connection, by: Apart, since: datetime, until: datetime) -> Sequence[UsageRow]:
        tenant = self._platform.tenant
        if by is not Apart.USER:
            return usage(connection, tenant, By(by.value), since=since, until=until)
        who = starters(connection, tenant)
        found: dict[str, list[UsageRow]] = defaultdict(list)
        for row in usage(connection, tenant, By.RUN_SET, since=since, until=until, limit=_RUN_SETS):
            found[who.get(row.key, "")].append(row)
        return sorted((_sum(user, rows) for user, rows in found.items()), key=lambda row: -row.cost_nano)


def installation_usage(database: Database, *, since: datetime | None, until: datetime | None) -> UsageReport:
    """What each tenant of the installation used, the dearest first. Raises ``TimeInvalid``."""
    begin, end = span(since, until)
    rows = []
    for one in database.as_scheduler(tenants):
        (whole,) = database.as_tenant(one.id, partial(usage, tenant=one.id, by=By.TENANT, since=begin, until=end))
        rows.append(replace(whole, key=one.name, name=one.name))
    rows.sort(key=lambda row: (-row.cost_nano, -row.attempts, row.key))
    return UsageReport(since=begin, until=end, by=Apart.TENANT, rows=rows)


def span(since: datetime | None, until: datetime | None) -> Times:
    """The times meant: the last 30 days without any. Raises ``TimeInvalid``."""
    end = until or datetime.now(UTC)
    begin = since or end - _DEFAULT
    if begin >= end:
        raise TimeInvalid(where="since")
    return Times(begin, end)


def _sum(user: str, rows: Sequence[UsageRow]) -> UsageRow:
    return UsageRow(
        key=user,
        name=user or "nobody on this server",
        attempts=sum(row.attempts for row in rows),
        sandbox_sec=sum(row.sandbox_sec for row in rows),
        cost_nano=sum(row.cost_nano for row in rows),
        unpriced=sum(row.unpriced for row in rows),
    )


def as_csv(kind: type[DataclassInstance], rows: Sequence[DataclassInstance]) -> str:
    """Rows of one kind: a line of its fields' names, then a line each."""
    out = io.StringIO()
    writer = csv.writer(out)
    names = [one.name for one in fields(kind)]
    writer.writerow(names)
    writer.writerows([_plain(getattr(row, name)) for name in names] for row in rows)
    return out.getvalue()


def _plain(value: object) -> object:
    """A name that a spreadsheet would take for a formula is told as a text."""
    return f"'{value}" if isinstance(value, str) and value.startswith(("=", "+", "-", "@", "\t", "\r")) else value
