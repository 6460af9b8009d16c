"""The fault plan of one configuration: which attempts are hit, and by what. Pure functions over the stored document.

A plan is part of the configuration and so of its hash: what was run with faults is another configuration, and no
result of it can stand for one without. Profiles' names are left out, as everywhere in a configuration.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

from proctor.engine.task_names import matches
from proctor.kernel.canonical import Json, digest

__all__ = ["DEFAULT_RETRY_AFTER_SEC", "FaultKind", "PlannedFault", "planned_faults", "profile_plan"]

DEFAULT_RETRY_AFTER_SEC: float = 1.0
"""What a provider that limits us on purpose asks for: long enough to see its lane wait, short enough to wait for."""


class FaultKind(StrEnum):
    """The faults that can be made, each where the real one happens."""

    PULL_DROP = "pull_drop"
    OOM_KILL = "oom_kill"
    EVICTION = "eviction"
    VERIFIER_CRASH = "verifier_crash"
    RATE_LIMIT = "rate_limit"
    AUTH_ERROR = "auth_error"
    LOST_WORKER = "lost_worker"
    FULL_DISK = "full_disk"


class FaultEntry(Protocol):
    """An entry of the run-set file, as far as a plan needs it."""

    @property
    def profiles(self) -> Sequence[str]:
        """Who may be hit; empty: everybody."""
        ...

    def model_dump(self, *, mode: str, exclude: set[str]) -> dict[str, Any]:
        """The entry as JSON."""
        ...


@dataclass(frozen=True, kw_only=True)
class PlannedFault:
    """One entry of a configuration's plan."""

    name: str
    """What evidence says of it: the plan's digest, the entry's number in the plan and its kind."""
    kind: FaultKind
    tasks: str
    attempts: frozenset[int]
    share: float
    seed: int
    retry_after_sec: float

    def may_hit(self, cell: UUID, number: int) -> bool:
        """Whether attempt ``number`` of a cell is one to be hit, as far as its task does not matter."""
        return number in self.attempts and _position(self.seed, cell) < self.share

    def hits_task(self, name: str) -> bool:
        """Whether a task is one to be hit."""
        return matches(name, self.tasks)


def _position(seed: int, cell: UUID) -> float:
    """Where a cell lies between 0 and 1 for this seed: the same in every process, and after a resume."""
    return int.from_bytes(hashlib.sha256(f"{seed}/{cell}".encode()).digest()[:6]) / 2**48


def profile_plan(entries: Iterable[FaultEntry], profile: str) -> dict[str, Json] | None:
    """What of a file's entries can hit a profile, as its configuration keeps it; ``None`` where nothing can."""
    kept: list[Json] = [
        entry.model_dump(mode="json", exclude={"profiles"})
        for entry in entries
        if not entry.profiles or profile in entry.profiles
    ]
    return {"digest": digest(kept), "entries": kept} if kept else None


def planned_faults(configuration: Mapping[str, Json]) -> tuple[PlannedFault, ...]:
    """The entries of a configuration's plan, in order; none where it has no plan."""
    plan: Any = configuration.get("fault_plan")
    if plan is None:
        return ()
    return tuple(_planned(plan["digest"], number, entry) for number, entry in enumerate(plan["entries"], start=1))


def _planned(plan: str, number: int, entry: Mapping[str, Any]) -> PlannedFault:
    retry_after = entry["retry_after_sec"]
    return PlannedFault(
        name=f"plan {plan[:12]}, entry {number}: {entry['kind']}",
        kind=FaultKind(entry["kind"]),
        tasks=entry["tasks"],
        attempts=frozenset(entry["attempts"]),
        share=entry["share"],
        seed=entry["seed"],
        retry_after_sec=DEFAULT_RETRY_AFTER_SEC if retry_after is None else retry_after,
    )
