"""What a server answers of two run sets or profiles."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.engine.pairing import TaskKind
from proctor.engine.pairs import Comparison, TaskOfPair
from proctor.sdk.cursors import Listing
from proctor.sdk.remote.answers import read
from proctor.sdk.remote.transport import API, Transport

__all__ = ["RemoteComparisons"]


class RemoteComparisons:
    """Of one tenant."""

    transport: Transport

    def compare(self, references: Sequence[str], *, alpha: float = 0.05) -> Comparison:
        """Compare run sets or profiles pair by pair."""
        return read(Comparison, self.transport.get("comparisons", side=list(references), alpha=alpha))

    def compare_tasks(
        self,
        base: str,
        other: str,
        *,
        kind: TaskKind | None = "flips",
        after: tuple[float, str, str] | None = None,
        limit: int = 200,
    ) -> list[TaskOfPair]:
        """Tasks of the first pair that two references make, some at a time: the largest flips first, then by name.

        ``kind`` ``None``: all of them. ``after``: the place of the last one before.
        """
        asked = {"base": base, "with": other, "show": kind or "all"}
        cursor = None if after is None else Listing(f"{API}/comparisons/tasks", tuple(asked.items())).cursor(after)
        found = self.transport.get("comparisons/tasks", **asked, cursor=cursor, limit=limit)
        return read(list[TaskOfPair], found["items"])
