"""What log lines and spans cost: null attempts and empty requests with and without them, in turns.

A null attempt and an empty request do nothing else, so that the ratio is the worst there is. Lines are written to a
pipe that nobody looks at and kept in a local store; spans are made and given to a queue.

    python -m benchmarks.telling [--cells 2000] [--requests 5000] [--runs 3] [--json]
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from typing import Any

from benchmarks.null_cells import measure as null_cells
from benchmarks.timing import Spread, load_average
from proctor.api.middleware import Exempt, Limits, RequestGuard
from proctor.objects.store import ObjectStore
from proctor.telemetry.keeping import kept
from proctor.telemetry.logs import configure_logs
from proctor.telemetry.spans import record_with

__all__ = ["measure"]

SLOTS = 8


@contextmanager
def _told(*, lines: bool, spans: bool) -> Iterator[None]:
    configure_logs("info" if lines else "error")
    record_with((lambda _span: None) if spans else None)
    with tempfile.TemporaryDirectory() as folder, redirect_stderr(io.StringIO()):
        if not lines:
            yield
        else:
            with kept(ObjectStore(Path(folder))):
                yield
    record_with(None)


WAYS: dict[str, dict[str, bool]] = {
    "nothing": {"lines": False, "spans": False},
    "lines": {"lines": True, "spans": False},
    "lines and spans": {"lines": True, "spans": True},
}


def measure(cells: int, requests: int, runs: int) -> dict[str, Any]:
    """Microseconds of an attempt and of a request, each way, and the ratios to saying nothing."""
    seen: dict[str, dict[str, list[float]]] = {"attempt": {}, "request": {}}
    for _ in range(runs):
        for name, way in WAYS.items():
            with _told(**way):
                seen["attempt"].setdefault(name, []).append(null_cells(cells, SLOTS)["seconds"] / cells * 1e6)
                seen["request"].setdefault(name, []).append(asyncio.run(_requests(requests)) / requests * 1e6)
    return {
        what: {
            name: {**Spread.of(values).document(), "ratio": round(min(values) / min(ways["nothing"]), 3)}
            for name, values in ways.items()
        }
        for what, ways in seen.items()
    }


async def _requests(count: int) -> float:
    guard = RequestGuard(
        _empty,
        limits=Limits(per_second=1e9, burst=1_000_000_000),
        exempt=Exempt(streams=frozenset(), uploads=()),
        answered=lambda *_: None,
    )
    began = time.perf_counter()
    for _ in range(count):
        scope = {"type": "http", "method": "GET", "path": "/x", "headers": [], "client": ("127.0.0.1", 1), "state": {}}
        await guard(scope, _nothing, _nowhere)
    return time.perf_counter() - began


async def _empty(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


async def _nothing() -> dict[str, Any]:
    return {"type": "http.request", "body": b""}


async def _nowhere(_message: Any) -> None:
    return


def main() -> None:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=2000)
    parser.add_argument("--requests", type=int, default=5000)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    report = {**measure(options.cells, options.requests, options.runs), "load_average": load_average()}
    sys.stdout.write(json.dumps(report, indent=None if options.json else 2) + "\n")


if __name__ == "__main__":
    main()
