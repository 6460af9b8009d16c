"""Searches kept log lines: a page at a time, the newest first, with bounded work and memory for each.

A page may hold fewer lines than asked for, or none, and go on: a search that finds little reads much.
"""

from __future__ import annotations

import heapq
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from proctor.objects.store import ObjectMissing, ObjectStore
from proctor.telemetry.places import hour_prefix, minute_of

__all__ = ["LEVELS", "Found", "LogLine", "LogQuery", "Place", "search"]

LEVELS: tuple[str, ...] = ("debug", "info", "warning", "error", "critical")
MOST_BYTES: int = 32 * 1024 * 1024
MOST_HOURS: int = 744
"""What one page reads at the most, and a month's hours to look into: a second's work on a local store."""
_HOUR, _MINUTE = timedelta(hours=1), timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class LogLine:
    """A line as it was written, with its id: the segment's name and the line's number there."""

    id: str
    at: datetime
    level: str
    event: str
    trace_id: str | None
    fields: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class LogQuery:
    """Which lines of one tenant. What is empty or ``None`` fits all; all that is named has to fit.

    ``started``: run sets whose lines count as the user's.
    """

    tenant: str
    since: datetime
    until: datetime
    run_set: str | None = None
    attempt: str | None = None
    user: str | None = None
    started: frozenset[str] = frozenset()
    model: str | None = None
    level: str | None = None
    trace_id: str | None = None
    text: str | None = None

    def fits(self, line: dict[str, Any], raw: str) -> bool:
        """Whether a line is one of those."""
        return (
            (self.text is None or self.text.casefold() in raw.casefold())
            and all(line.get(name) == wanted for name, wanted in self._exact() if wanted is not None)
            and (self.level is None or _rank(line.get("level")) >= _rank(self.level))
            and (self.user is None or line.get("user") == self.user or line.get("run_set") in self.started)
            and (self.model is None or self.model in _models(line))
        )

    def _exact(self) -> tuple[tuple[str, str | None], ...]:
        return (("run_set", self.run_set), ("attempt", self.attempt), ("trace_id", self.trace_id))


class Place(NamedTuple):
    """Where a page ended: before this line, the next begins. ``id`` empty: before that whole time."""

    at: datetime
    id: str


class Found(NamedTuple):
    """A page, and where the next one begins; ``None`` at the end."""

    lines: Sequence[LogLine]
    next: Place | None


def search(objects: ObjectStore, query: LogQuery, *, before: Place | None, limit: int) -> Found:
    """The newest lines that fit and come before a place."""
    found: list[LogLine] = []
    end = before or Place(query.until, "")
    read = 0
    for minute, keys in _minutes(objects, query, end):
        lines, size = _of_minute(objects, query, keys, end, limit - len(found))
        found += lines
        read += size
        if len(found) == limit:
            return Found(found, Place(found[-1].at, found[-1].id))
        if read >= MOST_BYTES:
            return Found(found, Place(minute, ""))
    first = end.at - MOST_HOURS * _HOUR
    return Found(found, Place(first, "") if first > query.since else None)


def _minutes(objects: ObjectStore, query: LogQuery, end: Place) -> Iterator[tuple[datetime, list[str]]]:
    """Minutes that have lines, the newest first."""
    hour = end.at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
    oldest = max(query.since, end.at - MOST_HOURS * _HOUR)
    while hour + _HOUR > oldest:
        by_minute: dict[datetime, list[str]] = defaultdict(list)
        for key in objects.list(hour_prefix(query.tenant, hour)):
            minute = minute_of(key)
            if minute is not None and minute + _MINUTE > oldest and Place(minute, "") < end:
                by_minute[minute].append(key)
        yield from sorted(by_minute.items(), reverse=True)
        hour -= _HOUR


def _of_minute(
    objects: ObjectStore, query: LogQuery, keys: Sequence[str], end: Place, limit: int
) -> tuple[list[LogLine], int]:
    """The newest lines of one minute, at most ``limit`` of them, and how much was read for it."""
    size = 0
    newest: list[tuple[datetime, str, LogLine]] = []
    for key in keys:
        try:
            data = objects.get(key)
        except ObjectMissing:  # its time was over
            continue
        size += len(data)
        name = key.rpartition("/")[2].removesuffix(".jsonl")
        for number, raw in enumerate(data.decode("utf-8", "replace").splitlines()):
            line = _read(raw, f"{name}-{number:05d}", query)
            if line is not None and query.since <= line.at and (line.at, line.id) < end and line.at < query.until:
                item = (line.at, line.id, line)
                (heapq.heappush if len(newest) < limit else heapq.heappushpop)(newest, item)
    return [line for *_, line in sorted(newest, reverse=True)], size


def _read(raw: str, identity: str, query: LogQuery) -> LogLine | None:
    try:
        line = json.loads(raw)
        if not query.fits(line, raw):
            return None
        at = datetime.fromisoformat(line["at"])
    except (ValueError, KeyError, AttributeError, TypeError):  # half a line, or none of ours
        return None
    level, event, trace = line.pop("level", ""), line.pop("event", ""), line.pop("trace_id", None)
    del line["at"]
    return LogLine(id=identity, at=at, level=level, event=event, trace_id=trace, fields=line)


def _models(line: dict[str, Any]) -> list[Any]:
    profiles = line.get("profiles")
    return [line.get("model"), line.get("profile"), *(profiles if isinstance(profiles, list) else ())]


def _rank(level: object) -> int:
    return LEVELS.index(level) if level in LEVELS else 0
