"""From what was tried to a verdict on the task. Pure: no database, no clock."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from proctor.engine.assignments import LoadedTask
from proctor.engine.certificates.certificate import NOT_TRIED, Certificate, CheckVerdict, Ground
from proctor.engine.certificates.checks import IN_SNAPSHOT, WRONG, checks_digest
from proctor.engine.certificates.runs import CheckRun
from proctor.kernel.canonical import Json
from proctor.kernel.ids import new_id

__all__ = ["certificate_of", "disagree", "judge", "oracle_verdicts", "snapshot_word"]


def certificate_of(task: LoadedTask, runs: Sequence[CheckRun], *, ground: Ground, made_by: str) -> Certificate:
    """Judge what was tried."""
    verdict, problems = judge(runs)
    return Certificate(
        id=new_id(),
        agent_digest=task.agent_digest,
        verifier_digest=task.verifier_digest,
        content_digest=task.content_digest,
        ground=ground,
        checks=checks_digest(),
        verdict=verdict,
        problems=problems,
        snapshot=snapshot_word(runs),
        oracle=tuple(oracle_verdicts(runs)),
        runs=(*(_document(run) for run in runs), *_not_tried(runs)),
        made_by=made_by,
    )


def _document(run: CheckRun) -> dict[str, Json]:
    return {
        "solution": run.check.solution,
        "forgery": run.check.forgery,
        "as_wanted": run.as_wanted,
        "class": run.outcome.outcome.value,
        "rule": run.outcome.rule,
        "verdict": run.outcome.verdict,
        "seconds": round(run.seconds, 3),
        "tries": run.tries,
        "evidence": dict(run.evidence),
    }


def _not_tried(runs: Sequence[CheckRun]) -> Iterator[dict[str, Json]]:
    """A certificate says itself that a wrong solution was never tried, for the task brings none."""
    solutions = {run.check.solution for run in runs}
    if "noop" in solutions and WRONG not in solutions:
        yield {
            "solution": WRONG,
            "forgery": False,
            "as_wanted": None,
            "class": NOT_TRIED,
            "rule": None,
            "verdict": None,
            "seconds": 0.0,
            "tries": 0,
            "evidence": {"reason": "the task has no solution/wrong.sh"},
        }


def judge(runs: Sequence[CheckRun]) -> tuple[CheckVerdict, tuple[str, ...]]:
    """The verdict and its reasons. One wrong answer refuses, whatever is missing; what is missing never certifies."""
    counted = [run for run in runs if run.check.solution != IN_SNAPSHOT]
    wrong = [*_oracle_problems(counted), *_false_passes(counted)]
    if wrong:
        return CheckVerdict.REFUSED, tuple(wrong)
    missing = list(_missing(counted))
    if missing or not any(run.check.solution == "oracle" for run in counted):
        return CheckVerdict.NOT_DECIDED, tuple(missing) or ("there is no reference solution (solution/solve.sh)",)
    return CheckVerdict.CERTIFIED, ()


def oracle_verdicts(runs: Sequence[CheckRun]) -> list[bool | None]:
    """What the verifier said of each repetition of the oracle; what is no result is left out."""
    return [run.outcome.verdict for run in runs if run.check.solution == "oracle" and run.decided]


def disagree(verdicts: Sequence[bool | None]) -> bool:
    """Whether one state was graded in two ways: some repetitions pass, some don't."""
    return any(verdict is True for verdict in verdicts) and any(verdict is not True for verdict in verdicts)


def snapshot_word(runs: Sequence[CheckRun]) -> bool | None:
    """Whether a live task's oracle passes in ``snapshot`` too; ``None`` where that was not asked or not found out."""
    asked = [run for run in runs if run.check.solution == IN_SNAPSHOT and run.decided]
    return asked[-1].passed if asked else None


def _oracle_problems(runs: Sequence[CheckRun]) -> Iterator[str]:
    verdicts = oracle_verdicts(runs)
    failed = [run for run in runs if run.check.solution == "oracle" and run.decided and not run.passed]
    if not failed:
        return
    classes = Counter(run.outcome.outcome.value for run in failed)
    told = ", ".join(f"{name} {count}" for name, count in classes.most_common())
    word = "the oracle's repetitions disagree" if disagree(verdicts) else "the oracle never passes"
    yield f"{word}: {verdicts.count(True)} of {len(verdicts)} passed ({told})"


def _false_passes(runs: Sequence[CheckRun]) -> Iterator[str]:
    for run in runs:
        if run.passed and not run.check.must_pass:
            yield f"the forgery {run.check.solution} passes" if run.check.forgery else f"{run.check.solution} passes"


def _missing(runs: Sequence[CheckRun]) -> Iterator[str]:
    """What is no result, those that ended alike together."""
    alike: dict[str, Counter[str]] = {}
    for run in runs:
        if not run.decided:
            alike.setdefault(_ending(run), Counter())[run.check.solution] += 1
    for ending, solutions in alike.items():
        named = ", ".join(f"{name} {count} times" if count > 1 else name for name, count in solutions.items())
        yield f"{named}: {ending}"


def _ending(run: CheckRun) -> str:
    ended = run.evidence.get("ended_by")
    why = ended.get("message") if isinstance(ended, Mapping) else None
    return run.outcome.outcome.value + (f": {why}" if why else "")
