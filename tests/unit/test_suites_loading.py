"""Folders of tasks: which folders count, malformed neighbours, duplicates, and that reading is quick."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from proctor.kernel.errors import UsageError
from proctor.sdk.starting import write_run_set_file
from proctor.suites.digests import suite_digest
from proctor.suites.errors import AliasInvalid, DuplicateTask, LinkBroken, SuitePathInvalid, TaskExists, VariableMissing
from proctor.suites.formats.harbor import load_task
from proctor.suites.loading import load_suite, tasks_further_down
from proctor.suites.references import check_label, is_prefix, unknown_suite
from proctor.suites.tasks import VerificationMode
from proctor.suites.template import write_task
from proctor.suites.variables import resolve_variables, variable_names


def add(suite: Path, name: str, **files: str) -> Path:
    folder = suite / name
    defaults = {"task.toml": "", "instruction.md": f"Do {name}.\n", "tests/test.sh": "true\n"}
    for path, content in {**defaults, **{key.replace("__", "/"): text for key, text in files.items()}}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    return folder


def test_tasks_one_level_too_deep_are_told(tmp_path: Path) -> None:
    for folder in ("a", "group/b"):
        (tmp_path / folder).parent.mkdir(exist_ok=True)
        write_task(tmp_path / folder)
    (tmp_path / "docs").mkdir()
    assert tasks_further_down(tmp_path).startswith("tasks in group are not read")
    assert tasks_further_down(tmp_path / "group") == ""


def test_folders_are_read_in_the_order_of_their_names(tmp_path: Path) -> None:
    for name in ("b", "a", "c"):
        add(tmp_path, name)
    loaded = load_suite(tmp_path)
    assert [task.name for task in loaded.tasks] == ["a", "b", "c"]
    assert loaded.suite_id == suite_digest(task.content_digest for task in loaded.tasks)


def test_a_task_folder_is_a_suite_of_one(tmp_path: Path) -> None:
    assert [task.name for task in load_suite(add(tmp_path, "only")).tasks] == ["only"]


def test_what_is_no_task_is_left_out_and_said(tmp_path: Path) -> None:
    add(tmp_path, "a")
    add(tmp_path, ".hidden")
    (tmp_path / "docs").mkdir()
    (tmp_path / "notes.txt").write_text("")
    loaded = load_suite(tmp_path)
    assert len(loaded.tasks) == 1
    assert [(note.file, note.text) for note in loaded.notes] == [
        ("docs", "has neither task.toml nor instruction.md nor task.yaml: no task")
    ]


def test_a_link_that_leads_nowhere_is_no_task_less(tmp_path: Path) -> None:
    suite = tmp_path / "suite"
    add(suite, "here")
    (suite / "gone").symlink_to("../elsewhere/gone")
    with pytest.raises(LinkBroken) as refused:
        load_suite(suite)
    assert refused.value.where == str(suite / "gone")
    with pytest.raises(LinkBroken):
        write_run_set_file(tmp_path, tmp_path / "proctor.toml")
    add(tmp_path / "elsewhere", "gone")
    assert len(load_suite(suite).tasks) == 2
    (suite / "gone").unlink()
    (suite / ".gone").symlink_to("nowhere")
    assert len(load_suite(suite).tasks) == 1, "what is hidden is no task"


def test_twenty_tasks_one_malformed_are_twenty_tasks(tmp_path: Path) -> None:
    for number in range(20):
        add(tmp_path, f"t{number:02d}")
    (tmp_path / "t07/task.toml").write_text("[agent\n")
    loaded = load_suite(tmp_path)
    assert len(loaded.tasks) == 20
    assert [task.folder.name for task in loaded.malformed] == ["t07"]


def test_same_content_is_counted_once_and_said(tmp_path: Path) -> None:
    add(tmp_path, "a", **{"instruction.md": "Same.\n"})
    add(tmp_path, "b", **{"instruction.md": "Same.\n"})
    loaded = load_suite(tmp_path)
    assert [task.folder.name for task in loaded.tasks] == ["a"]
    assert [str(note.text) for note in loaded.notes] == ["has the same content as a and is counted once"]


def test_two_tasks_of_one_name_are_refused(tmp_path: Path) -> None:
    add(tmp_path, "a", **{"task.toml": "[task]\nname = 'o/x'\n"})
    add(tmp_path, "b", **{"task.toml": "[task]\nname = 'o/x'\n"})
    with pytest.raises(DuplicateTask, match="a and b are both named o/x"):
        load_suite(tmp_path)


def test_two_tasks_that_are_one_exam_are_refused(tmp_path: Path) -> None:
    add(tmp_path, "a", **{"instruction.md": "Same.\n", "README.md": "1"})
    add(tmp_path, "b", **{"instruction.md": "Same.\n", "README.md": "2"})
    with pytest.raises(DuplicateTask, match="differ in nothing that an agent or verifier sees"):
        load_suite(tmp_path)


def test_a_malformed_copy_stops_nobody(tmp_path: Path) -> None:
    add(tmp_path, "a", **{"task.toml": "[task]\nname = 'o/x'\n"})
    add(tmp_path, "b", **{"task.toml": "[task]\nname = 'o/x'\n[agent]\ntimeout_sec = 'x'\n"})
    loaded = load_suite(tmp_path)
    assert [task.name for task in loaded.tasks] == ["o/x", "o/x"]
    assert len(loaded.malformed) == 1


def test_no_folder_no_tasks_and_tasks_one_level_down(tmp_path: Path) -> None:
    with pytest.raises(SuitePathInvalid, match="no such folder"):
        load_suite(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(SuitePathInvalid, match="There is no task in it"):
        load_suite(tmp_path / "empty")
    add(tmp_path / "tasks", "a")
    with pytest.raises(SuitePathInvalid, match=r"did you mean .*tasks"):
        load_suite(tmp_path)


def test_a_thousand_tasks_are_read_quickly(tmp_path: Path) -> None:
    for number in range(200):
        add(tmp_path, f"t{number:03d}", environment__Dockerfile="FROM debian:12\n", solution__solve="x")
    best = min(_seconds(tmp_path) for _ in range(3)) * 5
    assert best < 3, f"{best:.2f} s for a thousand"  # 0.8 s on two busy cores


def _seconds(suite: Path) -> float:
    start = time.process_time()
    load_suite(suite)
    return time.process_time() - start


def test_a_new_task_works_and_is_not_written_twice(tmp_path: Path) -> None:
    loaded = load_task(write_task(tmp_path / "first-task"))
    assert (loaded.name, loaded.problems, loaded.notes) == ("my-organisation/first-task", (), ())
    assert loaded.task is not None
    assert loaded.task.verifier.mode is VerificationMode.SNAPSHOT
    assert not loaded.task.needs_image
    with pytest.raises(TaskExists):
        write_task(tmp_path / "first-task")


@pytest.mark.parametrize("name", ["with space", "-x", 'a"b', "a..b", "é"])
def test_a_new_task_needs_a_plain_name(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="can't be a task's name"):
        write_task(tmp_path / "x" / name)


def test_variables_are_whole_values_only() -> None:
    table = {"A": "${KEY}", "B": "${MODE:-fast}", "C": "x${KEY}", "D": "plain"}
    assert variable_names(table) == {"KEY"}
    assert resolve_variables(table, {"KEY": "k"}) == {"A": "k", "B": "fast", "C": "x${KEY}", "D": "plain"}
    with pytest.raises(VariableMissing, match=r"A refers to \$\{KEY\}"):
        resolve_variables(table, {})


def test_labels_are_not_ids() -> None:
    check_label("nightly/v1.2_a")
    for wrong in ("", "-x", "a b", "deadbeef", "0123456789abcdef", "x" * 101):
        with pytest.raises(AliasInvalid):
            check_label(wrong)
    assert is_prefix("deadbeef")
    assert not is_prefix("deadbee")


def test_an_unknown_name_is_answered_with_the_nearest() -> None:
    assert "Did you mean basics?" in str(unknown_suite("basic", ["basics", "other"]))
    assert "at least its first 8 characters" in str(unknown_suite("deadbee", []))


def test_a_closed_folder_is_a_malformed_task_and_stops_no_neighbour(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path, "a")
    closed = add(tmp_path, "b")
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path) != closed)  # these tests may be run by root
    loaded = load_suite(tmp_path)
    assert [task.name for task in loaded.tasks] == ["a", "b"]
    (problem,) = loaded.tasks[1].problems
    assert "closed to this user" in str(problem)
    with pytest.raises(SuitePathInvalid, match="can't be read"):
        load_suite(closed)
