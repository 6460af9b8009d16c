"""Checking a suite: certificates for its tasks, made in this process and kept one by one."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from proctor.app import Platform
from proctor.engine.certificates.certificate import CheckedTask, CheckVerdict, Ground
from proctor.engine.certificates.service import CertificateService, ground_for
from proctor.engine.certificates.standing import Standing
from proctor.engine.task_names import matches
from proctor.kernel.errors import UsageError
from proctor.sandboxes.errors import UnsupportedByBackend
from proctor.sandboxes.interfaces import SandboxBackend
from proctor.sdk.users import this_user
from proctor.suites.service import StoredTask

if TYPE_CHECKING:
    from proctor.engine.assignments import LoadedTask
    from proctor.engine.certificates.certificate import Certificate
    from proctor.engine.certificates.runs import CheckRun

__all__ = ["CheckReport", "CheckRequest", "CheckSession", "tasks_to_check"]

BACKEND: str = "local"
"""Where checks are made; the only backend of this release."""


class NothingToCheck(UsageError):
    """No task of the suite has such a name."""

    code = "nothing-to-check"
    remedy = "`proctor suite show` lists the suite's tasks."


@dataclass(frozen=True, kw_only=True)
class CheckRequest:
    """The options of ``proctor suite check``. ``again``: also where a certificate is there and holds."""

    task: str | None = None
    concurrency: int = 4
    oracle_runs: int = 5
    again: bool = False


@dataclass(frozen=True, kw_only=True)
class CheckReport:
    """What a suite's tasks are worth now."""

    suite_id: str
    tasks: tuple[CheckedTask, ...]
    interrupted: bool

    def count(self, verdict: CheckVerdict) -> int:
        """How many tasks have this verdict."""
        return sum(1 for task in self.tasks if task.verdict is verdict)


def tasks_to_check(platform: Platform, suite_id: str, glob: str | None) -> list[StoredTask]:
    """A suite's tasks whose name fits; all without a pattern. Raises ``NothingToCheck``."""
    tasks = platform.suites.tasks(platform.tenant, suite_id)
    found = [one for one in tasks if glob is None or matches(one.name, glob)]
    if not found:
        raise NothingToCheck(where=glob)
    return found


class CheckSession:
    """One check of one suite. Ctrl-C ends it; what is complete is kept."""

    def __init__(self, platform: Platform, suite_id: str, request: CheckRequest) -> None:
        self.suite_id = suite_id
        self._platform, self._request = platform, request
        self._backend: SandboxBackend = platform.backend(BACKEND)
        self._service = CertificateService(platform.database, platform.tenant)
        self.tasks = tasks_to_check(platform, suite_id, request.task)
        self._done: dict[str, CheckedTask] = {}
        self._work: list[tuple[StoredTask, Ground]] = []
        self._seen: dict[tuple[tuple[str, str], ...], Mapping[str, Standing]] = {}
        self._interrupted = False
        self._stop: Callable[[], None] = lambda: None
        self._look()

    @property
    def skipped(self) -> Sequence[CheckedTask]:
        """Tasks that need no run: certified already, malformed, or without what they need on this machine."""
        return list(self._done.values())

    @property
    def todo(self) -> int:
        """Tasks to be run."""
        return len(self._work)

    def run(self, *, on_run: Callable[[str, CheckRun], None], on_task: Callable[[CheckedTask], None]) -> CheckReport:
        """Check what needs it, and say how every task stands. The callbacks tell as it goes."""
        if self._work:
            asyncio.run(self._main(on_run, on_task))
        names = {one.content_digest: one.name for one in self.tasks}
        left = {digest: CheckedTask(name=name, content_digest=digest, verdict=None) for digest, name in names.items()}
        return CheckReport(
            suite_id=self.suite_id,
            tasks=tuple(self._done.get(digest, left[digest]) for digest in names),
            interrupted=self._interrupted,
        )

    def stop(self) -> None:
        """End it, from within a callback: what is complete is kept."""
        self._interrupted = True
        self._stop()

    def _look(self) -> None:
        """Sort the tasks into those that have their answer and those to be run."""
        from proctor.engine.certificates.checks import checks_digest

        checks = checks_digest()
        for task in self.tasks:
            try:
                ground = ground_for(self._backend, [task])
            except UnsupportedByBackend as error:
                self._undecided(task, str(error))
                continue
            if task.task is None:
                self._undecided(task, f"malformed: {task.problems[0]}")
            elif not self._request.again and (known := self._known(task, ground, checks)) is not None:
                self._done[task.content_digest] = known
            else:
                self._work.append((task, ground))

    def _undecided(self, task: StoredTask, problem: str) -> None:
        self._done[task.content_digest] = CheckedTask(
            name=task.name,
            content_digest=task.content_digest,
            verdict=CheckVerdict.NOT_DECIDED,
            problems=(problem,),
        )

    def _known(self, task: StoredTask, ground: Ground, checks: str) -> CheckedTask | None:
        """A task whose last certificate holds and rests on no less than would be tried today."""
        one = self._standings(ground).get(task.content_digest)
        if one is None or not one.valid or one.verdict is not CheckVerdict.CERTIFIED or one.checks != checks:
            return None
        if sum(run["solution"] == "oracle" for run in one.runs) < self._request.oracle_runs:
            return None
        return CheckedTask(
            name=task.name,
            content_digest=task.content_digest,
            verdict=CheckVerdict.CERTIFIED,
            skipped=True,
            snapshot=one.snapshot,
            runs=one.runs,
        )

    def _standings(self, ground: Ground) -> Mapping[str, Standing]:
        """The suite's tasks on one ground, asked once: most tasks need the same tools."""
        key = tuple(sorted(ground.environment.items()))
        if key not in self._seen:
            found = self._service.standings(self.suite_id, ground)
            self._seen[key] = {one.content_digest: one for one in found}
        return self._seen[key]

    async def _main(self, on_run: Callable[[str, CheckRun], None], on_task: Callable[[CheckedTask], None]) -> None:
        from proctor.engine.certificates.checking import Checker, CheckerSettings
        from proctor.engine.scratch import remove_scratch
        from proctor.queue.workers import WorkerIdentity

        parts = self._platform.runner_parts(self._backend, WorkerIdentity.of_this_process().owner, {})

        async def keep(task: LoadedTask, made: Certificate) -> None:
            await asyncio.to_thread(self._service.keep, made)
            checked = _checked(task.name, made)
            self._done[task.content_digest] = checked
            on_task(checked)

        settings = CheckerSettings(
            slots=self._request.concurrency,
            oracle_runs=self._request.oracle_runs,
            made_by=this_user(),
            on_run=lambda task, run: on_run(task.name, run),
            on_certificate=keep,
        )
        checker = Checker(parts, settings)
        self._stop = checker.stop
        self._stop_on_signals()
        try:
            load = parts.library.load
            tasks = [
                (await asyncio.to_thread(load, self._platform.tenant, one.content_digest), ground)
                for one, ground in self._work
            ]
            await checker.check(tasks)
        finally:
            remove_scratch(parts.scratch)

    def _stop_on_signals(self) -> None:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                asyncio.get_running_loop().add_signal_handler(number, self.stop)


def _checked(name: str, made: Certificate) -> CheckedTask:
    return CheckedTask(
        name=name,
        content_digest=made.content_digest,
        verdict=made.verdict,
        problems=made.problems,
        snapshot=made.snapshot,
        runs=made.runs,
    )
