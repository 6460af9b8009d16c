"""The task author's loop: reference, no and wrong solution over a folder as it is, without a database."""

from __future__ import annotations

import asyncio
import atexit
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from proctor.app import local_backend
from proctor.engine.assignments import Finished, LoadedTask
from proctor.engine.attempts import AttemptRunner, RunnerParts
from proctor.engine.certificates.runs import OneTask, assignment_for, log_of
from proctor.engine.outcomes import CURRENT_POLICY, Outcome, classify, load_policy
from proctor.engine.spec import Policy
from proctor.engine.steps import StepPlan, plan_steps
from proctor.kernel.canonical import Json
from proctor.kernel.clock import SystemClock
from proctor.kernel.errors import UsageError
from proctor.kernel.ids import new_id
from proctor.objects.store import ObjectStore
from proctor.queue.workers import WorkerIdentity
from proctor.sandboxes.interfaces import ExecRequest, Labels, Sandbox, SandboxSpec, Snapshot
from proctor.settings import Settings
from proctor.suites.archives import lay_out
from proctor.suites.loaded import LoadedTask as FolderTask
from proctor.suites.loading import load_suite
from proctor.suites.tasks import Task

__all__ = ["Tried", "load_task", "shell_sandbox", "try_task"]

_SOLUTIONS: dict[str, tuple[str, dict[str, Json], bool]] = {
    "oracle": ("oracle", {}, True),
    "noop": ("noop", {}, False),
    "wrong": ("oracle", {"script": "wrong.sh"}, False),
}
"""What is tried: the agent, its options, and whether the verifier should say yes."""


class TaskMalformed(UsageError):
    """The task can't be used."""

    code = "task-malformed"
    remedy = "Correct what is named; docs/reference/task-format.md has every field."


@dataclass(frozen=True, kw_only=True)
class Tried:
    """One solution's attempt. ``as_wanted``: oracle passed, or noop or wrong did not."""

    solution: str
    outcome: Outcome
    as_wanted: bool
    seconds: float
    evidence: tuple[dict[str, Json], ...]
    steps: tuple[dict[str, Json], ...]
    """How each step of the task was graded; none where it has no steps or the attempt ended before."""
    log: str


def load_task(folder: Path) -> LoadedTask:
    """A task folder. Raises ``TaskMalformed`` with every problem."""
    loaded = load_suite(folder)
    if len(loaded.tasks) != 1:
        raise TaskMalformed("This folder holds several tasks.", where=str(folder), remedy="Name one task's folder.")
    task = loaded.tasks[0]
    if task.problems:
        raise TaskMalformed("; ".join(str(problem) for problem in task.problems), where=str(folder))
    return LoadedTask(
        content_digest=task.content_digest,
        agent_digest=task.agent_digest,
        verifier_digest=task.verifier_digest,
        name=task.name,
        task=task.task,
        folder=_folder_as_run(task),
    )


def _folder_as_run(task: FolderTask) -> Path:
    """The task's own folder, or where its format places files differently a copy that goes with this process."""
    if not task.laid_out:
        return task.folder.resolve()
    place = Path(tempfile.mkdtemp(prefix="proctor-task-"))
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    lay_out(task.files, place / "task")
    return place / "task"


async def try_task(task: LoadedTask, solution: str) -> Tried:
    """Run one solution, as ``run`` would, and say what its evidence makes of it."""
    agent, options, wanted = _SOLUTIONS[solution]
    with _parts(task) as parts:
        finished = await AttemptRunner(assignment_for(task, agent, options), parts).run()
        if any(item.detail.get("reason") == "cancelled" for item in finished.evidence):
            raise asyncio.CancelledError  # Ctrl-C is no verdict on the solution
        log = log_of(parts, finished)
    outcome = classify(
        load_policy(CURRENT_POLICY), finished.evidence, finished.gradings[-1] if finished.gradings else None
    )
    return Tried(
        solution=solution,
        outcome=outcome,
        as_wanted=outcome.verdict is wanted,
        seconds=(finished.evidence[-1].ended_at - finished.evidence[0].started_at).total_seconds(),
        evidence=tuple({"phase": e.phase.value, **e.detail} for e in finished.evidence),
        steps=_steps(finished),
        log=log,
    )


def _steps(finished: Finished) -> tuple[dict[str, Json], ...]:
    told = finished.gradings[-1].detail.get("steps") if finished.gradings else None
    return tuple(dict(step) for step in told if isinstance(step, Mapping)) if isinstance(told, Sequence) else ()


def solutions_of(task: LoadedTask) -> list[str]:
    """Which of oracle, noop and wrong the task can be tried with."""
    assert task.task is not None
    plans = _plans(task)
    wrong = any((plan.solution / "wrong.sh").is_file() for plan in plans)
    there = {"oracle": task.task.has_solution, "noop": True, "wrong": wrong}
    return [name for name in _SOLUTIONS if there[name]]


def _plans(task: LoadedTask) -> tuple[StepPlan, ...]:
    assert task.task is not None
    assert task.folder is not None
    return plan_steps(task.task, task.folder, {"policies": Policy().model_dump(mode="json")})


@contextmanager
def _parts(task: LoadedTask) -> Iterator[RunnerParts]:
    settings = Settings()
    scratch = Path(tempfile.mkdtemp(prefix="proctor-try-"))
    (scratch / "attempts").mkdir()
    try:
        yield RunnerParts(
            backend=local_backend(settings),
            objects=ObjectStore(scratch / "objects"),
            library=OneTask(task),
            clock=SystemClock(),
            owner=WorkerIdentity.of_this_process().owner,
            scratch=scratch / "attempts",
        )
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


async def shell_sandbox(task: LoadedTask, *, after: str | None, state: Snapshot | None = None) -> Sandbox:
    """A sandbox of the task for its author to look around in: as it begins, after a solution, or from a final state."""
    settings = Settings()
    assert task.task is not None
    assert task.folder is not None
    backend = local_backend(settings)
    labels = Labels(
        tenant=new_id(),
        run_set=new_id(),
        attempt=new_id(),
        owner=WorkerIdentity.of_this_process().owner,
        expires_at=datetime.now(UTC) + timedelta(hours=12),
    )
    spec = SandboxSpec(labels=labels, workdir=task.task.workdir, base=state)
    sandbox = await backend.create(spec)
    if state is not None:
        return sandbox
    for source, destination in (task.task.userland.copy if task.task.userland else {}).items():
        await sandbox.put(task.folder / "environment" / source, destination)
    for plan in _plans(task) if after is not None else ():
        await _solve(sandbox, task.task, plan, "solve.sh" if after == "oracle" else "wrong.sh")
    return sandbox


async def _solve(sandbox: Sandbox, task: Task, plan: StepPlan, script: str) -> None:
    """One step's files and solution, as an attempt brings them; a step without a wrong one is solved well."""
    if plan.workdir is not None:
        await sandbox.put(plan.workdir, task.workdir)
        if (plan.workdir / "setup.sh").is_file():
            await sandbox.exec(ExecRequest(argv=["bash", "setup.sh"], cwd=task.workdir, timeout_sec=600))
    if plan.name and not (plan.solution / script).is_file():
        script = "solve.sh"
    await sandbox.exec(ExecRequest(argv=["rm", "-rf", "/solution"], cwd="/", timeout_sec=60))
    await sandbox.put(plan.solution, "/solution")
    await sandbox.exec(ExecRequest(argv=["bash", f"/solution/{script}"], cwd=task.workdir, timeout_sec=600))


async def shell_line(sandbox: Sandbox, line: str, cwd: str, show: Callable[[str, bytes], None]) -> tuple[int, str]:
    """Run one line as a shell would; its exit code and the folder it ended in."""
    script = 'cd -- "$1" || exit 1\neval "$2"\ncode=$?\npwd > /tmp/.proctor-cwd\nexit $code'
    argv: Sequence[str] = ["bash", "-c", script, "bash", cwd, line]
    result = await sandbox.exec(ExecRequest(argv=argv, on_output=show, cwd="/"))
    where = await sandbox.read("/tmp/.proctor-cwd", 4096)  # noqa: S108  the sandbox's own /tmp
    code = result.exit_code if result.exit_code is not None else 128 + (result.signal or 0)
    return code, where.decode("utf-8", "replace").strip() if where else cwd
