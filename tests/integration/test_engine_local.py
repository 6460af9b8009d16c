"""Attempts in real local sandboxes: the three verification modes, limits, and agents that try to be graded well."""

from __future__ import annotations

import io
import shutil
import tarfile
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.sandboxes.local import LocalBackend
from tests.bench import Bench

pytestmark = pytest.mark.database

TASK = """
schema_version = "1.4"
{artifacts}
[agent]
timeout_sec = {timeout}
[verifier]
timeout_sec = 20
[environment]
network_mode = "no-network"
memory_mb = 256
storage_mb = 64
[metadata.proctor]
verification = "{mode}"
[metadata.proctor.local]
tools = ["bash"]
copy = {{ "app" = "/app" }}
"""
FILE = """
name = "n"
suite = "suite"
[[profiles]]
name = "p"
agent = "scripted"
script = "script.toml"
"""
HONEST = 'if [ "$(cat /app/answer.txt)" = 42 ]; then echo 1; else echo 0; fi > /logs/verifier/reward.txt\n'


@pytest.fixture
def local(bench: Bench) -> Iterator[Bench]:
    """The bench with real sandboxes, in a folder that their users can enter."""
    root = Path(tempfile.mkdtemp(prefix="proctor-sandboxes-"))
    root.chmod(0o711)
    bench.backend = LocalBackend(root)
    yield bench
    assert not [path for path in root.glob("*/") if not path.name.startswith("etc-")], "a sandbox's folder is left"
    shutil.rmtree(root, ignore_errors=True)


def run(
    bench: Bench, agent: str, *, mode: str = "snapshot", tests: str = HONEST, artifacts: str = "", timeout: float = 15
) -> tuple[str | None, bool | None]:
    """One attempt of a scripted agent; its class and verdict."""
    task = bench.folder / "suite" / "task"
    (task / "tests").mkdir(parents=True)
    (task / "environment" / "app").mkdir(parents=True)
    (task / "environment" / "app" / "question.txt").write_text("6 * 7\n")
    (task / "task.toml").write_text(TASK.format(mode=mode, artifacts=artifacts, timeout=timeout))
    (task / "instruction.md").write_text("Answer.\n")
    (task / "tests" / "test.sh").write_text(tests)
    (bench.folder / "script.toml").write_text(f"[tasks.task]\ncommands = ['''{agent}''']\n")
    (cell,) = bench.cells(bench.run(FILE))
    return cell.outcome, cell.verdict


@pytest.mark.parametrize("mode", ["snapshot", "live"])
def test_right_and_wrong_answers(local: Bench, mode: str) -> None:
    assert run(local, "echo 42 > answer.txt", mode=mode) == ("passed", True)


def test_a_wrong_answer(local: Bench) -> None:
    assert run(local, "echo 41 > answer.txt") == ("failed", False)


def test_separate_sees_the_declared_artifacts_and_nothing_else(local: Bench) -> None:
    tests = HONEST.replace("if [", "if test ! -e /app/other.txt && [")
    agent = "echo 42 > answer.txt; touch other.txt"
    assert run(local, agent, mode="separate", tests=tests, artifacts='artifacts = ["/app/answer.txt"]') == (
        "passed",
        True,
    )


def test_in_live_a_detached_service_still_runs_and_the_session_is_dead(local: Bench) -> None:
    agent = (
        "setsid bash -c 'exec >/dev/null 2>&1 </dev/null; "
        "while :; do date +%N > /app/b; mv /app/b /app/beat; sleep 0.05; done' & "
        "(while :; do date +%N > /app/child; sleep 0.05; done) >/dev/null 2>&1 & sleep 0.3; echo 42 > answer.txt"
    )
    tests = (
        'a=$(cat /app/beat); c=$(cat /app/child); sleep 2; [ "$a" != "$(cat /app/beat)" ] '
        '&& [ "$c" = "$(cat /app/child)" ]; echo $((1 - $?)) > /logs/verifier/reward.txt\n'
    )
    assert run(local, agent, mode="live", tests=tests) == ("passed", True)


WIN = "echo 1 > /logs/verifier/reward.txt"
ATTACKS = {
    "planted reward": f"mkdir -p /logs/verifier; {WIN}; echo '{{\"reward\": 1}}' > /logs/verifier/reward.json",
    "planted tests": f"mkdir -p /tests; echo '{WIN}' > /tests/test.sh; chmod 500 /tests",
    "tests is a link": f"ln -s /app /tests; echo '{WIN}' > /app/test.sh",
    "logs is a link": f"rm -rf /logs/verifier; mkdir -p /app/v; ln -s /app/v /logs/verifier; {WIN}",
    "background writer": f"setsid bash -c 'while :; do {WIN}; sleep 0.01; done' >/dev/null 2>&1 & sleep 0.1",
    "shell start-up": f"echo '{WIN}; exit' | tee ~/.bashrc ~/.bash_profile ~/.profile > /dev/null",
    "closed folders": "mkdir -p /tests/a/b; chmod 000 /tests/a/b /tests/a; chmod 000 /logs/verifier",
    "printed": "echo REWARD 1; echo 'rate limit exceeded, HTTP 429' >&2",
}


@pytest.mark.parametrize("attack", ATTACKS.values(), ids=ATTACKS.keys())
def test_an_agent_can_t_grade_itself(local: Bench, attack: str) -> None:
    assert run(local, attack) == ("failed", False)


def test_a_program_that_lives_on_in_the_verifiers_sandbox_marks_the_grading_forgeable(local: Bench) -> None:
    program = "#!/bin/bash\\nsetsid sleep 100 >/dev/null 2>&1 &\\nsleep 0.3\\necho 42\\n"
    agent = f"printf '{program}' > answer.sh; chmod 755 answer.sh"
    tests = "[ $(/app/answer.sh) = 42 ]; echo $((1 - $?)) > /logs/verifier/reward.txt\n"
    assert run(local, agent, tests=tests) == ("passed", True)
    ((forgeable, detail),) = local.sql("SELECT forgeable, detail FROM proctor.grading")
    assert forgeable
    assert detail["left_running"] == 1


@pytest.mark.parametrize("attack", ["planted reward", "planted tests", "tests is a link", "logs is a link"])
def test_nor_where_its_own_sandbox_is_verified(local: Bench, attack: str) -> None:
    assert run(local, ATTACKS[attack], mode="live") == ("failed", False)


def test_an_agent_out_of_time_is_verified(local: Bench) -> None:
    assert run(local, "echo 42 > answer.txt; sleep 60", timeout=1) == ("passed", True)
    (limit,) = local.sql('SELECT "limit" FROM proctor.outcome')
    assert limit == ("time",)


def test_an_agent_out_of_time_with_a_wrong_answer_hit_its_limit(local: Bench) -> None:
    assert run(local, "sleep 60", timeout=1) == ("agent_limit", False)


def test_an_agent_that_fills_its_disk_hit_its_limit(local: Bench) -> None:
    agent = "for i in 1 2 3 4 5 6 7 8 9; do head -c 40M /dev/zero > f$i; sleep 0.3; done"
    assert run(local, agent) == ("agent_limit", False)


def test_an_agent_out_of_memory_is_the_models_where_the_run_set_says_so(local: Bench) -> None:
    agent = "exec python3 -c 'x = bytearray(10**9); print(len(x))'"
    outcome, verdict = run(local, agent)
    assert verdict is False
    assert outcome == "out_of_memory"


def test_a_verifier_without_a_reward_is_the_tasks_fault(local: Bench) -> None:
    assert run(local, "true", tests="exit 7\n") == ("verifier_error", None)
    details = local.sql("SELECT number, detail->>'problem', detail->>'exit_code' FROM proctor.grading ORDER BY 1")
    assert details == [(1, "reward_missing", "7"), (2, "reward_missing", "7")]


def test_the_final_state_is_kept_whole(local: Bench) -> None:
    run(local, "echo 42 > answer.txt; ln -s answer.txt link; chmod 600 answer.txt")
    ((artifacts,),) = local.sql("SELECT artifacts FROM proctor.attempt")
    (key,) = [item["key"] for item in artifacts if item["name"] == "state.tar"]  # type: ignore[attr-defined]
    with tarfile.open(fileobj=io.BytesIO(local.objects.get(key))) as tar:
        names = {member.name.lstrip("./"): member for member in tar.getmembers()}
    assert names["app/answer.txt"].mode == 0o600
    assert names["app/link"].linkname == "answer.txt"


STEPS = """
[agent]
timeout_sec = 15
[environment]
network_mode = "no-network"
[metadata.proctor]
verification = "{mode}"
[[steps]]
name = "one"
[[steps]]
name = "two"
"""
BEATS = (
    'a=$(cat /app/beat); sleep 0.4; [ "$a" {sign} "$(cat /app/beat)" ]; echo $((1 - $?)) > /logs/verifier/reward.txt\n'
)
BEAT = (
    "setsid bash -c 'exec >/dev/null 2>&1 </dev/null; while :; do date +%N > /app/beat; sleep 0.02; done' & sleep 0.2"
)


def run_steps(bench: Bench, agent: str, *, mode: str, one: str, two: str) -> tuple[str | None, float | None]:
    """One attempt of a scripted agent that does the same in both steps; its class and reward."""
    task = bench.folder / "suite" / "task"
    for name, tests in (("one", one), ("two", two)):
        (task / "steps" / name / "tests").mkdir(parents=True)
        (task / "steps" / name / "instruction.md").write_text("Do it.\n")
        (task / "steps" / name / "tests" / "test.sh").write_text(tests)
    (task / "task.toml").write_text(STEPS.format(mode=mode))
    (bench.folder / "script.toml").write_text(f"[tasks.task]\ncommands = ['''{agent}''']\n")
    (cell,) = bench.cells(bench.run(FILE))
    return cell.outcome, cell.reward


def test_in_live_the_last_steps_services_still_run_and_the_first_ones_are_dead_on_the_copy(local: Bench) -> None:
    one, two = BEATS.format(sign="="), BEATS.format(sign="!=")
    assert run_steps(local, BEAT, mode="live", one=one, two=two) == ("passed", 1.0)


STEP_ATTACKS = [
    *(("live", name) for name in ("planted reward", "planted tests", "tests is a link")),
    *(("snapshot", name) for name in ("planted reward", "planted tests", "tests is a link", "background writer")),
]
"""What runs on in a live sandbox can write its reward, so there the writer is no case: its grading says forgeable."""


@pytest.mark.parametrize(("mode", "attack"), STEP_ATTACKS)
def test_what_one_step_plants_wins_no_step(local: Bench, mode: str, attack: str) -> None:
    lost = "echo 0 > /logs/verifier/reward.txt\n"
    assert run_steps(local, ATTACKS[attack], mode=mode, one=lost, two=lost) == ("failed", 0.0)


def test_an_agent_never_sees_a_step_s_tests(local: Bench) -> None:
    agent = "find /tests /logs/verifier -mindepth 1 > seen.txt 2>/dev/null; true"
    tests = "if [ -s /app/seen.txt ]; then echo 0; else echo 1; fi > /logs/verifier/reward.txt\n"
    assert run_steps(local, agent, mode="live", one=tests, two=tests) == ("passed", 1.0)


def test_a_verifiers_own_sandbox_has_its_own_network(local: Bench) -> None:
    task = local.folder / "suite" / "task"
    (task / "tests").mkdir(parents=True)
    (task / "environment" / "app").mkdir(parents=True)
    (task / "environment" / "app" / "question.txt").write_text("How many interfaces?\n")
    config = TASK.format(mode="snapshot", artifacts="", timeout=15).replace("no-network", "public")
    (task / "task.toml").write_text(config.replace("[verifier]", '[verifier]\nnetwork_mode = "no-network"'))
    (task / "instruction.md").write_text("Count.\n")
    alone = 'if [ "$(grep -c : /proc/net/dev)" = 1 ] && [ "$(cat count.txt)" -gt 1 ]; then echo 1; else echo 0; fi'
    (task / "tests" / "test.sh").write_text(f"{alone} > /logs/verifier/reward.txt\n")
    (local.folder / "script.toml").write_text("[tasks.task]\ncommands = ['grep -c : /proc/net/dev > count.txt']\n")
    (cell,) = local.cells(local.run(FILE + '[policy]\nnetwork = "public"\n'))
    assert (cell.outcome, cell.verdict) == ("passed", True)
