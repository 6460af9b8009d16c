"""What became of the calls of the last minutes, and what processes that are gone still hold of budgets."""

from __future__ import annotations

import socket
from collections.abc import Collection
from dataclasses import dataclass
from functools import partial
from uuid import UUID

import psutil
from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.models.spending.accounts import OpenSlices, open_slices

__all__ = ["CalledLately", "called_lately", "left_slices"]

_run = partial(run_query, "proctor.models.spending")

WINDOW_SEC: float = 600.0
"""What counts as recent, as it does for attempts."""
REACH_SEC: float = 7200.0
"""A call may be begun so long before it is written down: five tries of ten minutes and the waits between them."""
_SAME_START_SEC: float = 2.0
"""A start is kept to the hundredth of a second and read off a clock that may be set."""


@dataclass(frozen=True, kw_only=True)
class CalledLately:
    """A tenant's calls of one provider that ended alike. ``cost_nano`` is of those whose cost is known."""

    provider: str
    ended_as: str
    purpose: str
    calls: int
    input_tokens: int
    cache_read_tokens: int
    cache_write_tokens: int
    output_tokens: int
    reasoning_tokens: int
    cost_nano: int
    unpriced: int
    overruns: int


def called_lately(connection: Connection, tenant: UUID) -> list[CalledLately]:
    """Calls that ended in the last ten minutes, by provider, end and purpose."""
    rows = _run(connection, "called_lately", tenant=tenant, window=WINDOW_SEC, reach=REACH_SEC)
    return [CalledLately(**row._mapping) for row in rows]


def left_slices(connection: Connection, tenant: UUID, living: Collection[tuple[str, int]]) -> list[OpenSlices]:
    """What is held by processes that are gone. ``living``: machine and pid of those that are known to live anywhere."""
    found = open_slices(connection, tenant)
    return [one for one in found if (one.host, one.pid) not in living and not _lives_here(one)]


def _lives_here(held: OpenSlices) -> bool:
    if held.host != socket.gethostname():
        return False
    try:
        process = psutil.Process(held.pid)
        started = process.create_time()
        return process.status() != psutil.STATUS_ZOMBIE and (
            abs(started - held.process_started.timestamp()) < _SAME_START_SEC
        )
    except psutil.NoSuchProcess:
        return False
