"""The claims core. Every function takes a connection, so that a caller's own writes share the transaction.

Invariants (held by ``tests/integration/test_queue_properties.py``): a row has at most one live token; a write
under a token that is not live changes nothing; a row is never lost, only completed, purged or let go by all.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from enum import IntEnum
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Connection, Row

from proctor.database.queries import run_query
from proctor.headroom.needs import Admit, HeldBack, Need, Reserved, Room
from proctor.queue.lanes import (
    Blocked,
    Gates,
    Lane,
    blocked,
    drop_lanes,
    failing,
    keep_lanes,
    lane_failed,
    lane_strained,
    lanes,
    lanes_worked,
    limit_lane,
    open_lane,
    open_lanes,
    pause_lane,
    rows_of,
)
from proctor.queue.turns import PULLS, Pace, take_turn

__all__ = [
    "PULLS",
    "Band",
    "Blocked",
    "Claim",
    "DeadLetter",
    "Item",
    "Lane",
    "Lost",
    "Pace",
    "PutBack",
    "blocked",
    "claim",
    "complete",
    "complete_all",
    "count_states",
    "dead_letters",
    "drop_lanes",
    "enqueue",
    "failing",
    "gates_of",
    "heartbeat",
    "held",
    "held_back",
    "held_by",
    "hold_claims",
    "lane_failed",
    "lane_strained",
    "lanes",
    "lanes_worked",
    "let_go",
    "limit_lane",
    "open_lane",
    "pause_lane",
    "probed",
    "purge_dead",
    "put_back",
    "reap",
    "requeue_dead",
    "rows_of",
    "set_share",
    "take_turn",
    "waited",
]

_run = partial(run_query, "proctor.queue")

LEASE_SEC: float = 60.0
"""Four heartbeats of 15 s: three may be lost before a lease is."""
CRITICAL_SHARE: float = 0.2
"""Of all slots, what one tenant's critical rows may take before they queue as high ones."""
_SPREAD: int = 4
"""A lane's first window over its part of the batch: chance makes lanes of equal rank differ by less than this."""
_PAGE: int = 500
"""Leases ended per statement: each stays far below the statement timeout, however many were lost at once."""


class Band(IntEnum):
    """Urgency, with its target wait: at once, 1 h, 8 h, none."""

    CRITICAL = 0
    HIGH = 1
    NORMAL = 2
    LOW = 3


@dataclass(frozen=True, kw_only=True)
class Item:
    """Work to be queued. ``id`` is derived from what it is about, so queueing it twice is harmless."""

    id: UUID
    provider: str = ""
    """The lane it waits in: a provider's, or one that waits for several gates."""
    gates: tuple[str, ...] = ()
    """What the lane waits for beside itself, by the names of other lanes."""
    band: Band = Band.NORMAL
    expected_sec: float = 0.0
    payload: str = ""
    deadline: datetime | None = None
    """After it nobody needs the row any more, and it is a dead letter."""
    delay: float = 0.0
    """Seconds before it may be served, by the database's clock."""
    need: Need | None = None
    """What its worker's node has to have left; ``None``: nothing that counts."""


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A row that is ours until its lease ends. ``token`` goes with every later write."""

    tenant_id: UUID
    kind: str
    id: UUID
    provider: str
    band: int
    token: int
    payload: str
    tries: int
    picks: int
    holders: Mapping[str, int | None]


@dataclass(frozen=True, kw_only=True)
class PutBack:
    """A claim that goes back undone."""

    id: UUID
    token: int
    dead: bool = False
    delay: float = 0.0
    used: int = 0
    """Tries this used up: 1 for a fault of its own, 0 for waiting on a provider."""
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Lost:
    """A claim whose lease ended."""

    tenant_id: UUID
    kind: str
    id: UUID
    token: int
    worker_id: UUID
    dead: bool
    reason: str


@dataclass(frozen=True, kw_only=True)
class DeadLetter:
    """A row that nothing will pick until it is requeued."""

    id: UUID
    provider: str
    reason: str
    picks: int
    tries: int
    losses: int
    enqueued_at: datetime
    payload: str


def enqueue(
    connection: Connection,
    tenant_id: UUID,
    kind: str,
    items: Sequence[Item],
    *,
    holder: UUID,
    revive: bool = False,
) -> None:
    """Queue work for a holder. ``revive`` also takes dead letters back, with their tries restored."""
    base = {"tenant": tenant_id, "kind": kind}
    keep_lanes(connection, tenant_id, kind)
    open_lanes(connection, tenant_id, kind, {item.provider: item.gates for item in items})
    once = {item.id: asdict(item) for item in items}
    rows = json.dumps(list(once.values()), default=str)
    _run(connection, "enqueue", **base, holder=str(holder), rows=rows, revive=revive)


def claim(
    connection: Connection,
    kind: str,
    *,
    worker_id: UUID,
    limit: int,
    slots: int,
    scope: UUID | None = None,
    lease_sec: float = LEASE_SEC,
    admit: Admit | None = None,
    begun: Sequence[int] = (),
) -> list[Claim]:
    """Take up to ``limit`` rows in the order of service, of one holder where ``scope`` names it.

    When at least half of them come back there may be more; with fewer there are no more for this worker now.
    ``slots`` are the worker's own; the critical share is of those of all live workers. ``admit`` says what fits on the
    worker's node beside what it runs; ``begun``: tokens of the worker whose sandboxes are there.
    """
    hold_claims(connection, kind)

    def rooms() -> Room:
        return Room() if admit is None else admit(_reserved(connection, worker_id, begun))

    standing = _run(connection, "standing", kind=kind, worker=worker_id).one()
    if standing.alone:
        return []
    wanted = {"kind": kind, "worker": worker_id, "lease": lease_sec, "scope": str(scope) if scope else None}
    gates = Gates(connection, kind, standing.node)
    if standing.suspects:
        found = _run(connection, "find_suspect", **wanted, idle=standing.idle, gates=gates.look()).one_or_none()
        if found is not None and (room := rooms()).can_hold(_need(found.need)):
            idle = standing.idle and room.has(_need(found.need))
            claims = _suspect(connection, kind, worker_id, found, idle=idle, lease_sec=lease_sec)
            gates.passed(claims)
            return claims
    return _in_order(connection, wanted, rooms, gates, limit=limit, slots=slots)


def hold_claims(connection: Connection, kind: str) -> None:
    """Let nobody claim before this transaction ends: what it changes of lanes holds for every later claim."""
    _run(connection, "lock_claims", kind=kind)


def _reserved(connection: Connection, worker_id: UUID, begun: Sequence[int]) -> Reserved:
    """What is promised on this worker's machine already."""
    row = _run(connection, "reserved", worker=worker_id, begun=list(begun)).one()
    return Reserved(
        rows=row.rows,
        promised=Need(memory_mb=row.memory_mb, cpus=row.cpus, disk_mb=row.disk_mb),
        unbegun=Need(memory_mb=row.unbegun_memory_mb, cpus=row.unbegun_cpus, disk_mb=row.unbegun_disk_mb),
    )


def _in_order(
    connection: Connection,
    wanted: Mapping[str, Any],
    rooms: Callable[[], Room],
    gates: Gates,
    *,
    limit: int,
    slots: int,
) -> list[Claim]:
    """Rows in their order, in rounds of wider windows until there are half of them or none is left.

    A round costs the same for its last row as for a hundred: the rest is for the next claim.
    """
    claims: list[Claim] = []
    spread = _SPREAD
    rules = {"slots": slots, "critical_share": CRITICAL_SHARE}
    while 2 * len(claims) < limit:
        room, narrow = rooms(), gates.look()
        asked = limit - len(claims) if room.rows is None else min(room.rows, limit - len(claims))
        if not asked:
            break
        bounds = _bounds(room)
        rows = _run(connection, "claim", **wanted, **rules, **bounds, gates=narrow, limit=asked, spread=spread)
        found = _claims(wanted["kind"], rows.all())
        gates.passed(found)
        claims.extend(found)
        if not found:
            break
        spread *= _SPREAD
    return claims


def _bounds(room: Room) -> dict[str, float | None]:
    """A room as the statements take it."""
    return {**_amounts("left", room.left), **_amounts("most", room.most)}


def _amounts(name: str, amount: Need | None) -> dict[str, float | None]:
    if amount is None:
        return dict.fromkeys((f"{name}_memory", f"{name}_cpus", f"{name}_disk"))
    return {f"{name}_memory": amount.memory_mb, f"{name}_cpus": amount.cpus, f"{name}_disk": amount.disk_mb}


def held_back(
    connection: Connection, kind: str, *, worker_id: UUID, scope: UUID, admit: Admit, begun: Sequence[int]
) -> HeldBack | None:
    """Which rows of a holder wait for room on this worker's node; ``None``: none does."""
    room = admit(_reserved(connection, worker_id, begun))
    left = Need() if room.rows == 0 or room.left is None else room.left
    bounds = {**_amounts("left", left), **_amounts("most", room.most or left), **_amounts("ever", room.ever)}
    row = _run(connection, "held_back", kind=kind, scope=str(scope), **bounds).one_or_none()
    if row is None:
        return None
    return HeldBack(rows=row.rows, never=row.never, first=row.id, need=_need(row.need), room=room)


def _need(document: Mapping[str, float]) -> Need:
    return Need(**document)


def _suspect(
    connection: Connection, kind: str, worker_id: UUID, found: Row[Any], *, idle: bool, lease_sec: float
) -> list[Claim]:
    """A row lost twice, alone; a busy worker is put down for it and takes nothing until it is idle."""
    key = {"kind": kind, "worker": worker_id, "tenant": found.tenant_id, "id": found.id}
    if not idle:
        _run(connection, "mark_suspect", **key)
        return []
    return _claims(kind, _run(connection, "claim_suspect", **key, lease=lease_sec))


def held_by(connection: Connection, kind: str, worker_id: UUID, *, known: Sequence[int]) -> list[Claim]:
    """A worker's claims beyond those it knows of, for when the answer to a claim was lost."""
    return _claims(kind, _run(connection, "held_by", kind=kind, worker=worker_id, known=list(known)).all())


def _claims(kind: str, rows: Iterable[Sequence[Any]]) -> list[Claim]:
    """In the order of the columns that every claiming statement returns."""
    return [
        Claim(
            tenant_id=row[0],
            kind=kind,
            id=row[1],
            provider=row[2],
            band=row[3],
            token=row[4],
            payload=row[5],
            tries=row[6],
            picks=row[7],
            holders=row[8],
        )
        for row in rows
    ]


def held(connection: Connection, tenant_id: UUID, kind: str, claims: Sequence[tuple[UUID, int]]) -> dict[int, bool]:
    """The tokens of these (id, token) that are still live; their rows stay locked to the transaction's end.

    With each whether it was given after something of the tenant's closed that is failing still: only such are probes.
    """
    rows = _run(connection, "held", tenant=tenant_id, kind=kind, **_pairs(claims))
    return {row.token: row.late for row in rows}


def gates_of(
    connection: Connection, tenant_id: UUID, kind: str, claims: Sequence[tuple[UUID, int]]
) -> dict[int, frozenset[str]]:
    """What the rows of these (id, token) wait for in their lanes, by token."""
    rows = _run(connection, "gates_of", tenant=tenant_id, kind=kind, **_pairs(claims))
    return {row.token: frozenset(row.keys) for row in rows}


def probed(connection: Connection, tenant_id: UUID, kind: str, claims: Sequence[tuple[UUID, int]]) -> dict[str, int]:
    """The failing lanes and gates that these (id, token) were let through as probes, each with its last token."""
    rows = _run(connection, "probed", tenant=tenant_id, kind=kind, **_pairs(claims))
    return {row.provider: row.token for row in rows}


def complete(connection: Connection, tenant_id: UUID, kind: str, claims: Sequence[tuple[UUID, int]]) -> set[UUID]:
    """Remove finished rows by (id, token); returns the ids that were still ours."""
    rows = _run(connection, "complete", tenant=tenant_id, kind=kind, **_pairs(claims))
    return {row.id for row in rows}


def complete_all(connection: Connection, kind: str, claims: Sequence[Claim]) -> set[int]:
    """Remove finished rows of any tenants, as the scheduler; returns the tokens that were still ours."""
    tenants = [claim.tenant_id for claim in claims]
    rows = _run(connection, "complete_all", kind=kind, tenants=tenants, **_pairs([(c.id, c.token) for c in claims]))
    return {row.token for row in rows}


def put_back(connection: Connection, tenant_id: UUID, kind: str, rows: Sequence[PutBack]) -> set[UUID]:
    """Give claims back; returns the ids that were still ours."""
    payload = json.dumps([asdict(row) for row in rows], default=str)
    return {row.id for row in _run(connection, "put_back", tenant=tenant_id, kind=kind, rows=payload)}


def heartbeat(
    connection: Connection,
    worker_id: UUID,
    tokens: Sequence[int],
    *,
    lease_sec: float = LEASE_SEC,
    begun: Sequence[int] = (),
) -> set[int]:
    """Renew every lease of a worker in one statement; returns the tokens still live. ``begun``: with a sandbox."""
    _run(connection, "see_worker", worker=worker_id)
    rows = _run(connection, "heartbeat", worker=worker_id, tokens=list(tokens), lease=lease_sec, begun=list(begun))
    return {row.token for row in rows}


def reap(connection: Connection, *, dead_workers: Sequence[UUID] = ()) -> list[Lost]:
    """End leases that ran out, and those of workers known dead, page by page."""
    lost: list[Lost] = []
    while rows := _run(connection, "reap", dead=list(dead_workers), page=_PAGE).all():
        lost.extend(_lost(row) for row in rows)
    return lost


def _lost(row: Row[Any]) -> Lost:
    fields = dict(row._mapping)
    return Lost(dead=fields.pop("state") == "dead", **fields)


def let_go(connection: Connection, tenant_id: UUID, kind: str, holder: UUID, *, drop: bool) -> None:
    """A holder wants none of its rows now. ``drop``: nor ever will, and those that nobody else holds are removed."""
    _run(connection, "let_go", tenant=tenant_id, kind=kind, holder=str(holder), gone=drop)
    if drop:
        _run(connection, "drop_unwanted", tenant=tenant_id, kind=kind)


def count_states(connection: Connection, tenant_id: UUID, kind: str, holder: UUID) -> dict[str, int]:
    """Rows of a holder by state; those it does not want now are paused, whoever else does."""
    rows = _run(connection, "counts", tenant=tenant_id, kind=kind, holder=str(holder))
    return {row.state: row.rows for row in rows}


def set_share(
    connection: Connection, tenant_id: UUID, kind: str, *, weight: float = 1.0, over_quota: bool = False
) -> None:
    """A tenant's share of service beside the others' in each band; over its quota it is served one band lower."""
    _run(connection, "set_share", tenant=tenant_id, kind=kind, weight=weight, over_quota=over_quota)


def set_over_quota(connection: Connection, tenant_id: UUID, kind: str, *, over_quota: bool) -> None:
    """Say whether a tenant's rows are served one band lower; its weight stays."""
    _run(connection, "set_over_quota", tenant=tenant_id, kind=kind, over_quota=over_quota)


class Depth(NamedTuple):
    """Rows of the queue that are alike, of all tenants together."""

    kind: str
    provider: str
    """Of the lane; empty: of rows that no model is asked for."""
    band: int
    state: str
    rows: int
    oldest_sec: float
    """Since when the first of them is ready."""


def depths(connection: Connection) -> list[Depth]:
    """How much waits and runs, in a scheduler's transaction."""
    return [Depth(**row._mapping) for row in _run(connection, "depths")]


def waited(connection: Connection, tenant_id: UUID, kind: str, ids: Sequence[UUID]) -> dict[UUID, float]:
    """How many seconds rows that were claimed just now had been ready."""
    rows = _run(connection, "waited", tenant=tenant_id, kind=kind, ids=list(ids))
    return {row.id: row.seconds for row in rows}


def dead_letters(
    connection: Connection, tenant_id: UUID, kind: str, *, holder: UUID | None = None, limit: int = 1000
) -> list[DeadLetter]:
    """Dead rows, of one holder or all, with why they died."""
    scope = str(holder) if holder else None
    rows = _run(connection, "dead_letters", tenant=tenant_id, kind=kind, holder=scope, limit=limit)
    return [DeadLetter(**row._mapping) for row in rows]


def requeue_dead(
    connection: Connection,
    tenant_id: UUID,
    kind: str,
    *,
    holder: UUID | None = None,
    ids: Sequence[UUID] | None = None,
) -> set[UUID]:
    """Bring dead rows back with fresh tries; their evidence stays."""
    scope = str(holder) if holder else None
    picked = list(ids) if ids is not None else None
    rows = _run(connection, "requeue_dead", tenant=tenant_id, kind=kind, holder=scope, ids=picked)
    return {row.id for row in rows}


def purge_dead(connection: Connection, tenant_id: UUID, kind: str, *, ids: Sequence[UUID] | None = None) -> set[UUID]:
    """Remove dead rows for good."""
    picked = list(ids) if ids is not None else None
    return {row.id for row in _run(connection, "purge_dead", tenant=tenant_id, kind=kind, ids=picked)}


def _pairs(claims: Sequence[tuple[UUID, int]]) -> dict[str, list[UUID] | list[int]]:
    return {"ids": [id_ for id_, _ in claims], "tokens": [token for _, token in claims]}
