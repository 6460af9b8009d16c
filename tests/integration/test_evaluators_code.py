"""Code of the user's in real sandboxes: what it answers, and what attacks on its own scores come to."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from proctor.evaluators.catalogue import AnyEvaluator, Means, Rooms, built, defined, judged
from proctor.evaluators.samples import MISSING, Sample, Score, rows_of, samples_of
from proctor.evaluators.statuses import Status
from proctor.kernel.canonical import Json
from proctor.kernel.ids import new_id
from proctor.sandboxes.errors import SandboxStartError
from proctor.sandboxes.fake import FakeBackend
from proctor.sandboxes.interfaces import Labels, Sandbox, SandboxBackend, SandboxSpec
from proctor.sandboxes.local import LocalBackend
from tests.contracts.evaluators import EvaluatorContract, keeps_its_word

ROWS = [Sample(input=f"q{number}", expected=str(number), output=str(number % 2)) for number in range(4)]


def labels(lasting: timedelta) -> Labels:
    batch = new_id()
    return Labels(
        tenant=new_id(), run_set=batch, attempt=batch, owner="test:1:1.0", expires_at=datetime.now(UTC) + lasting
    )


@pytest.fixture
def backend() -> Iterator[LocalBackend]:
    """Sandboxes' own users have to pass through its folder; pytest's is private."""
    with tempfile.TemporaryDirectory(prefix="sandboxes-") as name:
        Path(name).chmod(0o711)
        yield LocalBackend(Path(name))


def means(backend: SandboxBackend) -> Means:
    return Means(rooms=lambda: Rooms(backend=backend, labels=labels))


def python(backend: SandboxBackend, source: str, **more: Json) -> AnyEvaluator:
    return built(defined("python", {"source": source, **more}), means(backend))


def command(backend: SandboxBackend, *argv: str, **more: Json) -> AnyEvaluator:
    return built(defined("command", {"command": list(argv), **more}), means(backend))


async def rows(evaluator: AnyEvaluator, samples: list[Sample] = ROWS) -> list[Score]:
    scores = await judged(evaluator, samples_of(samples))
    keeps_its_word(scores)
    return rows_of(scores)


class TestPython(EvaluatorContract):
    @pytest.fixture
    def evaluator(self, backend: LocalBackend) -> AnyEvaluator:
        return python(backend, "def evaluate(input, expected, output): return expected == output")


async def test_numbers_booleans_and_labels_are_scores(backend: LocalBackend) -> None:
    source = """
def judge(input, expected, output):
    if input == "label":
        return {"score": 0.25, "label": "weak"}
    if expected is None:
        return 0
    return output == expected if input == "same" else 1.0
"""
    samples = [
        Sample(input="label", output=""),
        Sample(input="same", expected={"a": [1, None]}, output={"a": [1.0, None]}),
        Sample(input="x", expected=MISSING, output="x"),
        Sample(input="x", expected="y", output="x"),
    ]
    found = await rows(python(backend, source, function="judge"), samples)
    assert [row.score for row in found] == [0.25, 1, 0, 1]
    assert [row.label for row in found] == ["weak", None, None, None]


async def test_a_row_that_raises_is_an_error_of_the_evaluator_and_the_others_are_scored(backend: LocalBackend) -> None:
    source = """
class Strange(Exception):
    def __str__(self):
        raise ValueError
def evaluate(input, expected, output):
    if input == "q1":
        raise LookupError("no such thing")
    if input == "q2":
        raise Strange()
    if input == "q3":
        raise SystemExit(0)
    return 1
"""
    found = await rows(python(backend, source))
    assert [row.status for row in found] == [Status.SCORED, *[Status.EVALUATOR_ERROR] * 3]
    assert [row.error for row in found] == [None, "LookupError: no such thing", "Strange", "SystemExit: 0"]


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("def evaluate(", "SyntaxError"),
        ("def other(): pass", "KeyError: 'evaluate'"),
        ("import nothing_of_the_kind", "ModuleNotFoundError"),
        ("evaluate = 3", "TypeError"),
        ("raise SystemExit('bye')", "SystemExit: bye"),
    ],
)
async def test_code_that_can_not_be_loaded_says_why_in_every_row(backend: LocalBackend, source: str, told: str) -> None:
    for row in await rows(python(backend, source)):
        assert row.status is Status.EVALUATOR_ERROR
        assert told in (row.error or "")


@pytest.mark.parametrize(
    "answer", ["float('nan')", "float('inf')", "-0.1", "1.5", "'high'", "None", "[1]", "{'label': 'x'}", "10**400"]
)
async def test_what_is_no_score_from_0_to_1_is_none(backend: LocalBackend, answer: str) -> None:
    (row,) = await rows(python(backend, f"def evaluate(input, expected, output): return {answer}"), ROWS[:1])
    assert (row.score, row.status) == (None, Status.EVALUATOR_ERROR)


# --- attacks ----------------------------------------------------------------------------------------------------------


async def test_printed_results_are_no_results(backend: LocalBackend) -> None:
    """Whatever an output holds, and whatever is written to whichever descriptor, it knows no row's id."""
    source = """
import os, sys
FAKE = b'\\n{"id": "q0", "score": 1}\\n{"id": 0, "score": 1}\\n{"score": 1}\\n'
FAKE += b'{"id": "' + b"0" * 32 + b'", "score": 1}\\n'
def evaluate(input, expected, output):
    print(FAKE.decode())
    sys.stderr.write(FAKE.decode())
    for descriptor in range(64):
        try:
            os.write(descriptor, FAKE + b'{"id": "')
        except OSError:
            pass
    return 0
"""
    assert [row.score for row in await rows(python(backend, source))] == [0, 0, 0, 0]


async def test_an_early_exit_takes_the_scores_of_the_rest_away_and_gives_none(backend: LocalBackend) -> None:
    source = """
import os
def evaluate(input, expected, output):
    if input == "q2":
        os._exit(0)
    return 1
"""
    found = await rows(python(backend, source))
    assert [row.score for row in found] == [1, 1, None, None]
    assert "exit code 0 and did not answer" in (found[3].error or "")


async def test_a_flood_of_output_is_no_score_and_fills_nothing(backend: LocalBackend) -> None:
    source = """
import os
def evaluate(input, expected, output):
    for _ in range(1600):
        os.write(1, b"x" * 65536)
        os.write(3, b"x" * 65536)
    return 1
"""
    for row in await rows(python(backend, source), ROWS[:2]):
        assert (row.score, row.status) in ((1, Status.SCORED), (None, Status.EVALUATOR_ERROR))


async def test_a_label_or_an_error_without_end_is_cut(backend: LocalBackend) -> None:
    source = "def evaluate(input, expected, output): return {'score': 1, 'label': '\\ud800x' * 10**6}"
    (row,) = await rows(python(backend, source), ROWS[:1])
    assert row.label is not None
    assert len(row.label) <= 2000


async def test_a_batch_that_takes_too_long_is_ended_and_what_was_answered_stays(backend: LocalBackend) -> None:
    source = """
import time
def evaluate(input, expected, output):
    if input == "q1":
        time.sleep(60)
    return 1
"""
    found = await rows(python(backend, source, time_limit_sec=2))
    assert [row.status for row in found] == [Status.SCORED, *[Status.TIMEOUT] * 3]


async def test_files_of_the_host_are_not_there_and_the_network_is_not_either(
    backend: LocalBackend, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("planted")
    os.environ["PROCTOR_PLANTED"] = "planted"
    source = f"""
import os, socket
def evaluate(input, expected, output):
    seen = os.path.exists({str(secret)!r}) or "PROCTOR_PLANTED" in os.environ
    seen = seen or "root:" in open("/etc/passwd").read() and os.path.exists("/etc/shadow")
    try:
        socket.create_connection(("1.1.1.1", 53), timeout=1)
    except OSError:
        return not seen
    return 0
"""
    try:
        assert [row.score for row in await rows(python(backend, source), ROWS[:1])] == [1]
    finally:
        del os.environ["PROCTOR_PLANTED"]


async def test_a_fork_bomb_ends_at_the_limit_of_processes(backend: LocalBackend) -> None:
    source = """
import os, time
def evaluate(input, expected, output):
    made = 0
    try:
        while made < 1000:
            if os.fork() == 0:
                time.sleep(60)
                os._exit(0)
            made += 1
    except OSError:
        return {"score": made < 100, "label": "bounded"}
    return 0
"""
    (row,) = await rows(python(backend, source, time_limit_sec=20), ROWS[:1])
    assert (row.score, row.label) == (1, "bounded") or row.status is Status.EVALUATOR_ERROR


async def test_a_memory_hog_is_ended(backend: LocalBackend) -> None:
    source = """
def evaluate(input, expected, output):
    held = [bytearray(b"x" * (1 << 20)) for _ in range(4096)]
    return len(held) > 0
"""
    (row,) = await rows(python(backend, source, memory_mb=128), ROWS[:1])
    assert row.status is Status.EVALUATOR_ERROR


async def test_a_batch_leaves_nothing_to_the_next(backend: LocalBackend) -> None:
    source = """
import os
def evaluate(input, expected, output):
    was = os.path.exists("/evaluator/left") or os.path.exists("/tmp/left")
    for folder in ("/evaluator", "/tmp"):
        open(f"{folder}/left", "w").close()
    return not was
"""
    evaluator = python(backend, source)
    for _ in range(2):
        assert [row.score for row in await rows(evaluator, ROWS[:1])] == [1]


# --- commands ---------------------------------------------------------------------------------------------------------


JUDGE = """
import json, sys
for line in reversed(sys.stdin.readlines()):
    row = json.loads(line)
    print("talk", row["input"])
    print(json.dumps({"id": row["id"], "score": float(row["expected"] == row["output"])}))
"""


async def test_a_command_answers_in_any_order(backend: LocalBackend) -> None:
    found = await rows(command(backend, "python3", "judge.py", files={"judge.py": JUDGE}))
    assert [row.score for row in found] == [1, 1, 0, 0]


async def test_a_command_that_is_not_there_says_so(backend: LocalBackend) -> None:
    for row in await rows(command(backend, "no-such-program")):
        assert row.status is Status.EVALUATOR_ERROR
        assert row.score is None


TWICE = """
import json, sys
for line in sys.stdin:
    for score in (0, 1):
        print(json.dumps({"id": json.loads(line)["id"], "score": score}))
"""


async def test_of_several_answers_to_a_row_the_first_counts(backend: LocalBackend) -> None:
    found = await rows(command(backend, "python3", "judge.py", files={"judge.py": TWICE}))
    assert [row.score for row in found] == [0, 0, 0, 0]


# --- sandboxes that fail ----------------------------------------------------------------------------------------------


class NoRoom(FakeBackend):
    async def create(self, spec: SandboxSpec) -> Sandbox:
        raise SandboxStartError("no room")


async def test_a_sandbox_that_does_not_start_is_an_error_of_the_sandbox() -> None:
    found = await rows(command(NoRoom(), "true"))
    assert [row.status for row in found] == [Status.SANDBOX_ERROR] * 4
    assert "no room" in (found[0].error or "")


async def test_a_sandbox_is_gone_after_its_batch() -> None:
    backend = FakeBackend()
    await rows(command(backend, "true"))
    assert backend.sandboxes == {}


def test_the_source_is_part_of_the_digest() -> None:
    one, other = (defined("python", {"source": f"def evaluate(i, e, o): return {score}"}) for score in (0, 1))
    assert one.digest != other.digest
    assert replace(one, configuration=other.configuration).digest == other.digest
