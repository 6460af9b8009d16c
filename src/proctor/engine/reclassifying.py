"""Deriving outcomes again from stored evidence under another policy. Pure repetition: no agent, no verifier runs.

What is derived is appended beside what there was. A run set's numbers change only when its policy pin is moved, and
that is one transaction.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, select, update

from proctor.database.queries import run_query
from proctor.engine.evidence import Evidence, GradingFacts, Phase, VerifierProblem
from proctor.engine.models import result, run_set
from proctor.engine.outcomes import Outcome, OutcomePolicy, Owner, classify
from proctor.engine.planning import RunSetRow
from proctor.engine.recording import KIND, record_outcomes
from proctor.queue import service as queue

__all__ = ["ClassMove", "Reclassifier", "drop_dead_letters", "moves", "pin"]

PAGE: int = 1_000
"""Cells read, classified and written in one transaction."""

_run = partial(run_query, "proctor.engine")
_NO_TIME = datetime(1970, 1, 1, tzinfo=UTC)
"""Rules match what happened and never when."""


@dataclass(frozen=True, kw_only=True)
class ClassMove:
    """Cells of one profile that are in another class now, or in the same with another verdict or owner."""

    profile: str
    before: str
    before_owner: str
    before_verdict: bool | None
    after: str
    after_owner: str
    after_verdict: bool | None
    cells: int


class Reclassifier:
    """Derives a policy's outcomes for one run set, page by page; safe to cut and to repeat."""

    def __init__(self, tenant: UUID, row: RunSetRow, policy: OutcomePolicy) -> None:
        self._tenant, self._row, self._policy = tenant, row, policy
        self._known: dict[tuple[str, str | None, str], Outcome] = {}

    def page(self, connection: Connection, after: UUID) -> tuple[int, UUID]:
        """Do the cells after one, in the order of their ids; returns how many (0 at the end) and the last."""
        rows = _run(
            connection,
            "attempts_to_reclassify",
            tenant=self._tenant,
            run_set=self._row.id,
            policy=self._row.policy_version,
            after=after,
            page=PAGE,
        ).all()
        if not rows:
            return 0, after
        outcomes: list[tuple[UUID, Outcome]] = []
        verdicts: dict[UUID, tuple[UUID, Outcome, float | None]] = {}
        for row in rows:
            for outcome, reward in self._outcomes(row):
                outcomes.append((row.attempt_id, outcome))
                if outcome.verdict is not None:
                    verdicts.setdefault(row.cell_id, (row.attempt_id, outcome, reward))
        record_outcomes(connection, self._tenant, self._policy.version, outcomes, verdicts)
        return len({row.cell_id for row in rows}), rows[-1].cell_id

    def _outcomes(self, row: Any) -> Iterator[tuple[Outcome, float | None]]:
        """One outcome for each grading by the cell's verifier, or one without any."""
        for text in row.gradings or (None,):
            grading = json.loads(text) if text is not None else None
            outcome = self._classify(row.evidence or "[]", grading, row.memory)
            reward = grading.get("primary") if grading else None
            yield replace(outcome, grading=grading["number"] if grading else 0), reward

    def _classify(self, evidence: str, grading: Mapping[str, Any] | None, memory: str) -> Outcome:
        """Attempts that went alike are classified once."""
        verdict = None if grading is None else f"{grading['passed']}/{grading['problem']}"
        key = (evidence, verdict, memory)
        if key not in self._known:
            facts = None if grading is None else _grading(grading)
            self._known[key] = classify(self._policy, _evidence(evidence), facts, out_of_memory=Owner(memory))
        return self._known[key]


def _evidence(text: str) -> list[Evidence]:
    pieces: Sequence[Mapping[str, Any]] = json.loads(text)
    return [
        Evidence(phase=Phase(one["phase"]), seq=seq, started_at=_NO_TIME, ended_at=_NO_TIME, detail=one["detail"])
        for seq, one in enumerate(pieces, start=1)
    ]


def _grading(fields: Mapping[str, Any]) -> GradingFacts:
    problem = fields["problem"]
    return GradingFacts(
        number=fields["number"],
        verifier_digest="",
        mode="",
        backend="",
        forgeable=False,
        rewards=None,
        passed=fields["passed"],
        problem=VerifierProblem(problem) if problem else None,
        primary=fields["primary"],
        graded_at=_NO_TIME,
    )


def moves(connection: Connection, tenant: UUID, row: RunSetRow, version: str) -> list[ClassMove]:
    """Which cells stand elsewhere under a policy than under the run set's own: class, verdict or owner."""
    rows = _run(
        connection, "class_moves", tenant=tenant, run_set=row.id, before=row.policy_version, after=version
    ).all()
    return [ClassMove(**one._mapping) for one in rows]


def pin(connection: Connection, tenant: UUID, row: RunSetRow, version: str) -> RunSetRow:
    """Move a run set to a policy whose outcomes are there."""
    mine = (run_set.c.tenant_id == tenant, run_set.c.id == row.id)
    connection.execute(update(run_set).where(*mine).values(policy_version=version))
    return replace(row, policy_version=version)


def drop_dead_letters(connection: Connection, tenant: UUID, row: RunSetRow) -> None:
    """Dead letters of cells that have a verdict now are waited for by nobody."""
    dead = [letter.id for letter in queue.dead_letters(connection, tenant, KIND, holder=row.id)]
    decided = select(result.c.cell_id).where(
        result.c.tenant_id == tenant, result.c.policy_version == row.policy_version, result.c.cell_id.in_(dead)
    )
    queue.purge_dead(connection, tenant, KIND, ids=list(connection.execute(decided).scalars()))
