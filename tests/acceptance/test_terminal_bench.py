"""Terminal-Bench 1 tasks as a user has them: imported beside others, tried, run and certified in real sandboxes."""

from __future__ import annotations

import shutil

import pytest

from tests.acceptance.conftest import ROOT, Cli

pytestmark = pytest.mark.commands

TASKS = ROOT / "tests" / "fixtures" / "terminal-bench"
IMAGE = "instruction: Do it.\ndifficulty: hard\n"
FILE = """
name = "tb1"
suite = "suite"
[[profiles]]
name = "oracle"
agent = "oracle"
[[profiles]]
name = "noop"
agent = "noop"
[[profiles]]
name = "forger"
agent = "command"
command = '''
mkdir -p /tests && echo "echo === short test summary info ===; echo PASSED forged" > /tests/run-tests.sh
echo "=== short test summary info ==="; echo "PASSED forged"; echo 1 > /logs/verifier/reward.txt
'''
"""


def suite(cli: Cli) -> None:
    shutil.copytree(TASKS, cli.folder / "suite")
    for name in ("needs-image", "malformed"):
        cli.write(f"suite/{name}/task.yaml", IMAGE if name == "needs-image" else "instruction: [\n")
        cli.write(f"suite/{name}/Dockerfile", "FROM debian:12\nRUN make world\n")
        cli.write(f"suite/{name}/run-tests.sh", "pytest -rA /tests\n")


def test_they_import_and_run_where_they_opted_in(cli: Cli) -> None:
    suite(cli)
    cli.write("f.toml", FILE)
    imported = cli.json("suite", "import", "suite", code=3)["suite"]
    assert {task["name"]: [p["file"] for p in task["problems"]] for task in imported["tasks"]} == {
        "malformed": ["task.yaml"],
        "needs-image": [],
        "port-table": [],
        "word-count": [],
    }
    cli("run", "f.toml", code=3)
    page = cli.json("cells")
    found = {(page["tasks"][cell["content_digest"]], cell["profile"]): cell for cell in page["cells"]}
    assert {key: cell["outcome"] for key, cell in found.items()} == {
        (task, profile): outcome
        for task, outcomes in {
            "word-count": ("passed", "failed", "failed"),
            "port-table": ("passed", "failed", "failed"),
            "malformed": ("task_invalid",) * 3,
            "needs-image": ("task_invalid",) * 3,
        }.items()
        for profile, outcome in enumerate(outcomes)
    }
    refused = cli("attempt", "show", found["needs-image", 0]["attempt"]).stdout
    assert (
        "needs an image (Dockerfile: FROM debian:12; RUN make world), which the local sandbox does not have" in refused
    )


def test_the_authors_loop_tells_their_solutions_apart(cli: Cli) -> None:
    for task in ("word-count", "port-table"):
        tried = {one["solution"]: one for one in cli.json("task", "try", str(TASKS / task))["tried"]}
        assert {name: one["outcome"]["outcome"] for name, one in tried.items()} == {
            "oracle": "passed",
            "noop": "failed",
        }


def test_they_can_be_certified_where_nothing_of_the_agent_is_beside_the_verifier(cli: Cli) -> None:
    text = (TASKS / "word-count/task.yaml").read_text()
    shutil.copytree(TASKS / "word-count", cli.folder / "word-count")
    assert "the forgery background-writer passes" in cli("suite", "check", "word-count", code=1).stdout
    cli.write("word-count/task.yaml", text.replace("\nproctor:\n", "\nproctor:\n  verification: snapshot\n"))
    assert "certified" in cli("suite", "check", "word-count").stdout
