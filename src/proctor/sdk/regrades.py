"""``proctor regrade``: kept final states under a changed verifier, or the same one to see if it is stable."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from uuid import UUID

from proctor.app import Platform
from proctor.engine.errors import SpecInvalid
from proctor.engine.planning import RunSetRow
from proctor.engine.regrading.candidates import (
    Candidate,
    PassedOver,
    Regrade,
    changed_verifiers,
    find,
    shown_otherwise,
)
from proctor.engine.regrading.difference import RegradedTask, by_task
from proctor.engine.regrading.grader import Regraded, Regrader
from proctor.engine.resolving import resolve_suite
from proctor.engine.scratch import remove_scratch
from proctor.engine.task_names import fitting
from proctor.kernel.errors import ProctorError
from proctor.queue.workers import WorkerIdentity
from proctor.suites.service import StoredTask

__all__ = ["RegradePlan", "RegradeReport", "plan_regrade", "run_regrade"]


@dataclass(frozen=True, kw_only=True)
class RegradePlan:
    """What a regrade would do. ``tasks`` are those whose verifier is asked again, by the digest that was run."""

    run_set: RunSetRow
    suite_id: str
    tasks: Mapping[str, StoredTask]
    regrade: Regrade


@dataclass(frozen=True, kw_only=True)
class RegradeReport:
    """What a regrade did. Agents were not run and nothing was paid."""

    run_set: str
    suite_id: str
    policy_version: str
    regraded: int
    decided_earlier: int
    tasks: tuple[RegradedTask, ...]
    passed_over: tuple[PassedOver, ...]
    failed: Mapping[str, str] = field(default_factory=dict)
    """Cells that a sandbox or the machine failed, with what it said; the same command does them again."""


def plan_regrade(
    platform: Platform, row: RunSetRow, *, suite: str | None, task: str | None, recheck: bool
) -> RegradePlan:
    """Which attempts of a run set qualify. ``suite``: the one with the changed verifiers, else the run set's file says.

    ``recheck``: the verifiers are those that were run. Raises ``SpecInvalid`` where nothing changed.
    """
    tenant, suites = platform.tenant, platform.suites
    old = suites.tasks(tenant, row.suite_id)
    old = old if task is None else fitting(old, task)
    otherwise: Mapping[str, StoredTask] = {}
    if recheck:
        suite_id, tasks = row.suite_id, {one.content_digest: one for one in old if one.task is not None}
    else:
        reference = suite or platform.engine.stored_spec(row.id).suite
        suite_id = resolve_suite(reference, tenant, Path.cwd(), suites)
        new = suites.tasks(tenant, suite_id)
        tasks, otherwise = changed_verifiers(old, new), shown_otherwise(old, new)
    if not tasks:
        raise SpecInvalid(
            _nothing_changed(otherwise),
            where=suite or row.name,
            remedy="Name the changed suite with --suite, or ask the same verifiers again with --recheck.",
        )
    found = platform.engine.read(lambda connection: find(connection, tenant, row, tasks, otherwise))
    return RegradePlan(run_set=row, suite_id=suite_id, tasks=tasks, regrade=found)


def _nothing_changed(otherwise: Mapping[str, StoredTask]) -> str:
    told = "No task of this run set has a verifier that changed"
    names = ", ".join(sorted(task.name for task in otherwise.values())[:5])
    return f"{told}; what agents see changed in {names}, which have to be run." if otherwise else f"{told}."


def run_regrade(
    platform: Platform,
    plan: RegradePlan,
    secrets: Mapping[str, str],
    *,
    concurrency: int,
    on_done: Callable[[Regraded | None], None],
) -> RegradeReport:
    """Grade every candidate. ``on_done`` is called after each cell, with ``None`` where it failed.

    ``secrets``: values of the names that the run set lists.
    """
    spec = platform.engine.stored_spec(plan.run_set.id)
    backend = platform.backend(spec.execution.sandbox)
    parts = platform.runner_parts(backend, WorkerIdentity.of_this_process().owner, secrets)
    try:
        grading = _grade_all(
            Regrader(platform.database, platform.tenant, parts), plan.regrade.cells, concurrency, on_done
        )
        done, failed = asyncio.run(grading)
    finally:
        remove_scratch(parts.scratch)
    return RegradeReport(
        run_set=plan.run_set.name,
        suite_id=plan.suite_id,
        policy_version=plan.run_set.policy_version,
        regraded=len(done),
        decided_earlier=plan.regrade.decided,
        tasks=tuple(by_task(done)),
        passed_over=tuple(plan.regrade.passed_over),
        failed={str(cell): reason for cell, reason in failed.items()},
    )


async def _grade_all(
    regrader: Regrader,
    cells: Sequence[Sequence[Candidate]],
    concurrency: int,
    on_done: Callable[[Regraded | None], None],
) -> tuple[list[Regraded], dict[UUID, str]]:
    slots = asyncio.Semaphore(concurrency)
    done: list[Regraded] = []
    failed: dict[UUID, str] = {}

    async def one(candidates: Sequence[Candidate]) -> None:
        async with slots:
            try:
                done.append(await regrader.grade_cell(candidates))
                on_done(done[-1])
            except (ProctorError, OSError) as error:  # this cell's; the same command does it again
                failed[candidates[0].cell] = str(error)
                on_done(None)

    async with asyncio.TaskGroup() as group:
        for candidates in cells:
            group.create_task(one(candidates))
    return done, failed
