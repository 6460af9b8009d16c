"""Datasets as a user imports them: by digest, by commit, and not at all where one task differs."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from tests.acceptance.conftest import ROOT, Cli

pytestmark = pytest.mark.commands

TASKS = ("access-report", "interval-merge")


def write_dataset(cli: Cli, digests: dict[str, str]) -> None:
    entries = "".join(f'[[tasks]]\nname = "{name}"\ndigest = "sha256:{digest}"\n' for name, digest in digests.items())
    heading = '[dataset]\nname = "proctor/two"\nversion = "1.0"\n'
    cli.write("dataset.toml", heading + entries + '[[files]]\npath = "metric.py"\ndigest = "sha256:' + "1" * 64 + '"\n')


def test_a_dataset_is_imported_by_digest_or_not_at_all(cli: Cli) -> None:
    shutil.copytree(ROOT / "examples" / "basics", cli.folder / "basics")
    whole = {task["name"]: task["content_digest"] for task in cli.json("suite", "import", "basics")["suite"]["tasks"]}
    wanted = {f"proctor/{name}": whole[f"proctor/{name}"] for name in TASKS}
    write_dataset(cli, wanted)
    done = cli.json("suite", "import", "dataset.toml", "--tasks", "basics", "--label-dataset")
    assert {task["content_digest"] for task in done["suite"]["tasks"]} == set(wanted.values())
    assert done["suite"]["row"]["aliases"] == ["proctor/two@1.0"]
    assert (done["dataset"]["name"], done["dataset"]["files"]) == ("proctor/two", ["metric.py"])
    told = cli("suite", "import", "dataset.toml", "--tasks", "basics").stdout
    assert f"dataset proctor/two@1.0: hash {done['dataset']['hash']}" in told
    assert "files of the dataset, which are not run: metric.py" in told

    (cli.folder / "basics" / TASKS[0] / "instruction.md").write_text("Something else.\n")
    refused = cli.json("suite", "import", "dataset.toml", "--tasks", "basics", "--label", "x", code=2)["error"]
    assert refused["code"] == "dataset-mismatch"
    assert f"proctor/{TASKS[0]}: wanted sha256:{whole['proctor/' + TASKS[0]]}, found sha256:" in refused["message"]
    assert len(cli.json("suite", "list")["suites"]) == 2


def test_a_registrys_dataset_is_imported_by_commit(cli: Cli) -> None:
    for name in TASKS:
        shutil.copytree(ROOT / "examples" / "basics" / name, cli.folder / "checkout" / "tasks" / name)
    git = ["git", "-C", str(cli.folder / "checkout"), "-c", "user.name=A", "-c", "user.email=a@example.invalid"]
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "Tasks"]):
        subprocess.run([*git, *arguments], check=True)
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    url = "https://example.invalid/tasks.git"
    tasks = [{"name": n, "git_url": url, "git_commit_id": commit, "path": f"tasks/{n}"} for n in TASKS]
    cli.write("registry.json", json.dumps([{"name": "two", "version": "7", "description": "", "tasks": tasks}]))
    chosen = ["suite", "import", "registry.json", "--dataset", "two@7", "--tasks", "checkout"]
    done = cli.json(*chosen, "--label-dataset")
    assert [task["name"] for task in done["suite"]["tasks"]] == [f"proctor/{name}" for name in TASKS]
    assert done["suite"]["row"]["aliases"] == ["two@7"]

    (cli.folder / "checkout" / "tasks" / TASKS[0] / "tests" / "test.sh").write_text(
        "echo 1 > /logs/verifier/reward.txt\n"
    )
    assert f"tests/test.sh is not as in commit {commit}" in cli(*chosen, code=2).stderr.replace("\n", " ")


def test_options_of_datasets_are_refused_for_folders(cli: Cli) -> None:
    cli.write("dataset.toml", "")
    (cli.folder / "tasks").mkdir()
    assert "--tasks" in cli("suite", "import", "dataset.toml", code=2).stderr
    assert "for a dataset file" in cli("suite", "import", "tasks", "--label-dataset", code=2).stderr
    assert "dataset.toml: dataset: It is missing" in cli(
        "suite", "import", "dataset.toml", "--tasks", "tasks", code=2
    ).stderr.replace("\n", " ")
