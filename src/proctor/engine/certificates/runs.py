"""One check, run by the very runner of real attempts; a fault that was nobody's answer is tried once more."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from uuid import UUID

from proctor.engine.assignments import Assignment, Finished, LoadedTask
from proctor.engine.attempts import AttemptRunner, RunnerParts
from proctor.engine.certificates.checks import TURNS, Check, in_turn, wants_another_turn
from proctor.engine.evidence import last_error
from proctor.engine.logs import text_of
from proctor.engine.outcomes import CURRENT_POLICY, Outcome, OutcomeClass, classify, load_policy
from proctor.engine.segments import read_segments
from proctor.engine.spec import Policy
from proctor.kernel.canonical import Json
from proctor.kernel.ids import new_id
from proctor.objects.store import ObjectStore

__all__ = ["CheckRun", "OneTask", "assignment_for", "log_of", "run_check"]

TRIES: int = 2
"""What infrastructure ended is no result: it is run once more, and then it is not decided."""
_TAIL: int = 2_000
"""Characters of the log kept of a run that is not as it should be."""


@dataclass(frozen=True, kw_only=True)
class CheckRun:
    """What came of one check."""

    check: Check
    outcome: Outcome
    seconds: float
    evidence: Mapping[str, Json]
    tries: int = 1
    more: bool = False
    """Whether it is a forgery that has more to try."""

    @property
    def decided(self) -> bool:
        """Whether it is a result: the verifier was asked, and what it said or failed to say is its own."""
        return self.outcome.verdict is not None or self.outcome.outcome is OutcomeClass.VERIFIER_ERROR

    @property
    def passed(self) -> bool:
        """Whether the verifier said yes."""
        return self.outcome.verdict is True

    @property
    def as_wanted(self) -> bool:
        """Whether it is a result, and the one it must be."""
        return self.decided and self.passed is self.check.must_pass


class OneTask:
    """A library of one task, for attempts that no tenant's rows are about."""

    def __init__(self, task: LoadedTask) -> None:
        self._task = task

    def load(self, tenant: UUID, content_digest: str) -> LoadedTask:
        """The one task, whatever is asked for."""
        _ = tenant, content_digest
        return self._task


async def run_check(task: LoadedTask, check: Check, parts: RunnerParts) -> CheckRun:
    """Run one check to a result. Raises ``CancelledError`` where it was cut short.

    A forgery that has more to try takes further turns until one passes; the last one's result is that of all.
    """
    run = await _decided(task, check, parts)
    turn, seconds = 1, run.seconds
    while run.more and run.decided and not run.passed and turn < TURNS:
        turn += 1
        run = replace(await _decided(task, in_turn(check, turn), parts), check=check)
        seconds += run.seconds
    if turn == 1:
        return run
    return replace(run, seconds=seconds, evidence={**run.evidence, "turns": turn, "more": run.more})


async def _decided(task: LoadedTask, check: Check, parts: RunnerParts) -> CheckRun:
    """One run, made again where infrastructure ended it."""
    run = await _once(task, check, parts)
    for tries in range(2, TRIES + 1):
        if run.decided or run.outcome.outcome is OutcomeClass.TASK_INVALID:
            break
        run = replace(await _once(task, check, parts), tries=tries)
    return run


async def _once(task: LoadedTask, check: Check, parts: RunnerParts) -> CheckRun:
    assignment = assignment_for(task, check.agent, check.options, verification=check.verification)
    async with _kept_nowhere(parts, task, assignment) as own:
        finished = await AttemptRunner(assignment, own).run()
        log = log_of(own, finished)
    grading = finished.gradings[-1] if finished.gradings else None
    outcome = classify(load_policy(CURRENT_POLICY), finished.evidence, grading)
    if outcome.outcome is OutcomeClass.CANCELLED:
        raise asyncio.CancelledError  # the runner ends what it began and keeps the word to itself
    seconds = (finished.evidence[-1].ended_at - finished.evidence[0].started_at).total_seconds()
    run = CheckRun(
        check=check,
        outcome=outcome,
        seconds=seconds,
        evidence=_summary(finished),
        more=check.forgery and wants_another_turn(log),
    )
    if run.as_wanted:
        return run
    return replace(run, evidence={**run.evidence, "log_tail": log[-_TAIL:].replace("\x00", "\ufffd")})


@asynccontextmanager
async def _kept_nowhere(parts: RunnerParts, task: LoadedTask, assignment: Assignment) -> AsyncIterator[RunnerParts]:
    """The same parts with an object store that ends with the run: no row will ever refer to what is in it."""
    place = parts.scratch / f"{assignment.attempt}.objects"
    try:
        yield replace(parts, objects=ObjectStore(place), library=OneTask(task))
    finally:
        await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)


def assignment_for(
    task: LoadedTask, agent: str, options: Mapping[str, Json], *, verification: str = "task"
) -> Assignment:
    """An attempt that no cell asked for: nothing of it is recorded under an id."""
    policy = Policy.model_validate({"verification": verification})
    return Assignment(
        tenant=new_id(),
        cell=new_id(),
        attempt=new_id(),
        number=1,
        token=0,
        tries=0,
        run_set=new_id(),
        content_digest=task.content_digest,
        configuration={
            "agent": {"name": agent, "version": "1", "layer": None},
            "model": None,
            "options": dict(options),
            "policies": policy.model_dump(mode="json"),
        },
        provider="",
        trace_id=new_id().hex,
        policy_version=CURRENT_POLICY,
    )


def log_of(parts: RunnerParts, finished: Finished) -> str:
    """Everything that agent and verifier printed, as it was kept."""
    assignment = finished.assignment
    segments = read_segments(parts.objects, assignment.tenant, assignment.attempt, after=0)
    return "".join(text_of(segment) for _, segment in segments)


def _summary(finished: Finished) -> dict[str, Json]:
    """What a reader of a certificate needs: what was graded and how, and what ended it if anything did."""
    summary: dict[str, Json] = {}
    if finished.gradings:
        last = finished.gradings[-1]
        summary["grading"] = {
            "mode": last.mode,
            "forgeable": last.forgeable,
            "reward": last.primary,
            "problem": last.problem.value if last.problem else None,
            "exit_code": last.detail.get("exit_code"),
            "gradings": len(finished.gradings),
        }
    ended = last_error(finished.evidence)
    if ended is not None:
        summary["ended_by"] = {key: ended.detail.get(key) for key in ("source", "exception", "message", "reason")}
        summary["phase"] = ended.phase.value
    changed = _changed_system_paths(finished)
    return {**summary, "changed_system_paths": changed} if changed else summary


def _changed_system_paths(finished: Finished) -> list[Json]:
    found: list[Json] = []
    for item in finished.evidence:
        paths = item.detail.get("changed_system_paths")
        found.extend(paths if isinstance(paths, Sequence) and not isinstance(paths, str) else ())
    return found[:20]
