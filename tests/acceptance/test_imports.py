"""Results of others that are wrong, cut off in the middle, or under names that nobody declared."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.conftest import Cli
from tests.acceptance.test_regrade import task

pytestmark = pytest.mark.journey

HEAD = 'format = "proctor-results-1"\nname = "theirs"\nsuite = "../tasks"\n'
RULES = "[[variants]]\npattern = '{}'\nprofile = '{}'\n"


def line(profile: str = "p0", number: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "suite": "../tasks",
        "profile": profile,
        "task": f"own/t{number}",
        "started_at": "2026-06-01T00:00:00Z",
        "ended_at": "2026-06-01T00:01:00Z",
        "evidence": [{"phase": "agent", "detail": {"exit_code": 0}}],
        "rewards": {"reward": 1.0},
        **more,
    }


def results(cli: Cli, *lines: dict[str, Any], profiles: int = 2) -> None:
    entries = "".join(f'[[profiles]]\nname = "p{number}"\nagent = "loop"\n' for number in range(profiles))
    cli.write("results/results.toml", HEAD + entries)
    cli.write("results/attempts.jsonl", "".join(f"{json.dumps(one)}\n" for one in lines))


def test_nothing_is_written_of_results_that_are_wrong_anywhere(cli: Cli) -> None:
    task(cli, "t0", "yes")
    for wrong, field in (
        ({"rewards": {"reward": float("nan")}}, "rewards.reward"),
        ({"attempt": 10**12}, "attempt"),
        ({"started_at": "9999-12-31T23:59:59-23:00"}, "started_at"),
        ({"usage": {"cost_nano": 10**30}}, "usage.cost_nano"),
    ):
        results(cli, line(), line("p1", **wrong))
        error = cli.json("import", "results", code=2)["error"]
        assert (error["code"], error["where"]) == ("import-invalid", "results/attempts.jsonl: line 2")
        assert error["message"].startswith(f"{field}: ")
    results(cli, line(), line(suite=cli.json("suite", "import", "tasks")["suite_id"]))
    error = cli.json("import", "results", code=2)["error"]
    assert error["message"] == "attempt: it has the names and numbers of line 1."
    assert cli.json("status")["run_sets"] == []


def test_an_import_that_was_killed_says_so_and_is_completed_by_the_same_command(cli: Cli) -> None:
    task(cli, "t0", "yes")
    task(cli, "t1", "yes")
    owed = {"rewards": None, "evidence": [{"phase": "agent", "detail": {"source": "provider", "failed": True}}]}
    tries = [line("p0", 0, attempt=number, **owed) for number in range(1, 12_001)]
    results(
        cli, *tries, line("p0", 0, attempt=12_001), line("p0", 1), line("p1", 0), line("p1", 1, rewards={"other": 1})
    )
    command = [sys.executable, "-m", "proctor", "import", "results"]
    process = subprocess.Popen(
        command, cwd=cli.folder, env=cli.environment(), stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert process.stderr is not None
    assert "1,000 attempts read" in process.stderr.readline()
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    process.stderr.close()
    _until_alone(cli)

    assert "import" in cli("status", "theirs").stdout.splitlines()[0]
    (row,) = cli.json("status")["run_sets"]
    assert (row["state"], "cut off" in row["reason"]) == ("running", True)
    told = cli("audit", code=1).stdout
    assert "the import is under way or was cut off" in told
    assert "Nothing to repair" not in told
    assert "cut off" in cli("audit", "--apply", code=1).stdout
    assert cli.json("pause", "theirs", code=2)["error"]["code"] == "run-set-imported"

    assert cli.json("import", "results")["linked"] == 12_004
    (row,) = cli.json("status")["run_sets"]
    assert (row["state"], row["reason"]) == ("complete_with_gaps", "1 cell without a verdict")
    assert "Nothing to repair." in cli("audit").stdout
    (broken,) = cli.json("cells", "--outcome", "verifier_error")["cells"]
    assert broken["verdict"] is None
    policies = Path(__file__).parents[2] / "src/proctor/engine/policies/outcomes-1.toml"
    cli.write("same.toml", policies.read_text(encoding="utf-8"))
    done = cli.json("reclassify", "--policy", "same.toml", "--yes")
    assert (done["reclassification"]["moves"], done["owed"]) == ([], 1)
    (row,) = cli.json("status")["run_sets"]
    assert row["state"] == "complete_with_gaps"
    assert cli.json("import", "results")["linked"] == 12_004


def _until_alone(cli: Cli) -> None:
    """The database of a killed client goes on with its last statement."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        if cli.json("status")["run_sets"]:
            return
        time.sleep(0.2)
    pytest.fail("no run set")


def test_an_audit_says_what_stands_and_follows_no_two_rules(cli: Cli) -> None:
    task(cli, "t0", "yes")
    task(cli, "t1", "yes")
    results(cli, line("p0__high"), line("p1"), line("p1__high", rewards={"reward": 0.0}), line("p9", 1))
    assert cli.json("import", "results", code=3)["unlinked"] == 3
    told = cli("audit", code=1).stdout
    assert "not explained 1 (1 attempts): profile 'p9' is not known" in told
    assert "What stands, and --apply can't repair: 3 attempts under names that nothing explains" in told
    assert "Nothing to repair" not in told
    cli("audit", "--apply", code=1)

    cli.write("bad.toml", RULES.format(".*", "\\9"))
    assert cli.json("audit", "--rules", "bad.toml", code=2)["error"]["where"] == "bad.toml: variants.0"
    cli.write("none.toml", "")
    assert cli.json("audit", "--rules", "none.toml", code=2)["error"]["code"] == "audit-rules"
    cli.write("absent.toml", RULES.format(".*__high", "p7"))
    assert cli.json("audit", "--rules", "absent.toml", code=2)["error"]["where"] == "absent.toml: variants.0.profile"
    cli.write("two.toml", RULES.format("p0__.*", "p0") + RULES.format(".*__high", "p1"))
    told = cli("audit", "--rules", "two.toml", code=1).stdout
    assert "profile 'p0__high' stands for 'p0' and for 'p1' by the rules" in told
    assert "recoverable" not in told

    task(cli, "t2", "yes")
    cli("suite", "import", "tasks", "--label", "other")
    cli.write("label.toml", 'suites = ["other"]\n')
    assert "label of another suite" in cli.json("audit", "--rules", "label.toml", code=2)["error"]["message"]

    cli.write("one.toml", RULES.format("(.*)__high", "\\1"))
    done = cli.json("audit", "--rules", "one.toml", "--apply", code=1)
    assert (done["repairable"], done["standing"]) == (1, 2)
    assert sum(done["audit"]["repairs"][0]["linked"].values()) == 1
    told = cli("audit", "--rules", "one.toml", code=1).stdout
    assert "attempt 1 of its cell is another one already (by variant name" in told
    rows = {row["profile"]: row["rates"]["counts"]["passed"] for row in cli.json("leaderboard")["rows"]}
    assert rows == {"p0": 1, "p1": 1}


SHAPES: list[tuple[Any, Any]] = [
    (["p1", "p7"], ["p0", "p1"]),
    ({"note": "ours", "profiles": ["p7"]}, {"note": "ours", "profiles": ["p0", "p1"]}),
    ([{"name": "p1", "owner": "me"}], [{"name": "p0"}, {"name": "p1", "owner": "me"}]),
]


def test_a_list_of_profiles_keeps_its_shape(cli: Cli) -> None:
    task(cli, "t0", "yes")
    results(cli, line("p0"), line("p1"))
    cli("import", "results")
    asked = ("audit", "theirs", "--profiles", "list.json")
    for listed, mended in SHAPES:
        path = cli.write("list.json", json.dumps(listed))
        assert cli.json(*asked, code=1)["repairable"] == 1
        cli(*asked, "--apply")
        assert json.loads(path.read_text(encoding="utf-8")) == mended
    cli(*asked)
