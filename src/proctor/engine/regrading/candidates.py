"""Which attempts can be graded again, and why the others can't.

An attempt qualifies when its agent ran to an end of its own (its last outcome is the model's, or a verifier's fault),
its final state was kept, and the verifier can do with that state: a ``live`` verifier needs what ran beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.artifacts import is_of_service
from proctor.engine.outcomes import OutcomeClass
from proctor.engine.planning import RunSetRow
from proctor.engine.terms import terms_of
from proctor.kernel.canonical import Json
from proctor.objects.store import StoredObject
from proctor.suites.service import StoredTask
from proctor.suites.tasks import Task, VerificationMode

__all__ = ["Candidate", "PassedOver", "Regrade", "changed_verifiers", "find", "shown_otherwise"]

_run = partial(run_query, "proctor.engine")

_OTHERWISE: str = "the task shows its agent something else now: that is another task, and has to be run"


@dataclass(frozen=True, kw_only=True)
class Candidate:
    """An attempt that qualifies. ``before``: the cell's verdict so far, ``None`` where it has none."""

    cell: UUID
    profile: str
    trial: int
    attempt: UUID
    run_set: UUID
    configuration: str
    document: Mapping[str, Json]
    states: Mapping[str, StoredObject]
    """Kept files by artifact name, one for each step."""
    gradings: int
    """Runs of a verifier over this attempt so far, of whatever version."""
    before: bool | None
    trace_id: str
    policy_version: str
    task: StoredTask
    """The task by whose verifier it is graded now."""


@dataclass(frozen=True, kw_only=True)
class PassedOver:
    """A cell with no attempt that qualifies."""

    cell: UUID
    profile: str
    task: str
    trial: int
    reason: str


@dataclass(frozen=True, kw_only=True)
class Regrade:
    """What there is to do: candidates by cell in the order of their attempts; the first verdict ends a cell."""

    cells: Sequence[Sequence[Candidate]]
    passed_over: Sequence[PassedOver]
    decided: int
    """Cells that have a verdict of the new verifier already."""


def changed_verifiers(old: Sequence[StoredTask], new: Sequence[StoredTask]) -> dict[str, StoredTask]:
    """Tasks of ``old`` by content digest whose agents saw the same in ``new``, where only the verifier differs."""
    by_agent = {task.agent_digest: task for task in new if task.task is not None}
    pairs = {task.content_digest: by_agent.get(task.agent_digest) for task in old if task.task is not None}
    verifiers = {task.content_digest: task.verifier_digest for task in old}
    return {
        digest: task for digest, task in pairs.items() if task is not None and task.verifier_digest != verifiers[digest]
    }


def shown_otherwise(old: Sequence[StoredTask], new: Sequence[StoredTask]) -> dict[str, StoredTask]:
    """Tasks of ``old`` by content digest that ``new`` has by name only: it shows agents something else.

    No verdict of theirs can be given over: the work was done for another instruction or environment.
    """
    still, names = {task.agent_digest for task in new}, {task.name for task in new}
    return {task.content_digest: task for task in old if task.agent_digest not in still and task.name in names}


def find(
    connection: Connection,
    tenant: UUID,
    row: RunSetRow,
    tasks: Mapping[str, StoredTask],
    otherwise: Mapping[str, StoredTask] = MappingProxyType({}),
) -> Regrade:
    """What of a run set can be graded by these tasks' verifiers; ``tasks`` by the content digest that was run.

    ``otherwise``: tasks none of whose attempts can, to be listed.
    """
    tasks = {**otherwise, **tasks}
    rows = _run(
        connection,
        "regrade_attempts",
        tenant=tenant,
        run_set=row.id,
        policy=row.policy_version,
        tasks=list(tasks),
        verifiers=[task.verifier_digest for task in tasks.values()],
    ).all()
    by_cell: dict[UUID, list[Any]] = defaultdict(list)
    for one in rows:
        by_cell[one.cell_id].append(one)
    cells, passed_over, decided = [], [], 0
    for attempts in by_cell.values():
        task = tasks[attempts[0].content_digest]
        if attempts[0].content_digest in otherwise:
            passed_over.append(_passed_over(attempts[-1], task, _OTHERWISE))
            continue
        if attempts[0].decided_anew:
            decided += 1
            continue
        reasons = [(one, _obstacle(one, task)) for one in attempts]
        if fit := [_candidate(one, task, row) for one, obstacle in reasons if obstacle is None]:
            cells.append(fit)
        else:
            passed_over.append(_passed_over(reasons[-1][0], task, str(reasons[-1][1])))
    return Regrade(cells=cells, passed_over=passed_over, decided=decided)


def _obstacle(row: Any, task: StoredTask) -> str | None:
    names: Mapping[str, Any] = row._mapping
    if row.attempt_id is None:
        return "no attempt has ended"
    if row.verdict is None and names["class"] != OutcomeClass.VERIFIER_ERROR:
        return f"the attempt ended as {names['class']}"
    assert task.task is not None
    if any(
        terms_of(task.task, row.document, step).mode is VerificationMode.LIVE for step in task.task.steps or (None,)
    ):
        return "its verifier is live, and what ran beside it is gone"
    artifacts = (*task.task.artifacts, *(one for step in task.task.steps for one in step.artifacts))
    if any(is_of_service(artifact) for artifact in artifacts):
        return "its verifier gets files of a service, and no state holds those"
    kept = _states(row.artifacts)
    missing = [name for name in _state_names(task.task) if name not in kept]
    return f"no {missing[0]} was kept" if missing else None


def _state_names(task: Task) -> list[str]:
    return [f"state.{step.name}.tar" for step in task.steps[:-1]] + ["state.tar"]


def _states(artifacts: Sequence[Mapping[str, Any]]) -> dict[str, StoredObject]:
    return {
        artifact["name"]: StoredObject(key=artifact["key"], sha256=artifact["sha256"], size=artifact["size"])
        for artifact in artifacts
    }


def _candidate(row: Any, task: StoredTask, run_set: RunSetRow) -> Candidate:
    return Candidate(
        cell=row.cell_id,
        profile=row.profile,
        trial=row.trial,
        attempt=row.attempt_id,
        run_set=run_set.id,
        configuration=row.configuration,
        document=row.document,
        states=_states(row.artifacts),
        gradings=row.gradings,
        before=row.before,
        trace_id=row.trace_id,
        policy_version=run_set.policy_version,
        task=task,
    )


def _passed_over(row: Any, task: StoredTask, reason: str) -> PassedOver:
    return PassedOver(cell=row.cell_id, profile=row.profile, task=task.name, trial=row.trial, reason=reason)
