"""What the benchmarks of whole commands share: taking turns, medians, and the load the machine was under."""

from __future__ import annotations

import os
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

__all__ = ["Spread", "alternating", "load_average"]


@dataclass(frozen=True, kw_only=True)
class Spread:
    """The least and the median of several measurements."""

    least: float
    median: float
    runs: int

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Of the values as they are."""
        return cls(least=min(values), median=statistics.median(values), runs=len(values))

    @classmethod
    def of_ms(cls, seconds: Sequence[float]) -> Spread:
        """Of seconds, in milliseconds."""
        return cls.of([one * 1000 for one in seconds])

    def document(self) -> dict[str, float]:
        """For a JSON report."""
        return {"least": round(self.least, 2), "median": round(self.median, 2), "runs": self.runs}


def alternating(actions: Mapping[str, Callable[[], None]], runs: int) -> dict[str, list[float]]:
    """Wall seconds of each action, taken in turns so that all see the same load; the first turn only warms up."""
    seen: dict[str, list[float]] = {name: [] for name in actions}
    for number in range(runs + 1):
        for name, action in actions.items():
            started = time.perf_counter()
            action()
            if number:
                seen[name].append(time.perf_counter() - started)
    return seen


def load_average() -> float:
    """Of the last minute: above the number of cores, the figures are of a busy machine."""
    return round(os.getloadavg()[0], 2)
