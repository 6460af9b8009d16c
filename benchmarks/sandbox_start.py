"""How long a local sandbox takes from ``create`` to the end of its first exec, beside bare bubblewrap.

Bare bubblewrap running ``true`` with the same namespaces and mounts of /usr alone is what the machine itself
takes; the rest is our root, keeper and limits. Run: ``python -P benchmarks/sandbox_start.py [--runs N] [--json]``.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import socket
import statistics
import subprocess
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import uuid4

from proctor.sandboxes.interfaces import ExecRequest, Labels, SandboxSpec
from proctor.sandboxes.local import LocalBackend
from proctor.sandboxes.local.launch import bubblewrap

_BARE = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--uid", "1000", "--die-with-parent"),
    *("--ro-bind", "/usr", "/usr", "--ro-bind", "/usr/lib", "/lib", "--ro-bind-try", "/usr/lib64", "/lib64"),
    *("--proc", "/proc", "--dev", "/dev", "/usr/bin/true"),
)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o711)
        found = asyncio.run(measure(Path(name), options.runs))
    if options.json:
        print(json.dumps(found))
        return
    for step, numbers in found.items():
        print(f"{step:24} p50 {numbers['p50_ms']:7.1f} ms   p95 {numbers['p95_ms']:7.1f} ms")


async def measure(root: Path, runs: int) -> dict[str, dict[str, float]]:
    """Seconds of each step over ``runs`` sandboxes, one bare bubblewrap between any two."""
    backend = LocalBackend(root)
    steps: dict[str, list[float]] = {"bare_bubblewrap": [], "create_to_first_exec": [], "exec": [], "destroy": []}
    for number in range(runs + 1):
        lap = time.perf_counter()
        subprocess.run([str(bubblewrap()), *_BARE], check=True)
        bare, lap = time.perf_counter() - lap, time.perf_counter()
        sandbox = await backend.create(SandboxSpec(labels=own_labels()))
        await sandbox.exec(ExecRequest(argv=["true"]))
        start, lap = time.perf_counter() - lap, time.perf_counter()
        await sandbox.exec(ExecRequest(argv=["true"]))
        again, lap = time.perf_counter() - lap, time.perf_counter()
        await sandbox.destroy()
        if number > 0:  # the first one makes what all share
            for step, seconds in zip(steps, (bare, start, again, time.perf_counter() - lap), strict=True):
                steps[step].append(seconds)
    return {step: _summary(seconds) for step, seconds in steps.items()}


def _summary(seconds: list[float]) -> dict[str, float]:
    percentiles = statistics.quantiles(seconds, n=20, method="inclusive")
    return {"p50_ms": round(percentiles[9] * 1e3, 2), "p95_ms": round(percentiles[18] * 1e3, 2)}


def own_labels() -> Labels:
    owner = f"{socket.gethostname()}:{os.getpid()}:0"
    expires_at = datetime.now(UTC) + timedelta(hours=1)
    return Labels(tenant=uuid4(), run_set=uuid4(), attempt=uuid4(), owner=owner, expires_at=expires_at)


if __name__ == "__main__":
    main()
