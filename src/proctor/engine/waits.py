"""What cells wait for beside their turn, as people are told of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from proctor.queue.service import Blocked

__all__ = ["Wait", "WaitState", "wait_of"]


class WaitState(StrEnum):
    """Why nothing, or not more, starts."""

    PAUSED = "paused"
    """Until somebody opens it."""
    CLOSED = "closed"
    """Until a time: then a probe is let through."""
    PROBING = "probing"
    """One at a time, until one works."""
    FULL = "full"
    """As much runs, or has started, as its limit allows."""


@dataclass(frozen=True, kw_only=True)
class Wait:
    """A provider, registry, node, or one of these as a run set limits it, a profile, or the pulls of a registry."""

    scope: str
    name: str
    state: WaitState
    until: datetime | None
    cells: int
    """How many of the run set's wait for it; 0: only for a turn at a registry, or it is a node's."""
    counts: Mapping[str, int]
    """Failures by class since it last worked."""
    reason: str
    at_once: int | None
    per_minute: int | None


def wait_of(blocked: Blocked) -> Wait:
    """Of a row of the queue's what it stands for: a name without a slash is a provider's."""
    scope, name = _named(blocked.key)
    return Wait(
        scope=scope,
        name=name,
        state=_state(blocked),
        until=blocked.until,
        cells=blocked.pending,
        counts=blocked.counts,
        reason=blocked.reason,
        at_once=blocked.most,
        per_minute=blocked.per_minute,
    )


def _named(key: str) -> tuple[str, str]:
    scope, slash, name = key.partition("/")
    if not slash:
        return "provider", key
    return _named_limit(name) if scope == "limit" else (scope, name)


def _named_limit(key: str) -> tuple[str, str]:
    _, what, name = key.split("/", 2)
    return what, name


def _state(blocked: Blocked) -> WaitState:
    if blocked.paused:
        return WaitState.PAUSED
    if blocked.until is not None:
        return WaitState.CLOSED
    return WaitState.PROBING if blocked.failures else WaitState.FULL
