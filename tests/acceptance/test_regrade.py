"""A verifier is mended: kept final states are graded again, agents are not, and the next run takes the verdicts."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.acceptance.conftest import Cli

pytestmark = pytest.mark.commands

TASK = """\
schema_version = "1.4"
[task]
name = "own/{name}"
[metadata.proctor]
verification = "{mode}"
[metadata.proctor.local]
tools = ["bash"]
copy = {{}}
"""
RUN_SET = """\
name = "r"
suite = "tasks"
[[profiles]]
name = "writer"
agent = "command"
command = "echo yes > /app/answer"
[[profiles]]
name = "noop"
agent = "noop"
"""
TEST = (
    'if test "$(cat /app/answer 2>/dev/null)" = {wanted}; then r=1; else r=0; fi; echo $r > /logs/verifier/reward.txt\n'
)


def task(cli: Cli, name: str, wanted: str, *, mode: str = "snapshot", test: str = TEST) -> Path:
    cli.write(f"tasks/{name}/task.toml", TASK.format(name=name, mode=mode))
    cli.write(f"tasks/{name}/instruction.md", f"Write yes to /app/answer ({name}).\n")
    return cli.write(f"tasks/{name}/tests/test.sh", test.format(wanted=wanted))


def strict(cli: Cli, profile: str) -> str:
    rows = {row["profile"]: row for row in cli.json("leaderboard")["rows"]}
    counts = rows[profile]["rates"]["counts"]
    return f"{counts['passed']}/{counts['expected']}"


def test_a_mended_verifier_gives_new_verdicts_without_the_agents(cli: Cli) -> None:
    task(cli, "asked", "no")
    task(cli, "kept", "yes")
    cli.write("r.toml", RUN_SET)
    cli("run", "r.toml")
    assert (strict(cli, "writer"), strict(cli, "noop")) == ("1/2", "0/2")
    nothing = cli.json("regrade", "r", code=2)["error"]
    assert nothing["code"] == "run-set-file"
    assert "--recheck" in nothing["remedy"]

    task(cli, "asked", "yes")
    cli.write("tasks/kept/instruction.md", "Something else.\n")
    dry = cli("regrade", "r", "--dry-run").stdout
    assert "2 cells qualify" in dry
    assert "shows its agent something else" in dry
    qualify = cli.json("regrade", "r", "--dry-run")["cells"]
    assert [(one["profile"], one["task"], one["before"]) for (one,) in qualify] == [
        ("writer", "own/asked", False),
        ("noop", "own/asked", False),
    ]
    report = cli.json("regrade", "r")
    assert [one["task"] for one in report["passed_over"]] == ["own/kept", "own/kept"]
    task(cli, "kept", "yes")
    (changed,) = report["tasks"]
    assert (changed["task"], changed["cells"], changed["passed_before"], changed["passed_after"]) == (
        "own/asked",
        2,
        0,
        1,
    )
    assert [(flip["profile"], flip["before"], flip["after"]) for flip in changed["flips"]] == [("writer", False, True)]
    assert strict(cli, "writer") == "1/2"  # the run set that was run stays what it was

    told = cli("run", "r.toml")
    assert "nothing to do" in told.stderr
    assert (strict(cli, "writer"), strict(cli, "noop")) == ("2/2", "0/2")
    again = cli.json("regrade", "r", code=2)["error"]
    assert again["code"] == "run-set-file"

    attempt = cli.json("attempt", "show", changed["flips"][0]["attempt"])
    gradings = [(one["number"], one["rewards"]) for one in attempt["gradings"]]
    assert gradings == [(1, {"reward": 0.0}), (2, {"reward": 1.0})]


def test_an_owed_cell_whose_verifier_broke_is_settled_by_the_mended_one(cli: Cli) -> None:
    task(cli, "broken", "yes", test="exit 1\n")
    cli.write("r.toml", RUN_SET)
    cli("run", "r.toml", code=3)
    task(cli, "broken", "yes")
    (changed,) = cli.json("regrade", "r")["tasks"]
    assert [(flip["profile"], flip["before"], flip["after"]) for flip in changed["flips"]] == [
        ("writer", None, True),
        ("noop", None, False),
    ]
    cells = cli.json("cells")["cells"]
    assert {cell["outcome"] for cell in cells} == {"verifier_error"}  # of the verifier that was run
    cli("audit", "r")  # finds nothing: the new verdicts are of another cell
    cli("run", "r.toml")
    assert strict(cli, "writer") == "1/1"


def test_what_cannot_be_graded_again_is_listed_with_its_reason(cli: Cli) -> None:
    task(cli, "live", "no", mode="live")
    cli.write("r.toml", RUN_SET)
    cli("run", "r.toml")
    task(cli, "live", "yes", mode="live")
    report = cli.json("regrade", "r")
    assert report["regraded"] == 0
    assert {one["reason"] for one in report["passed_over"]} == {"its verifier is live, and what ran beside it is gone"}


def test_a_recheck_asks_the_same_verifier_and_changes_no_verdict(cli: Cli) -> None:
    flaky = "r=0; test ! -e /app/answer || r=$((RANDOM % 2)); echo $r > /logs/verifier/reward.txt\n"
    task(cli, "dice", "yes", test=flaky)
    cli.write("r.toml", RUN_SET)
    cli("run", "r.toml")
    before = strict(cli, "writer")
    seen = set()
    for _ in range(24):
        (one,) = cli.json("regrade", "r", "--recheck")["tasks"]
        seen.add(one["passed_after"])
        if len(seen) == 2:
            break
    assert seen == {0, 1}
    assert strict(cli, "writer") == before
    reasons = [reason for row in cli.json("leaderboard")["rows"] for reason in row["reasons"]]
    assert any(reason.startswith("quarantined: 1 task (own/dice)") for reason in reasons)


def test_a_verifier_that_only_the_agents_state_breaks_is_the_agents_fail(cli: Cli) -> None:
    fragile = "test -s /app/answer && echo 1 > /logs/verifier/reward.txt\n"  # no reward at all without an answer
    for name in ("sound", "broken"):
        task(cli, name, "yes", test=fragile if name == "sound" else "exit 1\n")
        cli.write(f"tasks/{name}/solution/solve.sh", "echo yes > /app/answer\n")
    cli("run", "tasks", "--agent", "noop,oracle", code=3)
    rows = cli.json("cells")
    names, profiles = rows["tasks"], rows["profiles"]
    seen = {
        (names[cell["content_digest"]], profiles[str(cell["profile"])]): (cell["outcome"], cell["verdict"])
        for cell in rows["cells"]
    }
    assert seen[("own/sound", "noop")] == ("failed", False)
    assert seen[("own/sound", "oracle")] == ("passed", True)
    assert seen[("own/broken", "noop")] == ("verifier_error", None)
    assert seen[("own/broken", "oracle")] == ("verifier_error", None)
    (attempt,) = [
        cell["attempt"]
        for cell in rows["cells"]
        if names[cell["content_digest"]] == "own/sound" and not cell["verdict"]
    ]
    shown = cli.json("attempt", "show", attempt)
    assert [one["detail"]["reference"] for one in shown["evidence"] if "reference" in one["detail"]] == ["passed"]
    assert {one["rule"] for one in shown["outcomes"]} == {"verifier_broken_by_state"}


def test_a_shell_looks_at_what_a_stored_attempt_left(cli: Cli) -> None:
    task(cli, "asked", "yes")
    cli.write("r.toml", RUN_SET)
    cli("run", "r.toml")
    cells = cli.json("cells")
    writers = [cell for cell in cells["cells"] if cells["profiles"][str(cell["profile"])] == "writer"]
    command = ["task", "shell", "tasks/asked", "--after", writers[0]["attempt"], "--json"]
    done = subprocess.run(
        [sys.executable, "-m", "proctor", *command],
        cwd=cli.folder,
        env=cli.environment(),
        input="cat answer\nfalse\nexit\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [(one["stdout"], one["exit_code"]) for one in lines] == [("yes\n", 0), ("", 1)]
    assert cli.json("task", "shell", "tasks/asked", "--after", "ffffffff", code=2)["error"]["code"] == "attempt-unknown"
