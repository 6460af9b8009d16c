"""Tasks with steps as a user has them: the bundled two, tried, run and looked at, in real sandboxes."""

from __future__ import annotations

import shutil
import tarfile

import pytest

from proctor.agents.trajectory import parse
from tests.acceptance.conftest import ROOT, Cli

pytestmark = pytest.mark.commands

SCRIPT = """
[tasks."proctor/merge-after-fix".steps.fix]
commands = ["bash -c 'cd slugs && git config user.name X && echo >> slugs.py && git commit -qam x'"]
[tasks."proctor/growing-ledger".steps.totals]
commands = ["echo print > ledger.py"]
"""
FILE = """
name = "steps"
suite = "steps"
[[profiles]]
name = "oracle"
agent = "oracle"
[[profiles]]
name = "scripted"
agent = "scripted"
script = "script.toml"
"""


@pytest.mark.parametrize("task", ["growing-ledger", "merge-after-fix"])
def test_the_bundled_tasks_tell_their_solutions_apart(cli: Cli, task: str) -> None:
    tried = {one["solution"]: one for one in cli.json("task", "try", str(ROOT / "examples/steps" / task))["tried"]}
    assert {name: one["outcome"]["outcome"] for name, one in tried.items()} == {
        "oracle": "passed",
        "noop": "failed",
        "wrong": "failed",
    }
    assert all(step["passed"] for step in tried["oracle"]["steps"])
    assert tried["wrong"]["steps"][0]["passed"]  # it goes wrong later
    assert [step["reached"] for step in tried["noop"]["steps"]][1:] == [False] * (len(tried["noop"]["steps"]) - 1)
    assert (
        f"step {tried['noop']['steps'][-1]['name']}: not reached, counts 0"
        in cli("task", "try", str(ROOT / "examples/steps" / task), "--solution", "noop").stdout
    )


def test_a_run_shows_every_step_and_keeps_what_each_left(cli: Cli) -> None:
    shutil.copytree(ROOT / "examples/steps", cli.folder / "steps")
    cli.write("script.toml", SCRIPT)
    cli.write("f.toml", FILE)
    cli("run", "f.toml")
    rows = {row["profile"]: row["rates"]["strict"] for row in cli.json("leaderboard")["rows"]}
    assert rows == {"oracle": 1.0, "scripted": 0.0}
    cells = {(cell["profile"], cell["reward"]): cell["attempt"] for cell in cli.json("cells")["cells"]}
    (attempt, *_) = [attempt for (profile, reward), attempt in cells.items() if profile == 0 and reward == 1.0]
    shown = cli("attempt", "show", attempt, "--save", "kept").stdout
    for word in ("verify (", "pass · rewards {'reward': 1.0", "artifact state.tar", "artifact state."):
        assert word in shown
    detail = cli.json("attempt", "show", attempt)
    (grading,) = detail["gradings"]
    names = [step["name"] for step in grading["detail"]["steps"]]
    states = {"state.tar", *(f"state.{name}.tar" for name in names[:-1])}
    assert {path.name for path in (cli.folder / "kept").iterdir()} == {*states, "trajectory.json"}
    for name in states:
        with tarfile.open(cli.folder / "kept" / name) as tar:
            members = [member.lstrip("./") for member in tar.getnames()]
        assert not [member for member in members if member.startswith(("tests/", "logs/verifier/"))]
    trajectory = parse(cli("attempt", "show", attempt, "--trajectory").stdout.encode())
    assert [step.source for step in trajectory.steps] == ["user", "agent"] * len(names)


def test_a_service_of_one_step_is_dead_before_the_next_in_snapshot(cli: Cli) -> None:
    for name in ("one", "two"):
        cli.write(f"tasks/t/steps/{name}/instruction.md", "Do it.\n")
        beats = 'a=$(cat /app/beat); sleep 0.4; [ "$a" = "$(cat /app/beat)" ]'
        cli.write(
            f"tasks/t/steps/{name}/tests/test.sh",
            f"{beats}; echo $((1 - $?)) > /logs/verifier/reward.txt\ntouch /app/verified\n",
        )
    cli.write(
        "tasks/t/steps/two/workdir/setup.sh", "test ! -e /app/verified && test -e /app/beat && test ! -e /tests\n"
    )
    cli.write(
        "tasks/t/task.toml",
        '[agent]\ntimeout_sec = 20\n[environment]\nnetwork_mode = "no-network"\n'
        '[metadata.proctor]\nverification = "snapshot"\n[[steps]]\nname = "one"\n[[steps]]\nname = "two"\n',
    )
    cli.write(
        "f.toml",
        'name = "f"\nsuite = "tasks"\n[[profiles]]\nname = "p"\nagent = "command"\n'
        'command = """if [ $PROCTOR_STEP = one ]; then setsid bash -c \'exec >/dev/null 2>&1 </dev/null; '
        'while :; do date +%N > /app/beat; sleep 0.02; done\' & sleep 0.3; fi"""\n',
    )
    cli("run", "f.toml")
    (cell,) = cli.json("cells")["cells"]
    assert (cell["outcome"], cell["reward"]) == ("passed", 1.0)
