"""Searching log lines: what a caller names becomes ids, and a range of time that is looked through."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from uuid import UUID

from sqlalchemy import Connection

from proctor.app import Platform
from proctor.engine import reading
from proctor.identity.audit_log import started_by
from proctor.identity.users import find_user, user_named
from proctor.kernel.errors import UsageError
from proctor.sdk.cursors import Listing
from proctor.telemetry.searching import LEVELS, LogLine, LogQuery, Place, search

__all__ = ["LogPage", "LogsWanted", "LogsWantedInvalid", "find_logs"]

_DAY = timedelta(days=1)
_FIRST = datetime(2024, 1, 1, tzinfo=UTC)
"""Before any line there can be."""
_AROUND = timedelta(minutes=5)
"""Before a run set or an attempt began and after it ended, where lines of it may still be: who asked for it, clocks."""


class LogsWantedInvalid(UsageError):
    """Log lines can't be looked for by that."""

    code = "logs-wanted"
    remedy = f"Levels are {', '.join(LEVELS)}; `since` is before `until`."


@dataclass(frozen=True, kw_only=True)
class LogsWanted:
    """Which lines. What is ``None`` fits all; all that is named has to fit.

    Without ``since`` they are those of the run set or attempt, else of the last day before ``until`` (now without).
    """

    run_set: str | None = None
    """By name, id or beginning of one."""
    attempt: str | None = None
    """By id or beginning of one, or of a cell's."""
    user: str | None = None
    """By id or e-mail address: lines of their requests and of the run sets they started."""
    model: str | None = None
    """A model or a profile by name."""
    level: str | None = None
    """This one and above."""
    trace: str | None = None
    text: str | None = None
    """Anywhere in the line, in either case."""
    since: datetime | None = None
    until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class LogPage:
    """Lines, the newest first. ``next``: the cursor of those before; there may be some where a page holds none."""

    items: Sequence[LogLine]
    next: str | None


def find_logs(platform: Platform, wanted: LogsWanted, *, cursor: str | None = None, limit: int = 100) -> LogPage:
    """A page of a tenant's lines.

    Raises ``RunSetUnknown``, ``AttemptUnknown``, ``UserUnknown``, ``LogsWantedInvalid``, ``CursorInvalid``.
    """
    if wanted.level is not None and wanted.level not in LEVELS:
        raise LogsWantedInvalid(f"There is no level {wanted.level!r}.", where="level")
    query = platform.database.as_tenant(platform.tenant, lambda c: _query(c, platform.tenant, wanted))
    if query.since >= query.until:
        raise LogsWantedInvalid("That is no time at all.", where="since")
    listing = _listing(wanted)
    place = listing.place(cursor, datetime.fromisoformat, str)
    before = None if place is None else Place(min(max(_aware(place[0], "cursor"), query.since), query.until), place[1])
    found = search(platform.objects, query, before=before, limit=limit)
    following = None if found.next is None else listing.cursor([found.next.at.isoformat(), found.next.id])
    return LogPage(items=found.lines, next=following)


def _listing(wanted: LogsWanted) -> Listing:
    """What is searched for, without its times: a place is a time, and "an hour ago" is another at each page."""
    words = {name: value for name, value in vars(wanted).items() if isinstance(value, str)}
    return Listing("logs", tuple(words.items()))


def _query(connection: Connection, tenant: UUID, wanted: LogsWanted) -> LogQuery:
    row = None if wanted.run_set is None else reading.find_run_set(connection, tenant, wanted.run_set)
    attempt = None if wanted.attempt is None else reading.find_attempt(connection, tenant, wanted.attempt)
    user = None if wanted.user is None else _user(connection, tenant, wanted.user)
    ranges = [] if row is None else [(row.created_at, row.ended_at)]
    if attempt is not None:
        detail = reading.attempt_detail(connection, tenant, attempt).attempt
        ranges.append((detail["started_at"], detail["ended_at"]))
    since, until = _range(ranges, wanted)
    return LogQuery(
        tenant=str(tenant),
        since=since,
        until=until,
        run_set=None if row is None else str(row.id),
        attempt=None if attempt is None else str(attempt),
        user=None if user is None else str(user),
        started=frozenset() if user is None else started_by(connection, tenant, user),
        model=wanted.model,
        level=wanted.level,
        trace_id=wanted.trace,
        text=wanted.text,
    )


def _range(ranges: Sequence[tuple[datetime, datetime | None]], wanted: LogsWanted) -> tuple[datetime, datetime]:
    now = datetime.now(UTC) + _AROUND
    ends = [end for _, end in ranges if end is not None]
    latest = min(ends) + _AROUND if ends and not wanted.since else now
    until = min(_aware(wanted.until, "until"), now) if wanted.until is not None else latest
    if wanted.since is not None:
        return max(_aware(wanted.since, "since"), _FIRST), until
    begin = max(begin for begin, _ in ranges) - _AROUND if ranges else max(until, _FIRST + _DAY) - _DAY
    return begin, until


def _aware(time: datetime, where: str) -> datetime:
    if time.tzinfo is None:
        raise LogsWantedInvalid("A time needs its offset from UTC, such as Z.", where=where)
    return time


def _user(connection: Connection, tenant: UUID, who: str) -> UUID:
    try:
        identity = UUID(who)
    except ValueError:
        return user_named(connection, tenant, who).id
    return find_user(connection, tenant, identity).id
