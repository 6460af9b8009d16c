"""Comparisons as the client answers them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proctor.app import Platform
    from proctor.engine.pairing import TasksAsked
    from proctor.engine.pairs import Comparison, PairSegments, TaskOfPair

__all__ = ["ComparisonCalls"]


class ComparisonCalls:
    """What the client answers of two run sets or profiles."""

    _platform: Platform

    def compare(
        self,
        references: Sequence[str],
        *,
        alpha: float = 0.05,
        base_only: bool = False,
        listed: int | None = None,
    ) -> Comparison:
        """Compare run sets or profiles pair by pair: ``RUN_SET[:PROFILE]`` or ``label:NAME[:PROFILE]``.

        ``base_only``: the first with each of the others, and not these with one another. ``listed``: how many tasks of
        a kind are named in ``only_a``, ``only_b`` and ``unpaired``; ``None``: all.
        """
        from proctor.sdk.comparisons import compare_references

        return compare_references(self._platform, references, alpha=alpha, base_only=base_only, listed=listed)

    def compare_segments(self, base: str, other: str, *, alpha: float = 0.05) -> PairSegments:
        """The first pair that two references make, by what the authors of its tasks say of them."""
        from proctor.sdk.comparisons import segments_of_comparison

        return segments_of_comparison(self._platform, base, other, alpha=alpha)

    def compare_tasks(self, base: str, other: str, which: TasksAsked) -> list[TaskOfPair]:
        """Tasks of the first pair that two references make, some at a time: the largest flips first, then by name."""
        from proctor.sdk.comparisons import tasks_of_comparison

        return tasks_of_comparison(self._platform, base, other, which)
