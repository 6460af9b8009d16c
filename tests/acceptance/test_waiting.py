"""A provider limits the rate: the run says what it waits for until when, and an operator opens it by hand."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys

import pytest

from tests.acceptance.conftest import ROOT, Cli

pytestmark = pytest.mark.journey

FILE = """
name = "nightly"
suite = "basics"
[[profiles]]
name = "fast"
agent = "noop"
model = "acme/fast"
[[profiles]]
name = "own"
agent = "noop"
[execution]
concurrency = 4
[[limits]]
provider = "acme"
concurrency = 3
[[faults]]
kind = "rate_limit"
tasks = "access-report"
profiles = ["fast"]
retry_after_sec = 3600
"""
BLOCKED = re.compile(r"blocked on provider acme until \d\d:\d\d:\d\d UTC \(provider_rate_limit 1\)")


def test_a_rate_limit_is_waited_for_and_opened_by_hand(cli: Cli) -> None:
    shutil.copytree(ROOT / "examples" / "basics", cli.folder / "basics")
    cli.write("f.toml", FILE)
    command = [sys.executable, "-m", "proctor", "run", "f.toml"]
    environment = cli.environment()
    with subprocess.Popen(command, cwd=cli.folder, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        try:
            assert any(BLOCKED.search(line) and " 0 running" in line for line in process.stderr)
            seen = cli.json("status", "nightly")["status"]
            (wait,) = seen["progress"]["waits"]
            assert (wait["scope"], wait["name"], wait["state"]) == ("provider", "acme", "closed")
            assert seen["progress"]["queued"] > 0
            assert BLOCKED.search(cli("status", "nightly").stdout)
            assert cli("unblock", "provider", "acme").stdout == "provider acme: open\n"
            rest = process.stderr.read()
            assert process.wait(timeout=60) == 0, rest
        finally:
            process.kill()
    clocks = cli.json("status", "nightly")["status"]["clocks"]
    assert clocks["waited_sec"] > 4  # while the provider was closed
    told = cli("unblock", "provider", "acme", code=2).stderr
    assert "not-blocked" in told
    (cell,) = cli.json("cells", "--profile", "fast", "--task", "access-report")["cells"]
    assert re.search(r"^waited [\d.]+ s for its turn", cli("attempt", "show", cell["attempt"]).stdout, re.MULTILINE)
