"""What a person sees on a terminal: tables that can be read, and nothing that gives the terminal orders."""

from __future__ import annotations

import re

from tests.acceptance.conftest import Cli
from tests.acceptance.test_run_set_files import TASK

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
