"""The steps of attempts' trajectories on a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from proctor.engine.reading import AttemptDetail
from proctor.engine.step_reading import MOST_FOUND, MOST_STEPS, StepIndex, StepPage, StepsFound
from proctor.sdk.remote.answers import read
from proctor.sdk.remote.transport import Transport

__all__ = ["RemoteTrajectories"]


class RemoteTrajectories:
    """What ``proctor.sdk.trajectories.Trajectories`` answers, answered by a server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def index(self, detail: AttemptDetail, *, after: int = 0, wait: float = 0) -> StepIndex:
        """What there is to know of the steps numbered above ``after`` before they are read, in columns.

        ``wait``: of one that runs, for so many seconds at the most until there is one.
        """
        return read(StepIndex, self._transport.get(f"{_steps(detail)}/index", after=after, wait=wait))

    def page(self, detail: AttemptDetail, *, first: int = 1, limit: int = MOST_STEPS) -> StepPage:
        """Steps from ``first`` on, with long texts cut; fewer than ``limit`` where they are large."""
        return read(StepPage, self._transport.get(_steps(detail), first=first, limit=min(limit, MOST_STEPS)))

    def find(self, detail: AttemptDetail, text: str, *, after: int = 0, limit: int = MOST_FOUND) -> StepsFound:
        """Steps numbered above ``after`` that hold a text, whichever case its letters A to Z are in."""
        asked = {"text": text, "after": after, "limit": min(limit, MOST_FOUND)}
        return read(StepsFound, self._transport.get(f"{_steps(detail)}/find", **asked))

    def step(self, detail: AttemptDetail, number: int) -> Mapping[str, Any]:
        """One whole step (ATIF)."""
        found: Mapping[str, Any] = self._transport.get(f"{_steps(detail)}/{number}")
        return found


def _steps(detail: AttemptDetail) -> str:
    return f"attempts/{detail.attempt['id']}/steps"
