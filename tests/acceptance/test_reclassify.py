"""Another policy over the evidence there is: shown first, then moved to, and owed cells are run again."""

from __future__ import annotations

from importlib.resources import files

from tests.acceptance.conftest import Cli
from tests.acceptance.test_regrade import strict, task

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
"""
SHIPPED = files("proctor.engine").joinpath("policies/outcomes-1.toml").read_text(encoding="utf-8")


def test_a_policy_moves_cells_and_opens_those_that_it_owes(cli: Cli) -> None:
    folder = task(cli, "asked", "never").parents[1]
    config = (folder / "task.toml").read_text(encoding="utf-8")
    (folder / "task.toml").write_text(config + "[agent]\ntimeout_sec = 1\n", encoding="utf-8")
    cli.write("r.toml", RUN_SET)
    cli("run", "r.toml")
    assert strict(cli, "slow") == "0/1"

    same = cli.write("same.toml", SHIPPED.replace('version = "outcomes-1"', 'version = "ours"'))
    assert "No cell is in another class." in cli("reclassify", "--policy", str(same)).stdout

    text = SHIPPED.replace('version = "outcomes-1"', 'version = "team"')
    crashes = 'id = "agent-crash"\nclass = "agent_error"'
    assert crashes in text
    rules = '[[rules]]\nid = "exit-7"\nclass = "provider_auth"\nphase = "agent"\nwhen = { exit_code = 7 }\n\n'
    place = text.index('[[rules]]\nid = "task-invalid"')
    cli.write("team.toml", text[:place] + rules + text[place:])
    shown = cli("reclassify", "--policy", "team.toml").stdout
    assert "agent_error" in shown
    assert "provider_auth" in shown
    assert "Nothing was changed" in shown
    assert strict(cli, "crash") == "0/1"

    done = cli.json("reclassify", "r", "--policy", "team.toml", "--yes")
    (move,) = done["reclassification"]["moves"]
    assert move == {"profile": "crash", "before": "agent_error", "after": "provider_auth", "cells": 1}
    assert (done["pinned"], done["owed"]) == (True, 1)
    rows = {row["profile"]: row["rates"]["counts"] for row in cli.json("leaderboard")["rows"]}
    assert (rows["crash"]["decided"], rows["slow"]["decided"]) == (0, 1)
    revisions = cli.json("history", "crash")["revisions"]
    assert [one["counts"]["decided"] for one in revisions] == [1, 0]

    again = cli.json("reclassify", "r", "--policy", "team.toml", "--yes")
    assert (again["reclassification"]["moves"], again["owed"]) == ([], 1)
    cli("resume", "r", code=3)
    attempts = [cell["attempts"] for cell in cli.json("cells")["cells"]]
    assert sorted(attempts) == [1, 2]


def test_a_bad_policy_file_is_refused_by_its_place(cli: Cli) -> None:
    task(cli, "asked", "yes")
    cli("run", "tasks", "--agent", "noop")
    cli.write("bad.toml", SHIPPED.replace('class = "passed"', 'class = "won"'))
    told = cli.json("reclassify", "--policy", "bad.toml", code=2)["error"]
    assert told["code"] == "outcome-policy"
    assert "'won'" in told["message"]
    assert cli.json("reclassify", "--policy", "absent.toml", code=2)["error"]["where"] == "absent.toml"
