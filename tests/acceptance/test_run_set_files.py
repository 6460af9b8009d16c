"""Run-set files from `init` on: dry runs, gates, edits, gaps, pauses, exit codes."""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time

import pytest

from tests.acceptance.conftest import ROOT, Cli

pytestmark = pytest.mark.commands

SLOW = """
name = "slow"
suite = "tasks"
trials = {trials}
[[profiles]]
name = "sleeper"
agent = "command"
command = "sleep {sleep}; echo hello"
[execution]
concurrency = 2
"""
TASK = """
schema_version = "1.4"
[agent]
timeout_sec = {timeout}
[environment]
network_mode = "no-network"
[metadata.proctor]
verification = "snapshot"
"""


def basics(cli: Cli, *names: str) -> None:
    for name in names:
        shutil.copytree(ROOT / "examples" / "basics" / name, cli.folder / "tasks" / name)


def small_task(cli: Cli, name: str, *, timeout: float = 20, passes: bool = True) -> None:
    cli.write(f"tasks/{name}/task.toml", TASK.format(timeout=timeout))
    cli.write(f"tasks/{name}/instruction.md", "Do it.\n")
    cli.write(f"tasks/{name}/tests/test.sh", f"echo {int(passes)} > /logs/verifier/reward.txt\n")
    cli.write(f"tasks/{name}/solution/solve.sh", "true\n")


def test_init_dry_run_run_and_edit(cli: Cli) -> None:
    basics(cli, "orders-summary", "proxy-config")
    cli("init")
    told = cli("init", code=2).stderr
    assert "file-exists" in told
    dry = cli.json("run", "proctor.toml", "--dry-run")
    assert (dry["expected"], dry["new"], dry["worst_case_nano"]) == (4, 4, 0)
    assert (dry["comparable"], dry["reasons"]) == (
        False,
        ["no baseline certificate: 2 tasks (proctor/orders-summary, proctor/proxy-config); run proctor suite check"],
    )
    assert cli.json("status")["run_sets"] == []
    cli("run", "proctor.toml")
    assert cli.json("run", "proctor.toml", "--dry-run")["decided"] == 4
    text = (cli.folder / "proctor.toml").read_text(encoding="utf-8")
    cli.write("proctor.toml", text.replace("trials = 1", "trials = 2"))
    edited = cli("run", "proctor.toml").stdout
    assert "4 of 8 cells decided earlier" in edited
    assert "new spend 0.00 USD; all results shown cost 0.00 USD" in edited
    assert "other complete trials" not in edited


def test_a_new_run_set_says_what_changed_since_the_last(cli: Cli) -> None:
    small_task(cli, "one")
    file = cli.write("f.toml", 'name = "f"\nsuite = "tasks"\n[[profiles]]\nname = "p"\nagent = "noop"\n')
    assert "new run set, 1 cell queued" in cli("run", "f.toml").stderr
    small_task(cli, "two", timeout=19)
    assert "new run set, since the suite's files have changed, 1 cell queued" in cli("run", "f.toml").stderr
    cli.write("f.toml", file.read_text(encoding="utf-8") + "# edited\n")
    assert "since the file was edited" in cli("run", "f.toml").stderr
    assert "run set of this file, 0 cells queued" in cli("run", "f.toml").stderr


def test_a_dry_run_says_what_the_run_does(cli: Cli) -> None:
    small_task(cli, "one")
    small_task(cli, "two", timeout=10)
    file = 'name = "d"\nsuite = "tasks"\n[[profiles]]\nname = "p"\nagent = "noop"\n'
    paid = file + '[[profiles]]\nname = "q"\nagent = "command"\ncommand = "true"\nmax_cost = "2 USD"\n'
    cli.write("d.toml", file + "[execution]\nconcurrency = 1\n")

    def dry(*options: str) -> tuple[int, int, int, int]:
        found = cli.json("run", "d.toml", "--dry-run", *options)
        return found["decided"], found["owed"], found["new"], found["queued"]

    assert dry() == (0, 0, 2, 2)
    assert dry("--limit", "1") == dry("--task", "one") == (0, 0, 2, 1)
    assert dry("--only", "owed") == (0, 0, 2, 0)
    assert cli.json("status")["run_sets"] == []
    cli("run", "d.toml", "--limit", "1", code=3)
    assert dry() == (1, 0, 1, 1)
    cli("run", "d.toml")
    assert dry() == (2, 0, 0, 0)
    assert cli.json("run", "d.toml", "--dry-run")["at_most_sec"] == 0
    assert dry("--fresh") == (0, 0, 2, 2)
    assert (
        cli.json("run", "d.toml", "--fresh", "--only", "owed", "--dry-run", code=2)["error"]["code"]
        == "choice-conflict"
    )
    cli.write("d.toml", paid)
    costly = cli.json("run", "d.toml", "--dry-run")
    assert (costly["reused"], costly["queued"], costly["worst_case_nano"]) == (2, 2, 4_000_000_000)
    before = cli.json("status", "d")["status"]["run_set"]["ended_at"]
    assert "0 cells queued" in cli("resume", "d").stderr
    assert cli.json("status", "d")["status"]["run_set"]["ended_at"] == before


def test_what_can_have_no_verdict_is_said_before_launch(cli: Cli) -> None:
    small_task(cli, "image")
    text = TASK.format(timeout=9).replace("[environment]", '[environment]\ndocker_image = "x"')
    cli.write("tasks/image/task.toml", text)
    small_task(cli, "unsolved")
    (cli.folder / "tasks" / "unsolved" / "solution" / "solve.sh").unlink()
    reasons = cli.json("run", "tasks", "--agent", "oracle", "--dry-run")["reasons"]
    assert any("oracle can have no verdict on unsolved: solution" in reason for reason in reasons)


def test_a_gate_decides_the_exit_code(cli: Cli) -> None:
    small_task(cli, "yes")
    small_task(cli, "no", passes=False)
    gate = "\n[gate]\nstrict = {strict}\n"
    file = 'name = "g"\nsuite = "tasks"\n[[profiles]]\nname = "p"\nagent = "noop"\n'
    cli.write("met.toml", file + gate.format(strict=0.5))
    cli.write("missed.toml", file + gate.format(strict=0.6))
    cli("run", "met.toml")
    missed = cli("run", "missed.toml", code=1)
    assert "gate: p: strict 50.0%, gate 60.0%: missed" in missed.stdout


def test_gaps_are_exit_code_3_and_never_stop_the_others(cli: Cli) -> None:
    small_task(cli, "fine")
    cli.write("tasks/broken/task.toml", "[agent\n")
    done = cli("run", "tasks", "--agent", "noop", code=3)
    assert "malformed task broken" in done.stderr
    assert "task_invalid 1" in done.stdout
    again = cli("run", "tasks", "--agent", "noop", code=3)
    assert "nothing to do" in again.stderr


def test_an_agent_at_its_limit_is_verified_all_the_same(cli: Cli) -> None:
    small_task(cli, "passes", timeout=1)
    small_task(cli, "fails", timeout=1, passes=False)
    cli.write("f.toml", SLOW.format(trials=1, sleep=30))
    cli("run", "f.toml")
    cells = {cell["outcome"]: cell for cell in cli.json("cells")["cells"]}
    assert (cells["passed"]["limit"], cells["agent_limit"]["verdict"]) == ("time", False)


def test_missing_secrets_are_named_before_anything_starts(cli: Cli) -> None:
    small_task(cli, "t")
    text = SLOW.format(trials=1, sleep=0) + '[secrets]\nnames = ["MY_TOKEN"]\n'
    cli.write("f.toml", text.replace('agent = "command"', 'agent = "command"\nenv = { T = "${MY_TOKEN}" }'))
    assert "MY_TOKEN" in cli("run", "f.toml", code=2).stderr
    assert "missing key: MY_TOKEN" in cli("run", "f.toml", "--dry-run", code=2).stdout
    assert cli.json("status")["run_sets"] == []
    cli("run", "f.toml", MY_TOKEN="token-0123456789")


def test_the_wall_budget_pauses_and_resume_goes_on(cli: Cli) -> None:
    small_task(cli, "t")
    cli.write("f.toml", SLOW.format(trials=6, sleep=1) + '[budget]\nwall = "1s"\n')
    paused = cli("run", "f.toml", code=4)
    assert "budget.wall of 1s is used up" in paused.stdout
    left = cli.json("status", "slow")["status"]["progress"]
    assert 0 < left["decided"] < 6


def test_ctrl_c_once_finishes_what_runs_and_says_how_to_go_on(cli: Cli) -> None:
    small_task(cli, "t")
    cli.write("f.toml", SLOW.format(trials=60, sleep=0.5))
    process = subprocess.Popen(
        [sys.executable, "-m", "proctor", "run", "f.toml"],
        cwd=cli.folder,
        env=cli.environment(),
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    _until_running(cli)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "To go on: proctor resume slow" in err
    progress = cli.json("status", "slow")["status"]["progress"]
    assert (progress["running"], progress["decided"] > 0, progress["decided"] < 60) == (0, True, True)
    assert (cli.json("status")["run_sets"][0]["state"], cli.json("status")["run_sets"][0]["reason"]) == (
        "paused",
        "interrupted",
    )
    cli("run", "f.toml", "--limit", "2", code=3)
    cells = cli.json("cells")["cells"]
    assert sorted(cell["attempts"] for cell in cells)[-1] == 1
    assert sum(cell["attempts"] for cell in cells) == progress["decided"] + 2


def _until_running(cli: Cli) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        status = cli.json("status")["run_sets"]
        if status and cli.json("status", "slow")["running"]:
            return
    raise AssertionError("nothing ran within a minute")


def test_pause_cancel_and_resume_by_command(cli: Cli) -> None:
    small_task(cli, "t")
    cli.write("f.toml", SLOW.format(trials=2, sleep=0))
    cli("run", "f.toml", "--limit", "1", code=3)
    cli("pause", "slow")
    assert cli.json("status")["run_sets"][0]["state"] == "paused"
    cli("cancel", "slow")
    assert "cancelled" in cli("pause", "slow", code=2).stderr
    cli("resume", "slow")
    assert cli.json("status")["run_sets"][0]["state"] == "complete"
    assert cli.json("cancel", "slow", code=2)["error"]["code"] == "run-set-ended"
    assert cli.json("status")["run_sets"][0]["state"] == "complete"


def test_fresh_trials_are_new_cells(cli: Cli) -> None:
    small_task(cli, "t")
    cli("run", "tasks", "--agent", "noop")
    done = cli("run", "tasks", "--agent", "noop", "--fresh").stdout
    assert "noop: 1 other complete trial of this configuration, mean 100.0%" in done


def test_the_authors_loop(cli: Cli) -> None:
    cli("task", "new", "mine")
    tried = cli.json("task", "try", "mine")["tried"]
    assert [(one["solution"], one["as_wanted"]) for one in tried] == [("oracle", True), ("noop", True), ("wrong", True)]
    cli.write("mine/tests/test.sh", "echo 1 > /logs/verifier/reward.txt\n")
    assert "NOT as it should be" in cli("task", "try", "mine", code=1).stdout
    shell = subprocess.run(
        [sys.executable, "-m", "proctor", "task", "shell", "mine", "--after", "oracle"],
        cwd=cli.folder,
        env=cli.environment(),
        input="cd /tmp\npwd\nls /app\nexit\n",
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert shell.stdout.splitlines()[0] == "/tmp"
    assert "sum.sh" in shell.stdout


def test_doctor_and_down(cli: Cli) -> None:
    report = cli.json("doctor")
    assert all(check["ok"] for check in report["checks"]), report
    assert report["limits"]["wall"] == "enforced"
    assert cli.json("down") == {"stopped": False}


def test_logs_can_be_followed_while_the_attempt_runs(cli: Cli) -> None:
    small_task(cli, "t", timeout=120)
    text = SLOW.format(trials=1, sleep=2).replace("sleep 2; echo hello", "echo first; sleep 20; echo last")
    cli.write("f.toml", text)
    command = [sys.executable, "-m", "proctor"]
    process = subprocess.Popen([*command, "run", "f.toml"], cwd=cli.folder, env=cli.environment())
    _until_running(cli)
    attempt = cli.json("status", "slow")["running"][0]["id"]
    followed = cli("attempt", "logs", "-f", attempt).stdout
    assert process.wait(timeout=60) == 0
    assert followed.splitlines() == ["first", "last"]


def test_markup_in_names_is_shown_as_it_is_and_breaks_nothing(cli: Cli) -> None:
    small_task(cli, "fine")
    for folder, name in (("a", "evil/[/nope]"), ("b", "evil/[red]x[/]")):
        cli.write(f"tasks/{folder}/task.toml", f'[task]\nname = "{name}"\n')
        cli.write(f"tasks/{folder}/instruction.md", "Do it.\n")
    done = cli("run", "tasks", "--agent", "noop", code=3)
    assert "evil/[/nope]" in done.stderr
    assert "evil/[red]x[/]" in done.stderr
    assert "evil/[/nope]" in cli("cells").stdout
    assert "evil/[red]x[/]" in cli("suite", "import", "tasks", code=3).stdout
    assert "[/x]" in cli("history", "[/x]", code=2).stderr


def test_one_file_run_twice_at_once_is_one_run_set(cli: Cli) -> None:
    small_task(cli, "t")
    cli.write("f.toml", SLOW.format(trials=6, sleep=0.2))
    command = [sys.executable, "-m", "proctor", "run", "f.toml"]
    both = [subprocess.Popen(command, cwd=cli.folder, env=cli.environment()) for _ in range(2)]
    assert [process.wait(timeout=100) for process in both] == [0, 0]
    assert len(cli.json("status")["run_sets"]) == 1
    assert [cell["attempts"] for cell in cli.json("cells")["cells"]] == [1] * 6


def test_a_data_folder_that_can_t_be_used_is_told(cli: Cli) -> None:
    occupied = cli.write("occupied", "")
    told = cli("status", code=2, PROCTOR_HOME=str(occupied)).stderr
    assert "home-unusable" in told
    assert "PROCTOR_HOME" in told
