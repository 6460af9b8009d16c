"""Datasets: exactly the tasks that a file names by digest or commit, or an error that says which are not there."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from proctor.suites.datasets import ResolvedDataset, resolve_dataset
from proctor.suites.errors import CheckoutMismatch, DatasetInvalid, DatasetMismatch
from proctor.suites.formats.dataset_files import read_dataset
from proctor.suites.loading import load_folder
from proctor.suites.references import check_label
from tests.unit.test_suites_harbor import make, write
from tests.unit.test_suites_terminal_bench import task_folder

ZERO = "sha256:" + "0" * 64


def named(folder: Path, name: str) -> str:
    """A Harbor task with a name; its digest as a dataset writes it."""
    make(folder, f'[task]\nname = "{name}"\n')
    return f"sha256:{load_folder(folder).content_digest}"


def dataset_toml(folder: Path, entries: dict[str, str], more: str = "") -> Path:
    lines = [f'[[tasks]]\nname = "{name}"\ndigest = "{digest}"\n' for name, digest in entries.items()]
    text = '[dataset]\nname = "org/set"\nversion = "2.1"\nkeywords = ["x"]\n' + "".join(lines) + more
    return write(folder, {"dataset.toml": text}) / "dataset.toml"


# --- dataset.toml -----------------------------------------------------------------------------------------------------


def test_exactly_the_named_tasks_make_the_suite(tmp_path: Path) -> None:
    digests = {name: named(tmp_path / "tasks" / name, f"org/{name}") for name in "abc"}
    file = dataset_toml(tmp_path, {"org/c": digests["c"], "org/a": digests["a"]})
    resolved = resolve_dataset(file, tmp_path / "tasks")
    assert [task.name for task in resolved.suite.tasks] == ["org/c", "org/a"]
    text = ",".join(sorted(digests[name].removeprefix("sha256:") for name in "ac"))
    assert resolved.hash == resolved.suite.suite_id == hashlib.sha256(text.encode()).hexdigest()
    assert (resolved.label, resolved.files) == ("org/set@2.1", ())
    check_label(resolved.label)


def test_the_hash_of_a_dataset_with_files_is_harbors(tmp_path: Path) -> None:
    one, two, three = (f"sha256:{digit * 64}" for digit in "123")
    more = f'[[files]]\npath = "metric.py"\ndigest = "{three}"\n[[files]]\npath = "a.txt"\ndigest = "{one}"\n'
    found = read_dataset(dataset_toml(tmp_path, {"org/b": two, "org/a": one}, more)).hash
    # sha256 of "111…,222…;a.txt:111…,metric.py:333…", worked out with sha256sum
    text = f"{'1' * 64},{'2' * 64};a.txt:{'1' * 64},metric.py:{'3' * 64}"
    assert found == hashlib.sha256(text.encode()).hexdigest() == HASH_WITH_FILES


HASH_WITH_FILES = "8341eb2503c1076ca03568f9f696c430db491f9077772b8f25e2009602f04299"


@pytest.mark.parametrize("more", ["", 'digest = ""\n'])
def test_files_are_named_and_one_without_a_digest_leaves_no_hash(tmp_path: Path, more: str) -> None:
    digest = named(tmp_path / "tasks" / "a", "org/a")
    resolved = resolve_dataset(
        dataset_toml(tmp_path, {"org/a": digest}, '[[files]]\npath = "m.py"\n' + more), tmp_path / "tasks"
    )
    assert (resolved.files, resolved.hash) == (("m.py",), None)


def test_a_digest_under_another_tasks_name_is_told(tmp_path: Path) -> None:
    digest = named(tmp_path / "tasks" / "one", "org/one")
    named(tmp_path / "tasks" / "two", "org/two")
    with pytest.raises(DatasetMismatch, match="org/two: its digest is that of org/one"):
        resolve_dataset(dataset_toml(tmp_path, {"org/two": digest}), tmp_path / "tasks")


def test_missing_and_differing_tasks_are_told_with_both_digests(tmp_path: Path) -> None:
    there = named(tmp_path / "tasks" / "folder", "org/there")
    other = named(tmp_path / "tasks" / "other", "org/other")
    file = dataset_toml(tmp_path, {"org/there": there, "org/other": ZERO, "org/gone": "sha256:" + "1" * 64})
    with pytest.raises(DatasetMismatch) as raised:
        resolve_dataset(file, tmp_path / "tasks")
    assert str(raised.value.message) == (
        f"org/other: wanted {ZERO}, found {other}; org/gone: wanted sha256:{'1' * 64}, found no task of that name."
    )


def test_terminal_bench_tasks_and_malformed_ones_have_digests_too(tmp_path: Path) -> None:
    task_folder(tmp_path / "tasks" / "tb")
    make(tmp_path / "tasks" / "broken", "[agent]\ntimeout_sec = -1\n")
    lines = "".join(
        f"{path}\0{hashlib.sha256((tmp_path / 'tasks' / 'broken' / path).read_bytes()).hexdigest()}\n"
        for path in ("instruction.md", "task.toml", "tests/test.sh")
    )
    entries = {
        "org/tb": f"sha256:{load_folder(tmp_path / 'tasks' / 'tb').content_digest}",
        "org/broken": f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}",
    }
    suite = resolve_dataset(dataset_toml(tmp_path, entries), tmp_path / "tasks").suite
    assert [(task.name, bool(task.problems)) for task in suite.tasks] == [("tb", False), ("broken", True)]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[dataset\n", "It is not valid TOML"),
        ("", "dataset: It is missing; tasks: It is missing."),
        ('[dataset]\nname = "set"\n[[tasks]]\nname = "o/a"\ndigest = "x"\n', "dataset.name: 'set' is not of the form"),
        ('[dataset]\nname = "o/s"\n[[tasks]]\nname = "o/a"\ndigest = "sha256:1"\n', "tasks[0].digest: It should"),
        ('[dataset]\nname = "o/s"\n[[tasks]]\nname = "../a"\ndigest = "x"\n', "tasks[0].name: '../a' is not of the"),
        ('[dataset]\nname = "o/s"\n[[files]]\npath = "../x"\n', "files[0].path: '../x' is no plain file name"),
        (
            '[dataset]\nname = "o/s"\n' + f'[[tasks]]\nname = "o/a"\ndigest = "{ZERO}"\n' * 2,
            f"tasks[1]: {ZERO} stands twice.",
        ),
    ],
)
def test_a_malformed_dataset_names_the_field(tmp_path: Path, text: str, said: str) -> None:
    file = write(tmp_path, {"dataset.toml": text}) / "dataset.toml"
    (tmp_path / "tasks").mkdir()
    with pytest.raises(DatasetInvalid) as raised:
        resolve_dataset(file, tmp_path / "tasks")
    assert said in raised.value.message


def test_a_file_that_can_t_be_read_is_told(tmp_path: Path) -> None:
    with pytest.raises(DatasetInvalid, match="can't be read as text"):
        resolve_dataset(tmp_path / "nowhere.toml", tmp_path)
    with pytest.raises(DatasetInvalid, match="There is no such folder of tasks"):
        resolve_dataset(tmp_path / "nowhere.toml", tmp_path / "nowhere")


# --- registry.json ----------------------------------------------------------------------------------------------------


def git(folder: Path, *arguments: str) -> str:
    names = ["-c", "user.name=Author", "-c", "user.email=author@example.invalid", "-c", "init.defaultBranch=main"]
    done = subprocess.run(["git", *names, "-C", str(folder), *arguments], check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> tuple[Path, str]:
    """A checkout with two tasks of two formats, and its commit."""
    root = tmp_path / "checkout"
    make(root / "tasks" / "a", environment__data="1\n")
    (root / "tasks" / "a" / "environment" / "link").symlink_to("data")
    task_folder(root / "tasks" / "b")
    git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "Tasks")
    return root, git(root, "rev-parse", "HEAD")


def registry(folder: Path, commit: str, *, version: str = "1", paths: tuple[str, ...] = ("tasks/a", "tasks/b")) -> Path:
    entry = {"git_url": "https://example.invalid/tasks.git", "git_commit_id": commit}
    tasks = [{"name": path.rpartition("/")[2], "path": path, **entry} for path in paths]
    others = [{"name": "other", "version": "1", "tasks": [{"name": "x", "path": "x"}]}]
    text = json.dumps([{"name": "set", "version": version, "description": "", "tasks": tasks}, *others])
    return write(folder, {"registry.json": text}) / "registry.json"


def resolved(checkout: tuple[Path, str], commit: str | None = None, **options: tuple[str, ...]) -> ResolvedDataset:
    root, head = checkout
    return resolve_dataset(registry(root.parent, commit or head, **options), root, dataset="set")


def test_tasks_are_found_by_path_and_are_those_of_the_commit(checkout: tuple[Path, str]) -> None:
    found = resolved(checkout)
    assert [task.name for task in found.suite.tasks] == ["a", "b"]
    assert not any(task.problems for task in found.suite.tasks)
    assert (found.label, found.hash) == ("set@1", None)


def test_a_later_commit_that_changed_nothing_there_is_as_good(checkout: tuple[Path, str]) -> None:
    root, _ = checkout
    write(root, {"notes.txt": "x"})
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "Notes")
    assert len(resolved(checkout).suite.tasks) == 2


def _remove(name: str) -> Callable[[Path], object]:
    return lambda root: (root / name).unlink()


def _put(name: str, text: str) -> Callable[[Path], object]:
    return lambda root: write(root, {name: text})


def _relink(root: Path) -> None:
    (root / "tasks/a/environment/link").unlink()
    (root / "tasks/a/environment/link").symlink_to("other")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_put("tasks/a/instruction.md", "Do more.\n"), "a: tasks/a/instruction.md is not as in commit"),
        (_put("tasks/a/tests/extra.sh", ""), "a: tasks/a/tests/extra.sh is not in commit"),
        (_put("tasks/b/conftest.py", ""), "b: tasks/b/conftest.py is not in commit"),
        (_remove("tasks/b/tests/test_outputs.py"), "b: tasks/b/tests/test_outputs.py is not as in commit"),
        (_relink, "a: tasks/a/environment/link is not as in commit"),
    ],
)
def test_changes_to_a_checkout_are_told(
    checkout: tuple[Path, str], change: Callable[[Path], object], said: str
) -> None:
    change(checkout[0])
    with pytest.raises(CheckoutMismatch) as raised:
        resolved(checkout)
    assert said in raised.value.message
    assert f"checkout {checkout[1]}" in raised.value.remedy


def test_another_commit_and_no_repository_are_refused_with_what_to_do(
    checkout: tuple[Path, str], tmp_path: Path
) -> None:
    root, head = checkout
    with pytest.raises(CheckoutMismatch, match="the checkout has no commit 1111"):
        resolved(checkout, "1" * 40)
    with pytest.raises(CheckoutMismatch, match="It is inside of the checkout"):
        resolve_dataset(registry(tmp_path, head, paths=("a",)), root / "tasks", dataset="set")
    make(tmp_path / "plain" / "tasks" / "a")
    with pytest.raises(CheckoutMismatch) as raised:
        resolve_dataset(registry(tmp_path, head, paths=("tasks/a",)), tmp_path / "plain", dataset="set")
    assert raised.value.remedy.startswith("git clone https://example.invalid/tasks.git ")
    with pytest.raises(DatasetMismatch, match="nowhere: no task at tasks/nowhere"):
        resolved(checkout, paths=("tasks/a", "tasks/nowhere"))


def test_nothing_that_a_repository_configures_is_run(checkout: tuple[Path, str]) -> None:
    root, _ = checkout
    proof = root.parent / "proof"
    script = write(root.parent, {"evil.sh": f"#!/bin/sh\ntouch {proof}\ncat\n"}) / "evil.sh"
    script.chmod(0o755)
    for key in ("core.fsmonitor", "core.pager", "filter.evil.clean", "filter.evil.smudge", "diff.external"):
        git(root, "config", key, str(script))
    write(root, {".git/info/attributes": "* filter=evil\n"})
    for hook in ("post-checkout", "post-index-change"):
        os.symlink(script, root / ".git" / "hooks" / hook)
    assert len(resolved(checkout).suite.tasks) == 2
    assert not proof.exists()


def test_a_path_that_leads_out_by_a_link_is_refused(checkout: tuple[Path, str], tmp_path: Path) -> None:
    root, _ = checkout
    make(tmp_path / "outside")
    (root / "tasks" / "c").symlink_to(tmp_path / "outside")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "A link")
    with pytest.raises(CheckoutMismatch, match="tasks/c is a link out of the checkout"):
        resolved(checkout, git(root, "rev-parse", "HEAD"), paths=("tasks/c",))


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ({"git_commit_id": "main"}, "tasks[0].git_commit_id: 'main' is no full commit id"),
        ({"git_commit_id": None}, "tasks[0].git_commit_id: It has to be a text, in quotes"),
        ({"path": "../x"}, "tasks[0].path: '../x' is no path below a checkout"),
        ({"path": "/etc"}, "tasks[0].path: '/etc' is no path below a checkout"),
    ],
)
def test_a_malformed_registry_names_the_field(tmp_path: Path, entry: dict[str, object], said: str) -> None:
    task = {"name": "a", "path": "a", "git_commit_id": "1" * 40, **entry}
    file = write(tmp_path, {"r.json": json.dumps([{"name": "s", "version": "1", "tasks": [task]}])}) / "r.json"
    with pytest.raises(DatasetInvalid) as raised:
        resolve_dataset(file, tmp_path)
    assert said in raised.value.message


@pytest.mark.parametrize(
    ("text", "dataset", "said"),
    [
        ("[", None, "It is not valid JSON"),
        ("[" * 100_000, None, "It is not valid JSON"),
        ("{}", None, "the file: It has to be a list"),
        ('[{"name": "a", "version": "1"}]', "b", "'b' fits 0 datasets; there is a@1."),
        ('[{"name": "a", "version": "1"}, {"name": "a", "version": "2"}]', "a", "'a' fits 2 datasets"),
        ('[{"name": "a", "version": "1"}, {"name": "b", "version": "2"}]', None, "Name one with --dataset"),
        ("[]", None, "there is nothing."),
    ],
)
def test_what_can_t_be_chosen_is_told(tmp_path: Path, text: str, dataset: str | None, said: str) -> None:
    with pytest.raises(DatasetInvalid) as raised:
        resolve_dataset(write(tmp_path, {"r.json": text}) / "r.json", tmp_path, dataset=dataset)
    assert said in raised.value.message
