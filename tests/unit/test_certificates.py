"""From runs to a certificate's verdict, and what there is to be run. Nothing is run here."""

from __future__ import annotations

import re
import subprocess
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from proctor.engine.certificates.certificate import CheckedTask, CheckVerdict, Ground, is_untried
from proctor.engine.certificates.checks import IN_SNAPSHOT, Check, checks_digest, checks_of, forgeries
from proctor.engine.certificates.judging import certificate_of, disagree, judge, snapshot_word
from proctor.engine.certificates.runs import CheckRun
from proctor.engine.outcomes import Outcome, OutcomeClass, Owner
from proctor.reports.certificates import checked_table, remarks
from proctor.sdk.authoring import load_task
from proctor.suites.template import write_task

OWNERS = {
    OutcomeClass.PASSED: (Owner.MODEL, True),
    OutcomeClass.FAILED: (Owner.MODEL, False),
    OutcomeClass.AGENT_LIMIT: (Owner.MODEL, False),
    OutcomeClass.VERIFIER_ERROR: (Owner.TASK, None),
    OutcomeClass.TASK_INVALID: (Owner.TASK, None),
    OutcomeClass.SANDBOX_ERROR: (Owner.INFRASTRUCTURE, None),
    OutcomeClass.UNCLASSIFIED: (Owner.NOBODY, None),
}


def run(solution: str, outcome: str) -> CheckRun:
    kind = OutcomeClass(outcome)
    owner, verdict = OWNERS[kind]
    wanted = solution in ("oracle", IN_SNAPSHOT)
    forgery = solution not in ("oracle", IN_SNAPSHOT, "noop", "wrong")
    return CheckRun(
        check=Check(solution=solution, must_pass=wanted, agent="command", forgery=forgery),
        outcome=Outcome(outcome=kind, owner=owner, rule="r", verdict=verdict),
        seconds=0.1,
        evidence={},
    )


def runs(*, oracle: str = "passed passed passed passed passed", **others: str) -> list[CheckRun]:
    given = {"noop": "failed", "wrong": "failed", "reward-planted": "failed"}
    given |= {name.replace("_", "-"): outcome for name, outcome in others.items()}
    return [*(run("oracle", one) for one in oracle.split()), *(run(name, one) for name, one in given.items())]


def test_all_as_it_should_be_is_certified() -> None:
    assert judge(runs()) == (CheckVerdict.CERTIFIED, ())


@pytest.mark.parametrize("outcome", ["failed", "agent_limit", "verifier_error"])
def test_whatever_says_no_to_a_forgery_has_caught_it(outcome: str) -> None:
    assert judge(runs(reward_planted=outcome))[0] is CheckVerdict.CERTIFIED


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (runs(noop="passed"), "noop passes"),
        (runs(wrong="passed"), "wrong passes"),
        (runs(reward_planted="passed"), "the forgery reward-planted passes"),
        (
            runs(oracle="passed passed failed passed verifier_error"),
            "the oracle's repetitions disagree: 3 of 5 passed (failed 1, verifier_error 1)",
        ),
        (runs(oracle="failed failed failed failed failed"), "the oracle never passes: 0 of 5 passed (failed 5)"),
    ],
)
def test_one_wrong_answer_refuses(given: list[CheckRun], told: str) -> None:
    assert judge(given) == (CheckVerdict.REFUSED, (told,))


def test_a_wrong_answer_refuses_whatever_is_missing() -> None:
    assert judge(runs(noop="passed", wrong="sandbox_error"))[0] is CheckVerdict.REFUSED


@pytest.mark.parametrize("outcome", ["sandbox_error", "unclassified"])
@pytest.mark.parametrize("solution", ["noop", "reward_planted"])
def test_what_infrastructure_ended_is_not_decided_and_never_caught(solution: str, outcome: str) -> None:
    verdict, problems = judge(runs(**{solution: outcome}))
    assert (verdict, problems) == (CheckVerdict.NOT_DECIDED, (f"{solution.replace('_', '-')}: {outcome}",))


def test_nor_is_an_oracle_that_was_not_run_often_enough() -> None:
    verdict, problems = judge(runs(oracle="passed passed sandbox_error sandbox_error passed"))
    assert (verdict, problems) == (CheckVerdict.NOT_DECIDED, ("oracle 2 times: sandbox_error",))


def test_without_a_solution_nothing_can_be_certified() -> None:
    assert judge([]) == (CheckVerdict.NOT_DECIDED, ("there is no reference solution (solution/solve.sh)",))


@pytest.mark.parametrize(("outcome", "word"), [("passed", True), ("failed", False), ("sandbox_error", None)])
def test_snapshot_is_told_and_decides_nothing(outcome: str, word: bool | None) -> None:
    given = [*runs(), run(IN_SNAPSHOT, outcome)]
    assert (judge(given)[0], snapshot_word(given)) == (CheckVerdict.CERTIFIED, word)


@pytest.mark.parametrize(
    ("verdicts", "apart"),
    [([], False), ([True, True], False), ([False, None], False), ([True, False], True), ([True, None], True)],
)
def test_disagreement_is_between_a_pass_and_anything_else(verdicts: list[bool | None], apart: bool) -> None:
    assert disagree(verdicts) is apart


def test_a_certificate_keeps_every_run_and_the_oracles_word(tmp_path: Path) -> None:
    write_task(tmp_path / "t")
    ground = Ground(backend="local", environment={"bash": "5"})
    given = runs(oracle="passed failed sandbox_error passed passed")
    made = certificate_of(load_task(tmp_path / "t"), given, ground=ground, made_by="me")
    assert made.oracle == (True, False, True, True)
    assert len(made.runs) == len(given)
    assert [one["solution"] for one in made.runs if not one["as_wanted"]] == ["oracle", "oracle"]


def test_a_certificate_says_that_no_wrong_solution_was_tried(tmp_path: Path) -> None:
    write_task(tmp_path / "t")
    given = [one for one in runs() if one.check.solution != "wrong"]
    ground = Ground(backend="local", environment={})
    made = certificate_of(load_task(tmp_path / "t"), given, ground=ground, made_by="me")
    assert made.verdict is CheckVerdict.CERTIFIED
    (untried,) = [one for one in made.runs if one["solution"] == "wrong"]
    assert (untried["class"], untried["verdict"], untried["as_wanted"]) == ("not_tried", None, None)
    assert is_untried(made.runs)
    checked = CheckedTask(name="t", content_digest="", verdict=made.verdict, runs=made.runs)
    shown = StringIO()
    Console(file=shown, width=200).print(checked_table([checked]), *remarks([checked]))
    assert "not tried" in shown.getvalue()
    assert "no wrong solution was tried: t;" in shown.getvalue()
    whole = certificate_of(load_task(tmp_path / "t"), runs(), ground=ground, made_by="me")
    assert not is_untried(whole.runs)


# --- what is run ------------------------------------------------------------------------------------------------------


def test_every_forgery_is_a_script_that_says_what_it_does() -> None:
    assert [one.name for one in forgeries()] == [
        "tests-deleted",
        "reward-planted",
        "output-printed",
        "pytest-configured",
        "python-started",
        "programs-shadowed",
        "background-writer",
        "git-history",
        "answer-pretended",
    ]
    for one in forgeries():
        assert one.about.endswith(".")
        assert "# Passes where " in one.script
        assert subprocess.run(["bash", "-n", "-c", one.script], check=False).returncode == 0


def test_the_oracle_comes_first_and_wrong_only_where_there_is_one(tmp_path: Path) -> None:
    write_task(tmp_path / "t")
    checks = checks_of(load_task(tmp_path / "t"), 5)
    assert [one.solution for one in checks[:7]] == ["oracle"] * 5 + ["noop", "wrong"]
    assert [one.must_pass for one in checks] == [True] * 5 + [False] * (2 + len(forgeries()))
    (tmp_path / "t/solution/wrong.sh").unlink()
    assert "wrong" not in [one.solution for one in checks_of(load_task(tmp_path / "t"), 5)]
    (tmp_path / "t/solution/solve.sh").unlink()
    assert checks_of(load_task(tmp_path / "t"), 5) == ()


def test_solutions_of_a_task_with_steps_are_found_in_its_steps() -> None:
    task = load_task(Path(__file__).parents[2] / "examples/steps/growing-ledger")
    assert [one.solution for one in checks_of(task, 5)[:7]] == ["oracle"] * 5 + ["noop", "wrong"]


def test_a_live_task_is_tried_in_snapshot_too(tmp_path: Path) -> None:
    write_task(tmp_path / "t")
    config = tmp_path / "t/task.toml"
    config.write_text(config.read_text().replace('verification = "snapshot"', 'verification = "live"'))
    last = checks_of(load_task(tmp_path / "t"), 5)[-1]
    assert (last.solution, last.verification, last.agent) == (IN_SNAPSHOT, "snapshot", "oracle")


def test_what_is_tried_has_a_name() -> None:
    assert re.fullmatch("[0-9a-f]{64}", checks_digest())
