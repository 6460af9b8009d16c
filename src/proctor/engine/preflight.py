"""Before a run set's cells start: its images brought here, each once, and what that tells of their registries.

A tag is resolved to a digest here, and every attempt of the worker starts from that, though the tag may move meanwhile.
The backend's engine asks its mirrors, and all workers together keep to so many pulls a minute of one registry.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.blaming import forget_ends
from proctor.engine.breakers import Kind, Scope, blame_of
from proctor.engine.evidence import Phase, last_error
from proctor.engine.outcomes import Outcome, OutcomePolicy, classify
from proctor.engine.parts import RunnerParts
from proctor.engine.phases import PhaseFailed, PhaseRecorder
from proctor.engine.recording import KIND
from proctor.queue import service as queue
from proctor.suites.images import is_whole

__all__ = ["Missing", "Preflight", "tell_registries", "wanted_images"]

_run = partial(run_query, "proctor.engine")

AT_ONCE: int = 4
"""Pulls side by side: more only share one line to one registry."""

LOOK_SEC: float = 0.25
"""Between looks whether to go on: a pull may take minutes, and Ctrl-C should not."""


@dataclass(frozen=True, kw_only=True)
class Missing:
    """An image that did not come, with its class by the outcome policy; ``registry``: the one that failed."""

    image: str
    outcome: Outcome
    registry: str | None
    message: str


class Preflight:
    """Brings images one after another, a few side by side. ``done`` and ``missing`` may be read while it does."""

    def __init__(self, parts: RunnerParts, images: Sequence[str], policy: OutcomePolicy) -> None:
        self._parts, self._policy = parts, policy
        self._left = list(reversed(images))
        self._failing: set[str] = set()
        self._answered: set[str] = set()
        self.total, self.done = len(images), 0
        self.missing: list[Missing] = []

    @property
    def worked(self) -> frozenset[str]:
        """The registries that images came from, and none did not come from."""
        return frozenset(self._answered - self._failing)

    async def run(self, go_on: Callable[[], bool]) -> None:
        """Bring them all, while ``go_on`` says so. A registry that failed is not asked for another."""
        bringing = asyncio.gather(*(self._bring_some() for _ in range(AT_ONCE)))
        with contextlib.suppress(asyncio.CancelledError):
            while not bringing.done():
                await asyncio.wait([bringing], timeout=LOOK_SEC)
                if not go_on():
                    bringing.cancel()
            await bringing

    async def _bring_some(self) -> None:
        while self._left:
            image = self._left.pop()
            if Scope.of_image(image).name not in self._failing:
                await self._bring(image)
            self.done += 1

    async def _bring(self, image: str) -> None:
        recorder = PhaseRecorder(self._parts.clock)
        try:
            with recorder.phase(Phase.IMAGE):
                here = await self._parts.backend.has(image)
                self._parts.images[image] = await self._parts.backend.pull(image)
            self._answered.update([] if here else [Scope.of_image(image).name])
        except PhaseFailed as failed:
            outcome = classify(self._policy, recorder.evidence, None)
            ended = last_error(recorder.evidence)
            assert ended is not None
            blamed = blame_of(outcome, recorder.evidence) is Kind.REGISTRY
            registry = str(ended.detail["registry"]) if blamed else None
            self._failing.update([registry] if registry else [])
            self.missing.append(Missing(image=image, outcome=outcome, registry=registry, message=str(failed)))


def wanted_images(connection: Connection, tenant: UUID, run_set: UUID, policy_version: str) -> list[str]:
    """The images of a run set's cells without a verdict, as far as their names are known."""
    found = _run(connection, "wanted_images", tenant=tenant, run_set=run_set, policy=policy_version)
    return [image for image in found.scalars() if is_whole(image)]


def tell_registries(connection: Connection, tenant: UUID, preflight: Preflight) -> None:
    """A registry that fails before anything has started is closed at once: no cell has used a try yet.

    One that images came from is open again, and its failures count anew.
    """
    failed = {one.registry: one.outcome.outcome.value for one in preflight.missing if one.registry}
    if failed:
        queue.hold_claims(connection, KIND)
    for registry, outcome in sorted(failed.items()):
        key = Scope(kind=Kind.REGISTRY, name=registry).key
        queue.lane_failed(connection, tenant, KIND, key, reason=outcome, retry_after=None)
    came = {Scope(kind=Kind.REGISTRY, name=name).key: name for name in sorted(preflight.worked)}
    for key in queue.lanes_worked(connection, tenant, KIND, dict.fromkeys(came)):
        forget_ends(connection, tenant, Kind.REGISTRY, came[key])
