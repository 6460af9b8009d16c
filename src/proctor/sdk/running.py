"""A run in this process: a worker in a thread of its own, which the caller watches, stops or cancels."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.app import Platform
from proctor.engine import reading
from proctor.engine.planning import RunSetRow
from proctor.engine.policy_book import recall
from proctor.engine.recording import Decided
from proctor.engine.scratch import remove_scratch
from proctor.engine.spec import RunSetSpec, parse_duration
from proctor.headroom import held_back_words
from proctor.kernel.money import parse_usd
from proctor.sandboxes.interfaces import SandboxBackend

if TYPE_CHECKING:
    from proctor.engine.parts import RunnerParts
    from proctor.engine.preflight import Preflight
    from proctor.engine.worker import Worker

__all__ = ["RunSession"]


class RunSession:
    """Works on one run set until nothing of it is left, it is stopped, or its budget is used up.

    With ``nothing_to_do`` there is no worker, and what a worker takes is not even imported.
    """

    def __init__(
        self,
        platform: Platform,
        run_set: RunSetRow,
        spec: RunSetSpec,
        backend: SandboxBackend,
        secrets: Mapping[str, str],
        *,
        nothing_to_do: bool = False,
    ) -> None:
        self.run_set = run_set
        self.nothing_to_do = nothing_to_do
        self._platform, self._spec = platform, spec
        self._scratch: Path | None = None
        self.preflight: Preflight | None = None
        """What brings the images, where there are any to bring."""
        self._worker = None if nothing_to_do else self._make_worker(backend, secrets)
        self._thread = threading.Thread(target=self._main, name="worker")
        self._failure: BaseException | None = None
        self._started = time.monotonic()
        self._cost_nano = platform.engine.read(lambda c: reading.spent(c, platform.tenant, run_set.id))
        self.decided: Counter[str] = Counter()
        """Cells that this session gave a verdict, by class."""
        self.undecided: Counter[str] = Counter()
        """Its attempts that ended without one, by class; their cells may have been decided since."""
        self.paused_reason: str | None = None
        self._stopped = False

    def _make_worker(self, backend: SandboxBackend, secrets: Mapping[str, str]) -> Worker:
        from proctor.engine.worker import Worker, WorkerSettings
        from proctor.queue.workers import WorkerIdentity

        identity = WorkerIdentity.of_this_process()
        parts = self._platform.runner_parts(backend, identity.owner, secrets)
        self._scratch = parts.scratch
        self.preflight = self._make_preflight(parts)
        settings = WorkerSettings(
            slots=self._spec.execution.concurrency,
            scope=self.run_set.id,
            lease_sec=self._platform.settings.lease_sec,
            node=self._platform.node(backend),
        )
        return Worker(self._platform.database, parts, identity, settings, self._settled)

    def _make_preflight(self, parts: RunnerParts) -> Preflight | None:
        from proctor.engine.preflight import Preflight, wanted_images

        if parts.backend.capabilities().host:
            return None
        tenant, row, read = self._platform.tenant, self.run_set, self._platform.engine.read
        images = read(lambda c: wanted_images(c, tenant, row.id, row.policy_version))
        policy = read(lambda c: recall(c, tenant, row.policy_version))
        return Preflight(parts, images, policy) if images else None

    def start(self) -> None:
        """Begin to work."""
        self._thread.start()

    @property
    def running(self) -> int:
        """Attempts running now in this process."""
        return self._worker.running if self._worker is not None else 0

    @property
    def held_back(self) -> str:
        """What waits for room on this machine, for a reader; empty where nothing does."""
        held = self._worker.held_back if self._worker is not None else None
        return held_back_words(held) if held is not None else ""

    @property
    def done(self) -> bool:
        """Whether the worker has ended."""
        return not self._thread.is_alive()

    def wait(self, timeout: float) -> bool:
        """Wait for the end, at most so many seconds; also looks at the budget. Returns whether it ended."""
        self._thread.join(timeout)
        self._look_at_budget()
        self._look_at_node()
        return self.done

    def stop(self) -> None:
        """No new cells; running ones finish."""
        self._stopped = True
        if self._worker is not None:
            self._worker.stop()

    def cancel(self) -> None:
        """Running attempts end now, as cancelled."""
        self._stopped = True
        if self._worker is not None:
            self._worker.cancel()

    def progress(self) -> reading.Progress:
        """Counts of the run set, whoever works on it."""
        tenant = self._platform.tenant
        return self._platform.engine.read(lambda connection: reading.progress(connection, tenant, self.run_set))

    def stalled(self) -> list[reading.Stall]:
        """Its attempts that run and have made no progress for the time that the settings say, whoever runs them."""
        platform, row = self._platform, self.run_set
        quiet = platform.settings.quiet_sec
        return platform.engine.read(lambda c: reading.stalled(c, platform.tenant, row, quiet_sec=quiet))

    def result(self) -> RunSetRow:
        """Say how it ended. Raises what the worker raised."""
        if not self.nothing_to_do:
            self._thread.join()
        if self._scratch is not None:
            remove_scratch(self._scratch)
        if self._failure is not None:
            raise self._failure
        if self._stopped and self.paused_reason is None and self.progress().running == 0:
            self.paused_reason = "interrupted"  # nobody else works on it, so it is not running
        return self._platform.engine.finish(self.run_set.id, paused_reason=self.paused_reason)

    def _main(self) -> None:
        assert self._worker is not None
        try:
            asyncio.run(self._work(self._worker))
        except BaseException as error:  # noqa: BLE001  raised again in result(), in the caller's thread
            self._failure = error

    async def _work(self, worker: Worker) -> None:
        if self.preflight is not None:
            await self._bring_images(self.preflight)
        await worker.run(self._platform.engine.work_left(self.run_set.id))

    async def _bring_images(self, preflight: Preflight) -> None:
        from proctor.engine.preflight import tell_registries

        await preflight.run(lambda: not self._stopped)
        tenant = self._platform.tenant
        await asyncio.to_thread(self._platform.engine.read, lambda c: tell_registries(c, tenant, preflight))

    def _settled(self, batch: Sequence[Decided]) -> None:
        for decided in batch:
            ended = decided.outcome
            (self.undecided if ended.verdict is None else self.decided)[ended.outcome.value] += 1
            cost = (decided.finished.usage or {}).get("cost_nano")
            self._cost_nano += cost if isinstance(cost, int) else 0

    def _look_at_node(self) -> None:
        """Where nothing of it is left but what can never fit here, waiting for it would never end."""
        held = self._worker.held_back if self._worker is not None else None
        if self.paused_reason is not None or held is None or not held.never or self.running:
            return
        seen = self.progress()
        if seen.running == seen.waiting == 0 and seen.queued == held.never:
            self.paused_reason = held_back_words(held)
            self.stop()

    def _look_at_budget(self) -> None:
        budget = self._spec.budget
        if self.paused_reason is not None:
            return
        if budget.wall is not None and time.monotonic() - self._started > parse_duration(budget.wall):
            self.paused_reason = f"budget.wall of {budget.wall} is used up"
        elif budget.cost is not None and self._cost_nano >= parse_usd(budget.cost) > 0:
            self.paused_reason = f"budget.cost of {budget.cost} is used up"
        if self.paused_reason is not None:
            self.stop()
