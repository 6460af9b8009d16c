"""What attacks of a user's code on its own scores, and on the host, come to in real sandboxes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.evaluators.statuses import Status
from proctor.sandboxes.local import LocalBackend
from tests.judging import ROWS, command, python, rows, sandboxes

pytestmark = pytest.mark.sandboxes


@pytest.fixture
def backend() -> Iterator[LocalBackend]:
    with sandboxes() as made:
        yield made


@pytest.mark.parametrize(
    "answer", ["float('nan')", "float('inf')", "-0.1", "1.5", "'high'", "None", "[1]", "{'label': 'x'}", "10**400"]
)
async def test_what_is_no_score_from_0_to_1_is_none(backend: LocalBackend, answer: str) -> None:
    (row,) = await rows(python(backend, f"def evaluate(input, expected, output): return {answer}"), ROWS[:1])
    assert (row.score, row.status) == (None, Status.EVALUATOR_ERROR)


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


TWICE = """
import json, sys
for line in sys.stdin:
    for score in (0, 1):
        print(json.dumps({"id": json.loads(line)["id"], "score": score}))
"""


async def test_of_several_answers_to_a_row_the_first_counts(backend: LocalBackend) -> None:
    found = await rows(command(backend, "python3", "judge.py", files={"judge.py": TWICE}))
    assert [row.score for row in found] == [0, 0, 0, 0]
