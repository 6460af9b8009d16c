"""How long ``proctor --help`` takes, beside what starting Python itself takes.

    python -m benchmarks.startup [--runs 10] [--json]

The target is 300 ms.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from functools import partial

from benchmarks.timing import Spread, alternating, load_average

__all__ = ["BARE", "HELP", "measure"]

BARE: tuple[str, ...] = (sys.executable, "-c", "pass")
"""What no command of ours can be faster than."""
HELP: tuple[str, ...] = (sys.executable, "-m", "proctor", "--help")


def measure(runs: int) -> dict[str, Spread]:
    """Wall milliseconds of both, one after the other so that both see the same load."""
    seen = alternating({"bare_python": partial(_run, BARE), "help": partial(_run, HELP)}, runs)
    return {name: Spread.of_ms(seconds) for name, seconds in seen.items()}


def _run(command: Sequence[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    found = measure(options.runs)
    report = {name: spread.document() for name, spread in found.items()}
    if options.json:
        print(json.dumps({**report, "load_average": load_average()}))
        return
    for name, spread in found.items():
        print(f"{name:12} median {spread.median:6.0f} ms   least {spread.least:6.0f} ms")


if __name__ == "__main__":
    main()
