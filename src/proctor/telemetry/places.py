"""Where log lines are kept: ``{tenant}/logs/{date}/{hour}/{minute}-{process}-{number}.jsonl``, times in UTC.

A segment is of one process, one tenant and one minute: a search reads the minutes that it is about, the newest first,
and needs no more memory than a page. What is of no tenant lies beside the tenants, where no tenant reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from proctor.objects.store import ObjectStore

__all__ = ["OPERATORS", "hour_prefix", "is_log", "minute_of", "owner_of", "root_of", "segment_key", "sweep"]

OPERATORS: str = "operators"
"""In the place of a tenant's id: lines of no tenant."""
_TENANT = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_KEY = re.compile(r"[0-9a-z-]+/logs/(\d{4}-\d\d-\d\d/\d\d/\d\d)-.*")


def owner_of(tenant: str) -> str:
    """Whose place a line of that tenant belongs to."""
    return tenant if _TENANT.fullmatch(tenant) else OPERATORS


def root_of(owner: str) -> str:
    """What is above all of an owner's segments."""
    return f"{owner}/logs/"


def hour_prefix(owner: str, at: datetime) -> str:
    """What is above an hour's segments."""
    return f"{root_of(owner)}{at:%Y-%m-%d/%H}/"


def segment_key(owner: str, minute: datetime, process: str, number: int) -> str:
    """Where a segment is kept."""
    return f"{hour_prefix(owner, minute)}{minute:%M}-{process}-{number:06d}.jsonl"


def minute_of(key: str) -> datetime | None:
    """The minute of a segment; ``None`` for what is none."""
    found = _KEY.fullmatch(key)
    try:
        return None if found is None else datetime.strptime(found[1], "%Y-%m-%d/%H/%M").replace(tzinfo=UTC)
    except ValueError:
        return None


def is_log(key: str) -> bool:
    """Whether an object is a segment of log lines."""
    return _KEY.fullmatch(key) is not None


def sweep(objects: ObjectStore, owner: str, *, days: int, now: datetime) -> int:
    """Remove whole days of lines that are older than so many days; how many segments."""
    removed = 0
    oldest = f"{now.astimezone(UTC) - timedelta(days=days):%Y-%m-%d}"
    for key in _before(objects, owner, oldest):
        objects.delete(key)
        removed += 1
    return removed


def _before(objects: ObjectStore, owner: str, oldest: str) -> Iterator[str]:
    for folder in objects.folders(root_of(owner)):
        if folder.rpartition("/")[2] < oldest:
            yield from objects.list(f"{folder}/")
