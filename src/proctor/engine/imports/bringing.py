"""Imported attempts on record: resolved by name, classified by our policy from the evidence they bring.

What does not resolve is kept as ``unlinked`` with its whole line, outside every number, until a label or a rule makes
its names known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.evidence import Evidence, GradingFacts, VerifierProblem
from proctor.engine.identity import attempt_id, cell_id
from proctor.engine.imports.records import AttemptNames, AttemptRecord
from proctor.engine.outcomes import OutcomePolicy, classify
from proctor.engine.planning import PlannedProfile
from proctor.engine.recording import Imported, jsonb_text, record_imported
from proctor.kernel.ids import derived_id
from proctor.suites.service import StoredTask

__all__ = [
    "BACKEND",
    "UNDER_WAY",
    "Content",
    "Names",
    "attempt_of",
    "bring",
    "content_of",
    "is_imported",
    "store_unlinked",
]

BACKEND: str = "import"
"""Where imported attempts ran: nowhere that we know."""

UNDER_WAY: str = "the import is under way or was cut off: the same `proctor import` again completes it"
"""Why a run set of imported results is still said to be running."""

_run = partial(run_query, "proctor.engine")


@dataclass(frozen=True, kw_only=True)
class Names:
    """What the names of a run set's results stand for. Rules are declared by people; nothing is guessed."""

    suites: frozenset[str]
    """Names of the run set's suite: its id, its labels of any time."""
    profiles: Mapping[str, PlannedProfile]
    variants: Mapping[str, str] = field(default_factory=dict)
    """Names that encode a setting, to the profile they stand for."""
    tasks: Mapping[str, StoredTask]
    trials: int

    def unknown(self, record: AttemptNames) -> str | None:
        """Which of a record's names does not resolve, ``None`` where all do."""
        if record.suite not in self.suites:
            return f"suite {record.suite!r}"
        if self.profile(record) is None:
            return f"profile {record.profile!r}"
        if record.task not in self.tasks:
            return f"task {record.task!r}"
        return None if record.trial <= self.trials else f"trial {record.trial}"

    def profile(self, record: AttemptNames) -> PlannedProfile | None:
        """The profile a record is of."""
        return self.profiles.get(self.variants.get(record.profile, record.profile))


def is_imported(profiles: Iterable[PlannedProfile]) -> bool:
    """Whether a run set's profiles are others' results, which can't be gone on with here."""
    return any(str(profile.document["origin"]).startswith("import:") for profile in profiles)


def bring(
    connection: Connection,
    tenant: UUID,
    run_set: UUID,
    names: Names,
    policy: OutcomePolicy,
    records: Sequence[AttemptRecord],
) -> None:
    """Record attempts whose names all resolve; a repeat changes nothing."""
    imported = [_imported(tenant, run_set, names, policy, record) for record in records]
    record_imported(connection, tenant, imported)


class Content(NamedTuple):
    """All that is imported of an attempt but for its names: what tells whether two are one."""

    started_at: datetime
    ended_at: datetime
    usage: Any
    evidence: Any
    grading: Any


def content_of(names: Names, record: AttemptRecord) -> Content:
    """What a record whose names all resolve holds, as the statement ``attempts_at`` reads it of one that is there."""
    grading = _grading(record, names.tasks[record.task])
    return Content(
        started_at=record.started_at,
        ended_at=record.ended_at,
        usage=_usage(record),
        evidence=[[piece.phase.value, piece.detail] for piece in record.evidence] or None,
        grading=None if grading is None else [grading.rewards, grading.problem],
    )


def attempt_of(tenant: UUID, names: Names, record: AttemptRecord) -> UUID:
    """The id that a record whose names all resolve has as an attempt."""
    return attempt_id(tenant, _cell_of(tenant, names, record), record.attempt)


def _cell_of(tenant: UUID, names: Names, record: AttemptRecord) -> UUID:
    profile, task = names.profile(record.names), names.tasks[record.task]
    assert profile is not None
    return cell_id(tenant, profile.configuration, task.agent_digest, task.verifier_digest, record.trial)


def _imported(tenant: UUID, run_set: UUID, names: Names, policy: OutcomePolicy, record: AttemptRecord) -> Imported:
    task, cell = names.tasks[record.task], _cell_of(tenant, names, record)
    evidence = _evidence(record)
    grading = _grading(record, task)
    outcome = classify(policy, evidence, grading)
    return Imported(
        cell=cell,
        attempt=attempt_id(tenant, cell, record.attempt),
        number=record.attempt,
        run_set=run_set,
        content_digest=task.content_digest,
        started_at=record.started_at,
        ended_at=record.ended_at,
        usage=_usage(record),
        evidence=evidence,
        grading=grading,
        outcome=replace(outcome, grading=0 if grading is None else 1),
        policy_version=policy.version,
        backend=BACKEND,
    )


def _usage(record: AttemptRecord) -> dict[str, int | None] | None:
    """What an attempt says it used; of one that knows nothing, nothing: it did not report."""
    used = None if record.usage is None else record.usage.model_dump()
    return used if used and any(amount is not None for amount in used.values()) else None


def _evidence(record: AttemptRecord) -> list[Evidence]:
    return [
        Evidence(
            phase=piece.phase, seq=seq, started_at=record.started_at, ended_at=record.ended_at, detail=piece.detail
        )
        for seq, piece in enumerate(record.evidence, start=1)
    ]


def _grading(record: AttemptRecord, task: StoredTask) -> GradingFacts | None:
    if record.rewards is None and record.problem is None:
        return None
    primary, problem = None, record.problem
    if record.rewards is not None and task.task is not None:
        primary = record.rewards.get(task.task.primary_reward)
        problem = VerifierProblem.MISSING if primary is None else None
    threshold = task.task.pass_threshold if task.task is not None else 1.0
    return GradingFacts(
        number=1,
        verifier_digest=task.verifier_digest,
        mode=BACKEND,
        backend=BACKEND,
        forgeable=True,
        rewards=record.rewards,
        passed=None if primary is None else primary >= threshold,
        problem=problem,
        primary=primary,
        graded_at=record.ended_at,
        detail={"problem": problem.value if problem else None},
    )


def store_unlinked(
    connection: Connection, tenant: UUID, run_set: UUID, records: Iterable[tuple[AttemptRecord, str]]
) -> None:
    """Keep attempts with a name that does not resolve, and why. A repeat changes nothing."""
    rows = [_unlinked_row(tenant, run_set, record, reason) for record, reason in records]
    if rows:
        _run(connection, "insert_unlinked", tenant=tenant, run_set=run_set, rows=jsonb_text(rows))


def _unlinked_row(tenant: UUID, run_set: UUID, record: AttemptRecord, reason: str) -> dict[str, Any]:
    labels = (record.suite, record.profile, record.task, record.trial, record.attempt)
    return {
        "id": str(derived_id("unlinked", tenant, run_set, *labels)),
        "suite": record.suite,
        "profile": record.profile,
        "task": record.task,
        "trial": record.trial,
        "number": record.attempt,
        "record": record.model_dump(mode="json"),
        "reason": f"{reason} is not known",
    }
