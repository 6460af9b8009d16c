"""The steps of attempts' trajectories, for whoever does not want all of them at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.app import Platform
from proctor.engine.reading import AttemptDetail
from proctor.engine.step_maps import parsed
from proctor.engine.step_reading import MOST_FOUND, MOST_STEPS, StepIndex, StepPage, Steps, StepsFound
from proctor.objects.store import StoredObject

__all__ = ["Trajectories"]


class Trajectories:
    """Of one tenant's attempts; what was read of one is kept for the next question."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def index(self, detail: AttemptDetail, *, after: int = 0) -> StepIndex:
        """What there is to know of the steps numbered above ``after`` before they are read, in columns."""
        return self._of(detail).index(after=after)

    def page(self, detail: AttemptDetail, *, first: int = 1, limit: int = MOST_STEPS) -> StepPage:
        """Steps from ``first`` on, with long texts cut; fewer than ``limit`` where they are large."""
        return self._of(detail).page(first=first, limit=min(limit, MOST_STEPS))

    def find(self, detail: AttemptDetail, text: str, *, after: int = 0, limit: int = MOST_FOUND) -> StepsFound:
        """Steps numbered above ``after`` that hold a text, whichever case its letters A to Z are in."""
        return self._of(detail).find(text, after=after, limit=min(limit, MOST_FOUND))

    def step(self, detail: AttemptDetail, number: int) -> Mapping[str, Any]:
        """One whole step (ATIF). Raises ``StepUnknown``."""
        return parsed(self._of(detail).line(number))

    def _of(self, detail: AttemptDetail) -> Steps:
        platform, attempt = self._platform, detail.attempt
        found = next((one for one in attempt["artifacts"] if one["name"] == "trajectory.json"), None)
        whole = found and StoredObject(key=found["key"], sha256=found["sha256"], size=found["size"])
        running = attempt["ended_at"] is None
        return platform.steps.of(platform.objects, platform.tenant, attempt["id"], whole, running=running)
