"""Grants a second: claims that fit a node beside what runs on it, by several workers, over 100,000 pending rows.

Every rule is on, and every row has a need. Each claim reads this machine as a worker does (``/proc``, control groups,
the disk), sums what the machine's workers hold, and takes as many rows as fit. Beside it the same claims without
admission, in the same run. Run: ``python -m benchmarks.planner_grants``.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import text
from sqlalchemy.engine import URL

from benchmarks.queue_claims import KIND, TENANTS, Lap, _crew, _rate, _run_each, load, measure_on_an_empty_server
from benchmarks.timing import load_average
from proctor.database.engine import Database
from proctor.headroom import Node, NodeReader
from proctor.kernel.clock import SystemClock
from proctor.kernel.ids import derived_id
from proctor.queue import service, workers

BATCH: int = 32
"""The slots of a large worker that are free at once."""
WARM_SEC: float = 2.0
_NEEDS = text("""
    UPDATE proctor.queue_item
    SET need = jsonb_build_object('memory_mb', 1 + floor(random() * 3), 'cpus', 0.005, 'disk_mb', 1)
""")
"""Small ones: a batch has to fit this machine, whichever it is, and its sums are the same work."""


def main() -> None:
    """Measure and print."""
    measure_on_an_empty_server(__doc__ or "", measure, rows=200_000, seconds=5.0, crews=[1, 2, 4])


def measure(
    app: URL, scheduler: URL, owner: URL, rows: int, seconds: float, crews: Sequence[int]
) -> dict[str, float | int]:
    """Each number of workers, with admission and without."""
    database = Database(app, scheduler)
    load(database, [derived_id("tenant", f"bench-{number}") for number in range(TENANTS)], rows, ("no",))
    database.as_scheduler(lambda connection: connection.execute(_NEEDS) and None)
    _run_each(owner, ("VACUUM (FULL, ANALYZE) proctor.queue_item",))
    found: dict[str, float | int] = {"rows": rows, "batch": BATCH}
    _crew(run_worker, 1, (app, scheduler, WARM_SEC, True))
    for crew in crews:
        laps = _crew(run_worker, crew, (app, scheduler, seconds, True))
        plain = _rate(_crew(run_worker, crew, (app, scheduler, seconds, False)))
        found[f"workers_{crew}_grants_per_sec"] = _rate(laps)
        found[f"workers_{crew}_claim_p50_ms"] = round(statistics.median(lap.claim_sec for lap in laps) * 1000, 1)
        found[f"workers_{crew}_ratio_to_plain"] = round(_rate(laps) / plain, 2)
    query = text("SELECT count(*) FROM proctor.queue_item WHERE state = 'pending'")
    found["rows_left"] = int(database.as_scheduler(lambda connection: connection.execute(query).scalar_one()))
    found["load_average"] = load_average()
    database.close()
    return found


def run_worker(app: URL, scheduler: URL, seconds: float, admits: bool) -> list[Lap]:
    """Claim what fits, complete it, until the time is over."""
    database = Database(app, scheduler)
    identity = workers.WorkerIdentity.of_this_process()
    database.as_scheduler(lambda connection: workers.register(connection, identity, slots=BATCH))
    clock = SystemClock()
    node = Node(NodeReader(clock, Path(tempfile.gettempdir()), own_group=True), clock, overcommit=2.0)
    laps: list[Lap] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        start = time.monotonic()
        admit = node.admit() if admits else None
        claims = database.as_scheduler(
            lambda c: service.claim(c, KIND, worker_id=identity.id, limit=BATCH, slots=BATCH, admit=admit)  # noqa: B023
        )
        claimed = time.monotonic()
        database.as_scheduler(lambda c: service.complete_all(c, KIND, claims))  # noqa: B023
        laps.append(Lap(time.monotonic(), claimed - start, len(claims)))
    database.close()
    return laps


if __name__ == "__main__":
    main()
