"""One attempt graded again: its kept final state in a new sandbox, the verifier over it, and what came of it on record.

The agent does not run and nothing is paid. What is recorded is safe to repeat, and a cut leaves nothing half done.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import UUID

from sqlalchemy import Connection, func, select

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.engine import artifacts
from proctor.engine.assignments import Assignment
from proctor.engine.attempt_sandboxes import AttemptSandboxes
from proctor.engine.certificates.ledger import TaskKey, judge_repeats
from proctor.engine.evidence import GradingFacts
from proctor.engine.identity import cell_id
from proctor.engine.models import grading, outcome
from proctor.engine.outcomes import classify
from proctor.engine.parts import RunnerParts
from proctor.engine.planning import lock
from proctor.engine.policy_book import recall
from proctor.engine.recording import Regrading, memory_owner, record_regrade, stored_evidence
from proctor.engine.regrading.candidates import Candidate
from proctor.engine.states import Collected
from proctor.engine.step_grading import GRADINGS, StepGrader
from proctor.engine.steps import StepPlan, grade_whole, plan_steps
from proctor.sandboxes.interfaces import Snapshot
from proctor.suites.tasks import Task, VerificationMode

__all__ = ["Regraded", "Regrader"]

_run = partial(run_query, "proctor.engine")


@dataclass(frozen=True, kw_only=True)
class Regraded:
    """A candidate's new verdict, ``None`` where the verifier broke again."""

    candidate: Candidate
    after: bool | None
    outcome: str


class Regrader:
    """Grades candidates of one tenant."""

    def __init__(self, database: Database, tenant: UUID, parts: RunnerParts) -> None:
        self._database, self._tenant, self._parts = database, tenant, parts

    async def grade_cell(self, candidates: Sequence[Candidate]) -> Regraded:
        """The first verdict among a cell's attempts, in their order. Raises what the sandbox or database raises."""
        for candidate in candidates:
            done = await self.grade(candidate)
            if done.after is not None:
                break
        return done

    async def grade(self, candidate: Candidate) -> Regraded:
        """Grade one attempt, a step that breaks its verifier once more, and record it."""
        loaded = await asyncio.to_thread(self._parts.library.load, self._tenant, candidate.task.content_digest)
        assert loaded.task is not None
        assert loaded.folder is not None
        plans = plan_steps(loaded.task, loaded.folder, candidate.document)
        sandboxes = AttemptSandboxes(self._assignment(candidate), self._parts)
        grader = StepGrader(self._parts, sandboxes, loaded, lambda: _unheard)
        gradings: list[GradingFacts] = []
        results: list[GradingFacts] = []
        await sandboxes.bring_images(loaded.task, loaded.folder)
        try:
            for plan in plans:
                with tempfile.TemporaryDirectory(dir=self._parts.scratch) as folder:
                    collected = await self._collected(candidate, sandboxes, loaded.task, plan, Path(folder))
                    results.append(await self._step(candidate, grader, plan, collected, gradings))
                if not plan.permits(results[-1].rewards):
                    break
        finally:
            await sandboxes.destroy_all()
        if loaded.task.steps:
            number, now = candidate.gradings + len(gradings) + 1, self._parts.clock.now()
            results = [grade_whole(loaded.task, plans, results, number=number, graded_at=now)]
        return await asyncio.to_thread(self._record, candidate, [*gradings, *results])

    async def _step(
        self,
        candidate: Candidate,
        grader: StepGrader,
        plan: StepPlan,
        collected: Collected,
        gradings: list[GradingFacts],
    ) -> GradingFacts:
        """The verifier's last word on a step; a try that broke before it joins the gradings."""
        for attempt in range(1, GRADINGS + 1):
            number = candidate.gradings + len(gradings) + 1
            facts = await grader.on_copy(plan, collected, number=number)
            if facts.problem is None or attempt == GRADINGS:
                return facts
            gradings.append(facts)
        raise AssertionError("unreachable: the last try returns")

    async def _collected(
        self, candidate: Candidate, sandboxes: AttemptSandboxes, task: Task, plan: StepPlan, folder: Path
    ) -> Collected:
        """A step's kept state, and out of it the declared paths where the verifier gets nothing else."""
        stored = candidate.states[plan.state_name]
        path = folder / "state.tar"
        await asyncio.to_thread(self._parts.objects.fetch, stored, path)
        state = Snapshot(path=path, sha256=stored.sha256, size=stored.size)
        if plan.terms.mode is not VerificationMode.SEPARATE:
            return Collected(state=state)
        sandbox = await sandboxes.create(task, plan.terms, base=state)
        declared = folder / "artifacts"
        await artifacts.take(sandbox, plan.artifacts, declared)
        await sandboxes.destroy(sandbox)
        return Collected(state=state, artifacts=declared)

    def _assignment(self, candidate: Candidate) -> Assignment:
        """What its sandboxes are labelled with."""
        return Assignment(
            tenant=self._tenant,
            cell=candidate.cell,
            attempt=candidate.attempt,
            number=0,
            token=0,
            tries=0,
            run_set=candidate.run_set,
            content_digest=candidate.task.content_digest,
            configuration=candidate.document,
            provider="",
            trace_id=candidate.trace_id,
            policy_version=candidate.policy_version,
        )

    # --- on record ------------------------------------------------------------------------------------------------

    def _record(self, candidate: Candidate, gradings: Sequence[GradingFacts]) -> Regraded:
        memory = memory_owner(candidate.document)

        def work(connection: Connection) -> Regraded:
            lock(connection, self._tenant)
            if _gradings(connection, self._tenant, candidate) > candidate.gradings:
                return _as_recorded(connection, self._tenant, candidate)
            policy = recall(connection, self._tenant, candidate.policy_version)
            evidence = stored_evidence(connection, self._tenant, candidate.attempt)
            outcomes = [classify(policy, evidence, facts, out_of_memory=memory) for facts in gradings]
            regrading = Regrading(
                run_set=candidate.run_set,
                attempt=candidate.attempt,
                cell=_new_cell(connection, self._tenant, candidate),
                policy_version=candidate.policy_version,
                trace_id=candidate.trace_id,
                gradings=gradings,
                outcomes=outcomes,
            )
            record_regrade(connection, self._tenant, regrading)
            _judge(connection, self._tenant, candidate)
            return _regraded(candidate, outcomes[-1].outcome, outcomes[-1].verdict)

        return self._database.as_tenant(self._tenant, work)


def _regraded(candidate: Candidate, outcome: str, verdict: bool | None) -> Regraded:
    return Regraded(candidate=candidate, outcome=str(outcome), after=verdict)


def _gradings(connection: Connection, tenant: UUID, candidate: Candidate) -> int:
    of_attempt = (grading.c.tenant_id == tenant, grading.c.attempt_id == candidate.attempt)
    return connection.execute(select(func.max(grading.c.number)).where(*of_attempt)).scalar_one() or 0


def _as_recorded(connection: Connection, tenant: UUID, candidate: Candidate) -> Regraded:
    """Graded by another command meanwhile, or by this one before its answer was lost."""
    of_attempt = (outcome.c.tenant_id == tenant, outcome.c.attempt_id == candidate.attempt)
    query = select(outcome.c["class"], outcome.c.verdict).where(
        *of_attempt, outcome.c.policy_version == candidate.policy_version
    )
    row = connection.execute(query.order_by(outcome.c.grading.desc()).limit(1)).one()
    return _regraded(candidate, row[0], row[1])


def _judge(connection: Connection, tenant: UUID, candidate: Candidate) -> None:
    """A verifier that has said something of this state before, and now again, is held to it."""
    task = candidate.task
    rows = _run(
        connection,
        "repeated_verdicts",
        tenant=tenant,
        attempt=candidate.attempt,
        policy=candidate.policy_version,
        verifier_digest=task.verifier_digest,
    ).all()
    if len(rows) > 1:
        key = TaskKey(agent_digest=task.agent_digest, verifier_digest=task.verifier_digest)
        verdicts = {row.number: row.verdict for row in rows}
        judge_repeats(
            connection,
            tenant,
            key,
            content_digest=task.content_digest,
            attempt=candidate.attempt,
            verdicts=verdicts,
        )


def _new_cell(connection: Connection, tenant: UUID, candidate: Candidate) -> UUID:
    """The cell of the new verifier and the same trial; it is the attempt's own where the verifier is."""
    task = candidate.task
    digests = (task.agent_digest, task.verifier_digest)
    cell = cell_id(tenant, candidate.configuration, *digests, candidate.trial)
    _run(
        connection,
        "insert_cells",
        tenant=tenant,
        configuration=candidate.configuration,
        ids=[cell],
        agent_digests=[task.agent_digest],
        verifier_digests=[task.verifier_digest],
        trials=[candidate.trial],
    )
    return cell


def _unheard(stream: str, piece: bytes) -> None:
    """What the verifier prints is not kept beyond the tail in its grading."""
