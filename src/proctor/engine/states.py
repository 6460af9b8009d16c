"""What a step leaves: its final files kept as an artifact, and the paths that the task declared."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from pathlib import Path

from proctor.engine import artifacts
from proctor.engine.assignments import Assignment
from proctor.engine.hooks import run_hooks
from proctor.engine.parts import RunnerParts
from proctor.engine.secrets import holds_secret
from proctor.engine.steps import StepPlan
from proctor.kernel.canonical import Json
from proctor.objects.store import StoredObject
from proctor.sandboxes.errors import TransferRefused
from proctor.sandboxes.interfaces import Sandbox, Snapshot
from proctor.suites.tasks import VerificationMode

__all__ = ["Collected", "StateKeeper"]

_NOT_KEPT = "refused: it holds a secret"


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

    async def collect(self, sandbox: Sandbox, step: StepPlan, detail: dict[str, Json]) -> Collected:
        """The step's final state, kept; where it is verified live only the agent's session is dead by now.

        Raises ``TransferRefused`` for a state that can't be taken out.
        """
        await sandbox.kill_session("agent")
        detail["mode"] = step.terms.mode.value
        if step.hooks:
            detail["hooks"] = await run_hooks(sandbox, step.hooks)
        if step.on_copy:
            await sandbox.kill_all()
        separate = step.terms.mode is VerificationMode.SEPARATE
        declared = await self._declared(sandbox, step, detail) if step.artifacts or separate else None
        if not step.on_copy:
            return Collected()
        return Collected(state=await self.keep(sandbox, step, detail), artifacts=declared)

    async def keep(self, sandbox: Sandbox, step: StepPlan, detail: dict[str, Json]) -> Snapshot:
        """Keep the sandbox's state, unless it holds a secret. Every process must be dead."""
        snapshot = await sandbox.snapshot(self._place("tar"))
        detail["changed_system_paths"] = list(snapshot.changed_system_paths[:100])
        if not await self._store(step.state_name, snapshot):
            detail.update(state=_NOT_KEPT, secret_left=True)
        return snapshot

    async def _store(self, name: str, archive: Snapshot) -> bool:
        """Whether it is kept: not where it holds a secret."""
        secrets = list(self._parts.secrets.values())
        if await asyncio.to_thread(holds_secret, archive.path, secrets):
            return False
        self.artifacts[name] = await self._parts.objects.keep_file(
            f"{self._tenant}/states", archive.path, sha256=archive.sha256, size=archive.size
        )
        return True

    async def _declared(self, sandbox: Sandbox, step: StepPlan, detail: dict[str, Json]) -> Path | None:
        """The declared paths, kept; what can't be taken out is fatal only where the verifier gets nothing else."""
        folder = self._place("artifacts")
        try:
            missing = await artifacts.take(sandbox, step.artifacts, folder)
        except TransferRefused as error:
            if step.terms.mode is VerificationMode.SEPARATE:
                raise
            detail["artifacts"] = f"refused: {error}"
            return None
        if missing:
            detail["artifacts_missing"] = list[Json](missing)
        if any(folder.iterdir()):
            packed = await asyncio.to_thread(artifacts.pack, step.artifacts, folder, self._place("tar"))
            if not await self._store(step.artifacts_name, packed):
                detail.update(artifacts=_NOT_KEPT, secret_left=True)
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
