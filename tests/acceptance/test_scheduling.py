"""What an engineer sees of scheduling: attempts that stand still, and cells that this machine has no room for."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

from tests.acceptance.conftest import Cli

pytestmark = pytest.mark.journey

TASK = """schema_version = "1.4"
[agent]
timeout_sec = 60
[environment]
network_mode = "no-network"
{more}
[metadata.proctor]
verification = "snapshot"
"""
PASSES = "#!/bin/bash\nmkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt\n"
WAITS = """name = "waits"
suite = "suite"
[[profiles]]
name = "quiet"
agent = "command"
command = "sleep 600"
[[profiles]]
name = "busy"
agent = "command"
command = "while :; do echo working; sleep 0.2; done"
[execution]
concurrency = 2
"""
LARGE = """name = "large"
suite = "suite"
[[profiles]]
name = "p"
agent = "noop"
"""


def task(cli: Cli, name: str, more: str = "") -> None:
    cli.write(f"suite/{name}/task.toml", TASK.format(more=more))
    cli.write(f"suite/{name}/instruction.md", "Wait.\n")
    cli.write(f"suite/{name}/tests/test.sh", PASSES)


def stalled(cli: Cli) -> Any:
    """What ``proctor status`` names, once it names something."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        done = subprocess.run(
            [sys.executable, "-m", "proctor", "status", "waits", "--json"],
            cwd=cli.folder,
            env=cli.environment(PROCTOR_STALL_SEC="4", PROCTOR_LEASE_SEC="2"),
            capture_output=True,
            check=False,
        )
        if done.returncode == 0 and (found := json.loads(done.stdout)["stalled"]):
            return found
    raise AssertionError(done)


def test_an_attempt_that_stands_still_is_named_while_it_runs(cli: Cli) -> None:
    """One says nothing for long, its neighbour prints all the time: only the first is named, and neither is ended."""
    task(cli, "one")
    cli.write("waits.toml", WAITS)
    process = subprocess.Popen(
        [sys.executable, "-m", "proctor", "run", "waits.toml"],
        cwd=cli.folder,
        env=cli.environment(PROCTOR_STALL_SEC="4", PROCTOR_LEASE_SEC="2"),
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    try:
        (found,) = stalled(cli)
        told = next(line for line in process.stderr if line.startswith("stalled: "))
        assert process.poll() is None
    finally:
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
        process.communicate(timeout=60)
    assert (found["profile"], found["task"], found["phase"]) == ("quiet", "one", "agent")
    assert f"cell {found['cell'][:8]} · one · quiet · in agent, nothing new since " in told


def test_a_cell_that_can_never_fit_this_machine_is_named_and_the_others_run(cli: Cli) -> None:
    task(cli, "giant", "memory_mb = 9000000")
    task(cli, "small")
    cli.write("large.toml", LARGE)
    assert "giant needs 9,000,000 MB of memory, and this node has" in cli("run", "large.toml", "--dry-run").stdout
    for command in (["run", "large.toml"], ["resume", "large"]):
        done = cli(*command, code=4)
        assert "needs 9,000,000 MB of memory, and this node has" in done.stderr + done.stdout
        seen = cli.json("status", "large")["status"]
        assert (seen["run_set"]["state"], seen["progress"]["decided"]) == ("paused", 1)
        assert "needs 9,000,000 MB of memory" in seen["run_set"]["reason"]
