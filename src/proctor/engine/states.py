"""What a step leaves: its final files kept as an artifact, and the paths that the task declared."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

from proctor.engine.assignments import Assignment
from proctor.engine.hooks import run_hooks
from proctor.engine.parts import RunnerParts
from proctor.engine.secrets import holds_secret
from proctor.engine.steps import StepPlan
from proctor.kernel.canonical import Json
from proctor.objects.store import StoredObject
from proctor.sandboxes.interfaces import Sandbox, Snapshot
from proctor.suites.tasks import VerificationMode

__all__ = ["Collected", "StateKeeper"]


@dataclass(frozen=True, kw_only=True)
class Collected:
    """What is verified: the final state, ``None`` where that is the agent's own sandbox; and declared paths."""

    state: Snapshot | None = None
    artifacts: Path | None = None


class StateKeeper:
    """Keeps what the steps of one attempt leave. ``artifacts`` grows by name."""

    def __init__(self, assignment: Assignment, parts: RunnerParts) -> None:
        self._tenant = assignment.tenant
        self._parts = parts
        self._attempt = assignment.attempt
        self._scratch: list[Path] = []
        self.artifacts: dict[str, StoredObject] = {}

    async def collect(self, sandbox: Sandbox, step: StepPlan, workdir: str, detail: dict[str, Json]) -> Collected:
        """The step's final state, kept; where it is verified live only the agent's session is dead by now.

        Raises ``TransferRefused`` for a state that can't be taken out.
        """
        await sandbox.kill_session("agent")
        detail["mode"] = step.terms.mode.value
        if step.hooks:
            detail["hooks"] = await run_hooks(sandbox, step.hooks, workdir)
        if not step.on_copy:
            return Collected()
        await sandbox.kill_all()
        declared = None
        if step.terms.mode is VerificationMode.SEPARATE:
            declared = await self._declared(sandbox, step)
        return Collected(state=await self.keep(sandbox, step, detail), artifacts=declared)

    async def keep(self, sandbox: Sandbox, step: StepPlan, detail: dict[str, Json]) -> Snapshot:
        """Keep the sandbox's state, unless it holds a secret. Every process must be dead."""
        snapshot = await sandbox.snapshot(self._place("tar"))
        detail["changed_system_paths"] = list(snapshot.changed_system_paths[:100])
        secrets = list(self._parts.secrets.values())
        found = await asyncio.to_thread(holds_secret, snapshot.path, secrets) if secrets else False
        if found:
            detail["state"] = "refused: it holds a secret"
            return snapshot
        self.artifacts[step.state_name] = await self._parts.objects.keep_file(
            f"{self._tenant}/states", snapshot.path, sha256=snapshot.sha256, size=snapshot.size
        )
        return snapshot

    async def _declared(self, sandbox: Sandbox, step: StepPlan) -> Path:
        folder = self._place("artifacts")
        folder.mkdir()
        for number, artifact in enumerate(step.artifacts):
            await sandbox.get(artifact.source, folder / str(number))
        return folder

    def _place(self, suffix: str) -> Path:
        """A new path in the scratch; a folder of the attempt's own would cost more than the files of most."""
        place = self._parts.scratch / f"{self._attempt}.{len(self._scratch)}.{suffix}"
        self._scratch.append(place)
        return place

    async def forget(self) -> None:
        """Remove everything from this machine's scratch; what is kept is kept elsewhere. Safe to repeat."""
        for place in self._scratch:
            try:
                place.unlink(missing_ok=True)
            except IsADirectoryError:
                await asyncio.to_thread(shutil.rmtree, place, ignore_errors=True)
