"""Imported attempts on record: resolved by name, classified by our policy from the evidence they bring.

What does not resolve is kept as ``unlinked`` with its whole line, outside every number, until a label or a rule makes
its names known.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.evidence import Evidence, GradingFacts
from proctor.engine.identity import attempt_id, cell_id
from proctor.engine.imports.records import AttemptRecord
from proctor.engine.outcomes import OutcomePolicy, classify
from proctor.engine.planning import PlannedProfile
from proctor.engine.recording import Imported, record_imported
from proctor.kernel.ids import derived_id
from proctor.suites.service import StoredTask

__all__ = ["BACKEND", "Names", "bring", "store_unlinked"]

BACKEND: str = "import"
"""Where imported attempts ran: nowhere that we know."""

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

    def unknown(self, record: AttemptRecord) -> str | None:
        """Which of a record's names does not resolve, ``None`` where all do."""
        if record.suite not in self.suites:
            return f"suite {record.suite!r}"
        if self.profile(record) is None:
            return f"profile {record.profile!r}"
        if record.task not in self.tasks:
            return f"task {record.task!r}"
        return None if record.trial <= self.trials else f"trial {record.trial}"

    def profile(self, record: AttemptRecord) -> PlannedProfile | None:
        """The profile a record is of."""
        return self.profiles.get(self.variants.get(record.profile, record.profile))


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


def _imported(tenant: UUID, run_set: UUID, names: Names, policy: OutcomePolicy, record: AttemptRecord) -> Imported:
    profile, task = names.profile(record), names.tasks[record.task]
    assert profile is not None
    cell = cell_id(tenant, profile.configuration, task.agent_digest, task.verifier_digest, record.trial)
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
        usage=record.usage,
        evidence=evidence,
        grading=grading,
        outcome=replace(outcome, grading=0 if grading is None else 1),
        policy_version=policy.version,
        backend=BACKEND,
    )


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
    primary = None
    if record.rewards is not None and task.task is not None:
        primary = record.rewards.get(task.task.primary_reward)
    threshold = task.task.pass_threshold if task.task is not None else 1.0
    return GradingFacts(
        number=1,
        verifier_digest=task.verifier_digest,
        mode=BACKEND,
        backend=BACKEND,
        forgeable=True,
        rewards=record.rewards,
        passed=None if primary is None or record.problem else primary >= threshold,
        problem=record.problem,
        primary=primary,
        graded_at=record.ended_at,
    )


def store_unlinked(
    connection: Connection, tenant: UUID, run_set: UUID, records: Iterable[tuple[AttemptRecord, str]]
) -> None:
    """Keep attempts with a name that does not resolve, and why. A repeat changes nothing."""
    rows = [_unlinked_row(tenant, run_set, record, reason) for record, reason in records]
    if rows:
        _run(connection, "insert_unlinked", tenant=tenant, run_set=run_set, rows=json.dumps(rows))


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
