"""The line that says why an attempt came to its class: never empty, one line, the first cause first."""

from __future__ import annotations

from typing import Any

import pytest

from proctor.engine.outcomes import OutcomeClass
from proctor.reports.why import LONGEST, why

Facts = dict[str, Any]


def phase(name: str, **detail: Any) -> Facts:
    return {"phase": name, "detail": detail}


AGENT = phase("agent", exit_code=0, limit=None, refused=False, crashed=False, stderr_tail="")
FAILED = {"exit_code": 1, "problem": None, "stderr_tail": "a\nAssertionError: 3 != 4\n"}


@pytest.mark.parametrize(
    ("outcome", "evidence", "graded", "rewards", "told"),
    [
        ("passed", [AGENT], {"exit_code": 0}, {"reward": 1.0}, "reward 1"),
        (
            "passed",
            [phase("agent", limit="time")],
            {"exit_code": 0},
            {"reward": 1.0},
            "reward 1; the agent reached its time limit",
        ),
        ("failed", [AGENT], FAILED, {"reward": 0.0}, "verify: reward 0, exit 1, AssertionError: 3 != 4"),
        (
            "failed",
            [AGENT],
            {"exit_code": 0, "stderr_tail": "", "stdout_tail": "checked 3\nWRONG: one chapter\n\n"},
            {"reward": 0.0},
            "verify: reward 0, WRONG: one chapter",
        ),
        (
            "failed",
            [AGENT],
            {"exit_code": 0, "stdout_tail": "FAILED t.py::a - assert 1 == 2\nFAILED t.py::b - x\n2 failed in 1 s\n"},
            {"reward": 0.0},
            "verify: reward 0, FAILED t.py::a - assert 1 == 2",
        ),
        (
            "failed",
            [AGENT],
            {"exit_code": 0, "stdout_tail": "right: a.log\nWRONG: b.log\nWRONG: c.log\nright: empty.log\n"},
            {"reward": 0.0},
            "verify: reward 0, WRONG: b.log",
        ),
        (
            "failed",
            [AGENT],
            {"exit_code": 1, "stderr_tail": "FAIL: test_sum (t.Sums)\nAssertionError: 3 != 4\nFAILED (failures=1)\n"},
            {"reward": 0.0},
            "verify: reward 0, exit 1, FAIL: test_sum (t.Sums)",
        ),
        (
            "agent_limit",
            [phase("agent", limit="time", exit_code=137, stderr_tail="noise")],
            FAILED,
            {"reward": 0.0},
            "agent: reached its time limit, exit 137; reward 0",
        ),
        (
            "agent_refused",
            [phase("agent", refused=True)],
            FAILED,
            {"reward": 0.0},
            "agent: the model refused; reward 0",
        ),
        (
            "agent_error",
            [phase("agent", crashed=True, exit_code=3, stderr_tail="Traceback\nKeyError: 'x'\n")],
            FAILED,
            {"reward": 0.0},
            "agent: exit 3, KeyError: 'x'; reward 0",
        ),
        (
            "out_of_memory",
            [phase("agent", oom=True, signal=9)],
            None,
            None,
            "agent: signal 9, out of memory; no reward",
        ),
        (
            "verifier_error",
            [AGENT],
            {"problem": "reward_missing", "exit_code": 2, "stderr_tail": "bash: x: not found"},
            None,
            "verify: reward missing, exit 2, bash: x: not found",
        ),
        (
            "image_error",
            [phase("image", failed=True, message="docker pull: EOF from the registry\nmore", engine_exit=18)],
            None,
            None,
            "image: docker pull: EOF from the registry, engine exit 18",
        ),
        (
            "provider_rate_limit",
            [phase("agent", failed=True, source="provider", http_status=429, provider_code="rate_limit")],
            None,
            None,
            "agent: HTTP 429, rate_limit",
        ),
        (
            "budget_exhausted",
            [phase("agent", failed=True, reason="budget", message="The budget of the run set has no room.")],
            None,
            None,
            "agent: The budget of the run set has no room.",
        ),
        ("lease_lost", [phase("record", failed=True, reason="lease_lost")], None, None, "record: lease lost"),
        (
            "task_invalid",
            [phase("start", failed=True, exception="TaskUnsupported", step="two", message="")],
            None,
            None,
            "start (two): TaskUnsupported",
        ),
        ("harness_error", [phase("record", failed=True)], None, None, "record: failed"),
    ],
)
def test_the_first_cause_comes_first(
    outcome: str, evidence: list[Facts], graded: Facts | None, rewards: Facts | None, told: str
) -> None:
    assert why(outcome, "a-rule", "", evidence, graded, rewards) == told


@pytest.mark.parametrize(
    ("printed", "told"),
    [
        ("ok 1 - reads\nnot ok 2 - writes\nok 3 - closes\n", "not ok 2 - writes"),
        ("--- FAIL: TestSum (0.00s)\n    sum_test.go:9: got 3\nFAIL\n", "--- FAIL: TestSum (0.00s)"),
        ("test a ... ok\ntest b ... FAILED\ntest result: FAILED. 1 passed\n", "test b ... FAILED"),
        ("  \u2713 adds\n  \u2715 divides (3 ms)\nTests: 1 failed\n", "\u2715 divides (3 ms)"),
        ("errors are counted here\nfailing is not this\n2 of 3\n", "2 of 3"),
        ("all 3 files are there\n", "all 3 files are there"),
    ],
    ids=["tap", "go", "rust", "jest", "other words", "no word"],
)
def test_of_what_a_verifier_printed_the_first_failure_is_told(printed: str, told: str) -> None:
    assert why("failed", "r", "", [AGENT], {"stdout_tail": printed}, {"reward": 0.0}) == f"verify: reward 0, {told}"


@pytest.mark.parametrize("outcome", list(OutcomeClass))
def test_it_is_never_empty(outcome: str) -> None:
    assert why(outcome, "a-rule", "", [], None, None)
    assert why(outcome, "a-rule", "", [AGENT], None, None)
    assert why("cancelled", "a-rule", "", [], None, None) == "cancelled by rule a-rule"


def test_of_one_that_runs_it_is_its_phase() -> None:
    assert why(None, None, "agent", [], None, None) == "running: agent"
    assert why(None, None, "", [], None, None) == "running"


def test_what_others_printed_stays_on_the_line_and_has_an_end() -> None:
    hostile = "\x1b[2Jred \u202e backwards" + "x" * 1000
    told = why("agent_error", "r", "", [phase("agent", exit_code=1, stderr_tail=hostile)], None, {"reward": 0.0})
    assert len(told) <= LONGEST
    assert not {"\x1b", "\u202e", "\n"} & set(told)
