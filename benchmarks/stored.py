"""Reading and reclassifying what is stored: a leaderboard, a filtered page of cells, another policy over all of it.

Beside each, in the same run, the physical limit: PostgreSQL counting the same rows with nothing to decide.

    python -m benchmarks.stored [--attempts 100000] [--runs 3] [--json]

The targets: leaderboard over 1,000,000 attempts under 2 s, a filtered page of cells under 200 ms, reclassify of 100,000
attempts under 20 s.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from functools import partial

from sqlalchemy import text

from benchmarks.grounds import fresh_platform
from benchmarks.rerun import finished
from benchmarks.timing import Spread, alternating, load_average
from proctor.app import Platform
from proctor.engine import leaderboards, reading
from proctor.engine.outcomes import CURRENT_POLICY
from proctor.engine.planning import RunSetRow
from proctor.telemetry.logs import configure_logs

__all__ = ["measure"]

_COUNT = text("""
    SELECT count(*), count(*) FILTER (WHERE r.verdict) FROM proctor.expected_cell e
    JOIN proctor.result r ON r.tenant_id = e.tenant_id AND r.cell_id = e.cell_id
    JOIN proctor.attempt a ON a.tenant_id = e.tenant_id AND a.cell_id = e.cell_id WHERE e.run_set_id = :run_set
""")


def measure(attempts: int, runs: int) -> dict[str, Spread]:
    """Wall milliseconds of each."""
    with fresh_platform() as (platform, folder):
        finished(platform, folder, attempts)
        row = platform.engine.read(lambda c: reading.find_run_set(c, platform.tenant, None))
        actions: dict[str, Callable[[], object]] = {
            "bare_count": partial(_count, platform, row),
            "leaderboard": partial(_leaderboard, platform, row),
            "page_of_cells": partial(_page, platform, row),
        }
        seen = alternating(actions, runs)
        seen["reclassify"] = [_reclassify(platform, row)]
    return {name: Spread.of_ms(seconds) for name, seconds in seen.items()}


def _count(platform: Platform, row: RunSetRow) -> None:
    platform.engine.read(lambda c: c.execute(_COUNT, {"run_set": row.id}).one())


def _leaderboard(platform: Platform, row: RunSetRow) -> None:
    board = platform.engine.read(lambda c: leaderboards.leaderboard(c, platform.tenant, row, []))
    assert all(one.rates.strict == 1.0 for one in board)


def _page(platform: Platform, row: RunSetRow) -> None:
    page = platform.engine.read(
        lambda c: reading.cells(c, platform.tenant, row, outcome_class="passed", profile=7, limit=200)
    )
    assert len(page.cells) == 200


def _reclassify(platform: Platform, row: RunSetRow) -> float:
    from importlib.resources import files

    shipped = files("proctor.engine").joinpath(f"policies/{CURRENT_POLICY}.toml").read_text(encoding="utf-8")
    policy = platform.engine.keep_policy(shipped.replace(CURRENT_POLICY, "bench"), where="bench")
    started, cells = time.perf_counter(), 0

    def on_page(done: int) -> None:
        nonlocal cells
        cells += done

    platform.engine.reclassify(row, policy, on_page)
    took = time.perf_counter() - started
    progress = platform.engine.read(lambda c: reading.progress(c, platform.tenant, row))
    assert cells == progress.expected
    return took


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=100_000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    configure_logs("warning")
    found = measure(options.attempts, options.runs)
    report = {name: spread.document() for name, spread in found.items()}
    if options.json:
        print(json.dumps({**report, "attempts": options.attempts, "load_average": load_average()}))
        return
    for name, spread in found.items():
        print(f"{name:16} median {spread.median:7.0f} ms   least {spread.least:7.0f} ms")


if __name__ == "__main__":
    main()
