"""Runs in containers as a user has them: images built, users kept apart, many at once, and an engine that goes away."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.acceptance.conftest import Cli, cli  # noqa: F401 - a fixture
from tests.docker.conftest import BASE, Dockerd

TASK = """
schema_version = "1.4"
[task]
name = "own/{name}"
[agent]
user = "agent"
timeout_sec = 60
[verifier]
user = "root"
timeout_sec = 60
[environment]
network_mode = "no-network"
memory_mb = 256
[metadata.proctor]
verification = "{mode}"
"""
DOCKERFILE = f"""FROM {BASE}
RUN useradd --create-home agent && mkdir /work && echo from-the-image > /work/base && chown -R agent /work
WORKDIR /work
"""
TEST = """[ "$(id -un)" = root ] && [ "$(cat answer)" = "agent from-the-image" ]
good=$?; mkdir -p /logs/verifier; echo $((1 - good)) > /logs/verifier/reward.txt
"""
SOLVE = 'echo "$(id -un) $(cat base)" > answer\n'
RUN_SET = """
name = "r"
suite = "tasks"
trials = {trials}
[execution]
sandbox = "docker"
concurrency = {at_once}
[[profiles]]
name = "oracle"
agent = "oracle"
[[profiles]]
name = "{other}"
agent = "command"
command = '''{command}'''
"""


@pytest.fixture
def containers(cli: Cli, base: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:  # noqa: F811
    """The command line with the engine's address in its environment."""
    plain = Cli.environment
    monkeypatch.setattr(
        Cli, "environment", lambda self, **more: plain(self, DOCKER_HOST=os.environ["DOCKER_HOST"], **more)
    )
    yield cli
    asked = ["docker", "ps", "--all", "--quiet", "--filter", "label=dev.proctor.sandbox"]
    assert subprocess.run(asked, capture_output=True, text=True, check=True).stdout == ""


def task(cli: Cli, name: str, mode: str = "snapshot", *, test: str = TEST) -> None:  # noqa: F811
    cli.write(f"tasks/{name}/task.toml", TASK.format(name=name, mode=mode))
    cli.write(f"tasks/{name}/instruction.md", f"Say who you are, and what base says ({name}).\n")
    cli.write(f"tasks/{name}/environment/Dockerfile", DOCKERFILE)
    cli.write(f"tasks/{name}/solution/solve.sh", SOLVE)
    cli.write(f"tasks/{name}/tests/test.sh", test)


def outcomes(cli: Cli) -> dict[tuple[int, str], int]:  # noqa: F811
    found: dict[tuple[int, str], int] = {}
    for cell in cli.json("cells")["cells"]:
        key = (cell["profile"], cell["outcome"])
        found[key] = found.get(key, 0) + 1
    return found


def until_containers(count: int) -> None:
    """Wait until so many of ours run."""
    asked = ["docker", "ps", "--quiet", "--filter", "label=dev.proctor.sandbox"]
    deadline = time.monotonic() + 60
    while len(subprocess.run(asked, capture_output=True, text=True).stdout.split()) < count:
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.mark.timeout(300)
def test_sixteen_at_once_with_users_kept_apart(containers: Cli) -> None:
    for mode in ("snapshot", "live"):
        task(containers, mode, mode)
    forge = "setsid sh -c 'while :; do echo 1 > /logs/verifier/reward.txt; done' 2>/dev/null & sleep 0.2"
    containers.write("r.toml", RUN_SET.format(trials=4, at_once=16, other="forger", command=forge))
    containers("run", "r.toml")
    assert outcomes(containers) == {(0, "passed"): 8, (1, "failed"): 8}
    (attempt, *_) = [cell["attempt"] for cell in containers.json("cells")["cells"] if cell["profile"] == 0]
    detail = containers.json("attempt", "show", attempt)
    image = next(one for one in detail["evidence"] if one["phase"] == "image")["detail"]["image"]
    assert image.startswith("sha256:")
    assert detail["gradings"][0]["backend"] == "docker"


def test_memory_that_runs_out_is_told_by_the_engine(containers: Cli) -> None:
    task(containers, "hog")
    hog = "python3 -c 'x = bytearray(10**9)'"
    containers.write("r.toml", RUN_SET.format(trials=1, at_once=2, other="hog", command=hog))
    containers("run", "r.toml")
    assert outcomes(containers) == {(0, "passed"): 1, (1, "out_of_memory"): 1}


def test_a_build_that_fails_is_the_infrastructures(containers: Cli) -> None:
    task(containers, "broken")
    containers.write("tasks/broken/environment/Dockerfile", f"FROM {BASE}\nRUN exit 7\n")
    containers.write("r.toml", RUN_SET.format(trials=1, at_once=2, other="n", command="true"))
    containers("run", "r.toml", code=3)
    assert outcomes(containers) == {(0, "image_error"): 1, (1, "image_error"): 1}


def test_a_mended_verifier_is_asked_again_in_the_same_image(containers: Cli) -> None:
    task(containers, "strict", test="mkdir -p /logs/verifier; echo 0 > /logs/verifier/reward.txt\n")
    containers.write("r.toml", RUN_SET.format(trials=1, at_once=2, other="n", command="true"))
    containers("run", "r.toml")
    assert outcomes(containers) == {(0, "failed"): 1, (1, "failed"): 1}
    containers.write("tasks/strict/tests/test.sh", TEST)
    (changed,) = containers.json("regrade", "r")["tasks"]
    assert [(flip["profile"], flip["after"]) for flip in changed["flips"]] == [("oracle", True)]


def test_a_killed_worker_leaves_containers_that_the_next_one_removes(containers: Cli) -> None:
    task(containers, "slow")
    containers.write("r.toml", RUN_SET.format(trials=1, at_once=2, other="slow", command="touch /tmp/up; sleep 5"))
    command = [sys.executable, "-m", "proctor", "run", "r.toml"]
    environment = containers.environment(PROCTOR_LEASE_SEC="4")
    with subprocess.Popen(command, cwd=containers.folder, env=environment, stderr=subprocess.DEVNULL) as process:
        until_containers(2)
        process.send_signal(signal.SIGKILL)
    containers("run", "r.toml", PROCTOR_LEASE_SEC="4")
    assert outcomes(containers) == {(0, "passed"): 1, (1, "failed"): 1}


@pytest.mark.timeout(240)
def test_an_engine_that_is_started_again_costs_an_attempt_and_no_cell(containers: Cli, engine: Dockerd | None) -> None:
    if engine is None:
        pytest.skip("somebody else keeps the engine")
    task(containers, "slow")
    containers.write("r.toml", RUN_SET.format(trials=2, at_once=4, other="slow", command="touch up; sleep 6"))
    command = [sys.executable, "-m", "proctor", "run", "r.toml"]
    log = containers.folder / "log"
    with (
        log.open("wb") as heard,
        subprocess.Popen(
            command, cwd=containers.folder, env=containers.environment(), stdout=heard, stderr=heard
        ) as process,
    ):
        until_containers(2)
        engine.stop()
        engine.start()
        assert process.wait(timeout=150) == 0
    assert "sandbox_error" in log.read_text()
    assert "harness_error" not in log.read_text()
    assert outcomes(containers) == {(0, "passed"): 2, (1, "failed"): 2}
    assert any(cell["attempts"] > 1 for cell in containers.json("cells")["cells"])


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("user", "verifier"), [("app", ""), ("root", 'user = "app"\n')])
def test_a_verifier_that_is_not_root_leaves_its_reward(containers: Cli, user: str, verifier: str) -> None:
    test = "test -e /app/ok; good=$?; id -un; echo $((1 - good)) > /logs/verifier/reward.txt\n"
    for mode in ("snapshot", "live"):
        task(containers, mode, mode, test=test)
        setting = TASK.format(name=mode, mode=mode).replace('user = "agent"\n', "").replace('user = "root"\n', verifier)
        image = f"FROM {BASE}\nRUN useradd -m app && mkdir /app && chmod 777 /app\nWORKDIR /app\nUSER {user}\n"
        containers.write(f"tasks/{mode}/task.toml", setting)
        containers.write(f"tasks/{mode}/environment/Dockerfile", image)
        containers.write(f"tasks/{mode}/solution/solve.sh", "touch /app/ok\n")
    containers.write("r.toml", RUN_SET.format(trials=1, at_once=2, other="n", command="true"))
    containers("run", "r.toml")
    assert outcomes(containers) == {(0, "passed"): 2, (1, "failed"): 2}


def test_a_terminal_bench_task_runs_in_the_image_of_its_dockerfile(containers: Cli) -> None:
    summary = "=== short test summary info ===\n%s tests/test_outputs.py::test_a\n"
    files = {
        "task.yaml": "instruction: Write 42 to /srv/answer.\ndifficulty: easy\n",
        "docker-compose.yaml": "services:\n  client:\n    build: .\n",
        "Dockerfile": f"FROM {BASE}\nWORKDIR /srv\nCOPY given.txt .\n",
        "given.txt": "42\n",
        "solution.sh": "cp given.txt answer\n",
        "tests/test_outputs.py": "def test_a(): pass\n",
        "run-tests.sh": f"cmp -s answer given.txt && word=PASSED || word=FAILED\nprintf '{summary}' $word\n",
    }
    for name, text in files.items():
        containers.write(f"tasks/tb/{name}", text)
    containers.write("r.toml", RUN_SET.format(trials=1, at_once=2, other="n", command="true"))
    containers("run", "r.toml")
    assert outcomes(containers) == {(0, "passed"): 1, (1, "failed"): 1}


@pytest.mark.timeout(300)
def test_another_runtime_is_another_environment(containers: Cli) -> None:
    known = subprocess.run(["docker", "info", "--format", "{{json .Runtimes}}"], capture_output=True, text=True).stdout
    if "runsc" not in known or shutil.which("runsc") is None:
        pytest.skip("the engine has no runsc")
    task(containers, "kernel", test="grep -q 'Linux version 4.4.0' kernel && " + TEST)
    solve = SOLVE + "cat /proc/version > kernel\n"
    containers.write("tasks/kernel/solution/solve.sh", solve)
    containers.write("r.toml", RUN_SET.format(trials=1, at_once=2, other="n", command="true"))
    containers("run", "r.toml", PROCTOR_DOCKER_RUNTIME="runsc")
    assert outcomes(containers) == {(0, "passed"): 1, (1, "failed"): 1}
    kept = {row["configuration"] for row in containers.json("leaderboard")["rows"]}
    containers("run", "r.toml", "--fresh")
    assert outcomes(containers) == {(0, "failed"): 1, (1, "failed"): 1}  # the machine's own kernel
    assert kept.isdisjoint(row["configuration"] for row in containers.json("leaderboard")["rows"])


def test_without_an_image_a_task_is_refused_by_its_field(containers: Cli) -> None:
    task(containers, "bare")
    (Path(containers.folder) / "tasks/bare/environment/Dockerfile").unlink()
    containers.write("r.toml", RUN_SET.format(trials=1, at_once=2, other="n", command="true"))
    told = containers("run", "r.toml", "--dry-run")
    assert "names no image and has no Dockerfile" in told.stdout + told.stderr


def test_a_pipe_where_users_were_is_the_agents_and_keeps_no_run(containers: Cli) -> None:
    task(containers, "one", "live")
    config = Path(containers.folder) / "tasks/one/task.toml"
    config.write_text(config.read_text().replace('user = "agent"', 'user = "root"'))
    containers.write("tasks/one/tests/test.sh", TEST.replace("agent from", "root from"))
    command = "rm /etc/passwd; mkfifo /etc/passwd"
    containers.write("r.toml", RUN_SET.format(trials=1, at_once=2, other="pipe", command=command))
    began = time.monotonic()
    containers("run", "r.toml")
    assert outcomes(containers) == {(0, "passed"): 1, (1, "failed"): 1}
    assert time.monotonic() - began < 60


def test_an_image_without_a_shell_is_the_tasks_at_once(containers: Cli) -> None:
    task(containers, "one")
    containers.write("tasks/one/environment/Dockerfile", "FROM scratch\nCOPY Dockerfile /\n")
    containers.write("r.toml", RUN_SET.format(trials=1, at_once=2, other="none", command="true"))
    began = time.monotonic()
    containers("run", "r.toml", code=3)
    assert outcomes(containers) == {(0, "task_invalid"): 1, (1, "task_invalid"): 1}
    assert time.monotonic() - began < 25
