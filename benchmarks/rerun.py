"""Running a finished run set again, from the command's start to "nothing to do" and to its end, leaderboard included.

The database server runs already, since this process is a client of it. The first cell is run; its rows are then
copied to all others, so that every table is as full as if each had been run.

    python -m benchmarks.rerun [--cells 10000] [--runs 5] [--json]

The targets: 10,000 cells under 1 s, 100,000 under 5 s.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from uuid import UUID

from sqlalchemy import text

from benchmarks.grounds import fresh_platform, write_tasks
from benchmarks.startup import BARE, HELP
from benchmarks.timing import Spread, alternating, load_average
from proctor.app import Platform
from proctor.engine.resolving import Resolved, resolve
from proctor.engine.service import OnMoved, Selection
from proctor.engine.spec import read_spec
from proctor.engine.worker import Worker, WorkerSettings
from proctor.queue.workers import WorkerIdentity
from proctor.sandboxes.fake import FakeBackend, rewards
from proctor.telemetry.logs import configure_logs

__all__ = ["finished", "measure"]

TASKS: int = 100
PROFILES: int = 10
NOTHING: str = "nothing to do"
HEAD = """
name = "finished"
suite = "suite"
trials = {trials}
"""
PROFILE = """
[[profiles]]
name = "noop-{number}"
agent = "noop"
variant = "{number}"
"""


def measure(cells: int, runs: int) -> dict[str, Spread]:
    """Wall milliseconds: of bare Python, of ``--help``, of ``run`` until it says so and until it ends."""
    with fresh_platform() as (platform, folder):
        file = finished(platform, folder, cells)
        until_told: list[float] = []
        again = partial(_again, file, platform, until_told)
        actions: dict[str, Callable[[], None]] = {"bare_python": partial(_run, BARE), "help": partial(_run, HELP)}
        seen = alternating({**actions, "until_end": again}, runs)
    seen["until_nothing_to_do"] = until_told[1:]
    return {name: Spread.of_ms(seconds) for name, seconds in seen.items()}


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def _again(file: Path, platform: Platform, until_told: list[float]) -> None:
    environment = {**os.environ, "PROCTOR_HOME": str(platform.settings.home), "PROCTOR_TENANT": "bench"}
    started = time.perf_counter()
    command = [sys.executable, "-m", "proctor", "run", str(file)]
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        lines = list(_told(process.stderr, started, until_told))
    if process.returncode or not any(NOTHING in line for line in lines):
        raise RuntimeError(f"exit {process.returncode}: {''.join(lines)}")


def _told(lines: Iterable[str], started: float, until_told: list[float]) -> Iterator[str]:
    for line in lines:
        if NOTHING in line:
            until_told.append(time.perf_counter() - started)
        yield line


# --- a finished run set -----------------------------------------------------------------------------------------------


def finished(platform: Platform, folder: Path, cells: int, tasks: int = TASKS) -> Path:
    """The file of a run set whose cells are all decided."""
    write_tasks(folder / "suite", tasks)
    profiles = "".join(PROFILE.format(number=number) for number in range(PROFILES))
    file = folder / "finished.toml"
    file.write_text(HEAD.format(trials=cells // (tasks * PROFILES)) + profiles)
    one = Selection(limit=1)
    run_set = platform.engine.open(_resolved(platform, file), on_moved=OnMoved.ASK, fresh=False, selection=one).run_set
    _work(platform, run_set.id)
    _copy_to_all(platform, run_set.id)
    ended = platform.engine.finish(run_set.id)
    assert ended.state == "complete", ended
    return file


def _resolved(platform: Platform, file: Path) -> Resolved:
    """As the command resolves it: this machine's sandboxes are part of every configuration."""
    spec, digest = read_spec(file)
    return resolve(
        spec,
        digest,
        tenant=platform.tenant,
        base=file.parent,
        suites=platform.suites,
        backend=platform.backend("local"),
    )


def _work(platform: Platform, run_set: UUID) -> None:
    identity = WorkerIdentity.of_this_process()
    parts = platform.runner_parts(FakeBackend(rewards(1.0)), identity.owner, {})
    worker = Worker(platform.database, parts, identity, WorkerSettings(slots=1, scope=run_set), lambda batch: None)
    asyncio.run(worker.run(platform.engine.work_left(run_set)))


_PAIRS: str = """
    proctor.attempt made JOIN proctor.attempt model ON model.tenant_id = made.tenant_id
        AND model.run_set_id = made.run_set_id AND model.token > 0"""
_MADE: str = "WHERE made.tenant_id = :tenant AND made.run_set_id = :run_set AND made.token < 0"
_COPIES: tuple[str, ...] = (
    """
    INSERT INTO proctor.attempt
    SELECT e.tenant_id, gen_random_uuid(), e.cell_id, 1, e.run_set_id, e.content_digest, -row_number() OVER (),
           model.worker_id, model.backend, model.trace_id, model.started_at, model.ended_at, model.last_segment,
           model.limits, model.usage, model.artifacts
    FROM proctor.expected_cell e
    JOIN proctor.attempt model ON model.tenant_id = e.tenant_id AND model.run_set_id = e.run_set_id
    WHERE e.tenant_id = :tenant AND e.run_set_id = :run_set AND e.cell_id <> model.cell_id""",
    f"""
    INSERT INTO proctor.evidence
    SELECT made.tenant_id, made.id, e.seq, e.phase, e.started_at, e.ended_at, e.detail
    FROM {_PAIRS} JOIN proctor.evidence e ON e.tenant_id = model.tenant_id AND e.attempt_id = model.id {_MADE}""",
    f"""
    INSERT INTO proctor.grading
    SELECT made.tenant_id, made.id, c.verifier_digest, g.number, g.mode, g.backend, g.forgeable, g.rewards,
           g.detail, g.graded_at
    FROM {_PAIRS} JOIN proctor.cell c ON c.tenant_id = made.tenant_id AND c.id = made.cell_id
    JOIN proctor.grading g ON g.tenant_id = model.tenant_id AND g.attempt_id = model.id {_MADE}""",
    f"""
    INSERT INTO proctor.outcome
    SELECT made.tenant_id, made.id, o.grading, o.policy_version, o.class, o.owner, o.rule, o.verdict, o.limit,
           o.decided_at
    FROM {_PAIRS} JOIN proctor.outcome o ON o.tenant_id = model.tenant_id AND o.attempt_id = model.id {_MADE}""",
    f"""
    INSERT INTO proctor.result
    SELECT made.tenant_id, made.cell_id, r.policy_version, made.id, r.grading, r.class, r.verdict, r.reward,
           r.decided_at
    FROM {_PAIRS} JOIN proctor.result r ON r.tenant_id = model.tenant_id AND r.cell_id = model.cell_id {_MADE}""",
    f"""
    INSERT INTO proctor.event (tenant_id, id, name, subject, trace_id, payload)
    SELECT made.tenant_id, gen_random_uuid(), e.name, made.id, e.trace_id, e.payload
    FROM {_PAIRS} JOIN proctor.event e ON e.tenant_id = model.tenant_id AND e.subject = model.id {_MADE}""",
    "DELETE FROM proctor.queue_item WHERE tenant_id = :tenant AND holders ? CAST(:run_set AS text)",
)
"""What one finished cell left, copied to every cell that has no verdict yet; a copy's token is negative."""


def _copy_to_all(platform: Platform, run_set: UUID) -> None:
    """Statement by statement with fresh statistics: without, foreign keys are checked by reading whole tables."""
    for statement in ("SELECT 1", *_COPIES):
        with platform.database.tenant(platform.tenant) as connection:
            connection.execute(text("SET LOCAL statement_timeout = 0"))
            connection.execute(text(statement), {"tenant": platform.tenant, "run_set": run_set})
            connection.execute(text("SELECT proctor.refresh_statistics()"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=10_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    configure_logs("warning")
    found = measure(options.cells, options.runs)
    report = {name: spread.document() for name, spread in found.items()}
    if options.json:
        print(json.dumps({**report, "cells": options.cells, "load_average": load_average()}))
        return
    for name, spread in found.items():
        print(f"{name:20} median {spread.median:7.0f} ms   least {spread.least:7.0f} ms")


if __name__ == "__main__":
    main()
