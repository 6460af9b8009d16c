"""What ended attempts say of providers, registries, nodes and run sets, written down with them.

A failure that may close something is recorded while nobody claims: what starts after it has seen what it closed.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.assignments import Assignment
from proctor.engine.breakers import (
    MANY,
    Ends,
    Kind,
    Scope,
    blame_of,
    explain,
    registries_that_worked,
    scopes_of,
    troubled,
)
from proctor.engine.evidence import Evidence, Phase, last_error
from proctor.engine.outcomes import CURRENT_POLICY, OutcomeClass
from proctor.engine.policy_book import recall
from proctor.queue import service as queue

if TYPE_CHECKING:
    from proctor.engine.recording import Decided

__all__ = [
    "Reached",
    "ended_lately",
    "forget_ends",
    "heal",
    "is_blamed",
    "owners_between",
    "owners_lately",
    "recent_ends",
    "record_ends",
    "troubled_run_sets",
]

_run = partial(run_query, "proctor.engine")

WINDOW_SEC: float = 600.0
"""What counts as recent: long enough for ten attempts of most run sets, short enough that trouble gone by is."""


def record_ends(
    connection: Connection, tenant: UUID, kind: str, written: Sequence[Decided], late: Collection[int]
) -> frozenset[int]:
    """Count how attempts ended, and close or open what that tells of. ``late``: the tokens that may be probes.

    Returns the tokens of those that were in flight when what failed them closed: they wait for it and use up no try.
    """
    ends = {one.finished.assignment.token: _ends(one) for one in written}
    failed = [one for one in written if scopes_of(ends[one.finished.assignment.token])]
    blamed = {scope for one in failed for scope in scopes_of(ends[one.finished.assignment.token])}
    working = _Working.found(connection, tenant, kind, [_reached(one, late) for one in written]).but(blamed)
    failing: dict[str, int] = {}
    if failed:  # lanes are locked in the order of their names, and before counts are: two writers never cross
        queue.hold_claims(connection, kind)
        failing = queue.failing(connection, tenant, kind, {scope.key for scope in (*blamed, *working.tokens)})
    working.heal(connection, tenant, kind)
    _count(connection, tenant, ends.values())
    return _Closing(connection, tenant, kind, failing).close(failed, ends) if failed else frozenset()


class Reached(NamedTuple):
    """How far an attempt has come, as far as that tells what works."""

    assignment: Assignment
    evidence: Sequence[Evidence]
    phase: str
    """The one it is in; empty: it has ended."""
    late: bool
    """Whether it was claimed since something closed, and may be a probe."""
    verdict: bool = False

    @property
    def has_image(self) -> bool:
        """Whether its images came, or were here."""
        return any(item.phase is Phase.IMAGE and not item.detail.get("failed") for item in self.evidence)

    @property
    def agent_began(self) -> bool:
        """Whether its sandbox started and its agent got to work."""
        return self.phase == Phase.AGENT or any(item.phase is Phase.AGENT for item in self.evidence)


def heal(connection: Connection, tenant: UUID, kind: str, reached: Sequence[Reached]) -> None:
    """Open what attempts that still run have found working."""
    _Working.found(connection, tenant, kind, reached).heal(connection, tenant, kind)


@dataclass(frozen=True)
class _Working:
    """What attempts found working, with the last token that each was claimed under."""

    tokens: Mapping[Scope, int]
    unasked: frozenset[Scope]
    """Registries of which only a probe is known whose images were here or were built: the next one has its turn, and
    what failed lately still counts."""

    @classmethod
    def found(cls, connection: Connection, tenant: UUID, kind: str, reached: Sequence[Reached]) -> _Working:
        worked = _worked(reached)
        past = [(one.assignment.cell, one.assignment.token) for one in reached if one.late and one.has_image]
        probed = queue.probed(connection, tenant, kind, past) if past else {}
        let_in = {scope: token for key, token in probed.items() if (scope := Scope.of_registry(key)) is not None}
        tokens = {scope: max(worked.get(scope, 0), let_in.get(scope, 0)) for scope in (*worked, *let_in)}
        return cls(tokens, frozenset(let_in.keys() - worked.keys()))

    def but(self, blamed: Collection[Scope]) -> _Working:
        """Without what others of the same batch failed by."""
        return _Working({scope: token for scope, token in self.tokens.items() if scope not in blamed}, self.unasked)

    def heal(self, connection: Connection, tenant: UUID, kind: str) -> None:
        opened = queue.lanes_worked(connection, tenant, kind, {one.key: token for one, token in self.tokens.items()})
        for scope in sorted(self.tokens.keys() - self.unasked):
            if scope.key in opened:
                forget_ends(connection, tenant, scope.kind, scope.name)


class _Closing:
    """Closes what failures are explained by, in one transaction."""

    def __init__(self, connection: Connection, tenant: UUID, kind: str, failing: Mapping[str, int]) -> None:
        """``failing``: what is closed already, with the last token that was given before."""
        self._key, self._failing = (connection, tenant, kind), dict(failing)
        self._recent = recent_ends(connection, tenant)
        self._in_a_row: dict[Scope, int] = {}

    def close(self, failed: Sequence[Decided], ends: Mapping[int, Ends]) -> frozenset[int]:
        """Returns the tokens of the failures that wait for a registry or node now, and were in flight when it closed.

        A probe's failure is its own: else the first in the order would be the probe for ever. So is that of a row which
        does not wait for what is closed, and would be claimed again at once.
        """
        claims = [(one.finished.assignment.cell, one.finished.assignment.token) for one in failed]
        gates, newest = queue.gates_of(*self._key, claims), max(token for _, token in claims)
        alike: dict[Ends, list[Decided]] = defaultdict(list)
        for one in failed:
            alike[ends[one.finished.assignment.token]].append(one)
        excused: list[int] = []
        for end, group in alike.items():
            closed = self._close_for(end, group)
            if closed is None:
                continue
            last = self._failing.setdefault(closed.key, newest)
            if closed.kind is Kind.PROVIDER:
                continue  # its disposal waits for the lane
            tokens = [one.finished.assignment.token for one in group if one.finished.assignment.token <= last]
            excused += [one for one in tokens if closed.kind is Kind.NODE or closed.key in gates.get(one, ())]
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
    """How attempts of a tenant ended lately, but for those whose lease was lost: they tell of no task and no gate."""
    rows = _run(connection, "recent_ends", tenant=tenant, window=WINDOW_SEC)
    return [
        Ends(**{**row._mapping, "blame": Kind(row.blame), "tasks": frozenset(chain.from_iterable(row.tasks))})
        for row in rows
    ]


def ended_lately(connection: Connection, tenant: UUID) -> Mapping[str, int]:
    """How many attempts of a tenant ended lately, by class; those whose lease was lost too."""
    rows = _run(connection, "ended_lately", tenant=tenant, window=WINDOW_SEC)
    return {row[0]: row.attempts for row in rows}


def owners_lately(connection: Connection, tenant: UUID) -> Counter[tuple[str, str]]:
    """The same by class and owner, as the policy of today says whose a class is."""
    return _by_owner(connection, tenant, ended_lately(connection, tenant))


def owners_between(connection: Connection, tenant: UUID, since: datetime, until: datetime) -> Counter[tuple[str, str]]:
    """How many attempts of a tenant ended from one minute on and before another, by class and owner.

    An hour is kept, and what was forgotten because a registry or a provider works again is not in it.
    """
    rows = _run(connection, "ended_between", tenant=tenant, since=since, until=until)
    return _by_owner(connection, tenant, {row[0]: row.attempts for row in rows})


def _by_owner(connection: Connection, tenant: UUID, ended: Mapping[str, int]) -> Counter[tuple[str, str]]:
    classes = recall(connection, tenant, CURRENT_POLICY).classes
    return Counter({(name, classes[OutcomeClass(name)].owner.value): attempts for name, attempts in ended.items()})


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


def _reached(decided: Decided, late: Collection[int]) -> Reached:
    assignment, has_verdict = decided.finished.assignment, decided.outcome.verdict is not None
    return Reached(assignment, decided.finished.evidence, "", late=assignment.token in late, verdict=has_verdict)


def _worked(reached: Sequence[Reached]) -> dict[Scope, int]:
    """What attempts asked and was there for them, with the last token that each was claimed under."""
    worked: dict[Scope, int] = {}
    for one in reached:
        assignment = one.assignment
        scopes = [Scope(kind=Kind.REGISTRY, name=name) for name in registries_that_worked(one.evidence)]
        if one.verdict:
            scopes.append(Scope(kind=Kind.PROVIDER, name=assignment.provider))
        if assignment.node and one.agent_began:
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
            "tasks": sorted(tasks)[:MANY],
        }
        for key, tasks in counted.items()
    ]
    fresh = _run(connection, "count_ends", tenant=tenant, rows=json.dumps(rows), many=MANY).scalars().all()
    if any(fresh):
        _run(connection, "prune_ends", tenant=tenant)
