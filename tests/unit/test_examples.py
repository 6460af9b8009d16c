"""The example tasks: they load clean, say what they need, and their scripts are well formed."""

from __future__ import annotations

import subprocess
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from proctor.suites.loading import load_suite
from proctor.suites.tasks import NetworkMode, VerificationMode

ROOT = Path(__file__).parents[2]
BASICS = ROOT / "examples/basics"
NAMES = sorted(path.name for path in BASICS.iterdir() if path.is_dir())
TOOLS = {"bash", "git", "make", "python3", "sed", "sort"}
"""Debian's standard userland and the programs that Proctor needs anyway."""


def test_there_are_eight_and_all_are_sound() -> None:
    loaded = load_suite(BASICS)
    assert [task.name for task in loaded.tasks] == [f"proctor/{name}" for name in NAMES]
    assert len(loaded.tasks) == 8
    assert loaded.malformed == ()
    assert loaded.notes == ()
    assert all(task.notes == () for task in loaded.tasks)


def test_they_run_on_the_hosts_userland_without_a_network() -> None:
    for loaded in load_suite(BASICS).tasks:
        task = loaded.task
        assert task is not None
        assert task.userland is not None
        assert set(task.userland.tools) <= TOOLS
        assert dict(task.userland.copy) == {"app": "/app"}
        assert task.environment.network.mode is NetworkMode.NONE
        assert task.environment.dockerfile
        assert task.verifier.mode is VerificationMode.SNAPSHOT
        assert task.has_solution


def test_reading_them_twice_gives_the_same_digests() -> None:
    one, other = load_suite(BASICS), load_suite(BASICS)
    assert one.suite_id == other.suite_id
    assert [task.agent_digest for task in one.tasks] == [task.agent_digest for task in other.tasks]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("script", ["tests/test.sh", "solution/solve.sh", "solution/wrong.sh"])
def test_every_script_parses(name: str, script: str) -> None:
    path = BASICS / name / script
    assert path.read_text().startswith("#!/bin/bash\n")
    assert subprocess.run(["bash", "-n", path], check=False).returncode == 0


@pytest.mark.parametrize("name", NAMES)
def test_every_judge_compiles(name: str) -> None:
    path = BASICS / name / "tests/judge.py"
    compile(path.read_text(), str(path), "exec")


@pytest.mark.parametrize(("script", "most"), [("good", 8), ("poor", 8)])
def test_the_scripts_know_every_task(script: str, most: int) -> None:
    document = tomllib.loads((ROOT / f"examples/basics.scripts/{script}.toml").read_text())
    assert sorted(document["tasks"]) == [f"proctor/{name}" for name in NAMES]
    assert len(document["tasks"]) == most
    for task in document["tasks"].values():
        for command in task["commands"]:
            assert subprocess.run(["bash", "-n", "-c", command], check=False).returncode == 0


def test_the_verifiers_copies_are_what_the_agent_got() -> None:
    for given, kept in (
        ("orders-summary/environment/app", "orders-summary/tests/data"),
        ("outage-windows/environment/app/logs", "outage-windows/tests/logs"),
    ):
        for path in (BASICS / kept).iterdir():
            assert path.read_bytes() == (BASICS / given / path.name).read_bytes()
    checker = BASICS / "proxy-config/environment/app/check_config.py"
    assert checker.read_bytes() == (BASICS / "proxy-config/tests/check_config.py").read_bytes()


STEPS = ROOT / "examples/steps"


def test_the_tasks_with_steps_are_sound_and_have_a_solution_and_a_wrong_one() -> None:
    loaded = load_suite(STEPS)
    assert [task.name for task in loaded.tasks] == ["proctor/growing-ledger", "proctor/merge-after-fix"]
    assert (loaded.malformed, loaded.notes) == ((), ())
    for one in loaded.tasks:
        assert one.notes == ()
        assert one.task is not None
        assert one.task.userland is not None
        assert set(one.task.userland.tools) <= TOOLS
        assert one.task.environment.network is not None
        assert one.task.environment.network.mode is NetworkMode.NONE
        assert {step.verifier.mode for step in one.task.steps} == {VerificationMode.SNAPSHOT}
        assert one.task.has_solution
        assert len(one.task.steps) in (2, 3)
        assert list(one.folder.glob("steps/*/solution/wrong.sh"))


@pytest.mark.parametrize("script", sorted(STEPS.rglob("*.sh")), ids=lambda path: str(path.relative_to(STEPS)))
def test_every_script_of_theirs_parses(script: Path) -> None:
    assert script.read_text().startswith("#!/bin/bash\n")
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0


SUITE = ROOT / "examples/workshop"
OWN = sorted(path for path in SUITE.iterdir() if path.is_dir() and not path.is_symlink())
LEVELS = {"easy", "medium", "hard"}


def test_the_suite_is_all_examples_at_three_levels() -> None:
    loaded = load_suite(SUITE)
    assert (loaded.malformed, loaded.notes) == ((), ())
    assert len(loaded.tasks) >= 24
    assert len({task.name for task in loaded.tasks}) == len(loaded.tasks)
    assert {task.name for task in loaded.tasks} > {
        task.name for folder in (BASICS, STEPS) for task in load_suite(folder).tasks
    }
    levels = Counter(metadata(task.folder)["difficulty"] for task in loaded.tasks if task.folder)
    assert levels.keys() == LEVELS
    assert min(levels.values()) >= 6
    assert sum(bool(task.task and task.task.steps) for task in loaded.tasks) >= 2


def test_links_of_the_suite_lead_to_the_other_folders_and_are_relative() -> None:
    linked = [path for path in SUITE.iterdir() if path.is_symlink()]
    assert {path.resolve().parent for path in linked} == {BASICS, STEPS}
    assert all(not path.readlink().is_absolute() for path in linked)


@pytest.mark.parametrize("folder", OWN, ids=lambda path: path.name)
def test_a_task_of_the_suite_runs_here_and_states_its_limits(folder: Path) -> None:
    (loaded,) = load_suite(folder).tasks
    task = loaded.task
    assert task is not None
    assert (loaded.notes, loaded.name) == ((), f"proctor/{folder.name}")
    assert task.userland is not None
    assert set(task.userland.tools) <= TOOLS
    assert task.environment.network.mode is NetworkMode.NONE
    assert task.has_solution
    document = tomllib.loads((folder / "task.toml").read_text())
    assert document["agent"]["timeout_sec"] <= 600
    assert document["environment"].keys() >= {"cpus", "memory_mb", "storage_mb"}
    assert 0 < metadata(folder)["proctor"]["pass_threshold"] <= 1
    assert list(folder.glob("**/solution/wrong.sh"))


@pytest.mark.parametrize(
    "script",
    [path for folder in OWN for path in sorted(folder.rglob("*.sh"))],
    ids=lambda path: str(path.relative_to(SUITE)),
)
def test_every_script_of_the_suite_parses(script: Path) -> None:
    assert script.read_text().startswith("#!/bin/bash\n") or script.parent.name == "app"
    assert subprocess.run(["bash", "-n", script], check=False).returncode == 0


def test_programs_of_the_suites_verifiers_compile_and_share_one_file() -> None:
    judges = [path for folder in OWN for path in folder.glob("**/tests/*.py")]
    for path in judges:
        compile(path.read_text(), str(path), "exec")
    assert len({path.read_bytes() for path in judges if path.name == "scoring.py"}) == 1
    assert len({path.read_bytes() for folder in OWN for path in folder.glob("tests/test.sh")}) <= 2


def test_the_judges_history_is_the_one_that_the_agent_gets() -> None:
    one, other = (SUITE / "split-commit" / place / "history.txt" for place in ("environment/app", "tests"))
    assert one.read_bytes() == other.read_bytes()


def test_no_task_of_the_suite_leaks_its_answer() -> None:
    for folder in OWN:
        shown = {path.name for path in (folder / "environment").rglob("*")}
        shown |= {path.name for path in folder.glob("steps/*/workdir/**/*")}
        assert not shown & {"solve.sh", "wrong.sh", "judge.py", ".git"}
        given = {path.read_bytes() for path in (folder / "environment/app").rglob("*") if path.is_file()}
        assert not given & {path.read_bytes() for path in folder.glob("**/solution/*")}


def metadata(folder: Path) -> dict[str, Any]:
    return tomllib.loads((folder / "task.toml").read_text())["metadata"]
