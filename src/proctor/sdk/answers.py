"""What a client answers with, whether it asks this process or a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from proctor.engine import leaderboards, reading
from proctor.engine.gates import GateResult
from proctor.engine.numbers import Rates
from proctor.engine.planning import RunSetRow
from proctor.engine.resolving import Resolved
from proctor.engine.spec import RunSetSpec
from proctor.kernel.errors import UsageError
from proctor.sandboxes.interfaces import SandboxBackend

__all__ = ["Leaderboard", "NotBlocked", "Prepared", "StateMissing"]


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A run-set file read and resolved, not started."""

    spec: RunSetSpec
    resolved: Resolved
    backend: SandboxBackend
    secrets: Mapping[str, str]
    missing_secrets: tuple[str, ...]

    @property
    def cells(self) -> int:
        """How many it would have."""
        return self.resolved.plan.cells


@dataclass(frozen=True, kw_only=True)
class Leaderboard:
    """A run set's rows with what stands around them."""

    run_set: RunSetRow
    rows: tuple[leaderboards.LeaderboardRow, ...]
    rates: Rates
    """Of all rows together."""
    progress: reading.Progress
    reused: int
    oldest_reused: datetime | None
    task_names: Mapping[str, str]
    gate: GateResult


class StateMissing(UsageError):
    """No final state of this attempt was kept."""

    code = "state-missing"
    remedy = "`proctor attempt show` lists what was kept of it."


class NotBlocked(UsageError):
    """Nothing of this name is closed or paused."""

    code = "not-blocked"
    remedy = "`proctor status RUN_SET` tells what its cells wait for: a provider, registry or node, and its name."
