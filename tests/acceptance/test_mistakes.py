"""What a person gets wrong is told as theirs: the file, field or setting, and what to do; never as a fault of ours."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time

import pytest

from tests.acceptance.conftest import Cli
from tests.acceptance.test_run_set_files import small_task

pytestmark = pytest.mark.commands

FILE = 'name = "f"\nsuite = "basics"\n[[profiles]]\nname = "p"\nagent = "noop"\n'


@pytest.mark.parametrize(
    ("arguments", "code", "where"),
    [
        (["run", "basics", "--agent", "noop", "--html", "nodir/x.html"], "path-unusable", "nodir/x.html"),
        (["leaderboard", "--html", "basics"], "path-unusable", "basics"),
        (["init", "--file", "nodir/x.toml"], "path-unusable", "nodir/x.toml"),
        (["init", "nosuch"], "no-tasks", "nosuch"),
        (["suite", "import", "/nosuch"], "suite-path", "/nosuch"),
        (["task", "new", "/proc/foo"], "path-unusable", "/proc/foo"),
        (["task", "new", "basics"], "task-exists", "basics"),
        (["run", "f.toml", "--trials", "5"], "usage", "--trials"),
        (["run", "f.toml", "--agent", "noop"], "usage", "--agent"),
        (["run", "basics", "--agent", "noop", "--task", "nomatch*"], "no-task-fits", None),
        (["run", "basics", "--agent", "noop", "--task", "nomatch*", "--dry-run"], "no-task-fits", None),
        (["cells", "--task", "nomatch*"], "no-task-fits", "--task"),
        (["regrade", "--recheck", "--task", "nomatch*"], "no-task-fits", None),
        (["history", "orcale"], "series-unknown", None),
        (["attempt", "show", "1"], "attempt-unknown", None),
        (["cancel", "basics"], "run-set-ended", "basics"),
        (["run", "agent.toml"], "profile-invalid", "agent.toml: profiles[1].agent"),
        (["run", "sandbox.toml"], "sandbox-unknown", "sandbox.toml: execution.sandbox"),
        (["run", "suite.toml"], "suite-unknown", "suite.toml: suite"),
        (["run", "basics", "--agent", "orcale"], "profile-invalid", "--agent"),
    ],
)
def test_mistakes_name_their_place(finished: Cli, arguments: list[str], code: str, where: str | None) -> None:
    finished.write("f.toml", FILE)
    finished.write("agent.toml", FILE + '[[profiles]]\nname = "q"\nagent = "gpt"\n')
    finished.write("sandbox.toml", FILE + '[execution]\nsandbox = "chroot"\n')
    finished.write("suite.toml", FILE.replace('"basics"', '"basisc"'))
    before = finished.json("status")["run_sets"]
    told = finished.json(*arguments, code=2)["error"]
    assert (told["code"], told["where"]) == (code, where)
    assert told["remedy"]
    assert finished.json("status")["run_sets"] == before


def test_a_container_engine_that_is_not_there_is_told(finished: Cli) -> None:
    finished.write("engine.toml", FILE + '[execution]\nsandbox = "docker"\n')
    told = finished("run", "engine.toml", "--json", code=2, DOCKER_HOST="unix:///nowhere/docker.sock")
    error = json.loads(told.stdout)["error"]
    assert error["code"] == "sandbox-engine-missing"
    assert "DOCKER_HOST" in error["remedy"]


def test_what_cannot_be_saved_is_told(finished: Cli) -> None:
    attempt = finished.json("cells")["cells"][0]["attempt"]
    assert finished.json("attempt", "show", attempt, "--save", "/proc/x", code=2)["error"]["code"] == "path-unusable"


def test_an_altered_artifact_is_not_shown_as_if_it_were_right(cli: Cli) -> None:
    small_task(cli, "t")
    cli("run", "tasks", "--agent", "noop")
    attempt = cli.json("cells")["cells"][0]["attempt"]
    for path in (cli.home / "objects").rglob(f"{attempt}.json"):
        path.write_text("{}", encoding="utf-8")
    for arguments in (["--trajectory"], ["--save", "kept"]):
        assert cli.json("attempt", "show", attempt, *arguments, code=5)["error"]["code"] == "object-damaged"


def test_a_script_for_other_tasks_and_a_label_like_a_folder_are_remarked(cli: Cli) -> None:
    small_task(cli, "t")
    cli("suite", "import", "tasks", "--label", "tasks")
    cli.write("script.toml", '[tasks."other/task"]\ncommands = ["true"]\n')
    cli.write(
        "f.toml", 'name = "f"\nsuite = "tasks"\n[[profiles]]\nname = "p"\nagent = "scripted"\nscript = "script.toml"\n'
    )
    for seen in (cli("run", "f.toml", "--dry-run").stdout, cli("run", "f.toml").stderr):
        assert "profile p: its script names no task of this suite" in seen
        assert "'tasks' is a label too; the folder was taken" in seen
    also = "".join(f'[tasks."{name}"]\ncommands = ["true"]\n' for name in ("t", "own/misspelt"))
    cli.write("script.toml", also)
    seen = cli("run", "f.toml", "--dry-run").stdout
    assert "profile p: its script names 1 task that this suite does not have: own/misspelt" in seen


def test_a_run_without_a_file_can_be_gone_on_with_as_printed(cli: Cli) -> None:
    small_task(cli, "t")
    cli.write("tasks/t/tests/test.sh", "sleep 1; echo 1 > /logs/verifier/reward.txt\n")
    process = _start(cli, "run", "tasks", "--agent", "oracle,noop", "--trials", "20", "--task", "*t*")
    _until(cli, "running")
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "To go on: proctor resume tasks\n" in err
    last = [line for line in err.splitlines() if " decided: " in line][-1]
    numbers = [int(part.rsplit(" ", 1)[-1]) for part in last.split(": ", 1)[1].split(" · ") if "running" not in part]
    assert sum(numbers) == int(last.split(" of ")[0])


def test_a_tried_solution_that_is_interrupted_is_no_verdict(cli: Cli) -> None:
    cli("task", "new", "mine")
    cli.write("mine/solution/solve.sh", "touch /tmp/began; sleep 60\n")
    process = _start(cli, "task", "try", "mine")
    time.sleep(5)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130, out + err
    assert "Interrupted" in err
    assert "as it should be" not in out


def _start(cli: Cli, *arguments: str) -> subprocess.Popen[str]:
    # Ctrl-C means something again, also where these tests were started in the background.
    command = ["env", "--default-signal=INT", sys.executable, "-m", "proctor", *arguments]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, cwd=cli.folder, env=cli.environment(), stdout=pipe, stderr=pipe, text=True)


def _until(cli: Cli, state: str) -> None:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        rows = cli.json("status")["run_sets"]
        if rows and cli.json("status", rows[0]["name"])[state]:
            return
    raise AssertionError("nothing ran within a minute")


def test_no_secret_is_left_in_evidence(cli: Cli) -> None:
    small_task(cli, "t")
    text = 'name = "f"\nsuite = "tasks"\n[[profiles]]\nname = "p"\nagent = "command"\ncommand = "echo $T >&2"\n'
    cli.write("f.toml", text + 'env = { T = "${MY_TOKEN}" }\n[secrets]\nnames = ["MY_TOKEN"]\n')
    cli("run", "f.toml", MY_TOKEN="token-0123456789")
    attempt = cli.json("cells")["cells"][0]["attempt"]
    for arguments in (["show", attempt, "--json"], ["show", attempt], ["logs", attempt]):
        seen = cli("attempt", *arguments).stdout
        assert "[secret removed]" in seen
        assert "0123456789" not in seen
