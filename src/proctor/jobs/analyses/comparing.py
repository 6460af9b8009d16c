"""Two jobs, example by example: the difference with its error and test, what was left out, what moved.

An example counts once, by its mean over the repeats that were scored, so that repeats of one example are never taken
for independent; the two jobs may have different numbers of them. Jobs of one dataset version are paired by row, of
different ones by the example's id.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from proctor.analysis.findings import Finding, Rule
from proctor.jobs.analyses.books import Book, Shelf, chosen, reference_of
from proctor.jobs.analyses.differences import Difference, EvaluatorComparison, JobComparison, LeftOut, MovedExample
from proctor.jobs.errors import JobInvalid
from proctor.jobs.values import Job

if TYPE_CHECKING:
    from proctor.analysis.arrays import Vector

__all__ = ["Sides", "compared", "moved"]


@dataclass(frozen=True, kw_only=True)
class Sides:
    """Which jobs are compared: a less b. ``evaluators``: by which; none named: by all that both have."""

    a: Job
    b: Job
    evaluators: Sequence[str] = ()

    def __post_init__(self) -> None:
        if self.a.id == self.b.id:
            raise JobInvalid("A job is compared with another one.", where="against", remedy="Name two jobs.")

    @property
    def same_version(self) -> bool:
        """Whether both judged the same dataset version; of a stream's rows there is none."""
        return self.a.dataset_version is not None and self.a.dataset_version == self.b.dataset_version

    @property
    def common(self) -> list[str]:
        """The evaluators to compare by. Raises ``JobInvalid`` where a job lacks one, or there is none."""
        if self.evaluators:
            chosen(self.b, self.evaluators)
            return chosen(self.a, self.evaluators)
        theirs = _names(self.b)
        found = [name for name in _names(self.a) if name in theirs]
        if not found:
            raise JobInvalid("The two jobs have no evaluator in common.", where="against")
        return found


def compared(shelf: Shelf, sides: Sides, *, margin: float | None = None, alpha: float = 0.05) -> JobComparison:
    """Job a less job b by each evaluator, p values adjusted together (Holm).

    ``margin``: asks for a verdict, and is how much worse is no regression. Raises ``JobInvalid``, ``ScoresInvalid``,
    ``StatsExtraMissing``, ``DataExtraMissing``, ``ObjectMissing``.
    """
    rule = Rule(margin=margin or 0.0, alpha=alpha)
    with _opened(shelf, sides) as book:
        found = _corrected([_by_evaluator(book, sides, name) for name in sides.common], rule)
    ours, theirs = _names(sides.a), _names(sides.b)
    worse = any(one.difference is not None and one.difference.finding is Finding.WORSE for one in found)
    return JobComparison(
        a=reference_of(sides.a),
        b=reference_of(sides.b),
        paired_by="row" if sides.same_version else "example",
        evaluators=tuple(found),
        only_a=tuple(name for name in ours if name not in theirs),
        only_b=tuple(name for name in theirs if name not in ours),
        margin=margin,
        alpha=alpha,
        regression=None if margin is None else worse,
    )


def moved(shelf: Shelf, sides: Sides, *, after: int = -1, limit: int = 100) -> list[MovedExample]:
    """A page of the examples that one evaluator scores differently, a's largest drops first: after the ``after``-th.

    Raises ``JobInvalid`` unless one evaluator is named or only one is common, and as ``compared`` does.
    """
    (name,) = _only(sides.common)
    with _opened(shelf, sides) as book:
        _pair(book, sides, name)
        found = book.run("moved", start=after + 1, limit=limit).fetchall()
    return [MovedExample(example=example, row_a=row_a, row_b=row_b, a=a, b=b) for example, row_a, row_b, a, b in found]


def _only(names: Sequence[str]) -> Sequence[str]:
    if len(names) != 1:
        raise JobInvalid(f"There are several: {', '.join(names)}.", where="evaluator", remedy="Name one evaluator.")
    return names


def _names(job: Job) -> list[str]:
    return [judge.name for judge in job.judges]


@contextmanager
def _opened(shelf: Shelf, sides: Sides) -> Iterator[Book]:
    with shelf.opened(sides.a, sides.b) as book:
        book.run("key_by_row" if sides.same_version else "key_by_example")
        if not sides.same_version:
            book.attach_examples(sides.a, "examples_a")
            book.attach_examples(sides.b, "examples_b")
        yield book


def _pair(book: Book, sides: Sides, evaluator: str) -> None:
    book.run("pair", a=str(sides.a.id), b=str(sides.b.id), evaluator=evaluator)


def _by_evaluator(book: Book, sides: Sides, evaluator: str) -> EvaluatorComparison:
    """Its p is not yet adjusted, and nothing is found."""
    from proctor.analysis.errors import StatisticUndefined

    _pair(book, sides, evaluator)
    paired, left_out = _left_out(book, sides)
    columns = book.run("paired_scores").fetchnumpy()
    difference, undefined = None, None
    try:
        difference = _difference(columns["a"], columns["b"])
    except StatisticUndefined as error:
        undefined = error.message if paired != 1 else "One example says nothing about how examples differ."
    return EvaluatorComparison(
        evaluator=evaluator,
        same_evaluator=_digest(sides.a, evaluator) == _digest(sides.b, evaluator),
        examples=paired,
        left_out=left_out,
        difference=difference,
        undefined=undefined,
    )


def _digest(job: Job, evaluator: str) -> str:
    return next(judge.digest for judge in job.judges if judge.name == evaluator)


def _left_out(book: Book, sides: Sides) -> tuple[int, LeftOut]:
    """How many examples are paired, and what is left out."""
    repeats = {"repeats_a": sides.a.cut.repeats, "repeats_b": sides.b.cut.repeats}
    ((paired, only_a, only_b, repeats_a, repeats_b),) = book.run("count_pairs", **repeats).fetchall()
    if sides.same_version:
        neither, absent_a, absent_b = sides.a.cut.rows - paired - only_a - only_b, 0, 0
    else:
        ((neither, absent_a, absent_b),) = book.run("count_versions").fetchall()
    left = LeftOut(
        only_a=only_a,
        only_b=only_b,
        neither=neither,
        absent_a=absent_a,
        absent_b=absent_b,
        repeats_a=int(repeats_a),
        repeats_b=int(repeats_b),
    )
    return paired, left


def _difference(a: Vector, b: Vector) -> Difference:
    from proctor.analysis.paired import compare
    from proctor.analysis.power import Design, minimum_detectable_effect

    found = compare(a, b)
    variance = found.error**2 * found.items
    return Difference(
        mean=found.mean,
        error=found.error,
        interval=found.interval,
        mean_a=float(a.mean()),
        mean_b=float(b.mean()),
        better=found.better,
        worse=found.worse,
        correlation=found.correlation,
        test=found.test.name,
        p=found.test.p,
        p_adjusted=found.test.p,
        seed=found.test.seed,
        detectable=minimum_detectable_effect(found.items, Design(between=variance)) if variance else None,
        finding=Finding.OPEN,
    )


def _corrected(found: Sequence[EvaluatorComparison], rule: Rule) -> list[EvaluatorComparison]:
    """With p values adjusted over all that have one, and what follows from them."""
    from proctor.analysis.multiple import holm

    adjusted = iter(holm([one.difference.p for one in found if one.difference is not None]))
    return [one if one.difference is None else _judged(one, one.difference, next(adjusted), rule) for one in found]


def _judged(one: EvaluatorComparison, difference: Difference, p: float, rule: Rule) -> EvaluatorComparison:
    finding = rule.finding(difference.mean, difference.interval, p)
    return replace(one, difference=replace(difference, p_adjusted=p, finding=finding))
