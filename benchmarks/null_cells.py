"""Null cells a second: every row, event, evidence phase and trajectory of a real cell, over the fake sandbox.

A second connection counts verdicts; the clock stops when it sees the last. Reuse is off.

    python -m benchmarks.null_cells [--cells 20000] [--slots 32] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from sqlalchemy import text

from benchmarks.grounds import fresh_platform, write_tasks
from proctor.app import Platform
from proctor.engine.resolving import resolve
from proctor.engine.service import OnMoved, Selection
from proctor.engine.spec import parse_spec
from proctor.engine.worker import Worker, WorkerSettings
from proctor.kernel.canonical import sha256_hex
from proctor.queue.workers import WorkerIdentity
from proctor.sandboxes.fake import FakeBackend, rewards

TASKS = 8
FILE = """
name = "null"
suite = "suite"
trials = {trials}
reuse = "off"
[[profiles]]
name = "noop"
agent = "noop"
"""


def measure(cells: int, slots: int) -> dict[str, float]:
    """Run so many null cells in this process; seconds, cells a second, and peak resident memory in MiB."""
    with fresh_platform() as (platform, folder):
        write_tasks(folder / "suite", TASKS)
        return _measure(platform, folder, cells, slots)


def _measure(platform: Platform, folder: Path, cells: int, slots: int) -> dict[str, float]:
    source = FILE.format(trials=cells // TASKS).encode()
    backend = FakeBackend(rewards(1.0))
    spec = parse_spec(source, where="null")
    resolved = resolve(
        spec,
        sha256_hex(source),
        tenant=platform.tenant,
        base=folder,
        suites=platform.suites,
        backend=backend,
    )
    planned = time.perf_counter()
    run_set = platform.engine.open(resolved, on_moved=OnMoved.ASK, fresh=False, selection=Selection()).run_set
    started, cpu = time.perf_counter(), time.process_time()
    identity = WorkerIdentity.of_this_process()
    parts = platform.runner_parts(backend, identity.owner, {})
    settings = WorkerSettings(slots=slots, scope=run_set.id)
    worker = Worker(platform.database, parts, identity, settings, lambda batch: None)
    seen: list[float] = []
    watcher = threading.Thread(target=_watch, args=(platform, cells, seen))
    watcher.start()
    asyncio.run(worker.run(platform.engine.work_left(run_set.id)))
    watcher.join()
    seconds = seen[0] - started
    return {
        "cells": cells,
        "plan_sec": started - planned,
        "seconds": seconds,
        "cells_per_sec": cells / seconds,
        "own_cpu_ms_per_cell": (time.process_time() - cpu) / cells * 1000,
        "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        **_left(platform, cells),
    }


def _watch(platform: Platform, cells: int, seen: list[float]) -> None:
    while True:
        with platform.database.tenant(platform.tenant) as connection:
            count = connection.execute(text("SELECT count(*) FROM proctor.result")).scalar_one()
        if count == cells:
            seen.append(time.perf_counter())
            return
        time.sleep(0.2)


def _left(platform: Platform, cells: int) -> dict[str, float]:
    """Rows a cell left in each table, so that the figure is of whole cells."""
    tables = ("attempt", "evidence", "grading", "outcome", "result", "event")
    with platform.database.tenant(platform.tenant) as connection:
        counts = {
            table: connection.execute(text(f"SELECT count(*) FROM proctor.{table}")).scalar_one() for table in tables
        }
    return {f"{table}_per_cell": round(count / cells, 3) for table, count in counts.items()}


def in_process_of_its_own(cells: int, slots: int) -> dict[str, float]:
    """The same in a new process, so that peak memory is that run's alone."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.null_cells", "--once", "--cells", str(cells), "--slots", str(slots)],
        check=True,
        capture_output=True,
        text=True,
    )
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=20_000)
    parser.add_argument("--slots", type=int, default=32)
    parser.add_argument("--once", action="store_true", help="one run in this process, as JSON")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    if options.once:
        print(json.dumps(measure(options.cells, options.slots)))
        return
    small, large = (in_process_of_its_own(count, options.slots) for count in (2_000, options.cells))
    report = {
        "large": large,
        "small": small,
        "rss_ratio": large["rss_mib"] / small["rss_mib"],
        "load_average": os.getloadavg()[0],
    }
    if options.json:
        print(json.dumps(report, indent=2))
        return
    print(f"{large['cells_per_sec']:,.0f} null cells/s over {options.cells:,} cells ({large['seconds']:.1f} s)")
    print(f"peak memory {large['rss_mib']:.0f} MiB, {report['rss_ratio']:.2f} times that of 2,000 cells")


if __name__ == "__main__":
    main()
