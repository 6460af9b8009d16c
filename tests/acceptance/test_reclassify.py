"""Another policy over the evidence there is: shown first, then moved to, and owed cells are run again."""

from __future__ import annotations

from importlib.resources import files

import pytest

from tests.acceptance.conftest import Cli
from tests.acceptance.test_regrade import strict, task

pytestmark = pytest.mark.journey

RUN_SET = """\
name = "r"
suite = "tasks"
[[profiles]]
name = "slow"
agent = "command"
command = "echo yes > /app/answer; sleep 30"
[[profiles]]
name = "crash"
agent = "command"
command = "echo no > /app/answer; exit 7"
[[profiles]]
name = "hungry"
agent = "command"
command = "echo never > /app/answer"
[[faults]]
kind = "oom_kill"
profiles = ["hungry"]
"""
SHIPPED = files("proctor.engine").joinpath("policies/outcomes-1.toml").read_text(encoding="utf-8")
MEMORY = '{ owner = "policy", verdict = "policy", retry = "once", tries = 2 }'
LENIENT = '{ owner = "infrastructure", verdict = "none", retry = "once", tries = 2 }'


def policy(version: str, *changes: tuple[str, str]) -> str:
    text = SHIPPED.replace('version = "outcomes-1"', f'version = "{version}"')
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    return text


def test_a_policy_moves_cells_and_opens_those_that_it_owes(cli: Cli) -> None:
    folder = task(cli, "asked", "never").parents[1]
    config = (folder / "task.toml").read_text(encoding="utf-8")
    (folder / "task.toml").write_text(config + "[agent]\ntimeout_sec = 1\n", encoding="utf-8")
    cli.write("r.toml", RUN_SET)
    cli("run", "r.toml")
    assert strict(cli, "slow") == "0/1"
    assert "policy" not in cli("leaderboard").stdout

    same = cli.write("same.toml", policy("ours"))
    assert "No cell is in another class, or has" in cli("reclassify", "--policy", str(same)).stdout

    crashes = '[[rules]]\nid = "agent-crash"\nclass = "agent_error"\nphase = "agent"\n'
    cli.write("team.toml", policy("team", (MEMORY, LENIENT), (crashes, crashes.replace("error", "limit"))))
    shown = cli("reclassify", "--policy", "team.toml").stdout
    assert "out_of_memory (model, fail)" in shown
    assert "out_of_memory (infrastructure, no verdict)" in shown
    assert "Nothing was changed" in shown
    assert strict(cli, "hungry") == "0/1"

    done = cli.json("reclassify", "r", "--policy", "team.toml", "--yes")
    name = done["reclassification"]["after"]
    crash, hungry = done["reclassification"]["moves"]
    assert (crash["before"], crash["after"], crash["after_verdict"], crash["cells"]) == (
        "agent_error",
        "agent_limit",
        False,
        1,
    )
    assert hungry == {
        "profile": "hungry",
        "before": "out_of_memory",
        "before_owner": "model",
        "before_verdict": False,
        "after": "out_of_memory",
        "after_owner": "infrastructure",
        "after_verdict": None,
        "cells": 1,
    }
    assert (done["pinned"], done["owed"]) == (True, 1)
    rows = {row["profile"]: row["rates"]["counts"] for row in cli.json("leaderboard")["rows"]}
    assert (rows["hungry"]["decided"], rows["slow"]["decided"]) == (0, 1)
    revisions = cli.json("history", "hungry")["revisions"]
    assert [one["counts"]["decided"] for one in revisions] == [1, 0]
    assert [one["policy_version"] for one in revisions] == ["outcomes-1", name]

    again = cli.json("reclassify", "r", "--policy", "team.toml", "--yes")
    assert (again["reclassification"]["moves"], again["owed"]) == ([], 1)
    assert f"    judged by policy {name}, not one" in cli("run", "r.toml", "--dry-run").stdout
    cli("resume", "r")
    attempts = [cell["attempts"] for cell in cli.json("cells")["cells"]]
    assert sorted(attempts) == [1, 1, 2]
    _named_wherever_rates_are(cli, name)


def _named_wherever_rates_are(cli: Cli, name: str) -> None:
    """Numbers of a policy of one's own are never shown as if they were anybody's."""
    words = f"judged by policy {name}"
    assert f"not comparable (all profiles): {words}, not one that ships with Proctor" in cli("leaderboard").stdout
    for row in cli.json("leaderboard")["rows"]:
        assert (row["comparable"], row["reasons"][0]) == (False, f"{words}, not one that ships with Proctor")
    files = ("--markdown", "b.md", "--junit", "b.xml")
    told = cli("gate", "r", "--fail-under", "strict=0", *files).stdout
    assert words in told.splitlines()[0]
    assert words in (cli.folder / "b.md").read_text(encoding="utf-8").replace("&#64;", "@")
    assert f'name="policy" value="{name}"' in (cli.folder / "b.xml").read_text(encoding="utf-8")
    assert f"no: {words}" in cli("history", "slow").stdout
    assert " outcomes-1 " in cli("history", "slow").stdout
    assert words in cli("status", "r").stdout
    assert f"both sides {words}" in cli("compare", "r:slow", "r:crash").stdout
    sides = cli.json("compare", "r:slow", "r:crash")["pairs"][0]
    assert {sides["a"]["policy_version"], sides["b"]["policy_version"]} == {name}
    cli("run", "r.toml", "--fresh")
    assert f"differs: outcome_policy: {name} and outcomes-1" in cli("compare", f"{_oldest(cli)}:slow", "r:slow").stdout


def _oldest(cli: Cli) -> str:
    return str(cli.json("status")["run_sets"][-1]["id"])


def test_a_policy_that_passes_what_the_verifier_failed_is_refused(cli: Cli) -> None:
    task(cli, "asked", "yes")
    cli("run", "tasks", "--agent", "noop")
    cli.write("bad.toml", policy("bad", ("when = { passed = true }", "when = { passed = [true, false] }")))
    told = cli.json("reclassify", "--policy", "bad.toml", "--yes", code=2)["error"]
    assert (told["code"], told["where"]) == ("outcome-policy", "bad.toml: rule 'pass': when.passed")
    assert strict(cli, "noop") == "0/1"


def test_rewards_beyond_measure_leave_a_table(cli: Cli) -> None:
    for number in range(3):
        task(cli, f"t{number}", "yes", test="echo 1.7e308 > /logs/verifier/reward.txt # {wanted}\n")
    task(cli, "odd", "yes", test="echo '{{\"reward\": 1e999}}' > /logs/verifier/reward.json # {wanted}\n")
    cli("run", "tasks", "--agent", "noop", code=3)
    told = cli("leaderboard").stdout
    assert "1.7e+308" in told
    assert max(map(len, told.splitlines())) < 200
    assert cli.json("leaderboard")["rows"][0]["mean_reward"] == pytest.approx(1.7e308)
    (odd,) = cli.json("cells", "--outcome", "verifier_error")["cells"]
    assert (odd["verdict"], odd["reward"]) == (None, None)


def test_a_bad_policy_file_is_refused_by_its_place(cli: Cli) -> None:
    task(cli, "asked", "yes")
    cli("run", "tasks", "--agent", "noop")
    cli.write("bad.toml", SHIPPED.replace('class = "passed"', 'class = "won"'))
    told = cli.json("reclassify", "--policy", "bad.toml", code=2)["error"]
    assert told["code"] == "outcome-policy"
    assert "'won'" in told["message"]
    assert cli.json("reclassify", "--policy", "absent.toml", code=2)["error"]["where"] == "absent.toml"
