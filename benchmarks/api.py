"""The API under load over a full store: latencies of reads and writes at a fixed rate, whoever answers late.

Requests begin when their time has come, whether the ones before were answered or not, and a latency counts from then.
Beside them, in the same run and at the same rate, the physical limit of one server process: ``/healthz``, which does
nothing. Then an idle server: its memory, with all processes of its database, and the processor time it takes.

    python -m benchmarks.api [--attempts 1000000] [--rate 200] [--seconds 30] [--idle 60] [--processes 2] [--json]

The targets: at 200 requests/s over 1,000,000 attempts reads p99 under 50 ms and writes p99 under 100 ms; idle under
400 MB and 2 % of a core.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import aiohttp
import psutil
from sqlalchemy import Connection

from benchmarks.grounds import fresh_platform
from benchmarks.rerun import finished
from benchmarks.timing import load_average
from proctor.app import Platform, server_secret
from proctor.engine import reading
from proctor.identity.api_keys import NewKey, issue_key
from proctor.identity.audit_log import Actor
from proctor.identity.permissions import Role
from proctor.identity.principals import permitted
from proctor.identity.setup import found_tenant
from proctor.notifications import outbox
from proctor.telemetry.logs import configure_logs

__all__ = ["measure"]

WRITES: float = 0.2
"""A fifth of the requests changes something."""
CALLERS: int = 8
TASKS: int = 1000
"""Of the suite: with ten profiles, a hundred trials of each where there are a million attempts."""


@dataclass(frozen=True)
class Ask:
    """One kind of request."""

    name: str
    method: str
    path: str
    body: Any = None


def measure(attempts: int, rate: float, seconds: float, idle: float, processes: int) -> dict[str, Any]:
    """Milliseconds of each kind, and what an idle server takes."""
    with fresh_platform() as (platform, folder):
        finished(platform, folder, attempts, TASKS)
        _publish(platform)
        asks = _asks(platform)
        keys = _keys(platform)
        with _server(platform.settings.home, processes) as (url, process):
            bare = asyncio.run(_load(url, keys, [Ask("bare", "GET", "/healthz")], [], rate, seconds / 3))
            seen = asyncio.run(_load(url, keys, *asks, rate, seconds))
        with _server(platform.settings.home, 1) as (_, process):
            quiet = _idle(process, idle)
    kinds = {name: _percentiles(values) for name, values in sorted({**bare, **seen}.items())}
    reads = [one for ask in asks[0] for one in seen[ask.name]]
    writes = [one for ask in asks[1] for one in seen[ask.name]]
    return {"reads": _percentiles(reads), "writes": _percentiles(writes), "kinds": kinds, "idle": quiet}


def _publish(platform: Platform) -> None:
    """Every event of the attempts: a server has done it as they ended."""
    while platform.database.as_scheduler(lambda c: outbox.publish(c, limit=10_000)):
        pass


def _asks(platform: Platform) -> tuple[list[Ask], list[Ask]]:
    row = platform.engine.read(lambda c: reading.find_run_set(c, platform.tenant, None))
    page = platform.engine.read(lambda c: reading.cells(c, platform.tenant, row, limit=1000))
    attempts = [cell.attempt for cell in page.cells if cell.attempt is not None]
    reads = [
        Ask("run sets", "GET", "/api/v1/run-sets?limit=20"),
        Ask("a run set", "GET", f"/api/v1/run-sets/{row.id}"),
        Ask("cells", "GET", f"/api/v1/run-sets/{row.id}/cells?limit=50"),
        Ask("failed cells", "GET", f"/api/v1/run-sets/{row.id}/cells?limit=50&outcome=failed"),
        Ask("profiles", "GET", f"/api/v1/run-sets/{row.id}/profiles"),
        Ask("an attempt", "GET", f"/api/v1/attempts/{random.Random(1).choice(attempts)}"),
        Ask("suites", "GET", "/api/v1/suites"),
        Ask("me", "GET", "/api/v1/me"),
        Ask("keys", "GET", "/api/v1/keys"),
    ]
    writes = [
        Ask("label", "PUT", "/api/v1/labels/run-sets/bench", {"run_set": str(row.id)}),
        Ask("budget", "PUT", "/api/v1/budget", {"month_nano": None}),
        Ask("key", "POST", "/api/v1/keys", {"name": "bench"}),
    ]
    return reads, writes


def _keys(platform: Platform) -> list[str]:
    """Of several callers: each has a rate of its own."""
    secret = server_secret(platform.settings)

    def work(connection: Connection) -> list[str]:
        founded = found_tenant(connection, secret, Actor(), name="bench", owner="bench@example.org")
        may = permitted(Role.OWNER, None, administrator=False)
        new = NewKey(user=founded.owner.id, name="bench")
        return [
            issue_key(connection, platform.tenant, Actor(), new, may=may, secret=secret).secret for _ in range(CALLERS)
        ]

    return platform.database.as_tenant(platform.tenant, work)


@contextmanager
def _server(home: Path, processes: int) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """``proctor up``, and so many API processes in all beside it on one port."""
    with ExitStack() as stack:
        port = _free_port()
        first, url = stack.enter_context(_process(home, ["up", "--port", str(port), "--share-port"]))
        for _ in range(processes - 1):
            stack.enter_context(_process(home, ["serve", "--roles", "api", "--port", str(port), "--share-port"]))
        yield url, first


@contextmanager
def _process(home: Path, arguments: Sequence[str]) -> Iterator[tuple[subprocess.Popen[bytes], str]]:
    command = [sys.executable, "-m", "proctor", *arguments, "--json"]
    environment = {**os.environ, "PROCTOR_HOME": str(home)}
    process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    try:
        text = ""
        while not text.rstrip().endswith("}"):
            text += process.stdout.readline().decode()
        yield process, json.loads(text)["url"]
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def _free_port() -> int:
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


async def _load(
    url: str, keys: Sequence[str], reads: Sequence[Ask], writes: Sequence[Ask], rate: float, seconds: float
) -> dict[str, list[float]]:
    seen: dict[str, list[float]] = {ask.name: [] for ask in (*reads, *writes)}
    chance = random.Random(7)
    async with aiohttp.ClientSession(url, connector=aiohttp.TCPConnector(limit=0)) as session:
        for ask in (*reads, *writes):
            await _one(session, ask, time.perf_counter(), keys[0])  # the first of each only warms up
        began = time.perf_counter()
        tasks = []
        for number in range(int(rate * seconds)):
            due = began + number / rate
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            ask = chance.choice(writes if writes and chance.random() < WRITES else reads)
            tasks.append((ask, asyncio.create_task(_one(session, ask, due, chance.choice(keys)))))
        for ask, task in tasks:
            seen[ask.name].append(await task)
    return seen


async def _one(session: aiohttp.ClientSession, ask: Ask, due: float, key: str) -> float:
    headers = {"Authorization": f"Bearer {key}"}
    async with session.request(ask.method, ask.path, json=ask.body, headers=headers) as response:
        await response.read()
        if response.status >= 400:
            raise RuntimeError(f"{ask.name}: {response.status} {await response.text()}")
    return time.perf_counter() - due


def _idle(process: subprocess.Popen[bytes], seconds: float) -> dict[str, float]:
    """Of the server and its database's processes: proportional memory in MB and percent of a core."""
    keeper = [one for one in psutil.process_iter(["name"]) if one.info["name"] == "postgres"]
    family = [psutil.Process(process.pid), *keeper]
    time.sleep(5)
    before = sum(sum(one.cpu_times()[:2]) for one in family if one.is_running())
    time.sleep(seconds)
    used = sum(sum(one.cpu_times()[:2]) for one in family if one.is_running()) - before
    server = psutil.Process(process.pid).memory_full_info().pss
    postgres = sum(one.memory_full_info().pss for one in keeper if one.is_running())
    return {
        "server_mb": round(server / 1e6, 1),
        "postgres_mb": round(postgres / 1e6, 1),
        "core_percent": round(100 * used / seconds, 2),
    }


def _percentiles(seconds: Sequence[float]) -> dict[str, float]:
    ordered = sorted(seconds)
    return {
        "requests": len(ordered),
        "p50_ms": round(ordered[len(ordered) // 2] * 1000, 1),
        "p99_ms": round(ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] * 1000, 1),
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--attempts", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--idle", type=float, default=60)
    parser.add_argument("--processes", type=int, default=2, help="of the API")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    configure_logs("error")
    report = measure(options.attempts, options.rate, options.seconds, options.idle, options.processes)
    report["load_average"] = load_average()
    if options.json:
        print(json.dumps(report))
        return
    for name in ("reads", "writes"):
        print(f"{name}: p50 {report[name]['p50_ms']} ms, p99 {report[name]['p99_ms']} ms")
    for name, one in report["kinds"].items():
        print(f"  {name}: {one['requests']} requests, p50 {one['p50_ms']} ms, p99 {one['p99_ms']} ms")
    print(f"idle: {report['idle']}")
    print(f"load average {report['load_average']}")


if __name__ == "__main__":
    main()
