"""What a person sees on a terminal: tables that can be read, and nothing that gives the terminal orders."""

from __future__ import annotations

import re

import pytest

from tests.acceptance.conftest import Cli
from tests.acceptance.test_run_set_files import TASK

pytestmark = pytest.mark.commands

_OWN_STYLE = re.compile(r"\x1b\[[0-9;]*m")
NASTY = r"printf '\033]0;pwn\007\033[2Jgone\xc2\x9b1m\n'"


def test_untrusted_output_gives_the_terminal_no_orders(cli: Cli) -> None:
    cli.write("tasks/t/task.toml", TASK.format(timeout=20))
    cli.write("tasks/t/instruction.md", "Do it.\n")
    cli.write("tasks/t/tests/test.sh", f"{NASTY}; {NASTY} >&2; echo 1 > /logs/verifier/reward.txt\n")
    cli.write("tasks/t/solution/solve.sh", "true\n")
    cli("run", "tasks", "--agent", "noop")
    attempt = cli.json("cells")["cells"][0]["attempt"]
    for arguments in (["attempt", "logs", attempt], ["attempt", "show", attempt], ["task", "try", "tasks/t"]):
        seen = _OWN_STYLE.sub("", cli.on_terminal(*arguments))
        assert "gone" in seen
        assert not {"\x1b", "\x07", "\x9b"} & set(seen), (arguments, seen)
    assert "\x1b[2J" in cli("attempt", "logs", attempt).stdout  # a file holds what was printed


@pytest.mark.parametrize("columns", [80, 100, 140])
def test_tables_can_be_read_at_any_width(finished: Cli, columns: int) -> None:
    def look(*arguments: str) -> str:
        seen = _OWN_STYLE.sub("", finished.on_terminal(*arguments, columns=columns))
        assert all(len(line) <= columns for line in seen.splitlines() if not line.startswith("more:"))
        return seen

    words = look("leaderboard").split()
    for word in ("rank", "profile", "strict", "graded", "coverage", "bounds", "reward", "comparable", "usage"):
        assert word in words
    for number in ("100.0%", "8/8", "0/8", "67.6–100.0", "100.0–100.0"):
        assert number in words
    first = finished.json("cells", "--limit", "3")
    words = look("cells", "--limit", "3").split()
    assert {cell[name][:8] for cell in first["cells"] for name in ("cell", "attempt")} <= set(words)
    assert first["after"] in words
    assert {"0.0%", "0/8", "configuration"} <= set(look("history", "noop").split())
