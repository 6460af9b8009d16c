"""How long a run set with stragglers takes, longest expected first, beside first come first served and the bound.

The order is the real queue's: rows are claimed from it whenever a slot is free, and completed when their time is over.
Only the time is played: an hour of attempts takes a second. No order can end before the longest cell has, nor before
all cells divided by the slots; that is the bound. One cell in twenty takes ten times as long as the others, or more.
What a cell is expected to take is what its task took before, which differs from what it takes now by chance; beside it
stands what an order by time limits does, which here are all the same. Run: ``python -m benchmarks.straggler_mix``.
"""

from __future__ import annotations

import argparse
import heapq
import json
import random
import statistics
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from benchmarks.timing import load_average
from proctor.database.embedded import EmbeddedServer
from proctor.database.engine import Database
from proctor.database.upgrade import upgrade
from proctor.kernel.ids import new_id
from proctor.queue import service
from proctor.queue.service import Item

KIND: str = "cell"
STRAGGLERS: float = 0.05
SPREAD: float = 0.8
"""Sigma of the logarithm of ordinary cells' seconds: the middle two thirds lie within a factor of five."""
CHANCE: float = 0.3
"""Sigma of the logarithm of what a cell takes now over what its task took before."""
LIMIT_SEC: float = 3600.0


class Cell(NamedTuple):
    """What a cell takes, and what its task took before."""

    seconds: float
    before: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=160)
    parser.add_argument("--slots", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=8)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="straggler-mix-") as name:
        Path(name).chmod(0o711)
        with EmbeddedServer(Path(name) / "database") as urls:
            upgrade(urls.owner)
            database = Database(urls.app, urls.scheduler)
            found = measure(database, options.cells, options.slots, options.seeds)
            database.close()
    print(json.dumps(found) if options.json else "\n".join(f"{key:34} {value}" for key, value in found.items()))


def measure(database: Database, cells: int, slots: int, seeds: int) -> dict[str, object]:
    """Each order over the same cells of each seed, as ratios to the bound."""
    ratios: dict[str, list[float]] = {"first_come": [], "by_limits": [], "longest_expected": []}
    for seed in range(seeds):
        mix = drawn(seed, cells)
        bound = lower_bound(mix, slots)
        expected: Mapping[str, Sequence[float]] = {
            "first_come": [0.0] * cells,
            "by_limits": [LIMIT_SEC] * cells,
            "longest_expected": [cell.before for cell in mix],
        }
        for order, seconds in expected.items():
            ratios[order].append(makespan(database, mix, seconds, slots) / bound)
    better = [mine <= theirs for mine, theirs in zip(ratios["longest_expected"], ratios["first_come"], strict=True)]
    return {
        "cells": cells,
        "slots": slots,
        "seeds": seeds,
        **{f"{order}_mean": round(statistics.mean(found), 3) for order, found in ratios.items()},
        **{f"{order}_worst": round(max(found), 3) for order, found in ratios.items()},
        "never_later_than_first_come": all(better),
        "load_average": load_average(),
    }


def drawn(seed: int, cells: int) -> list[Cell]:
    """Ordinary cells of a minute or so, and stragglers of ten minutes to an hour, in no order."""
    rng = random.Random(seed)
    found = []
    for number in range(cells):
        straggles = number < cells * STRAGGLERS
        seconds = rng.uniform(600, LIMIT_SEC) if straggles else min(600.0, 60 * rng.lognormvariate(0, SPREAD))
        found.append(Cell(seconds, seconds * rng.lognormvariate(0, CHANCE)))
    rng.shuffle(found)
    return found


def lower_bound(mix: Sequence[Cell], slots: int) -> float:
    """No order ends before this."""
    return max(sum(cell.seconds for cell in mix) / slots, max(cell.seconds for cell in mix))


def makespan(database: Database, mix: Sequence[Cell], expected: Sequence[float], slots: int) -> float:
    """Seconds from the first claim to the last end, in the order in which the queue gives the cells out."""
    tenant, holder, worker = new_id(), new_id(), new_id()
    cells = {new_id(): cell for cell in mix}
    items = [Item(id=id_, expected_sec=seconds) for id_, seconds in zip(cells, expected, strict=True)]
    database.as_tenant(tenant, lambda c: service.enqueue(c, tenant, KIND, items, holder=holder))
    running: list[tuple[float, int, UUID]] = []
    now = 0.0
    while True:
        free = slots - len(running)
        claims = database.as_scheduler(
            lambda c: service.claim(c, KIND, worker_id=worker, limit=free, slots=slots, scope=holder)  # noqa: B023
        )
        for claim in claims:
            heapq.heappush(running, (now + cells[claim.id].seconds, claim.token, claim.id))
        if claims and len(running) < slots:
            continue
        if not running:
            return now
        now, token, ended = heapq.heappop(running)
        database.as_tenant(tenant, lambda c: service.complete(c, tenant, KIND, [(ended, token)]))  # noqa: B023


if __name__ == "__main__":
    main()
