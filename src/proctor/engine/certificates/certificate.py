"""A certificate: what was tried with a task on one backend and environment, and what came of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from proctor.kernel.canonical import Json

__all__ = ["NOT_TRIED", "Certificate", "CheckVerdict", "CheckedTask", "Ground", "is_untried"]


NOT_TRIED: str = "not_tried"
"""In place of a run's class: there was nothing to run, and the certificate says so rather than nothing."""


class CheckVerdict(StrEnum):
    """What a certificate says of its task."""

    CERTIFIED = "certified"
    REFUSED = "refused"
    NOT_DECIDED = "not_decided"


@dataclass(frozen=True, kw_only=True)
class Ground:
    """Where checks are made: a certificate holds there and nowhere else."""

    backend: str
    environment: Mapping[str, str]


@dataclass(frozen=True, kw_only=True)
class Certificate:
    """Stored once, never changed. ``runs`` are documents; ``oracle`` the verdicts of the repetitions."""

    id: UUID
    agent_digest: str
    verifier_digest: str
    content_digest: str
    ground: Ground
    checks: str
    verdict: CheckVerdict
    problems: tuple[str, ...]
    snapshot: bool | None
    oracle: tuple[bool | None, ...]
    runs: tuple[Mapping[str, Json], ...]
    made_by: str


@dataclass(frozen=True, kw_only=True)
class CheckedTask:
    """A task after the check. ``verdict`` is ``None`` for one that was not come to; malformed ones are not decided."""

    name: str
    content_digest: str
    verdict: CheckVerdict | None
    skipped: bool = False
    """Its certificate was there already."""
    problems: tuple[str, ...] = ()
    snapshot: bool | None = None
    runs: tuple[Mapping[str, Json], ...] = ()


def is_untried(runs: Iterable[Mapping[str, Json]]) -> bool:
    """Whether a certificate says that the task brought no wrong solution to be tried."""
    return any(run["class"] == NOT_TRIED for run in runs)
