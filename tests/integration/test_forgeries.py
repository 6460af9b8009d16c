"""Every forgery passes where a verifier trusts what it should not, and nowhere else. In real sandboxes.

A forgery that never worked anywhere would certify every task; so each has a task here that falls for it.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.engine.attempts import RunnerParts
from proctor.engine.certificates.checks import checks_of, forgeries
from proctor.engine.certificates.runs import CheckRun, OneTask, run_check
from proctor.kernel.clock import SystemClock
from proctor.objects.store import ObjectStore
from proctor.queue.workers import WorkerIdentity
from proctor.sandboxes.local import LocalBackend
from proctor.sdk.authoring import load_task

CONFIG = """
schema_version = "1.4"
[agent]
timeout_sec = 30
[verifier]
timeout_sec = 60
[environment]
network_mode = "no-network"
[metadata.proctor]
verification = "{mode}"
[metadata.proctor.local]
tools = ["bash", "python3"]
copy = {{ "app" = "/app" }}
"""
JUDGE = """
import sys
from pathlib import Path

answer = Path("/app/answer.txt")
sys.exit(0 if answer.is_file() and answer.read_text() == "42\\n" else 1)
"""
BY_JUDGE = "if {start} /tests/judge.py; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"
HONEST = BY_JUDGE.format(start="python3 -I -B")


@pytest.fixture
def parts() -> Iterator[RunnerParts]:
    place = Path(tempfile.mkdtemp(prefix="proctor-forgeries-"))
    place.chmod(0o711)
    yield RunnerParts(
        backend=LocalBackend(place / "sandboxes"),
        objects=ObjectStore(place / "objects"),
        library=OneTask(None),  # type: ignore[arg-type]  each run brings its own
        clock=SystemClock(),
        owner=WorkerIdentity.of_this_process().owner,
        scratch=place,
    )
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A task's folder with everything but its settings and its test.sh."""
    task = tmp_path / "task"
    for name in ("tests", "solution", "environment/app"):
        (task / name).mkdir(parents=True)
    (task / "instruction.md").write_text("Write 42 into /app/answer.txt.\n")
    (task / "environment/app/question.txt").write_text("6 * 7\n")
    (task / "tests/judge.py").write_text(JUDGE)
    (task / "solution/solve.sh").write_text("echo 42 > /app/answer.txt\n")
    return task


async def forged(parts: RunnerParts, folder: Path, name: str, *, mode: str = "snapshot", tests: str) -> CheckRun:
    """What came of a forgery, or of the oracle, where ``tests`` is the verifier."""
    (folder / "task.toml").write_text(CONFIG.format(mode=mode))
    (folder / "tests/test.sh").write_text(tests)
    task = load_task(folder)
    check = next(one for one in checks_of(task, 1) if one.solution == name)
    run = await run_check(task, check, parts)
    assert run.decided, run
    return run


@pytest.mark.parametrize("mode", ["snapshot", "live"])
async def test_the_solution_passes_an_honest_verifier(parts: RunnerParts, folder: Path, mode: str) -> None:
    assert (await forged(parts, folder, "oracle", mode=mode, tests=HONEST)).passed


@pytest.mark.parametrize("name", [one.name for one in forgeries()])
async def test_no_forgery_passes_an_honest_verifier(parts: RunnerParts, folder: Path, name: str) -> None:
    run = await forged(parts, folder, name, tests=HONEST)
    assert (run.outcome.outcome.value, run.as_wanted) == ("failed", True)


@pytest.mark.parametrize("name", [one.name for one in forgeries() if one.name != "background-writer"])
async def test_nor_one_in_the_agents_own_sandbox_that_looks_nowhere_else(
    parts: RunnerParts, folder: Path, name: str
) -> None:
    assert (await forged(parts, folder, name, mode="live", tests=HONEST)).as_wanted


async def test_a_loop_over_no_tests_falls_for_their_deletion(parts: RunnerParts, folder: Path) -> None:
    (folder / "environment/app/tests").mkdir()
    (folder / "environment/app/tests/test_answer.sh").write_text('[ "$(cat /app/answer.txt)" = 42 ]\n')
    tests = (
        'reward=1; for t in /app/tests/test_*.sh; do [ ! -e "$t" ] || bash "$t" || reward=0; done\n'
        "echo $reward > /logs/verifier/reward.txt\n"
    )
    assert not (await forged(parts, folder, "noop", tests=tests)).passed
    assert (await forged(parts, folder, "tests-deleted", tests=tests)).passed


async def test_a_verifier_that_takes_a_file_for_its_own_falls_for_a_planted_one(
    parts: RunnerParts, folder: Path
) -> None:
    tests = "cp /app/reward.txt /logs/verifier/ || echo 0 > /logs/verifier/reward.txt\n"
    assert not (await forged(parts, folder, "noop", tests=tests)).passed
    assert (await forged(parts, folder, "reward-planted", tests=tests)).passed


@pytest.mark.parametrize("look", ["grep -q '1 passed' /logs/agent/output.txt", "grep -q 'failures=.0' /app/junit.xml"])
async def test_a_verdict_read_from_output_falls_for_printed_output(parts: RunnerParts, folder: Path, look: str) -> None:
    tests = f"if {look}; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n"
    assert not (await forged(parts, folder, "noop", tests=tests)).passed
    assert (await forged(parts, folder, "output-printed", tests=tests)).passed


def _bring_pytest(to: Path) -> None:
    """The pytest that runs this test, for sandboxes whose system has none."""
    site = Path(pytest.__file__).parents[1]
    to.mkdir()
    shutil.copy(site / "py.py", to)
    for name in ("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments"):
        for found in [site / name, *site.glob(f"{name}-*.dist-info")]:
            shutil.copytree(found, to / found.name, ignore=shutil.ignore_patterns("__pycache__"))


@pytest.mark.parametrize(
    ("start", "falls"),
    [
        ("cd /tests && {} test_answer.py", False),
        ("{} -P -m pytest /tests/test_answer.py", False),
        ("{} -m pytest checks", True),
    ],
    ids=["in the tests' folder", "trusted tests", "the agent's tests"],
)
async def test_pytest_falls_for_the_settings_of_a_folder_that_the_agent_could_write(
    parts: RunnerParts, folder: Path, start: str, falls: bool
) -> None:
    """It looks for settings and for conftest.py in every folder above the tests: above trusted ones there are none."""
    test = "def test_answer():\n    assert open('/app/answer.txt').read() == '42\\n'\n"
    (folder / "tests/test_answer.py").write_text(test)
    (folder / "environment/app/checks").mkdir()
    (folder / "environment/app/checks/test_answer.py").write_text(test)
    _bring_pytest(folder / "tests/lib")
    python = "PYTHONPATH=/tests/lib python3" + ("" if "pytest" in start else " -m pytest")
    tests = f"if {start.format(python)}; then reward=1; else reward=0; fi; echo $reward > /logs/verifier/reward.txt\n"
    assert not (await forged(parts, folder, "noop", tests=tests)).passed
    assert (await forged(parts, folder, "oracle", tests=tests)).passed
    assert (await forged(parts, folder, "pytest-configured", tests=tests)).passed is falls


async def test_an_unguarded_python_falls_for_start_up_files_in_live_alone(parts: RunnerParts, folder: Path) -> None:
    tests = BY_JUDGE.format(start="python3")
    assert (await forged(parts, folder, "python-started", mode="live", tests=tests)).passed
    assert (await forged(parts, folder, "python-started", mode="snapshot", tests=tests)).as_wanted


@pytest.mark.parametrize("first", ["$HOME/.local/bin", "."])
async def test_a_path_that_begins_with_the_agents_folders_falls_for_shadows(
    parts: RunnerParts, folder: Path, first: str
) -> None:
    tests = f"export PATH={first}:$PATH\n{HONEST}"
    assert not (await forged(parts, folder, "noop", tests=tests)).passed
    assert (await forged(parts, folder, "programs-shadowed", tests=tests)).passed


async def test_so_does_a_module_started_by_name_in_the_agents_folder(parts: RunnerParts, folder: Path) -> None:
    """``python3 -m`` looks into the work folder first, and into the user's own packages; ``-I`` looks into neither."""
    tests = BY_JUDGE.format(start="python3 -m pytest")
    assert not (await forged(parts, folder, "noop", tests=tests)).passed
    assert (await forged(parts, folder, "programs-shadowed", tests=tests)).passed
    guarded = BY_JUDGE.format(start="python3 -I -m pytest")
    assert (await forged(parts, folder, "programs-shadowed", tests=guarded)).as_wanted


async def test_a_writer_that_lives_on_wins_in_the_agents_own_sandbox(parts: RunnerParts, folder: Path) -> None:
    """Agent and verifier are one user of one sandbox: nothing of a live task's verifier can be beyond its reach."""
    tests = f"sleep 0.2\n{HONEST}"
    assert (await forged(parts, folder, "background-writer", mode="live", tests=tests)).passed
    assert (await forged(parts, folder, "background-writer", mode="snapshot", tests=tests)).as_wanted


@pytest.mark.parametrize("hide", ["git branch fix", "git tag -a fix -m fix", ":"], ids=["branch", "tag", "dangling"])
async def test_a_fix_that_is_still_in_the_repository_is_found(parts: RunnerParts, folder: Path, hide: str) -> None:
    made = (
        "git init -q -b main work && cd work && git config user.name a && git config user.email a@example.com"
        " && echo 41 > answer.txt && git add . && git commit -qm bug && echo 42 > answer.txt && git commit -qam fix"
        f" && {hide} && git reset -q --hard HEAD~ && mv .git ../environment/app/project.git"
    )
    subprocess.run(["bash", "-c", made], cwd=folder, check=True)
    shutil.rmtree(folder / "work")
    assert not (await forged(parts, folder, "noop", tests=HONEST)).passed
    assert (await forged(parts, folder, "git-history", tests=HONEST)).passed
