"""What ended attempts say of providers, registries, nodes and run sets, written down with them.

A failure that may close something is recorded while nobody claims: what starts after it has seen what it closed.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.breakers import (
    Ends,
    Kind,
    Scope,
    blame_of,
    explain,
    registries_that_worked,
    scopes_of,
    troubled,
)
from proctor.engine.evidence import Phase, last_error
from proctor.engine.outcomes import OutcomeClass
from proctor.queue import service as queue

if TYPE_CHECKING:
    from proctor.engine.recording import Decided

__all__ = ["forget_ends", "is_blamed", "record_ends", "troubled_run_sets"]

_run = partial(run_query, "proctor.engine")

WINDOW_SEC: float = 600.0
"""What counts as recent: long enough for ten attempts of most run sets, short enough that trouble gone by is."""


def record_ends(connection: Connection, tenant: UUID, kind: str, written: Sequence[Decided]) -> frozenset[int]:
    """Count how attempts ended, and close or open what that tells of.

    Returns the tokens of those that failed by what is closed now: they wait for it and use up no try.
    """
    ends = {one.finished.assignment.token: _ends(one) for one in written}
    failed = [one for one in written if scopes_of(ends[one.finished.assignment.token])]
    blamed = {scope for one in failed for scope in scopes_of(ends[one.finished.assignment.token])}
    worked = {scope: token for scope, token in _worked(written).items() if scope not in blamed}
    failing: set[str] = set()
    if failed:  # lanes are locked in the order of their names, and before counts are: two writers never cross
        queue.hold_claims(connection, kind)
        failing = queue.failing(connection, tenant, kind, {scope.key for scope in (*blamed, *worked)})
    opened = queue.lanes_worked(connection, tenant, kind, {scope.key: token for scope, token in worked.items()})
    for scope in worked:
        if scope.key in opened:
            forget_ends(connection, tenant, scope.kind, scope.name)
    _count(connection, tenant, ends.values())
    return _Closing(connection, tenant, kind, failing).close(failed, ends) if failed else frozenset()


class _Closing:
    """Closes what failures are explained by, in one transaction."""

    def __init__(self, connection: Connection, tenant: UUID, kind: str, failing: set[str]) -> None:
        self._key, self._failing = (connection, tenant, kind), failing
        self._recent = recent_ends(connection, tenant)
        self._in_a_row: dict[Scope, int] = {}

    def close(self, failed: Sequence[Decided], ends: Mapping[int, Ends]) -> frozenset[int]:
        """Returns the tokens of the failures that wait for a registry or node that is closed now."""
        alike: dict[Ends, list[Decided]] = defaultdict(list)
        for one in failed:
            alike[ends[one.finished.assignment.token]].append(one)
        excused: list[int] = []
        for end, group in alike.items():
            closed = self._close_for(end, group)
            if closed is not None:
                self._failing.add(closed.key)
                excused += [d.finished.assignment.token for d in group if closed.kind is not Kind.PROVIDER]
        return frozenset(excused)

    def _close_for(self, ends: Ends, group: Sequence[Decided]) -> Scope | None:
        """What is closed already, what the policy says waits for its lane, or what explains the failure."""
        counts = {ends.outcome: len(group)}
        known = [scope for scope in scopes_of(ends) if scope.key in self._failing]
        if not known and not any(one.disposal.close_lane for one in group):
            return self._explained(ends, counts)
        scope = known[0] if known else scopes_of(ends)[0]
        queue.lane_failed(
            *self._key,
            scope.key,
            reason=ends.outcome,
            retry_after=max((d.finished.retry_after for d in group if d.finished.retry_after), default=None),
            counts=counts,
            careful=ends.outcome == OutcomeClass.PROVIDER_RATE_LIMIT,
        )
        return scope

    def _explained(self, ends: Ends, counts: Mapping[str, int]) -> Scope | None:
        for scope in scopes_of(ends):
            self._in_a_row[scope] = queue.lane_strained(*self._key, scope.key, counts)
        found = explain(ends, self._recent, self._in_a_row)
        if found is not None:
            queue.lane_failed(*self._key, found.key, reason=ends.outcome, retry_after=None, counts={})
        return found


def is_blamed(decided: Decided) -> bool:
    """Whether its run set may be paused for it."""
    return _ends(decided).blame not in (Kind.NOBODY, Kind.PROVIDER)


def troubled_run_sets(
    connection: Connection, tenant: UUID, kind: str, blamed: Sequence[Decided]
) -> Mapping[UUID, Mapping[str, int]]:
    """The run sets of these attempts whose share of failures nothing smaller explains, with the class counts."""
    closed = {lane.provider for lane in queue.lanes(connection, tenant, kind) if lane.failures}
    recent = [
        ends for ends in recent_ends(connection, tenant) if not any(scope.key in closed for scope in scopes_of(ends))
    ]
    found = {one: troubled(one, recent) for one in {decided.finished.assignment.run_set for decided in blamed}}
    return {run_set: counts for run_set, counts in found.items() if counts}


def recent_ends(connection: Connection, tenant: UUID) -> list[Ends]:
    """How attempts of a tenant ended lately."""
    rows = _run(connection, "recent_ends", tenant=tenant, window=WINDOW_SEC)
    return [Ends(**{**row._mapping, "blame": Kind(row.blame)}) for row in rows]


def forget_ends(connection: Connection, tenant: UUID, kind: Kind, name: str) -> None:
    """Begin to count anew for a provider, registry, node or run set."""
    _run(connection, "forget_ends", tenant=tenant, scope=kind.value, name=name)


def _ends(decided: Decided) -> Ends:
    assignment, evidence = decided.finished.assignment, decided.finished.evidence
    ended = last_error(evidence)
    blamed = str(ended.detail.get("registry") or "") if ended is not None else ""
    return Ends(
        run_set=assignment.run_set,
        provider=assignment.provider,
        registry=blamed or next(iter(registries_that_worked(evidence)), ""),
        node=assignment.node,
        blame=blame_of(decided.outcome, evidence),
        outcome=decided.outcome.outcome.value,
        attempts=1,
        task=assignment.content_digest,
    )


def _worked(written: Sequence[Decided]) -> dict[Scope, int]:
    """What attempts found working, with the last token that each was claimed under."""
    worked: dict[Scope, int] = {}
    for one in written:
        assignment, evidence = one.finished.assignment, one.finished.evidence
        scopes = [Scope(kind=Kind.REGISTRY, name=name) for name in registries_that_worked(evidence)]
        if one.outcome.verdict is not None:
            scopes.append(Scope(kind=Kind.PROVIDER, name=assignment.provider))
        if assignment.node and any(item.phase is Phase.AGENT for item in evidence):
            scopes.append(Scope(kind=Kind.NODE, name=assignment.node))
        for scope in scopes:
            worked[scope] = max(assignment.token, worked.get(scope, 0))
    return worked


def _count(connection: Connection, tenant: UUID, ends: Iterable[Ends]) -> None:
    counted: dict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    for one in ends:
        key = (str(one.run_set), one.provider, one.registry, one.node, one.blame.value, one.outcome)
        counted[key][one.task] += one.attempts
    names = ("run_set", "provider", "registry", "node", "blame", "class")
    rows = [
        {
            **dict(zip(names, key, strict=True)),
            "attempts": tasks.total(),
            "task": next(iter(tasks)),
            "several": len(tasks) > 1,
        }
        for key, tasks in counted.items()
    ]
    fresh = _run(connection, "count_ends", tenant=tenant, rows=json.dumps(rows)).scalars().all()
    if any(fresh):
        _run(connection, "prune_ends", tenant=tenant)
