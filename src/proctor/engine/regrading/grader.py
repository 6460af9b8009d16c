"""One attempt graded again: its kept final state in a new sandbox, the verifier over it, and what came of it on record.

The agent does not run and nothing is paid. What is recorded is safe to repeat, and a cut leaves nothing half done.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from uuid import UUID

from sqlalchemy import Connection, func, select

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.engine.assignments import LoadedTask
from proctor.engine.attempts import EXPIRY, GRADINGS, RunnerParts
from proctor.engine.evidence import GradingFacts
from proctor.engine.identity import cell_id
from proctor.engine.models import grading, outcome
from proctor.engine.outcomes import classify
from proctor.engine.planning import lock
from proctor.engine.policy_book import recall
from proctor.engine.recording import Regrading, memory_owner, record_regrade, stored_evidence
from proctor.engine.regrading.candidates import Candidate
from proctor.engine.terms import Terms, terms_of
from proctor.engine.verification import Verification, grade, without_secrets
from proctor.kernel.ids import new_id
from proctor.sandboxes.interfaces import Labels, Sandbox, SandboxSpec, Snapshot
from proctor.suites.tasks import Task, VerificationMode
from proctor.suites.variables import resolve_variables

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
        """Grade one attempt, once more if the verifier breaks, and record it."""
        loaded = await asyncio.to_thread(self._parts.library.load, self._tenant, candidate.task.content_digest)
        gradings: list[GradingFacts] = []
        with self._state(candidate) as state:
            for number in range(candidate.gradings + 1, candidate.gradings + 1 + GRADINGS):
                gradings.append(await self._grade_once(candidate, loaded, state, number))
                if gradings[-1].problem is None:
                    break
        return await asyncio.to_thread(self._record, candidate, gradings)

    @contextmanager
    def _state(self, candidate: Candidate) -> Iterator[Snapshot]:
        path = self._parts.scratch / f"{new_id()}.tar"
        try:
            self._parts.objects.fetch(candidate.state, path)
            yield Snapshot(path=path, sha256=candidate.state.sha256, size=candidate.state.size)
        finally:
            path.unlink(missing_ok=True)

    async def _grade_once(self, candidate: Candidate, loaded: LoadedTask, state: Snapshot, number: int) -> GradingFacts:
        task, folder = loaded.task, loaded.folder
        assert task is not None
        assert folder is not None
        terms = terms_of(task, candidate.document)
        sandboxes: list[Sandbox] = []
        try:
            sandbox = await self._verifier_sandbox(sandboxes, candidate, task, terms, state)
            verification = Verification(
                task=task,
                folder=folder,
                verifier_digest=loaded.verifier_digest,
                mode=terms.mode,
                backend=self._parts.backend.name,
                number=number,
                env=resolve_variables(task.verifier.env, self._parts.secrets),
                timeout_sec=terms.verifier_timeout_sec,
                on_output=_unheard,
            )
            facts = await grade(sandbox, verification, self._parts.clock)
            return without_secrets(facts, list(self._parts.secrets.values()))
        finally:
            for made in sandboxes:
                await made.destroy()

    async def _verifier_sandbox(
        self, made: list[Sandbox], candidate: Candidate, task: Task, terms: Terms, state: Snapshot
    ) -> Sandbox:
        """The state itself, or in ``separate`` a sandbox with nothing but the declared artifacts out of it."""
        from_state = await self._create(candidate, task, terms, state)
        made.append(from_state)
        if terms.mode is VerificationMode.SNAPSHOT:
            return from_state
        fresh = await self._create(candidate, task, terms, None)
        made.append(fresh)
        with tempfile.TemporaryDirectory(dir=self._parts.scratch) as folder:
            for number, artifact in enumerate(task.artifacts):
                kept = Path(folder) / str(number)
                await from_state.get(artifact.source, kept)
                await fresh.put(kept, artifact.destination or artifact.source)
        return fresh

    async def _create(self, candidate: Candidate, task: Task, terms: Terms, base: Snapshot | None) -> Sandbox:
        labels = Labels(
            tenant=self._tenant,
            run_set=candidate.run_set,
            attempt=candidate.attempt,
            owner=self._parts.owner,
            expires_at=self._parts.clock.now() + EXPIRY,
        )
        spec = SandboxSpec(
            labels=labels,
            workdir=task.workdir,
            env=resolve_variables(task.environment.env, self._parts.secrets),
            network=terms.network,
            limits=terms.limits,
            base=base,
            restore_system=base is not None and not task.changes_system,
        )
        return await self._parts.backend.create(spec)

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
                attempt=candidate.attempt,
                cell=_new_cell(connection, self._tenant, candidate),
                policy_version=candidate.policy_version,
                trace_id=candidate.trace_id,
                gradings=gradings,
                outcomes=outcomes,
            )
            record_regrade(connection, self._tenant, regrading)
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
