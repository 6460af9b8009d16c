"""The verdict of a pytest summary: real pytest's own output, and output that somebody made up."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from proctor.engine.evidence import GradingFacts, VerifierProblem
from proctor.engine.pytest_summary import parse_summary
from proctor.engine.verification import Verification, grade
from proctor.kernel.clock import FakeClock
from proctor.kernel.ids import new_id
from proctor.sandboxes.fake import FakeBackend, FakeFile, FakeSandbox
from proctor.sandboxes.interfaces import ExecRequest, ExecResult, Labels, SandboxSpec
from proctor.suites.formats.terminal_bench import load_terminal_bench_task
from proctor.suites.tasks import VerificationMode

HEAD = "=========================== short test summary info ============================\n"
GOOD = """
import pytest
def test_passes(): pass
@pytest.mark.xfail
def test_fails_as_expected(): assert False
@pytest.mark.skip(reason="no")
def test_skipped(): pass
"""
FAILED = "def test_fails(): assert False\n"
XPASSED = "import pytest\n@pytest.mark.xfail\ndef test_passes_by_surprise(): pass\n"
ERROR = "import pytest\n@pytest.fixture\ndef broken(): raise OSError\ndef test_setup(broken): pass\n"


def ran(folder: Path, code: str, *options: str) -> Mapping[str, float] | VerifierProblem:
    """What real pytest says of some tests, as it is read here."""
    (folder / "test_outputs.py").write_text(code)
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", "-p", "no:cacheprovider", *options, "test_outputs.py"]
    return parse_summary(subprocess.run(command, cwd=folder, capture_output=True, check=False, timeout=60).stdout)


@pytest.mark.parametrize(
    ("code", "reward"),
    [(GOOD, 1.0), (GOOD + FAILED, 0.0), (GOOD + XPASSED, 0.0), (GOOD + ERROR, 0.0), ("import nowhere\n", 0.0)],
)
def test_what_pytest_prints(tmp_path: Path, code: str, reward: float) -> None:
    assert ran(tmp_path, code, "-rA", "--color=yes") == {"reward": reward}


def test_pytest_without_a_summary_is_no_verdict(tmp_path: Path) -> None:
    assert ran(tmp_path, "def test_passes(): pass\n") is VerifierProblem.UNPARSABLE


@pytest.mark.parametrize(
    ("output", "wanted"),
    [
        ("", VerifierProblem.UNPARSABLE),
        ("PASSED tests/test_outputs.py::test_a\n1 passed in 0.1s\n", VerifierProblem.UNPARSABLE),
        ("it says: short test summary info\nPASSED a\n", VerifierProblem.UNPARSABLE),
        (HEAD, VerifierProblem.EMPTY),
        (HEAD + "PASSED\n\nall is well\n", VerifierProblem.EMPTY),
        (HEAD + "PASSED a::b\nFAILED a::c - AssertionError\n", {"reward": 0.0}),
        (HEAD + "FAILED a::b - AssertionError\n" + HEAD + "PASSED a::b\n", {"reward": 0.0}),
        ("PASSED x\n" + HEAD + "PASSED a\n=== 1 passed ===\n" + HEAD + "ERROR b\n", {"reward": 0.0}),
        (HEAD.replace("\n", "\r\n") + "PASSED a\r\n", {"reward": 1.0}),
        (HEAD + "XFAIL a - later\nSKIPPED [1] a.py:3: no\n", {"reward": 1.0}),
        (HEAD + "XPASS a\n", {"reward": 0.0}),
    ],
)
def test_what_counts_of_an_output(output: str, wanted: object) -> None:
    assert parse_summary(output.encode()) == wanted


def test_bytes_that_are_no_text_are_read_all_the_same() -> None:
    assert parse_summary(b"\xff\xfe half a line" + HEAD.encode() + b"\x1b[32mPASSED\x1b[0m a\xff\n") == {"reward": 1.0}


async def graded(result: ExecResult, mode: VerificationMode = VerificationMode.LIVE) -> tuple[GradingFacts, list[str]]:
    """One grading of a Terminal-Bench 1 task whose run-tests.sh leaves that, and a reward file that says 1."""

    def answer(sandbox: FakeSandbox, request: ExecRequest) -> ExecResult:
        asked.append(" ".join(request.argv))
        sandbox.files["/logs/verifier/reward.txt"] = FakeFile(b"1\n", 0o100644)
        return result if "run-tests.sh" in asked[-1] else ExecResult(exit_code=0, signal=None)

    asked: list[str] = []
    task = load_terminal_bench_task(Path(__file__).parents[1] / "fixtures" / "terminal-bench" / "word-count").task
    assert task is not None
    labels = Labels(tenant=new_id(), run_set=new_id(), attempt=new_id(), owner="o", expires_at=datetime.now(UTC))
    verification = Verification(
        task=task,
        tests=(),
        verifier_digest="v",
        mode=mode,
        backend="fake",
        number=1,
        env={},
        timeout_sec=1.0,
        user=None,
        clearing_user=None,
        on_output=lambda name, piece: None,
    )
    sandbox = await FakeBackend(answer).create(SandboxSpec(labels=labels))
    return await grade(sandbox, verification, FakeClock()), asked


DONE = ExecResult(exit_code=1, signal=None, stdout=(HEAD + "PASSED a\n").encode())


async def test_the_scripts_output_alone_decides_and_is_forgeable_in_every_mode() -> None:
    for mode in (VerificationMode.LIVE, VerificationMode.SNAPSHOT):
        facts, asked = await graded(DONE, mode)
        assert (facts.passed, facts.rewards, facts.forgeable) == (True, {"reward": 1.0}, True)
        assert asked[-1] == "bash /tests/run-tests.sh"
    facts, _ = await graded(replace(DONE, stdout=b"", stderr=DONE.stdout))
    assert (facts.passed, facts.problem) == (None, VerifierProblem.UNPARSABLE)


async def test_an_output_that_was_cut_has_no_verdict() -> None:
    facts, _ = await graded(replace(DONE, truncated=True))
    assert (facts.passed, facts.problem) == (None, VerifierProblem.UNPARSABLE)
