"""Every forgery passes where a verifier trusts what it should not, and nowhere else. In real sandboxes.

A forgery that never worked anywhere would certify every task; so each has a task here that falls for it.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from proctor.engine.attempts import RunnerParts
from proctor.engine.certificates.checks import TURNS, checks_of, forgeries
from proctor.engine.certificates.runs import CheckRun, OneTask, run_check
from proctor.kernel.clock import SystemClock
from proctor.objects.store import ObjectStore
from proctor.queue.workers import WorkerIdentity
from proctor.sandboxes.local import LocalBackend
from proctor.sdk.authoring import load_task
from proctor.suites.loaded import LoadedTask

pytestmark = pytest.mark.sandboxes

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
tools = ["bash", "git", "make", "python3"]
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
    assert (await forged(parts, folder, "python-started", tests=tests)).passed
    guarded = BY_JUDGE.format(start="python3 -I -m pytest")
    assert (await forged(parts, folder, "python-started", tests=guarded)).as_wanted


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


# --- weak verifiers ---------------------------------------------------------------------------------------------------

GIT = (
    "cd environment/app && git init -q -b main && git config user.email a@example.com && git config user.name a"
    " && at() {{ GIT_COMMITTER_DATE=$1-01-01T00:00:00 git commit -qam $2; }}"
    " && value() {{ echo $1 > answer.txt && git add . && at $2 $3; }} && {} && rm -rf .git/hooks && mv .git project.git"
)
UNANSWERED = '[ "$(cat /app/answer.txt)" = 42 ]\n'


def verdict(condition: str, before: str = ":") -> str:
    """A verifier that is right about everything but ``condition``: whatever was in its place is gone."""
    return (
        f"{before}\nif {condition}; then reward=1; else reward=0; fi\n"
        "/bin/rm -rf /logs/verifier/reward.txt /logs/verifier/reward.json\necho $reward > /logs/verifier/reward.txt\n"
    )


@dataclass(frozen=True, kw_only=True)
class Weak:
    """A verifier with one weakness, what it needs, and the forgery that must find it."""

    found_by: str
    tests: str
    app: dict[str, str] = field(default_factory=dict)
    made: str = ":"
    solve: str = "echo 42 > /app/answer.txt\n"


WEAK = {
    "tests of another name": Weak(
        found_by="tests-deleted",
        tests=verdict("[ $bad = 0 ]", 'bad=0; for t in /app/qa/*; do [ ! -e "$t" ] || bash "$t" || bad=1; done'),
        app={"qa/answer": UNANSWERED},
    ),
    "tests of another name, deep down": Weak(
        found_by="tests-deleted",
        tests=verdict("[ $bad = 0 ]", "bad=0; for t in $(find /app -name '*Test.sh'); do bash $t || bad=1; done"),
        app={"src/main/AnswerTest.sh": UNANSWERED},
    ),
    "one test that must be there": Weak(
        found_by="tests-deleted", tests=verdict("bash /app/lib/check.sh"), app={"lib/check.sh": UNANSWERED}
    ),
    "a reward below the work folder": Weak(
        found_by="reward-planted",
        tests=verdict('[ "$(cat /app/out/reward.txt)" = 1 ]'),
        solve="mkdir -p /app/out && echo 1 > /app/out/reward.txt\n",
    ),
    "a score in a folder of the task's": Weak(
        found_by="reward-planted",
        tests=verdict('[ "$(cat /app/some/where/score.txt)" = 1 ]'),
        app={"some/where/.keep": ""},
        solve="echo 1 > /app/some/where/score.txt\n",
    ),
    "the word of the agent's script": Weak(
        found_by="answer-pretended",
        tests=verdict("bash /app/main.sh | grep -q ^PASSED"),
        app={"main.sh": f"{UNANSWERED.strip()} && echo PASSED || echo FAILED\n"},
    ),
    "the agent's Makefile": Weak(
        found_by="answer-pretended",
        tests=verdict("make -s -C /app check"),
        app={"Makefile": "check:\n\t@grep -qx 42 answer.txt\n"},
    ),
    "any answer": Weak(found_by="answer-pretended", tests=verdict("[ -s /app/answer.txt ]")),
    "the agent's own input": Weak(
        found_by="answer-pretended",
        tests=verdict('[ "$(cat /app/input.txt)" = "$(cat /app/answer.txt)" ]'),
        app={"input.txt": "42\n", "run.sh": ": > /app/answer.txt\n"},
        made="printf 'Write what is in input.txt into answer.txt.\\n' > instruction.md",
    ),
    "the agent's module in the verifier's process": Weak(
        found_by="answer-pretended",
        tests="cd /app && python3 -c 'import answer; assert answer.value() == 42' && r=1 || r=0\n"
        "echo $r > /logs/verifier/reward.txt\n",
        solve="echo 'def value(): return 42' > /app/answer.py\n",
    ),
    "a module beside the verifier's": Weak(
        found_by="python-started", tests=verdict("PYTHONPATH=/app python3 judge.py", "cd /tests")
    ),
    "unittest in the work folder": Weak(
        found_by="python-started",
        tests=verdict("python3 -m unittest -q test_answer", "cd /app"),
        app={
            "test_answer.py": "import unittest\nclass T(unittest.TestCase):\n"
            "    def test(self): self.assertEqual(open('/app/answer.txt').read(), '42\\n')\n"
        },
    ),
    "imports in the work folder": Weak(
        found_by="python-started",
        tests=verdict("python3 -c 'import json; assert json.load(open(\"answer.txt\")) == 42'", "cd /app"),
    ),
    "grep by name": Weak(
        found_by="programs-shadowed", tests=verdict("PATH=/app/bin:$PATH grep -qx 42 /app/answer.txt")
    ),
    "python3 by name": Weak(
        found_by="programs-shadowed", tests=verdict("PATH=/app/tools:$PATH && python3 -I /tests/judge.py")
    ),
    "diff by name": Weak(
        found_by="programs-shadowed",
        tests=verdict(
            '[ -z "$(PATH=/app/bin:$PATH; diff /tests/right.txt /app/answer.txt 2>&1)" ]', "echo 42 > /tests/right.txt"
        ),
    ),
    "the task's interpreter": Weak(
        found_by="programs-shadowed",
        tests=verdict("/app/venv/bin/python -I /tests/judge.py"),
        app={"venv/bin/python": '#!/bin/sh\nexec /usr/bin/python3 "$@"\n'},
        made="chmod 755 environment/app/venv/bin/python",
    ),
    "a fix that was taken back": Weak(
        found_by="git-history", tests=HONEST, made=GIT.format("value 40 2019 a && value 42 2020 b && value 41 2021 c")
    ),
    "a fix on an older branch": Weak(
        found_by="git-history",
        tests=HONEST,
        made=GIT.format(
            "value 41 2019 a && git checkout -qb one && value 42 2020 b && git checkout -q main"
            " && git checkout -qb two && value 43 2021 c && git checkout -q main"
        ),
    ),
    "a fix in a stash": Weak(
        found_by="git-history",
        tests=HONEST,
        made=GIT.format("value 41 2019 a && echo 42 > answer.txt && git stash -q && git branch -q later"),
    ),
    "a fix on a branch that lacks what came later": Weak(
        found_by="git-history",
        tests=verdict("python3 -I /tests/judge.py && [ -e /app/later.txt ]"),
        made=GIT.format(
            "value 41 2019 a && git checkout -qb one && value 42 2020 b && git checkout -q main"
            " && touch later.txt && git add . && at 2021 c"
        ),
    ),
}


@pytest.mark.parametrize("weak", WEAK.values(), ids=WEAK.keys())
async def test_a_weakness_is_found(parts: RunnerParts, folder: Path, weak: Weak) -> None:
    for name, text in weak.app.items():
        (folder / "environment/app" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "environment/app" / name).write_text(text)
    (folder / "solution/solve.sh").write_text(weak.solve)
    subprocess.run(["bash", "-ec", weak.made], cwd=folder, check=True)
    assert not (await forged(parts, folder, "noop", tests=weak.tests)).passed
    assert (await forged(parts, folder, "oracle", tests=weak.tests)).passed
    assert (await forged(parts, folder, weak.found_by, tests=weak.tests)).passed


async def test_a_long_history_is_searched_to_a_bound(parts: RunnerParts, folder: Path) -> None:
    made = GIT.format("for n in {1..20}; do value $n 2020 c$n; done")
    subprocess.run(["bash", "-ec", made], cwd=folder, check=True)
    run = await forged(parts, folder, "git-history", tests=HONEST)
    assert (run.as_wanted, run.evidence["turns"], run.evidence["more"]) == (True, TURNS, True)


def terminal_bench(folder: Path, pause: str) -> LoadedTask:
    """A ``live`` task of the other format: the verdict is what its verifier prints."""
    (folder / "tests").mkdir(parents=True)
    (folder / "Dockerfile").write_text("FROM debian:12\nWORKDIR /app\n")
    (folder / "task.yaml").write_text(
        "instruction: Write 42 into /app/answer.txt.\ndifficulty: easy\nparser_name: pytest\n"
        "proctor:\n  verification: live\n  local:\n    tools: [bash]\n"
    )
    (folder / "solution.sh").write_text("echo 42 > /app/answer.txt\n")
    (folder / "tests/test_outputs.py").write_text("def test_answer(): pass\n")
    (folder / "run-tests.sh").write_text(
        f"{pause}\necho '=== short test summary info ==='\n"
        '[ "$(cat /app/answer.txt)" = 42 ] && echo "PASSED a::b" || echo "FAILED a::b"\n'
    )
    return load_task(folder)


@pytest.mark.parametrize("script", ["test.sh", "run-tests.sh"])
@pytest.mark.parametrize("pause", ["sleep 0.5", ":"])
async def test_a_writer_that_lives_on_wins_in_every_format(
    parts: RunnerParts, tmp_path: Path, folder: Path, script: str, pause: str
) -> None:
    """It overwrites whatever the verifier runs and reads, wherever the verdict is read from."""
    if script == "test.sh":
        run = await forged(parts, folder, "background-writer", mode="live", tests=f"{pause}\n{HONEST}")
    else:
        task = terminal_bench(tmp_path / "tb", pause)
        (check,) = [one for one in checks_of(task, 1) if one.solution == "background-writer"]
        run = await run_check(task, check, parts)
    assert run.passed, run
