"""Lanes and gates: what rows wait for together, beside their turn.

A gate is a row of the same table that no queue row names: several lanes wait for it together. A breaker is a lane's or
a gate's own; so is a limit. A worker's node is a gate of every lane, for that worker alone.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Protocol
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query

__all__ = [
    "NODE",
    "Blocked",
    "Gates",
    "Lane",
    "QueuedRow",
    "blocked",
    "drop_lanes",
    "failing",
    "keep_lanes",
    "lane_failed",
    "lane_strained",
    "lanes",
    "lanes_worked",
    "limit_lane",
    "open_lane",
    "open_lanes",
    "pause_lane",
    "rows_of",
]

_run = partial(run_query, "proctor.queue")

NODE: str = "node/"
"""What the names of nodes' gates begin with: the host that a worker registered follows."""
CAREFUL: int = 2
"""At once from a provider that has limited our rate, where nobody declared what it bears."""
CAREFUL_SEC: float = 600.0
"""Without another rate limit, before a provider is trusted with more again."""


@dataclass(frozen=True, kw_only=True)
class Lane:
    """What rows of one provider wait for, or of several lanes together."""

    provider: str
    paused: bool
    reason: str
    closed_until: datetime | None
    failures: int
    max_running: int | None
    per_minute: int | None
    counts: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Blocked:
    """A lane or gate that rows of a holder are waiting for."""

    key: str
    paused: bool
    reason: str
    failures: int
    counts: Mapping[str, int]
    """Failures by class since it last worked."""
    until: datetime | None
    """When the next probe may start; ``None``: no time decides."""
    running: int
    pending: int
    """Rows of the holder that wait for it."""
    most: int | None
    per_minute: int | None


@dataclass(frozen=True)
class QueuedRow:
    """A row of a holder, as somebody who looks is told of it."""

    state: str
    until: datetime | None
    """When it may be served again; ``None``: no time decides."""
    reason: str
    """Why it is a dead letter."""


class Claimed(Protocol):
    """A claim, as far as gates count it."""

    @property
    def tenant_id(self) -> UUID:
        """Whose it is."""
        ...

    @property
    def provider(self) -> str:
        """The lane that it came from."""
        ...


class Gates:
    """What lets only some rows through, as the claimer finds it; nobody else claims meanwhile."""

    def __init__(self, connection: Connection, kind: str, node: str | None) -> None:
        self._connection, self._kind, self._node = connection, kind, node
        self._timed: dict[tuple[UUID, str], list[str]] = {}

    def look(self) -> str:
        """Each lane's narrow gates with the room that each has, as JSON."""
        rows = _run(self._connection, "gates", kind=self._kind, node=self._node, careful=CAREFUL).all()
        self._timed = {}
        for row in rows:
            if row.timed:
                self._timed.setdefault((row.tenant_id, row.lane), []).append(row.gate)
        return json.dumps([dict(row._mapping) for row in rows], default=str)

    def passed(self, claims: Sequence[Claimed]) -> None:
        """Count starts where a gate allows so many a minute."""
        if not self._timed:
            return
        keys = ((claim.tenant_id, claim.provider) for claim in claims)
        starts = Counter((key[0], gate) for key in keys for gate in self._timed.get(key, ()))
        rows = [{"tenant_id": str(tenant), "gate": gate, "starts": n} for (tenant, gate), n in starts.items()]
        _run(self._connection, "count_starts", kind=self._kind, rows=json.dumps(rows))


def open_lanes(connection: Connection, tenant_id: UUID, kind: str, lanes: Mapping[str, tuple[str, ...]]) -> None:
    """The lanes that rows are to wait in, with the gates of each; what is there already stays as it is."""
    every = {**{gate: () for gates in lanes.values() for gate in gates}, **lanes}
    rows = [{"name": name, "gates": list(gates)} for name, gates in every.items()]
    _run(connection, "open_lanes", tenant=tenant_id, kind=kind, lanes=json.dumps(rows))


def keep_lanes(connection: Connection, tenant_id: UUID, kind: str) -> None:
    """Have no lane removed to the end of the transaction: rows are about to be queued in some."""
    _run(connection, "keep_lanes", tenant=tenant_id, kind=kind)


def drop_lanes(connection: Connection, tenant_id: UUID, kind: str) -> None:
    """Remove lanes that were made for rows which are gone, and limits that no row comes under any more.

    While somebody queues rows nothing is removed; the next time does.
    """
    if _run(connection, "lanes_are_idle", tenant=tenant_id, kind=kind).scalar_one():
        _run(connection, "drop_lanes", tenant=tenant_id, kind=kind)


def lane_failed(
    connection: Connection,
    tenant_id: UUID,
    kind: str,
    provider: str,
    *,
    reason: str,
    retry_after: float | None,
    counts: Mapping[str, int] | None = None,
    careful: bool = False,
) -> None:
    """Open a lane's breaker after more failures of these ``counts`` by class; without them after one of ``reason``.

    ``retry_after`` in seconds where the provider said so; ``careful``: few at once for a while after it.
    """
    open_lanes(connection, tenant_id, kind, {provider: ()})
    _run(
        connection,
        "lane_failed",
        tenant=tenant_id,
        kind=kind,
        provider=provider,
        reason=reason,
        retry_after=retry_after,
        counts=json.dumps({reason: 1} if counts is None else counts),
        careful_sec=CAREFUL_SEC if careful else None,
    )


def lane_strained(connection: Connection, tenant_id: UUID, kind: str, provider: str, counts: Mapping[str, int]) -> int:
    """Note failures by class that close nothing yet; returns how many there were in a row by now."""
    key = {"tenant": tenant_id, "kind": kind, "provider": provider}
    return int(_run(connection, "lane_strained", **key, counts=json.dumps(counts)).scalar_one())


def failing(connection: Connection, tenant_id: UUID, kind: str, names: Iterable[str]) -> dict[str, int]:
    """Which of these have failed and not worked since, with the last token given before each closed.

    All stay locked to the end of the transaction.
    """
    wanted = sorted(names)
    open_lanes(connection, tenant_id, kind, dict.fromkeys(wanted, ()))
    rows = _run(connection, "failing", tenant=tenant_id, kind=kind, names=wanted)
    return {row.provider: row.shut_token for row in rows if row.failures}


def lanes_worked(connection: Connection, tenant_id: UUID, kind: str, worked: Mapping[str, int | None]) -> set[str]:
    """Close breakers after successes; returns whose were open.

    By name what the success was claimed under: one from before the breaker opened says nothing of now.
    """
    key = {"tenant": tenant_id, "kind": kind}
    rows = _run(connection, "lanes_worked", **key, names=list(worked), tokens=list(worked.values()))
    return {row.provider for row in rows}


def pause_lane(connection: Connection, tenant_id: UUID, kind: str, provider: str, *, reason: str) -> None:
    """Serve nothing from a lane until it is opened."""
    _run(connection, "pause_lane", tenant=tenant_id, kind=kind, provider=provider, reason=reason)


def open_lane(connection: Connection, tenant_id: UUID, kind: str, provider: str) -> bool:
    """Open a lane that was paused, or whose breaker is open, at once; whether there was anything to open."""
    rows = _run(connection, "open_lane", tenant=tenant_id, kind=kind, provider=provider)
    return rows.one_or_none() is not None


def limit_lane(
    connection: Connection,
    tenant_id: UUID,
    kind: str,
    provider: str,
    *,
    max_running: int | None,
    per_minute: int | None = None,
) -> None:
    """Limit what runs from a lane at once, and what starts in a minute; ``None``: no limit."""
    limits = {"max_running": max_running, "per_minute": per_minute}
    _run(connection, "limit_lane", tenant=tenant_id, kind=kind, provider=provider, **limits)


def lanes(connection: Connection, tenant_id: UUID, kind: str) -> list[Lane]:
    """A tenant's lanes of a kind."""
    return [Lane(**row._mapping) for row in _run(connection, "lanes", tenant=tenant_id, kind=kind)]


def rows_of(
    connection: Connection, tenant_id: UUID, kind: str, holder: UUID, *, identity: UUID | None = None
) -> dict[str, QueuedRow]:
    """Every row of a holder by its id as text, or that one."""
    rows = _run(connection, "rows_of", tenant=tenant_id, kind=kind, holder=str(holder), id=identity)
    found: dict[str, QueuedRow] = {}
    for row in rows:
        found.update(dict.fromkeys(row.ids, QueuedRow(row.state, row.until, row.reason)))
    return found


def blocked(connection: Connection, tenant_id: UUID, kind: str, holder: UUID) -> list[Blocked]:
    """What rows of a holder wait for beside their turn."""
    rows = _run(connection, "blocked", tenant=tenant_id, kind=kind, holder=str(holder), careful=CAREFUL)
    return [Blocked(**row._mapping) for row in rows]
