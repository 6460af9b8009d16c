"""Claims and completions a second over a million rows of which nine in ten are blocked, with every rule on.

Beside it, right before and after each measurement, what the same server does at most: batches taken by a bare
``DELETE ... RETURNING`` over ``FOR UPDATE SKIP LOCKED``, without lanes, bands, shares, limits, leases or tokens, and
without the second commit that a claim needs to outlive its worker. A warm-up comes first: after a load the first
change of each page is logged whole. Run: ``python -P benchmarks/queue_claims.py [--json]``.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple
from uuid import UUID

from sqlalchemy import Connection, create_engine, text
from sqlalchemy.engine import URL

from proctor.database.embedded import EmbeddedServer
from proctor.database.engine import Database
from proctor.database.upgrade import upgrade
from proctor.kernel.ids import derived_id
from proctor.queue import service, workers

BATCH: int = 100
KIND: str = "cell"
TENANTS: int = 10
OPEN_LANES: int = 3
"""Of a tenant's six lanes; of the others two are paused, and of one the breaker is open."""
RUN_SET: int = 500
"""Rows queued together: they lie together in the table, and share tenant, lane, band and what blocks them."""
PAGE: int = 100_000
"""Rows per statement of the load."""

_SETTINGS = (
    "UPDATE proctor.queue_lane SET max_running = 100000 WHERE provider = 'open0'",
    "UPDATE proctor.queue_lane SET paused = true WHERE provider IN ('closed0', 'closed1')",
    "UPDATE proctor.queue_lane SET failures = 3, closed_until = now() + interval '1 day' WHERE provider = 'closed2'",
)
_ITEMS = text("""
    INSERT INTO proctor.queue_item
        (tenant_id, kind, id, provider, band, state, holders, expected_sec, run_at, enqueued_at)
    SELECT run_set.tenant, :kind, gen_random_uuid(),
           CASE run_set.blocked WHEN 'lane' THEN 'closed' ELSE 'open' END || floor(run_set.provider),
           run_set.band, run_set.state,
           jsonb_build_object(run_set.id, CASE run_set.state WHEN 'paused' THEN NULL ELSE run_set.band END),
           random() * 600, now() + CASE run_set.state WHEN 'waiting' THEN interval '1 day' ELSE interval '0' END,
           run_set.enqueued_at
    FROM (
        SELECT gen_random_uuid() AS id, one.blocked, random() * 3 AS provider,
               least(3, floor(random() * 3.1 + 0.9)) AS band, now() - random() * interval '9 hours' AS enqueued_at,
               (CAST(:tenants AS uuid[]))[1 + floor(random() * :tenant_count)::int] AS tenant,
               CASE WHEN one.blocked IN ('paused', 'waiting') THEN one.blocked ELSE 'pending' END AS state
        FROM generate_series(1, CAST(:run_sets AS int)) n
        CROSS JOIN LATERAL (SELECT (CAST(:mix AS text[]))[1 + n % cardinality(CAST(:mix AS text[]))] AS blocked) one
    ) run_set CROSS JOIN generate_series(1, CAST(:size AS int)) n
""")
WARM_SEC: float = 3.0
BARE_SEC: float = 2.5
"""Of each look at the physical limit: the machine's other work changes from minute to minute."""
MIX: tuple[str, ...] = (*("lane",) * 4, *("paused",) * 2, *("waiting",) * 3, "no")
"""One row in ten can be served."""

_BARE_TABLE = (
    "CREATE TABLE proctor.bare AS SELECT n AS id, random() AS rank, repeat('x', 100) AS payload"
    " FROM generate_series(1, 1000000) n",
    "CREATE INDEX ON proctor.bare (rank)",
    "ALTER TABLE proctor.bare ADD PRIMARY KEY (id)",
)
_BARE = text("""
    DELETE FROM proctor.bare WHERE id = ANY(ARRAY(
        SELECT id FROM proctor.bare ORDER BY rank LIMIT :batch FOR UPDATE SKIP LOCKED)) RETURNING id, payload
""")


class Lap(NamedTuple):
    """One claim and its completion."""

    ended: float
    claim_sec: float
    rows: int


def main() -> None:
    """Measure and print."""
    measure_on_an_empty_server(__doc__ or "", measure, rows=1_000_000, seconds=6.0, crews=[1, 2])


Measure = Callable[[URL, URL, URL, int, float, Sequence[int]], dict[str, float | int]]


def measure_on_an_empty_server(
    description: str, measure: Measure, *, rows: int, seconds: float, crews: Sequence[int]
) -> None:
    """A benchmark's command: its options, a server of its own, and what was found. The numbers are its defaults."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rows", type=int, default=rows)
    parser.add_argument("--seconds", type=float, default=seconds, help="measured for each number of workers")
    parser.add_argument("--workers", type=int, nargs="+", default=crews)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="proctor-queue-") as name:
        Path(name).chmod(0o711)
        with EmbeddedServer(Path(name) / "database") as urls:
            upgrade(urls.owner)
            found = measure(urls.app, urls.scheduler, urls.owner, options.rows, options.seconds, options.workers)
    print(json.dumps(found) if options.json else "\n".join(f"{key:34} {value:>12,}" for key, value in found.items()))


def measure(
    app: URL, scheduler: URL, owner: URL, rows: int, seconds: float, crews: Sequence[int]
) -> dict[str, float | int]:
    """Load, then each number of workers, then the bare queue."""
    database = Database(app, scheduler)
    tenants = [derived_id("tenant", f"bench-{number}") for number in range(TENANTS)]
    found: dict[str, float | int] = {"rows": rows, "blocked": 0, "batch": BATCH}
    load(database, tenants, rows, MIX)
    _run_each(owner, ("VACUUM ANALYZE proctor.queue_item",))
    _run_each(owner, _BARE_TABLE)
    bare = [_rate(_crew(run_bare, 1, (owner, BARE_SEC)))]
    _crew(run_worker, 1, (app, scheduler, WARM_SEC))
    for crew in crews:
        load(database, tenants, rows // 10 - _servable(database), ("no",))
        found["blocked"] = rows - _servable(database)
        figures = _figures(f"workers_{crew}", _crew(run_worker, crew, (app, scheduler, seconds)))
        bare.append(_rate(_crew(run_bare, 1, (owner, BARE_SEC))))
        ratio = figures[f"workers_{crew}_rows_per_sec"] / statistics.mean(bare[-2:])
        found |= {**figures, f"workers_{crew}_ratio_to_bare": round(ratio, 2)}
    found["bare_rows_per_sec"] = round(statistics.mean(bare))
    found["load_average"] = round(os.getloadavg()[0], 1)
    database.close()
    return found


def load(database: Database, tenants: Sequence[UUID], rows: int, mix: Sequence[str]) -> None:
    """Queue rows straight in the table, and their lanes with their rules."""

    def lanes(connection: Connection) -> None:
        for number, tenant in enumerate(tenants):
            for provider in (f"{kind}{lane}" for kind in ("open", "closed") for lane in range(OPEN_LANES)):
                service.limit_lane(connection, tenant, KIND, provider, max_running=None)
            service.set_share(connection, tenant, KIND, weight=1.0 + number % 3, over_quota=number == 0)
        for statement in _SETTINGS:
            connection.execute(text(statement))

    database.as_scheduler(lanes)
    parameters = {"tenants": list(tenants), "tenant_count": len(tenants), "kind": KIND, "mix": list(mix)}
    for done in range(0, rows, PAGE):
        page = {**parameters, "size": RUN_SET, "run_sets": min(PAGE, rows - done) // RUN_SET}
        database.as_scheduler(lambda connection, page=page: connection.execute(_ITEMS, page) and None)  # type: ignore[misc]


def run_worker(app: URL, scheduler: URL, seconds: float) -> list[Lap]:
    """Claim a batch, complete it, until the time is over or nothing is left."""
    database = Database(app, scheduler)
    identity = workers.WorkerIdentity.of_this_process()
    database.as_scheduler(lambda connection: workers.register(connection, identity, slots=BATCH))
    laps: list[Lap] = []
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        start = time.monotonic()
        claims = database.as_scheduler(
            lambda connection: service.claim(connection, KIND, worker_id=identity.id, limit=BATCH, slots=BATCH)
        )
        claimed = time.monotonic()
        if not claims:
            break
        done = database.as_scheduler(lambda connection: service.complete_all(connection, KIND, claims))  # noqa: B023
        assert len(done) == len(claims)
        laps.append(Lap(time.monotonic(), claimed - start, len(claims)))
    database.close()
    return laps


def run_bare(owner: URL, seconds: float) -> list[Lap]:
    """The physical limit."""
    engine = create_engine(owner)
    laps: list[Lap] = []
    until = time.monotonic() + seconds
    while (start := time.monotonic()) < until:
        with engine.begin() as connection:
            rows = len(connection.execute(_BARE, {"batch": BATCH}).all())
        if not rows:
            break
        laps.append(Lap(time.monotonic(), time.monotonic() - start, rows))
    engine.dispose()
    return laps


def _crew(work: Callable[..., list[Lap]], size: int, arguments: tuple[object, ...]) -> list[Lap]:
    """The laps of ``size`` processes at once."""
    with multiprocessing.get_context("spawn").Pool(size) as pool:
        running = [pool.apply_async(work, arguments) for _ in range(size)]
        return sorted(lap for one in running for lap in one.get())


def _figures(name: str, laps: Sequence[Lap]) -> dict[str, float | int]:
    """Rate, latency, and the last third's rate beside the first's: a queue that bloats gets slower."""
    third = len(laps) // 3
    claims = statistics.quantiles((lap.claim_sec * 1000 for lap in laps), n=100)
    return {
        f"{name}_rows_per_sec": _rate(laps),
        f"{name}_seconds": round(laps[-1].ended - laps[0].ended, 1),
        f"{name}_claim_p50_ms": round(claims[49], 1),
        f"{name}_claim_p99_ms": round(claims[98], 1),
        f"{name}_last_third_to_first": round(_rate(laps[-third:]) / _rate(laps[:third]), 2),
    }


def _rate(laps: Sequence[Lap]) -> int:
    rows = sum(after.rows for _, after in pairwise(laps))
    return round(rows / (laps[-1].ended - laps[0].ended))


def _servable(database: Database) -> int:
    query = "SELECT count(*) FROM proctor.queue_item WHERE state = 'pending' AND provider LIKE 'open%'"
    return int(database.as_scheduler(lambda connection: connection.execute(text(query)).scalar_one()))


def _run_each(owner: URL, statements: Sequence[str]) -> None:
    engine = create_engine(owner, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        for statement in statements:
            connection.execute(text(statement))
    engine.dispose()


if __name__ == "__main__":
    main()
