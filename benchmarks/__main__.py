"""Every benchmark, each in a process of its own: ``python -m benchmarks [NAME ...] [--json FILE]``.

Prints each figure with its ratio to a peer or a limit measured in the same run, and the load the machine was under.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, figures_of
from benchmarks.timing import load_average

COMMANDS: Mapping[str, Sequence[Sequence[str]]] = {
    "null_cells": [["--json"]],
    "queue_claims": [["--json"]],
    "planner_grants": [["--json"]],
    "straggler_mix": [["--json"]],
    "sandbox_start": [["--json"]],
    "rerun": [["--cells", "10000", "--json"], ["--cells", "100000", "--json"]],
    "stored": [["--attempts", "100000", "--json"]],
    "live": [["--json"]],
    "gateway": [["--json"]],
    "metrics": [["--json"]],
    "evaluation_peers": [["--json"]],
    "startup": [["--json"]],
    "result_store": [["--rows", "10000000", "--json"]],
    "telling": [["--json"]],
}
"""What each benchmark is run with; the last line of its output is its report."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run what was asked for; 1 if a benchmark failed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(COMMANDS)}; all without")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the reports to this file")
    options = parser.parse_args(arguments)
    if unknown := set(options.names) - set(COMMANDS):
        parser.error(f"no benchmark {', '.join(sorted(unknown))}")
    reports: dict[str, list[Any]] = {}
    failed = False
    print(f"{'benchmark':16} {'figure':44} {'value':>14} {'ratio':>8}  of what")
    for name in options.names or COMMANDS:
        for report in _reports(name):
            failed = failed or report is None
            if report is not None:
                reports.setdefault(name, []).append(report)
                for figure in figures_of(name, report):
                    print(_line(name, figure), flush=True)
    print(f"load average {load_average()} at the end; above the number of cores the machine was busy with other work")
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({**reports, "load_average": load_average()}, indent=2) + "\n")
    return int(failed)


def _reports(name: str) -> Iterator[Any]:
    module = f"benchmarks.{name}"
    if importlib.util.find_spec(module) is None:
        print(f"{name:16} is not there")
        return
    for arguments in COMMANDS[name]:
        command = [sys.executable, "-m", module, *arguments]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode:
            print(f"{name:16} ended with {done.returncode}")
            yield None
        else:
            yield json.loads(done.stdout[done.stdout.index("{") :])


def _line(name: str, figure: Figure) -> str:
    ratio = "" if figure.ratio is None else f"{figure.ratio:,.2f}"
    return f"{name:16} {figure.what:44} {figure.value:>14} {ratio:>8}  {figure.of}"


if __name__ == "__main__":
    sys.exit(main())
