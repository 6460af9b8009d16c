"""Writing down what happened, in the order of 03: attempt and evidence, then grading, outcome and result, then the
queue row with the events, in one transaction that is safe to repeat from any point.

A batch is for one tenant. Under a token that is no longer live nothing of an attempt is written.
"""

from __future__ import annotations

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, CursorResult

from proctor.database.queries import run_query
from proctor.engine.assignments import Assignment, Finished
from proctor.engine.blaming import Reached, heal, record_ends
from proctor.engine.budgets import EngineBudgets
from proctor.engine.certificates.ledger import TaskKey, quarantine_task
from proctor.engine.evidence import Evidence, GradingFacts, Phase
from proctor.engine.outcomes import Disposal, Outcome, Owner, classify, dispose, load_policy
from proctor.engine.rows import evidence_rows, grading_row, outcome_row
from proctor.identity.audit_log import starter_of
from proctor.kernel.canonical import Json
from proctor.kernel.errors import IntegrityError
from proctor.kernel.ids import derived_id
from proctor.models.calls import Payer
from proctor.models.spending.accounts import Reported, add_reported
from proctor.queue import service as queue

__all__ = [
    "KIND",
    "Decided",
    "Imported",
    "Moved",
    "Regrading",
    "decide",
    "jsonb_text",
    "link_results",
    "memory_owner",
    "record_batch",
    "record_imported",
    "record_lost",
    "record_outcomes",
    "record_progress",
    "record_regrade",
    "recorded_before",
    "refresh_statistics",
    "stored_evidence",
]

_run = partial(run_query, "proctor.engine")

KIND: str = "cell"
"""The kind of queue rows that cells are."""


@dataclass(frozen=True, kw_only=True)
class Decided:
    """A finished attempt with its outcomes: one per grading, the last of which decides."""

    finished: Finished
    outcomes: tuple[Outcome, ...]
    disposal: Disposal

    @property
    def outcome(self) -> Outcome:
        """The outcome that decides."""
        return self.outcomes[-1]


@dataclass(frozen=True, kw_only=True)
class Moved:
    """A running attempt that has come further."""

    assignment: Assignment
    evidence: Sequence[Evidence]
    """Of the phases that ended since the last time."""
    segment: int
    """The number of the last log segment written."""
    phase: str
    """The one it is in."""
    entered: int | None = None
    """How many phases ended before that one, where it is new since the last time."""


@dataclass(frozen=True, kw_only=True)
class Regrading:
    """New gradings of an attempt that ended before, an outcome each, and the cell that their verdict is of."""

    run_set: UUID
    attempt: UUID
    cell: UUID
    policy_version: str
    trace_id: str
    gradings: Sequence[GradingFacts]
    outcomes: Sequence[Outcome]


@dataclass(frozen=True, kw_only=True)
class Imported:
    """An attempt that others made, with the class that our policy makes of its evidence."""

    cell: UUID
    attempt: UUID
    number: int
    run_set: UUID
    content_digest: str
    started_at: datetime
    ended_at: datetime
    usage: Mapping[str, int | None] | None
    evidence: Sequence[Evidence]
    grading: GradingFacts | None
    outcome: Outcome
    policy_version: str
    backend: str


def decide(finished: Finished, rng: random.Random) -> Decided:
    """Classify a finished attempt and say what becomes of its cell's queue row. Pure but for the jitter."""
    assignment = finished.assignment
    policy = load_policy(assignment.policy_version)
    memory = memory_owner(assignment.configuration)
    gradings: Sequence[GradingFacts | None] = finished.gradings or (None,)
    outcomes = tuple(classify(policy, finished.evidence, grading, out_of_memory=memory) for grading in gradings)
    disposal = dispose(policy, outcomes[-1], tries=assignment.tries, jitter=rng.uniform(-1, 1))
    return Decided(finished=finished, outcomes=outcomes, disposal=disposal)


def memory_owner(configuration: Mapping[str, Json]) -> Owner:
    policies = configuration["policies"]
    assert isinstance(policies, Mapping)
    return Owner(str(policies["out_of_memory"]))


def record_batch(connection: Connection, tenant: UUID, batch: Sequence[Decided]) -> list[Decided]:
    """Record finished attempts of one tenant; returns those whose lease still held, the only ones written."""
    claims = [(d.finished.assignment.cell, d.finished.assignment.token) for d in batch]
    live = queue.held(connection, tenant, KIND, claims)
    written = [d for d in batch if d.finished.assignment.token in live]
    if not written:
        return []
    _record_attempts(connection, tenant, written)
    _record_verdicts(connection, tenant, written)
    _record_queue(connection, tenant, written, {token for token, late in live.items() if late})
    _quarantine(connection, tenant, written)
    return written


def _quarantine(connection: Connection, tenant: UUID, written: Sequence[Decided]) -> None:
    """Tasks whose verifier broke over the reference solution, too; a fault made on purpose says nothing of a task."""
    real = [d for d in written if d.finished.assignment.configuration.get("fault_plan") is None]
    broken = [d for d in real if any(item.detail.get("reference") == "failed" for item in d.finished.evidence)]
    if not broken:
        return
    attempts = {d.finished.assignment.content_digest: d.finished.assignment.attempt for d in broken}
    for row in _run(connection, "digests_of", tenant=tenant, content_digests=list(attempts)):
        key = TaskKey(agent_digest=row.agent_digest, verifier_digest=row.verifier_digest)
        source = f"attempt {attempts[row.content_digest]}"
        quarantine_task(
            connection, tenant, key, reason="its verifier breaks over the reference solution", source=source
        )


def recorded_before(connection: Connection, tenant: UUID, batch: Sequence[Decided]) -> list[Decided]:
    """Those that an earlier try recorded, whose commit's answer was lost with the connection; not the lost leases."""
    ids = [d.finished.assignment.attempt for d in batch]
    found = set(_run(connection, "recorded_attempts", tenant=tenant, ids=ids).scalars())
    return [d for d in batch if d.finished.assignment.attempt in found]


def _record_attempts(connection: Connection, tenant: UUID, written: Sequence[Decided]) -> None:
    _write(connection, "end_attempts", tenant, [_attempt_row(d.finished) for d in written])
    evidence = [row for d in written for row in evidence_rows(d.finished.assignment.attempt, d.finished.evidence)]
    insert_evidence(connection, tenant, evidence)
    spent = [one for d in written if (one := _reported(connection, tenant, d.finished)) is not None]
    if spent:
        add_reported(connection, tenant, EngineBudgets(), spent)


def insert_evidence(connection: Connection, tenant: UUID, rows: Sequence[Mapping[str, Any]]) -> None:
    """Append evidence; a repeat changes nothing, a repeat with other content is an integrity error."""
    added = _write(connection, "insert_evidence", tenant, rows).rowcount
    if added < len(rows) and _write(connection, "evidence_differs", tenant, rows).scalar_one():
        raise IntegrityError("Evidence under an id that is taken says something else.", where=str(tenant))


def _record_verdicts(connection: Connection, tenant: UUID, written: Sequence[Decided]) -> None:
    gradings = [grading_row(d.finished.assignment.attempt, g) for d in written for g in d.finished.gradings]
    if gradings:
        _write(connection, "insert_gradings", tenant, gradings)
    _write(connection, "insert_outcomes", tenant, _outcome_rows(written))
    results = [_result_of(d) for d in written if d.outcome.verdict is not None]
    if results:
        _write(connection, "insert_results", tenant, results)


def _record_queue(connection: Connection, tenant: UUID, written: Sequence[Decided], late: set[int]) -> None:
    excused = record_ends(connection, tenant, KIND, written, late)
    done = [(d.finished.assignment.cell, d.finished.assignment.token) for d in written if d.disposal.done]
    back = [_put_back(d, excused) for d in written if not d.disposal.done]
    if done:
        queue.complete(connection, tenant, KIND, done)
    if back:
        queue.put_back(connection, tenant, KIND, back)
    _write(connection, "insert_events", tenant, [_event_row(d) for d in written])


def record_progress(connection: Connection, tenant: UUID, moved: Sequence[Moved]) -> None:
    """What has become known of running attempts: phases that ended, the one they are in, how far the log has come.

    Of those whose lease was lost nothing is written: they have ended, and what they are is said. What a probe has found
    working opens now: its attempt may take hours.
    """
    live = queue.held(connection, tenant, KIND, [(one.assignment.cell, one.assignment.token) for one in moved])
    moved = [one for one in moved if one.assignment.token in live]
    rows = [row for one in moved for row in evidence_rows(one.assignment.attempt, one.evidence)]
    if rows:
        insert_evidence(connection, tenant, rows)
    _run(
        connection,
        "see_attempts",
        tenant=tenant,
        ids=[one.assignment.attempt for one in moved],
        segments=[one.segment for one in moved],
        phases=[one.phase for one in moved],
    )
    if entered := [_reached_event(one, one.entered) for one in moved if one.entered is not None]:
        _write(connection, "insert_events", tenant, entered)
    late = [Reached(one.assignment, one.evidence, one.phase, late=True) for one in moved if live[one.assignment.token]]
    if late:
        heal(connection, tenant, KIND, late)


def record_lost(connection: Connection, tenant: UUID, lost: Sequence[queue.Lost]) -> int:
    """End the attempts whose lease was lost, as ``lease_lost``; returns how many. Their rows are already requeued."""
    tokens, cells = [one.token for one in lost], [one.id for one in lost]
    attempts = _run(connection, "lost_attempts", tenant=tenant, tokens=tokens, cells=cells).all()
    if not attempts:
        return 0
    reasons = {one.id: one.reason for one in lost}
    _write(connection, "end_attempts", tenant, [_lost_attempt(row) for row in attempts])
    insert_evidence(connection, tenant, [_lost_evidence(row, reasons[row.cell_id]) for row in attempts])
    _write(connection, "insert_outcomes", tenant, [_lost_outcome(row) for row in attempts])
    _write(connection, "insert_events", tenant, [_lost_event(tenant, row) for row in attempts])
    _run(connection, "count_losses", tenant=tenant, run_sets=[row.run_set_id for row in attempts])
    return len(attempts)


def stored_evidence(connection: Connection, tenant: UUID, attempt: UUID) -> list[Evidence]:
    """An attempt's evidence as it was recorded."""
    rows = _run(connection, "stored_evidence", tenant=tenant, attempt=attempt)
    return [Evidence(**{**row._mapping, "phase": Phase(row.phase)}) for row in rows]


def record_regrade(connection: Connection, tenant: UUID, regrading: Regrading) -> None:
    """Append gradings of an attempt that ended before, their outcomes, and the cell's verdict if it had none."""
    attempt, policy = regrading.attempt, regrading.policy_version
    _write(connection, "insert_gradings", tenant, [grading_row(attempt, facts) for facts in regrading.gradings])
    _write(connection, "insert_outcomes", tenant, [outcome_row(attempt, policy, one) for one in regrading.outcomes])
    if regrading.outcomes[-1].verdict is not None:
        reward = regrading.gradings[-1].primary
        result = _result_row(regrading.cell, attempt, policy, regrading.outcomes[-1], reward)
        _write(connection, "insert_results", tenant, [result])
    _write(connection, "insert_events", tenant, [_regrade_event(tenant, regrading)])


def record_imported(connection: Connection, tenant: UUID, imported: Sequence[Imported]) -> None:
    """Append imported attempts of cells that exist; ``link_results`` makes their verdicts count. Safe to repeat."""
    if not imported:
        return
    _write(connection, "insert_imported_attempts", tenant, [_imported_row(one) for one in imported])
    evidence = [row for one in imported for row in evidence_rows(one.attempt, one.evidence)]
    insert_evidence(connection, tenant, evidence)
    gradings = [grading_row(one.attempt, one.grading) for one in imported if one.grading is not None]
    _write(connection, "insert_gradings", tenant, gradings)
    outcomes = [outcome_row(one.attempt, one.policy_version, one.outcome) for one in imported]
    _write(connection, "insert_outcomes", tenant, outcomes)


def link_results(connection: Connection, tenant: UUID, run_set: UUID, policy_version: str) -> int:
    """Write the verdicts that cells' outcomes hold and no result says yet; returns how many. Safe to repeat.

    Thousands of rows may just have come in, and come by this: the planner is told before and after.
    """
    refresh_statistics(connection)
    linked = _run(connection, "link_results", tenant=tenant, run_set=run_set, policy=policy_version).rowcount
    refresh_statistics(connection)
    return linked


def refresh_statistics(connection: Connection) -> None:
    """Tell the planner how large the tables are by now, where autovacuum would come too late: see the migration."""
    _run(connection, "refresh_statistics")


def record_outcomes(
    connection: Connection,
    tenant: UUID,
    policy_version: str,
    outcomes: Sequence[tuple[UUID, Outcome]],
    results: Mapping[UUID, tuple[UUID, Outcome, float | None]],
) -> None:
    """Append outcomes of attempts under a policy, and cells' verdicts: (attempt, outcome, primary reward) by cell."""
    rows = [outcome_row(attempt, policy_version, outcome) for attempt, outcome in outcomes]
    _write(connection, "insert_outcomes", tenant, rows)
    verdicts = [
        _result_row(cell, one, policy_version, outcome, reward) for cell, (one, outcome, reward) in results.items()
    ]
    _write(connection, "insert_results", tenant, verdicts)


# --- rows -------------------------------------------------------------------------------------------------------------


def _attempt_row(finished: Finished) -> dict[str, Any]:
    return {
        "id": finished.assignment.attempt,
        "last_segment": finished.last_segment,
        "limits": finished.limits,
        "usage": finished.usage,
        "artifacts": [
            {"name": name, "key": stored.key, "sha256": stored.sha256, "size": stored.size}
            for name, stored in sorted(finished.artifacts.items())
        ],
    }


def _imported_row(one: Imported) -> dict[str, Any]:
    return {
        "id": one.attempt,
        "cell_id": one.cell,
        "number": one.number,
        "run_set_id": one.run_set,
        "content_digest": one.content_digest,
        "backend": one.backend,
        "trace_id": one.attempt.hex,
        "started_at": one.started_at,
        "ended_at": one.ended_at,
        "usage": one.usage,
    }


def _outcome_rows(written: Sequence[Decided]) -> list[dict[str, Any]]:
    assignments = [(d.finished.assignment, outcome) for d in written for outcome in d.outcomes]
    return [outcome_row(one.attempt, one.policy_version, outcome) for one, outcome in assignments]


def _result_of(decided: Decided) -> dict[str, Any]:
    assignment, gradings = decided.finished.assignment, decided.finished.gradings
    reward = gradings[-1].primary if gradings else None
    return _result_row(assignment.cell, assignment.attempt, assignment.policy_version, decided.outcome, reward)


def _result_row(
    cell: UUID, attempt: UUID, policy_version: str, outcome: Outcome, reward: float | None
) -> dict[str, Any]:
    return {
        "cell_id": cell,
        "attempt_id": attempt,
        "grading": outcome.grading,
        "policy_version": policy_version,
        "class": outcome.outcome.value,
        "verdict": outcome.verdict,
        "reward": reward,
    }


def _reported(connection: Connection, tenant: UUID, finished: Finished) -> Reported | None:
    """What an attempt cost by its agent's own word; of one whose calls the gateway made the ledger knows already."""
    cost = finished.usage.get("cost_nano") if finished.usage else None
    if not isinstance(cost, int) or not cost or finished.metered:
        return None
    one = finished.assignment
    user = starter_of(connection, tenant, one.run_set)
    payer = Payer(tenant=tenant, run_set=one.run_set, profile=one.profile, user=str(user or ""), attempt=one.attempt)
    return Reported(id=derived_id("ledger", tenant, one.attempt), payer=payer, nano=cost)


def _put_back(decided: Decided, excused: frozenset[int]) -> queue.PutBack:
    """``excused``: tokens of those that wait for what is closed now; a closed gate is wait enough."""
    assignment, disposal = decided.finished.assignment, decided.disposal
    if assignment.token in excused:
        disposal = Disposal()
    return queue.PutBack(
        id=assignment.cell,
        token=assignment.token,
        dead=disposal.dead,
        delay=disposal.delay,
        used=disposal.used,
        reason=decided.outcome.outcome.value,
    )


def _event_row(decided: Decided) -> dict[str, Any]:
    assignment, outcome = decided.finished.assignment, decided.outcome
    return {
        "id": derived_id("event", "attempt.ended", assignment.tenant, assignment.attempt),
        "name": "attempt.ended",
        "subject": assignment.attempt,
        "trace_id": assignment.trace_id,
        "payload": {
            "run_set": assignment.run_set,
            "cell": assignment.cell,
            "class": outcome.outcome.value,
            "owner": outcome.owner.value,
            "verdict": outcome.verdict,
        },
    }


def _reached_event(moved: Moved, phases: int) -> dict[str, Any]:
    assignment = moved.assignment
    return {
        "id": derived_id("event", "attempt.reached", assignment.tenant, assignment.attempt, phases),
        "name": "attempt.reached",
        "subject": assignment.attempt,
        "trace_id": assignment.trace_id,
        "payload": {"run_set": assignment.run_set, "cell": assignment.cell, "phase": moved.phase},
    }


def _regrade_event(tenant: UUID, regrading: Regrading) -> dict[str, Any]:
    outcome = regrading.outcomes[-1]
    return {
        "id": derived_id("event", "attempt.regraded", tenant, regrading.attempt, regrading.gradings[-1].number),
        "name": "attempt.regraded",
        "subject": regrading.attempt,
        "trace_id": regrading.trace_id,
        "payload": {
            "run_set": regrading.run_set,
            "cell": regrading.cell,
            "class": outcome.outcome.value,
            "verdict": outcome.verdict,
        },
    }


def _lost_attempt(row: Any) -> dict[str, Any]:
    return {"id": row.id, "last_segment": 0, "limits": {}, "usage": None, "artifacts": []}


def _lost_evidence(row: Any, reason: str) -> dict[str, Any]:
    return {
        "attempt_id": row.id,
        "seq": row.seq + 1,
        "phase": "record",
        "started_at": row.started_at,
        "ended_at": row.started_at,
        "detail": {"failed": True, "source": "queue", "reason": "lease_lost", "message": reason},
    }


def _lost_outcome(row: Any) -> dict[str, Any]:
    return {
        "attempt_id": row.id,
        "grading": 0,
        "policy_version": row.policy_version,
        "class": "lease_lost",
        "owner": "infrastructure",
        "rule": "lease-lost",
        "verdict": None,
        "limit": "",
    }


def _lost_event(tenant: UUID, row: Any) -> dict[str, Any]:
    return {
        "id": derived_id("event", "attempt.ended", tenant, row.id),
        "name": "attempt.ended",
        "subject": row.id,
        "trace_id": row.trace_id,
        "payload": {"run_set": row.run_set_id, "cell": row.cell_id, "class": "lease_lost", "verdict": None},
    }


def _write(connection: Connection, name: str, tenant: UUID, rows: Sequence[Mapping[str, Any]]) -> CursorResult[Any]:
    return _run(connection, name, tenant=tenant, rows=jsonb_text(rows))


def jsonb_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """Rows as JSON that jsonb takes: no NUL and no half of a surrogate pair, whatever a program printed."""
    text = json.dumps(rows, default=_as_text, ensure_ascii=False)
    return text.encode("utf-8", "replace").decode().replace("\\u0000", "\ufffd")


def _as_text(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)
