"""A suite is checked: sound tasks are certified once, a forgeable one is refused, and comparing knows both."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys

import pytest

from tests.acceptance.conftest import ROOT, Cli

LIVE = """
schema_version = "1.4"
[agent]
timeout_sec = 20
[environment]
network_mode = "no-network"
[metadata.proctor]
verification = "live"
[metadata.proctor.local]
tools = ["bash"]
"""
TRUSTING = """
if [ -f /app/reward.txt ]; then cat /app/reward.txt
elif [ "$(cat /app/answer.txt)" = 42 ]; then echo 1
else echo 0
fi > /logs/verifier/reward.txt
"""
TERMINAL_BENCH = """
instruction: Write 42 into /app/answer.txt.
difficulty: easy
parser_name: pytest
proctor:
  verification: live
  local:
    tools: [bash]
"""
RUN_TESTS = """
sleep 0.2
echo "=== short test summary info ==="
if [ "$(cat /app/answer.txt)" = 42 ]; then echo "PASSED a::b"; else echo "FAILED a::b"; fi
"""
pytestmark = [pytest.mark.journey, pytest.mark.slow, pytest.mark.timeout(300)]

FILE = 'name = "f"\nsuite = "tasks"\n[[profiles]]\nname = "p"\nagent = "noop"\n'


def basics(cli: Cli, *names: str) -> None:
    for name in names:
        shutil.copytree(ROOT / "examples" / "basics" / name, cli.folder / "tasks" / name)


def forgeable(cli: Cli) -> None:
    """A task whose verifier takes a result that the agent left for its own."""
    cli.write("tasks/trusting/task.toml", LIVE)
    cli.write("tasks/trusting/instruction.md", "Write 42 into /app/answer.txt.\n")
    cli.write("tasks/trusting/tests/test.sh", TRUSTING)
    cli.write("tasks/trusting/solution/solve.sh", "echo 42 > /app/answer.txt\n")


def test_sound_tasks_are_certified_once_and_can_be_compared(cli: Cli) -> None:
    basics(cli, "access-report", "proxy-config")
    cli.write("f.toml", FILE)
    report = cli.json("suite", "check", "tasks")
    assert [task["verdict"] for task in report["tasks"]] == ["certified", "certified"]
    solutions = [run["solution"] for run in report["tasks"][0]["runs"]]
    assert solutions[:7] == ["oracle"] * 5 + ["noop", "wrong"]
    assert len(solutions) == 16
    assert all(run["as_wanted"] for task in report["tasks"] for run in task["runs"])
    again = cli("suite", "check", "tasks")
    assert again.stderr.count("certified already") == 2
    assert "9 of 9 caught" in again.stdout
    more = cli.json("suite", "check", "tasks", "--task", "access*", "--oracle-runs", "6")
    assert [(task["name"], task["skipped"]) for task in more["tasks"]] == [("proctor/access-report", False)]
    assert [run["solution"] for run in more["tasks"][0]["runs"]].count("oracle") == 6
    assert cli("suite", "check", "tasks").stderr.count("certified already") == 2
    assert "certified, " in cli("suite", "show", report["suite_id"]).stdout
    dry = cli.json("run", "f.toml", "--dry-run")
    assert (dry["comparable"], dry["reasons"]) == (True, [])
    cli("run", "f.toml")
    assert cli.json("leaderboard")["rows"][0]["comparable"] is True


def test_a_forgeable_task_is_refused_quarantined_and_released_when_it_is_mended(cli: Cli) -> None:
    forgeable(cli)
    cli.write("f.toml", FILE)
    told = cli("suite", "check", "tasks", code=1)  # what is refused is never skipped
    assert "the forgery reward-planted passes" in told.stdout
    assert "live, and the oracle passes in snapshot too: trusting" in told.stdout
    suite = cli.json("suite", "list")["suites"][0]["suite_id"]
    (standing,) = cli.json("suite", "show", suite)["certificates"].values()
    assert (standing["verdict"], standing["valid"], standing["snapshot"]) == ("refused", False, True)
    assert "reward-planted" in standing["quarantined"]
    dry = cli.json("run", "f.toml", "--dry-run")
    assert dry["reasons"] == ["quarantined: 1 task (trusting); proctor suite show says why"]
    assert cli.json("suite", "check", "tasks", code=1)["tasks"][0]["skipped"] is False
    mended = TRUSTING.replace("if [ -f /app/reward.txt ]; then cat /app/reward.txt\nel", "")
    cli.write("tasks/trusting/tests/test.sh", mended)
    cli.write("tasks/trusting/task.toml", LIVE.replace('"live"', '"snapshot"'))
    cli("suite", "check", "tasks")
    again = cli.json("suite", "check", "tasks", "--again")["tasks"][0]
    assert (again["verdict"], again["skipped"]) == ("certified", False)
    assert cli.json("run", "f.toml", "--dry-run")["comparable"] is True


def test_a_live_task_of_terminal_bench_is_refused_as_harbors_are(cli: Cli) -> None:
    """Its verifier is another script, and its verdict is what that prints: what outlives the agent has both."""
    cli.write("tasks/hello/task.yaml", TERMINAL_BENCH)
    cli.write("tasks/hello/Dockerfile", "FROM debian:12\nWORKDIR /app\n")
    cli.write("tasks/hello/solution.sh", "echo 42 > /app/answer.txt\n")
    cli.write("tasks/hello/run-tests.sh", RUN_TESTS)
    cli.write("tasks/hello/tests/test_outputs.py", "def test_answer(): pass\n")
    told = cli("suite", "check", "tasks", code=1)
    assert "hello: the forgery background-writer passes" in told.stdout
    live = TERMINAL_BENCH.replace("verification: live", "verification: snapshot")
    cli.write("tasks/hello/task.yaml", live)
    told = cli("suite", "check", "tasks")
    assert "9 of 9 caught" in told.stdout
    assert "not tried" in told.stdout
    assert "no wrong solution was tried: hello;" in told.stdout
    (task,) = cli.json("suite", "check", "tasks")["tasks"]
    assert [run["class"] for run in task["runs"] if run["solution"] == "wrong"] == ["not_tried"]
    suite = next(one["suite_id"] for one in cli.json("suite", "list")["suites"] if shown(cli, one["suite_id"]))
    (standing,) = cli.json("suite", "show", suite)["certificates"].values()
    assert standing["runs"] == task["runs"]


def shown(cli: Cli, suite: str) -> bool:
    """Whether the suite's one task is shown as certified without a wrong solution."""
    return "certified, no wrong solution tried, " in " ".join(cli("suite", "show", suite).stdout.split())


def test_what_can_t_be_decided_is_exit_code_3(cli: Cli) -> None:
    forgeable(cli)
    (cli.folder / "tasks/trusting/solution/solve.sh").unlink()
    cli.write("tasks/broken/task.toml", "[agent\n")
    told = cli("suite", "check", "tasks", code=3)
    assert "trusting: there is no reference solution" in told.stdout
    assert "broken: malformed: " in told.stdout
    assert "trusting: not decided" in told.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["tasks", "--task", "nosuch*"], "nothing-to-check"),
        (["tasks", "--oracle-runs", "4"], "oracle-runs"),
        (["nosuch"], "nosuch"),
    ],
)
def test_mistakes_are_told(cli: Cli, arguments: list[str], told: str) -> None:
    forgeable(cli)
    assert told in cli("suite", "check", *arguments, code=2).stderr


def test_ctrl_c_keeps_what_is_complete(cli: Cli) -> None:
    basics(cli, "access-report", "proxy-config", "orders-summary")
    command = [sys.executable, "-m", "proctor", "suite", "check", "tasks", "--concurrency", "1"]
    process = subprocess.Popen(command, cwd=cli.folder, env=cli.environment(), stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stderr.readline() == "proctor/access-report: certified\n"
    process.send_signal(signal.SIGINT)
    assert "To go on: proctor suite check tasks" in process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 130
    assert "access-report: certified already" in cli("suite", "check", "tasks").stderr
