"""Code of the user's in real sandboxes: what it answers, and what becomes of rows that it does not."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest

from proctor.evaluators.catalogue import AnyEvaluator, defined
from proctor.evaluators.samples import MISSING, Sample
from proctor.evaluators.statuses import Status
from proctor.sandboxes.errors import SandboxStartError
from proctor.sandboxes.fake import FakeBackend
from proctor.sandboxes.interfaces import Sandbox, SandboxSpec
from proctor.sandboxes.local import LocalBackend
from tests.contracts.evaluators import EvaluatorContract
from tests.judging import command, python, rows, sandboxes


@pytest.fixture
def backend() -> Iterator[LocalBackend]:
    with sandboxes() as made:
        yield made


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
