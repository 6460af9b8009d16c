"""Harbor reads our tasks and trajectories, and gives the tasks the names we give them."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.suites.formats.dataset_files import read_dataset
from proctor.suites.loading import load_suite
from proctor.suites.template import write_task
from tests.acceptance.conftest import ROOT, Cli
from tests.foreign.conftest import Ask
from tests.foreign.environments import HARBOR

BASICS = ROOT / "examples" / "basics"
RUN_SET = """
name = "judged"
suite = "basics"
[[profiles]]
name = "oracle"
agent = "oracle"
[[profiles]]
name = "noop"
agent = "noop"
[[profiles]]
name = "good"
agent = "scripted"
script = "basics.scripts/good.toml"
[[profiles]]
name = "look"
agent = "command"
command = "ls -la; cat > /dev/null"
[execution]
concurrency = 4
"""


@pytest.fixture(scope="module")
def judged() -> Iterator[Cli]:
    """A run of all eight basic tasks with every kind of agent."""
    folder = Path(tempfile.mkdtemp(prefix="proctor-foreign-"))
    folder.chmod(0o755)
    cli = Cli(folder)
    shutil.copytree(BASICS, folder / "basics")
    shutil.copytree(BASICS.with_name("basics.scripts"), folder / "basics.scripts")
    cli.write("run.toml", RUN_SET)
    cli("run", "run.toml")
    yield cli
    cli("down")
    shutil.rmtree(folder)


def test_every_example_has_harbors_digest_and_loads_there(ask: Ask) -> None:
    ours = {str(task.folder.resolve()): task for task in load_suite(BASICS).tasks}
    theirs = ask(HARBOR, "harbor_tasks", list(ours))
    assert len(ours) == 8
    assert {folder: answer["digest"] for folder, answer in theirs.items()} == {
        folder: task.content_digest for folder, task in ours.items()
    }
    assert {folder: answer["name"] for folder, answer in theirs.items()} == {
        folder: task.name for folder, task in ours.items()
    }


def test_a_new_task_has_harbors_digest_and_loads_there(ask: Ask, tmp_path: Path) -> None:
    folder = tmp_path / "made-here"
    write_task(folder)
    task = load_suite(folder).tasks[0]
    answer = ask(HARBOR, "harbor_tasks", [str(folder)])[str(folder)]
    assert (answer["digest"], answer["name"]) == (task.content_digest, task.name)
    assert task.task is not None
    assert answer["instruction"] == task.task.instruction


def test_ignored_files_and_a_readme_change_both_digests_alike(ask: Ask, tmp_path: Path) -> None:
    folder = tmp_path / "ignoring"
    write_task(folder)
    (folder / "README.md").write_text("For people.\n")
    (folder / "notes.txt").write_text("Not part of a task.\n")
    (folder / ".gitignore").write_text("*.log\n!keep.log\n")
    (folder / "environment" / "app" / "noise.log").write_text("left out\n")
    (folder / "environment" / "app" / "keep.log").write_text("kept\n")
    ours = load_suite(folder).tasks[0].content_digest
    assert ask(HARBOR, "harbor_tasks", [str(folder)])[str(folder)]["digest"] == ours


def test_a_datasets_hash_and_name_are_harbors(ask: Ask, tmp_path: Path) -> None:
    digests = "".join(f'[[tasks]]\nname = "o/t{n}"\ndigest = "sha256:{n * 64}"\n' for n in ("3", "1", "2"))
    heading = '[dataset]\nname = "o/set"\nversion = "2.1"\n'
    files = "".join(f'[[files]]\npath = "{name}"\ndigest = "sha256:{"9" * 64}"\n' for name in ("m.py", "a.txt"))
    texts = [heading + digests, heading + digests + files]
    ours = []
    for text in texts:
        (tmp_path / "dataset.toml").write_text(text)
        read = read_dataset(tmp_path / "dataset.toml")
        ours.append({"label": [read.dataset.name, read.dataset.version], "hash": read.hash})
    assert ask(HARBOR, "harbor_datasets", texts) == ours


def test_harbor_maps_a_terminal_bench_task_to_the_same_settings(ask: Ask) -> None:
    folder = ROOT / "tests" / "fixtures" / "terminal-bench" / "word-count"
    task = load_suite(folder).tasks[0].task
    assert task is not None
    mapped = ask(HARBOR, "harbor_terminal_bench", str(folder))
    assert mapped["instruction"].strip() == task.instruction.strip()
    assert (mapped["agent_sec"], mapped["verifier_sec"]) == (task.agent.timeout_sec, task.verifier.timeout_sec)
    assert {name: task.metadata[name] for name in mapped["metadata"] if name in task.metadata} == {
        name: value for name, value in mapped["metadata"].items() if value is not None
    }


def test_harbors_models_accept_every_trajectory_of_a_real_run(ask: Ask, judged: Cli) -> None:
    files = sorted(str(path) for path in (judged.home / "objects").glob("*/trajectories/*/*.json"))
    answers = ask(HARBOR, "harbor_trajectories", files)
    assert Counter(answer["agent"] for answer in answers) == {"oracle": 8, "noop": 8, "scripted": 8, "command": 8}
    assert {answer["sources"][0] for answer in answers} == {"user"}
