"""Token buckets in the database: what all processes together may ask of a key.

A bucket fills by the database's clock. A process takes about a second's worth at once and uses it within two, so what
is asked in any minute is at most the limit and a sixth of it: eight seconds' worth in a full bucket and two that were
taken before the minute began.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.models.ports import RateLimit

__all__ = ["SLICE_SEC", "Grant", "KeyName", "Level", "draw", "rest", "share"]

_run = partial(run_query, "proctor.models.rates")

CAPACITY_SEC: float = 8.0
"""A full bucket: what nobody asked for in so long is not saved up."""
SLICE_SEC: float = 2.0
"""What was taken and not used in so long is lost: it was for that time."""
_MINUTE: float = 60.0


class KeyName(NamedTuple):
    """Which key: whose, of which provider, by which name."""

    owner: str
    provider: str
    key: str


@dataclass(frozen=True, kw_only=True)
class Level:
    """What is in a bucket."""

    requests: float
    tokens: float


@dataclass(frozen=True, kw_only=True)
class Grant:
    """What a process got of a bucket. Nothing: ``wait_sec`` says when there will be some."""

    requests: int
    tokens: float
    wait_sec: float = 0.0


def full(limit: RateLimit) -> Level:
    """A full bucket; at least one request fits, however small the limit."""
    return Level(
        requests=max(1.0, (limit.requests or 0) * CAPACITY_SEC / _MINUTE),
        tokens=(limit.tokens or 0) * CAPACITY_SEC / _MINUTE,
    )


def share(level: Level, elapsed: float, limit: RateLimit, tokens: float) -> tuple[Level, Grant]:
    """What is in a bucket some seconds later, and what a process gets of it that wants one request of so many tokens.

    A request of more tokens than a bucket holds goes when it is full, and the bucket is in debt until it has filled up.
    """
    most = full(limit)
    a_second = Level(requests=(limit.requests or 0) / _MINUTE, tokens=(limit.tokens or 0) / _MINUTE)
    now = Level(
        requests=min(most.requests, level.requests + a_second.requests * elapsed),
        tokens=min(most.tokens, level.tokens + a_second.tokens * elapsed),
    )
    wait = 0.0
    if limit.requests is not None and now.requests < 1:
        wait = (1 - now.requests) / a_second.requests
    if limit.tokens is not None and now.tokens < min(tokens, most.tokens):
        wait = max(wait, (min(tokens, most.tokens) - now.tokens) / a_second.tokens)
    if wait > 0:
        return now, Grant(requests=0, tokens=0, wait_sec=wait)
    requests = int(max(1, min(now.requests, a_second.requests)))
    granted = max(tokens, min(now.tokens, a_second.tokens))
    left = Level(
        requests=now.requests - (0 if limit.requests is None else requests),
        tokens=now.tokens - (0 if limit.tokens is None else granted),
    )
    return left, Grant(requests=requests, tokens=granted)


def draw(connection: Connection, key: KeyName, limit: RateLimit, tokens: float) -> Grant:
    """Take a share of a key's bucket, or learn when there will be one. A repeat takes another: it is no money."""
    name = {"owner": key.owner, "provider": key.provider, "key": key.key}
    most = full(limit)
    _run(connection, "open_bucket", **name, requests=most.requests, tokens=most.tokens)
    _run(connection, "lock_bucket", **name)
    row = _run(connection, "look_at_bucket", **name).one()
    if row.rests > 0:
        return Grant(requests=0, tokens=0, wait_sec=row.rests)
    left, grant = share(Level(requests=row.requests, tokens=row.tokens), row.elapsed, limit, tokens)
    _run(connection, "fill_bucket", **name, requests=left.requests, tokens=left.tokens, elapsed=row.elapsed)
    return grant


def rest(connection: Connection, key: KeyName, seconds: float) -> None:
    """Tell the other processes that a key rests."""
    name = {"owner": key.owner, "provider": key.provider, "key": key.key}
    _run(connection, "rest_bucket", **name, seconds=seconds)
