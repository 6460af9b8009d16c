"""Checking many tasks at once, each to its certificate, in one process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from proctor.engine.assignments import LoadedTask
from proctor.engine.attempts import RunnerParts
from proctor.engine.certificates.certificate import Certificate, Ground
from proctor.engine.certificates.checks import Check, checks_of
from proctor.engine.certificates.judging import certificate_of
from proctor.engine.certificates.runs import CheckRun, run_check
from proctor.engine.outcomes import OutcomeClass

__all__ = ["Checker", "CheckerSettings"]


@dataclass(frozen=True, kw_only=True)
class CheckerSettings:
    """``slots``: attempts at once. The callbacks are called in the event loop, as things happen."""

    slots: int
    oracle_runs: int
    made_by: str
    on_run: Callable[[LoadedTask, CheckRun], None] = lambda task, run: None
    on_certificate: Callable[[LoadedTask, Certificate], Awaitable[None]] | None = None


class Checker:
    """Makes certificates. A task's own is complete, and handed on, before most of the next one's runs begin."""

    def __init__(self, parts: RunnerParts, settings: CheckerSettings) -> None:
        self._parts = parts
        self._settings = settings
        self._slots = asyncio.Semaphore(settings.slots)
        self._tasks = asyncio.Semaphore(settings.slots)
        self._stopped = False
        self._running: set[asyncio.Task[Certificate | None]] = set()

    def stop(self) -> None:
        """End what runs. Certificates that are complete stay; those that are not are never made."""
        self._stopped = True
        for one in self._running:
            one.cancel()

    async def check(self, work: Sequence[tuple[LoadedTask, Ground]]) -> list[Certificate | None]:
        """A certificate for each task, ``None`` where ``stop`` came first. Raises what a callback raises."""
        made = [asyncio.ensure_future(self._guarded(task, ground)) for task, ground in work]
        self._running = set(made)
        try:
            return list(await asyncio.gather(*made))
        finally:
            self.stop()
            await asyncio.gather(*made, return_exceptions=True)

    async def _guarded(self, task: LoadedTask, ground: Ground) -> Certificate | None:
        try:
            async with self._tasks:
                return None if self._stopped else await self._certify(task, ground)
        except asyncio.CancelledError:
            if self._stopped:
                return None
            raise

    async def _certify(self, task: LoadedTask, ground: Ground) -> Certificate:
        runs = await self._try_everything(task)
        settings = self._settings
        made = certificate_of(task, runs, ground=ground, made_by=settings.made_by)
        if settings.on_certificate is not None:
            await asyncio.shield(settings.on_certificate(task, made))
        return made

    async def _try_everything(self, task: LoadedTask) -> list[CheckRun]:
        """The first run alone: where the task can't run here at all, that is the whole answer."""
        checks = checks_of(task, self._settings.oracle_runs)
        if not checks:
            return []
        first = await self._run(task, checks[0])
        if first.outcome.outcome is OutcomeClass.TASK_INVALID:
            return [first]
        rest = [asyncio.ensure_future(self._run(task, check)) for check in checks[1:]]
        try:
            return [first, *await asyncio.gather(*rest)]
        finally:
            for one in rest:
                one.cancel()
            await asyncio.gather(*rest, return_exceptions=True)

    async def _run(self, task: LoadedTask, check: Check) -> CheckRun:
        async with self._slots:
            run = await run_check(task, check, self._parts)
        if self._stopped:
            raise asyncio.CancelledError  # the runner may have come to its own end when it was told to
        self._settings.on_run(task, run)
        return run
