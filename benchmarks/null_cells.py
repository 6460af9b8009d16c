"""Null cells a second: every row, event, evidence phase and trajectory of a real cell, over the fake sandbox.

A second connection counts verdicts; the clock stops when it sees the last. Reuse is off. Each round runs Inspect AI's
null samples and Harbor's null trials beside it (``benchmarks/peers``), with temporary files on the disk and again in
memory, where there is a folder for that.

    python -m benchmarks.null_cells [--cells 20000] [--slots 32] [--runs 3] [--no-peers] [--json]

The targets: 500 cells/s on two cores, and at 20,000 cells no more than 1.2 times the memory of 2,000.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import text
from tests.foreign.environments import HARBOR, INSPECT, Foreign, PythonMissing

from benchmarks.grounds import fresh_platform, write_tasks
from benchmarks.timing import Spread, load_average
from proctor.app import Platform
from proctor.engine.resolving import resolve
from proctor.engine.service import OnMoved, Selection
from proctor.engine.spec import parse_spec
from proctor.engine.worker import Worker, WorkerSettings
from proctor.kernel.canonical import sha256_hex
from proctor.queue.workers import WorkerIdentity
from proctor.sandboxes.fake import FakeBackend, rewards
from proctor.telemetry.logs import configure_logs

__all__ = ["compare", "measure", "memory", "peers", "places"]

TASKS: int = 8
PEER_SAMPLES: int = 500
"""Enough for a steady rate; the peers' rates do not grow with the count."""
_PEERS: dict[Foreign, Path] = {
    INSPECT: Path(__file__).parent / "peers" / "inspect_null.py",
    HARBOR: Path(__file__).parent / "peers" / "harbor_null.py",
}
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


@dataclass(frozen=True, kw_only=True)
class Place:
    """A folder for temporary files: databases, objects, logs."""

    name: str
    folder: Path


def places() -> list[Place]:
    """The disk, and memory where the machine has a folder for it."""
    memory = Path("/dev/shm")
    disk = Place(name="disk", folder=Path(tempfile.gettempdir()))
    return [disk, Place(name="memory", folder=memory)] if os.access(memory, os.W_OK) else [disk]


def in_process_of_its_own(cells: int, slots: int, place: Place) -> dict[str, float]:
    """The same in a new process, so that peak memory is that run's alone."""
    once = [sys.executable, "-m", "benchmarks.null_cells", "--once", "--cells", str(cells), "--slots", str(slots)]
    found: dict[str, float] = json.loads(_output(once, place))
    return found


def peers(slots: int, place: Place) -> dict[str, float]:
    """Null samples or trials a second of each peer whose Python is on this machine."""
    found: dict[str, float] = {}
    for foreign, script in _PEERS.items():
        with suppress(PythonMissing):
            command = [str(foreign.interpreter()), str(script), str(PEER_SAMPLES), str(slots)]
            for kind, one in json.loads(_output(command, place).splitlines()[-1]).items():
                found[f"{foreign.name} ({kind})"] = one["per_sec"]
    return found


def _output(command: Sequence[str], place: Place) -> str:
    environment = {**os.environ, "TMPDIR": str(place.folder)}
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=environment)
    return done.stdout


def compare(place: Place, cells: int, slots: int, runs: int, *, with_peers: bool) -> dict[str, Any]:
    """Rounds of ours and theirs by turns at one place: every figure's spread, and ours over theirs."""
    ours: list[float] = []
    theirs: dict[str, list[float]] = {}
    for _ in range(runs):
        ours.append(in_process_of_its_own(cells, slots, place)["cells_per_sec"])
        for name, rate in (peers(slots, place) if with_peers else {}).items():
            theirs.setdefault(name, []).append(rate)
    own = Spread.of(ours)
    return {
        "cells_per_sec": own.document(),
        "peers_per_sec": {name: Spread.of(rates).document() for name, rates in theirs.items()},
        "times_the_peer": {name: round(own.median / Spread.of(rates).median, 1) for name, rates in theirs.items()},
        "load_average": load_average(),
    }


def memory(cells: int, slots: int) -> dict[str, float]:
    """Peak resident memory at 2,000 cells and at so many, and the ratio."""
    small, large = (in_process_of_its_own(count, slots, places()[0]) for count in (2_000, cells))
    ratio = large["rss_mib"] / small["rss_mib"]
    return {"small_mib": small["rss_mib"], "large_mib": large["rss_mib"], "ratio": round(ratio, 3)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print."""
    options = _options(arguments)
    if options.once:
        configure_logs("warning")
        print(json.dumps(measure(options.cells, options.slots)))
        return
    report: dict[str, Any] = {
        place.name: compare(place, options.cells, options.slots, options.runs, with_peers=options.peers)
        for place in places()
    }
    report["memory_of_the_worker"] = memory(options.cells, options.slots)
    if options.json:
        print(json.dumps(report))
        return
    print(json.dumps(report, indent=2))


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=20_000)
    parser.add_argument("--slots", type=int, default=32)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--no-peers", dest="peers", action="store_false")
    parser.add_argument("--once", action="store_true", help="one run in this process, as JSON")
    parser.add_argument("--json", action="store_true")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
