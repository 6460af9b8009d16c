"""What a server answers of two run sets or profiles."""

from __future__ import annotations

from collections.abc import Sequence

from proctor.engine.pairing import TasksAsked
from proctor.engine.pairs import Comparison, PairSegments, TaskOfPair
from proctor.sdk.cursors import Listing
from proctor.sdk.remote.answers import read
from proctor.sdk.remote.transport import API, Transport

__all__ = ["RemoteComparisons"]


class RemoteComparisons:
    """Of one tenant."""

    transport: Transport

    def compare(
        self,
        references: Sequence[str],
        *,
        alpha: float = 0.05,
        base_only: bool = False,
        listed: int | None = None,
    ) -> Comparison:
        """Compare run sets or profiles pair by pair. ``base_only``: the first with each of the others alone.

        ``listed``: how many tasks of a kind are named; ``None``: all.
        """
        asked = {"side": list(references), "alpha": alpha, "base_only": base_only, "listed": listed}
        return read(Comparison, self.transport.get("comparisons", **asked))

    def compare_segments(self, base: str, other: str, *, alpha: float = 0.05) -> PairSegments:
        """The first pair that two references make, by what the authors of its tasks say of them."""
        return read(
            PairSegments, self.transport.get("comparisons/segments", **{"base": base, "with": other, "alpha": alpha})
        )

    def compare_tasks(self, base: str, other: str, which: TasksAsked) -> list[TaskOfPair]:
        """Tasks of the first pair that two references make, some at a time: the largest flips first, then by name."""
        segment = None if which.segment is None else ":".join(which.segment)
        asked = {"base": base, "with": other, "show": which.kind or "all", "segment": segment}
        said = tuple((name, value) for name, value in asked.items() if value is not None)
        cursor = None if which.after is None else Listing(f"{API}/comparisons/tasks", said).cursor(which.after)
        found = self.transport.get("comparisons/tasks", **dict(said), cursor=cursor, limit=which.limit)
        return read(list[TaskOfPair], found["items"])
