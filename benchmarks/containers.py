"""Containers: how much the backend adds to its engine's own start, and whether a long run's memory stays flat.

The start is taken beside the same engine's bare answers: create, start, one exec. The run is `proctor run` with a
container for the agent and one for the verifier of every cell. Needs a Docker engine and an image with `/bin/sh` on it.

    python -m benchmarks.containers --image debian:12 [--runs 30] [--cells 1000] [--slots 16] [--json]

The targets: under 50 ms of our own from `create` to the end of the first command; at 1,000 cells, 16 at once, no more
than 1.2 times the memory of 100.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.sandbox_start import own_labels
from benchmarks.timing import Spread, load_average
from proctor.sandboxes.docker import DockerBackend
from proctor.sandboxes.docker.engine import Engine, connect
from proctor.sandboxes.docker.removing import remove
from proctor.sandboxes.interfaces import ExecRequest, SandboxSpec

__all__ = ["run", "starts"]

TASKS: int = 10
TASK = """schema_version = "1.4"
[agent]
timeout_sec = 60
[environment]
docker_image = "{image}"
network_mode = "no-network"
memory_mb = 256
[metadata.proctor]
verification = "snapshot"
"""
TEST = "mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt\n"
FILE = """
name = "containers"
suite = "suite"
trials = {trials}
reuse = "off"
[execution]
sandbox = "docker"
concurrency = {slots}
[policy.resources]
request_memory_mb = 64
request_cpus = 0.1
request_storage_mb = 64
[[profiles]]
name = "noop"
agent = "noop"
"""


async def starts(image: str, runs: int) -> dict[str, list[float]]:
    """Wall seconds of a bare container's start and of ours, in turns; the first turn only warms up."""
    backend, engine = DockerBackend("bench"), await connect()
    seen: dict[str, list[float]] = {"bare": [], "ours": []}
    try:
        for number in range(runs + 1):
            taken = {"bare": await _bare(engine, image), "ours": await _ours(backend, image)}
            for name, seconds in taken.items() if number else ():
                seen[name].append(seconds)
    finally:
        await engine.close()
    return seen


async def _ours(backend: DockerBackend, image: str) -> float:
    began = time.perf_counter()
    sandbox = await backend.create(SandboxSpec(labels=own_labels(), image=image))
    try:
        await sandbox.exec(ExecRequest(argv=["true"]))
        return time.perf_counter() - began
    finally:
        await sandbox.destroy()


async def _bare(engine: Engine, image: str) -> float:
    body = {
        "Image": image,
        "Entrypoint": ["/bin/sh", "-c", "read -r _"],
        "OpenStdin": True,
        "HostConfig": {"Init": True, "NetworkMode": "none", "LogConfig": {"Type": "none"}},
    }
    began = time.perf_counter()
    made = (await engine.ask("POST", "containers/create", body))["Id"]
    try:
        await engine.ask("POST", f"containers/{made}/start")
        command = {"AttachStdout": True, "AttachStderr": True, "Cmd": ["true"]}
        exec_id = (await engine.ask("POST", f"containers/{made}/exec", command))["Id"]
        async with engine.send("POST", f"exec/{exec_id}/start", data='{"Detach": false, "Tty": false}') as answer:
            await answer.read()
        return time.perf_counter() - began
    finally:
        await remove(engine, made)


def run(image: str, cells: int, slots: int) -> dict[str, float]:
    """A whole run in a process of its own: cells a second, and the most memory it had in MiB."""
    with tempfile.TemporaryDirectory(prefix="proctor-bench-") as name:
        folder = Path(name)
        for number in range(TASKS):
            task = folder / "suite" / f"task-{number}"
            (task / "tests").mkdir(parents=True)
            (task / "task.toml").write_text(TASK.format(image=image))
            (task / "instruction.md").write_text(f"Do {number}.\n")
            (task / "tests" / "test.sh").write_text(TEST)
        (folder / "run.toml").write_text(FILE.format(trials=cells // TASKS, slots=slots))
        environment = {**os.environ, "PROCTOR_HOME": str(folder / "home"), "PROCTOR_TENANT": "bench"}
        command = [sys.executable, "-m", "proctor", "run", str(folder / "run.toml")]
        began = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - began
        if process.returncode:
            raise RuntimeError(f"exit {process.returncode}")
        subprocess.run([*command[:3], "database", "stop"], env=environment, check=False, capture_output=True)
    return {"cells": cells, "cells_per_sec": round(cells / seconds, 2), "peak_mib": round(used.ru_maxrss / 1024, 1)}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--image", required=True)
    parser.add_argument("--runs", type=int, default=30)
    parser.add_argument("--cells", type=int, default=1000)
    parser.add_argument("--slots", type=int, default=16)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    seen = asyncio.run(starts(options.image, options.runs))
    report: dict[str, Any] = {name: Spread.of_ms(seconds).document() for name, seconds in seen.items()}
    if options.cells:
        counts = (max(TASKS, options.cells // 10), options.cells)
        report["cells"] = [run(options.image, count, options.slots) for count in counts]
    report["load_average"] = load_average()
    if options.json:
        print(json.dumps(report))
        return
    print(f"start: ours {report['ours']['median']} ms, the engine's {report['bare']['median']} ms (medians)")
    for one in report.get("cells", ()):
        print(f"{one['cells']:,} cells: {one['cells_per_sec']}/s, at most {one['peak_mib']} MiB")
    print(f"load average {report['load_average']}")


if __name__ == "__main__":
    main()
