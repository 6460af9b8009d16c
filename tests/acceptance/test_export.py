"""A run set as a job directory of Harbor's, as a user takes it along: both readings, every cell, nothing made up."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.agents.trajectory import parse
from tests.acceptance.conftest import ROOT, Cli

pytestmark = pytest.mark.journey

STEPS = "proctor/growing-ledger"
HOSTILE = "[red]\x1b[31m..$(id)<b>"
HOSTILE_NAME = HOSTILE.replace("\x1b", "?")
SUMS = """
import sys
from decimal import Decimal
sums = {}
for line in open(sys.argv[1]):
    day, account, amount = line.split(",")
    sums[account] = sums.get(account, 0) + Decimal(amount)
for account, total in sorted(sums.items()):
    print(account, f"{total:.2f}")
"""
"""Sums, and nothing else that the first step asks for: some of its cases are right, and too few to go on."""
SCRIPT = f"""
[tasks."{STEPS}".steps.totals]
commands = [
    '''cat > ledger.py <<'PY'{SUMS}PY
    ''',
    "echo heard of the first step",
]
[tasks.two.steps.one]
commands = ["echo begun; touch done"]
[tasks.two.steps.two]
commands = ["echo ended"]
[tasks.'{HOSTILE_NAME}']
commands = ["touch done"]
"""
FILE = """
name = "taken-along"
suite = "suite"
[[profiles]]
name = "half"
agent = "scripted"
script = "script.toml"
[[profiles]]
name = "rest"
agent = "scripted"
script = "nothing.toml"
[[profiles]]
name = "silent"
agent = "command"
command = "echo said; echo once"
[execution]
concurrency = 4
"""


VERIFIER = "echo judging; test -e /app/done; echo $((1 - $?)) > /logs/verifier/reward.txt\n"
CONFIG = """
[agent]
timeout_sec = 20
[environment]
{environment}
[metadata.proctor]
verification = "snapshot"
"""
OFFLINE = 'network_mode = "no-network"'


def write_suite(cli: Cli) -> None:
    """A task of the workshop with steps, a small one, one with a name to beware of, and one that asks for an image."""
    shutil.copytree(ROOT / "examples/workshop/growing-ledger", cli.folder / "suite" / "growing-ledger")
    for name, environment in ((HOSTILE, OFFLINE), ("imaged", 'docker_image = "debian:13"')):
        cli.write(f"suite/{name}/instruction.md", "Make the file `done`.\n")
        cli.write(f"suite/{name}/tests/test.sh", VERIFIER)
        cli.write(f"suite/{name}/task.toml", CONFIG.format(environment=environment))
    for step in ("one", "two"):
        cli.write(f"suite/two/steps/{step}/instruction.md", f"Do {step}.\n")
        cli.write(f"suite/two/steps/{step}/tests/test.sh", f"echo {step}; {VERIFIER}")
    steps = "".join(f'[[steps]]\nname = "{step}"\n' for step in ("one", "two"))
    cli.write("suite/two/task.toml", CONFIG.format(environment=OFFLINE) + steps)
    cli.write("script.toml", SCRIPT)
    cli.write("nothing.toml", "[tasks]\n")
    cli.write("f.toml", FILE)


@pytest.fixture(scope="module")
def ran() -> Iterator[Cli]:
    """The run, for tests that only read it."""
    folder = Path(tempfile.mkdtemp(prefix="proctor-acceptance-"))
    folder.chmod(0o755)
    made = Cli(folder)
    write_suite(made)
    made("run", "f.toml", code=3)
    yield made
    made("down")
    shutil.rmtree(folder)


@pytest.fixture(scope="module")
def job(ran: Cli) -> Path:
    """It, exported."""
    ran("export", "--to", "job")
    return ran.folder / "job"


def read(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def trials_of(job: Path) -> dict[tuple[str, str], Path]:
    """Folders of trials by agent and task."""
    found = {}
    for folder in (path for path in job.iterdir() if path.is_dir()):
        result = read(folder / "result.json")
        assert result["trial_name"] == folder.name
        found[result["agent_info"]["name"], result["task_name"]] = folder
    return found


def test_a_run_is_taken_along_with_both_readings_of_its_steps(ran: Cli) -> None:
    (ran.folder / "jobs").mkdir()
    told = ran("export", "taken-along", "--to", "jobs")
    assert "12 trials of 12 cells" in told.stdout
    assert "no verdict: half: task_invalid 1 (task)" in told.stdout
    assert "12 trials written" in told.stderr
    job = ran.folder / "jobs"
    assert {path.name for path in job.iterdir() if path.is_file()} == {
        "config.json",
        "lock.json",
        "proctor-cells.jsonl",
        "proctor.json",
        "result.json",
    }
    half = trials_of(job)["scripted@half", STEPS]
    result, ours = read(half / "result.json"), read(half / "proctor.json")
    harbors, proctors = result["verifier_result"]["rewards"], ours["rewards"]["proctor"]
    assert harbors["cases"] == ours["rewards"]["harbor"]["cases"] == pytest.approx(3 * proctors["cases"])
    assert 0 < proctors["cases"] < harbors["cases"] < 0.5
    assert [step["step_name"] for step in result["step_results"]] == ["totals"]
    assert result["step_results"][0]["verifier_result"]["rewards"] == harbors
    assert [step["reached"] for step in ours["grading"]["detail"]["steps"]] == [True, False, False]
    assert ours["outcome"] == {
        "class": "failed",
        "owner": "model",
        "rule": "fail",
        "verdict": False,
        "limit": None,
        "policy_version": "outcomes-1",
    }
    assert read(half / "steps/totals/verifier/reward.json") == harbors
    assert "WRONG: no such day" in (half / "steps/totals/verifier/test-stdout.txt").read_text()
    assert "heard of the first step" in (half / "steps/totals/agent/scripted.txt").read_text()
    assert parse((half / "agent/trajectory.json").read_bytes()).agent.name == "scripted"
    assert {path.name for path in (half / "steps").iterdir()} == {"totals"}


def test_every_step_has_its_own_log_and_reward(job: Path) -> None:
    trial = trials_of(job)["scripted@half", "two"]
    result = read(trial / "result.json")
    assert [step["step_name"] for step in result["step_results"]] == ["one", "two"]
    for step, said in (("one", "begun"), ("two", "ended")):
        place = trial / "steps" / step
        assert (place / "agent/scripted.txt").read_text() == f"{said}\n"
        assert (place / "verifier/test-stdout.txt").read_text() == f"{step}\njudging\n"
        assert read(place / "verifier/reward.json") == {"reward": 1.0}
    ends = [step["verifier"]["finished_at"] for step in result["step_results"]]
    assert ends == sorted(ends)
    assert result["verifier_result"] == {"rewards": {"reward": 1.0}}


def test_what_is_no_verdict_is_an_exception_and_never_a_reward(job: Path) -> None:
    trials = trials_of(job)
    imaged = trials["command", "imaged"]
    result = read(imaged / "result.json")
    assert result["verifier_result"] is None
    assert result["exception_info"]["exception_type"] == "task_invalid"
    assert result["exception_info"]["policy_override"] == {"has_valid_reward": False}
    assert "needs an image" in result["exception_info"]["exception_message"]
    assert (imaged / "exception.txt").read_text().startswith("task_invalid: ")
    assert not list(imaged.rglob("reward.*"))
    stats = read(job / "result.json")["stats"]
    assert (stats["n_completed_trials"], stats["n_errored_trials"], stats["n_pending_trials"]) == (12, 3, 0)
    assert list(stats["evals"]) == sorted(stats["evals"])
    assert {name.split("__")[0] for name in stats["evals"]} == {"scripted@half", "scripted@rest", "command"}
    silent = read(trials["command", STEPS] / "result.json")["agent_result"]
    assert (silent["cost_usd"], silent["n_input_tokens"]) == (None, None)
    assert read(trials["scripted@rest", STEPS] / "result.json")["agent_result"]["cost_usd"] == 0


def test_the_denominator_comes_along_and_adds_up(ran: Cli, job: Path) -> None:
    board = {row["profile"]: row for row in ran.json("leaderboard")["rows"]}
    for profile in read(job / "proctor.json")["profiles"]:
        rates = board[profile["profile"]]["rates"]
        assert {name: profile[name] for name in ("expected", "decided", "passed", "withdrawn")} == rates["counts"]
        assert (profile["strict"], profile["graded"]) == (rates["strict"], rates["graded"])
        assert profile["coverage"] == rates["coverage"] == 3 / 4
        assert profile["bounds"] == [rates["bounds"]["low"], rates["bounds"]["high"]]
    lines = [json.loads(line) for line in (job / "proctor-cells.jsonl").read_text().splitlines()]
    assert len(lines) == 12
    assert {line["trial_name"] for line in lines} == {path.name for path in trials_of(job).values()}


def test_names_of_others_stay_words(job: Path) -> None:
    trial = trials_of(job)["scripted@half", HOSTILE_NAME]
    assert trial.name.startswith("red-31m..-id-b__")
    assert all(path.resolve().is_relative_to(job) for path in job.rglob("*"))
    for path in job.rglob("*.json*"):
        assert b"\x1b" not in path.read_bytes()
    result = read(trial / "result.json")
    assert (result["task_id"], result["verifier_result"]) == ({"path": "red-31m..-id-b"}, {"rewards": {"reward": 1.0}})
    assert (trial / "verifier/test-stdout.txt").read_text() == "judging\n"


def test_one_document_of_json_and_nothing_beside(ran: Cli) -> None:
    done = ran("export", "taken-along", "--to", "quiet", "--json")
    told = json.loads(done.stdout)
    assert (done.stderr, told["run_set"], told["trials"], told["expected"]) == ("", "taken-along", 12, 12)
    assert told["folder"] == str((ran.folder / "quiet").resolve())
    assert told["gaps"][0] == {"profile": "half", "outcome": "task_invalid", "owner": "task", "cells": 1}


@pytest.mark.usefixtures("job")
def test_what_is_there_already_stays_and_the_remedy_is_named(ran: Cli) -> None:
    before = sorted(path.name for path in ran.folder.iterdir())
    again = ran.json("export", "--to", "job", code=2)["error"]
    assert (again["code"], again["where"]) == ("folder-taken", "job")
    assert "new folder" in again["remedy"]
    assert ran.json("export", "--to", "f.toml", code=2)["error"]["code"] == "folder-taken"
    assert ran.json("export", "--to", "no/where", code=2)["error"]["code"] == "path-unusable"
    assert ran.json("export", "nosuch", "--to", "new", code=2)["error"]["code"] == "run-set-unknown"
    assert "--to" in ran.json("export", "taken-along", code=2)["error"]["message"]
    assert sorted(path.name for path in ran.folder.iterdir()) == before


def test_an_object_that_is_gone_ends_it_with_nothing_left(ran: Cli) -> None:
    (trajectory, *_) = (ran.home / "objects").glob("*/trajectories/*/*.json")
    aside = trajectory.rename(ran.folder / "aside.json")
    before = sorted(path.name for path in ran.folder.iterdir())
    try:
        error = ran.json("export", "--to", "broken", code=5)["error"]
    finally:
        aside.rename(trajectory)
    assert error["code"] == "object-missing"
    assert trajectory.name in error["where"]
    assert sorted(path.name for path in ran.folder.iterdir()) == [name for name in before if name != "aside.json"]


def test_ctrl_c_leaves_nothing(ran: Cli) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "proctor", "export", "--to", "stopped"],
        cwd=ran.folder,
        env=ran.environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while not list(ran.folder.glob(".proctor-partial-*")) and process.poll() is None:
        time.sleep(0.001)
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    assert not list(ran.folder.glob(".proctor-partial-*"))
    assert (ran.folder / "stopped").exists() == (process.returncode == 0), told
