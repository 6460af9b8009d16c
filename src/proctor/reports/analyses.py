"""Analyses of evaluation jobs for a terminal: no difference without its interval, its test and what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table

from proctor.kernel.ids import short_id
from proctor.kernel.words import counted
from proctor.reports.formats import UNKNOWN, one_line, p_value, percent
from proctor.reports.tables import table

if TYPE_CHECKING:
    from proctor.analysis.intervals import Interval
    from proctor.jobs.analyses.differences import (
        Difference,
        EvaluatorComparison,
        JobComparison,
        LeftOut,
        MovedExample,
    )
    from proctor.jobs.analyses.planning import Plan
    from proctor.jobs.analyses.values import (
        Agreed,
        Agreement,
        History,
        JobFailures,
        JobReference,
        Kind,
        Repeats,
        Segments,
        Series,
        Spread,
    )

__all__ = [
    "agreement_parts",
    "comparison_parts",
    "distribution_parts",
    "failures_parts",
    "history_parts",
    "moved_table",
    "plan_lines",
    "repeats_parts",
    "segments_parts",
]

_BAR: int = 40
"""Characters of the longest bar of a histogram."""


def comparison_parts(told: JobComparison) -> Iterator[RenderableType]:
    """The comparison of two jobs."""
    yield f"{_job(told.a)} against {_job(told.b)}"
    if told.paired_by == "example":
        a, b = (side.dataset or "a stream" for side in (told.a, told.b))
        yield f"  different dataset versions, paired by example id: {a} and {b}"
    yield _differences(told)
    for one in told.evaluators:
        yield from (f"  {one_line(one.evaluator)}: {line}" for line in _remarks(one))
    for names, job in ((told.only_a, told.a), (told.only_b, told.b)):
        if names:
            yield f"  only in {one_line(job.name)}: {', '.join(map(one_line, names))}"
    if told.regression is not None:
        yield f"regression: {'yes' if told.regression else 'no'} (margin {told.margin:g}, alpha {told.alpha:g})"


def _differences(told: JobComparison) -> Table:
    numbers = ("a", "b", "a − b", "95 %", "p", "Holm", "examples")
    made = table("evaluator", *numbers, "finding", right=numbers)
    for one in told.evaluators:
        name, found = one_line(one.evaluator), one.difference
        if found is None:
            made.add_row(name, *[UNKNOWN] * 6, f"{one.examples:,}", "not defined")
            continue
        made.add_row(
            name,
            _score(found.mean_a),
            _score(found.mean_b),
            f"{found.mean:+.4f}",
            _range(found.interval),
            p_value(found.p),
            p_value(found.p_adjusted),
            f"{one.examples:,}",
            found.finding.value,
        )
    return made


def _remarks(one: EvaluatorComparison) -> Iterator[str]:
    if one.undefined is not None:
        yield one.undefined
    if one.difference is not None:
        yield _tested(one.difference)
    if not one.same_evaluator:
        yield "it was another version of the evaluator in each job"
    if told := _left_out(one.left_out):
        yield f"left out: {told}"


def _tested(found: Difference) -> str:
    seed = f", seed {found.seed}" if found.seed is not None else ""
    shown = "" if found.detectable is None else f"; detectable at 80 % power: {found.detectable:.4f}"
    return f"{found.test}{seed}; better on {found.better:,}, worse on {found.worse:,}{shown}"


def _left_out(left: LeftOut) -> str:
    told = (
        (left.only_a, "scored only in a"),
        (left.only_b, "scored only in b"),
        (left.neither, "scored in neither"),
        (left.absent_a, "not in the dataset version of a"),
        (left.absent_b, "not in the dataset version of b"),
        (left.repeats_a, "repeats without a score in a"),
        (left.repeats_b, "repeats without a score in b"),
    )
    return " · ".join(f"{number:,} {words}" for number, words in told if number)


def moved_table(rows: Sequence[MovedExample]) -> Table:
    """Examples that two jobs score differently."""
    made = table(
        "example", "row in a", "row in b", "a", "b", "a − b", right=("row in a", "row in b", "a", "b", "a − b")
    )
    for one in rows:
        places = (f"{one.row_a:,}", f"{one.row_b:,}")
        made.add_row(one_line(one.example), *places, _score(one.a), _score(one.b), f"{one.a - one.b:+.4f}")
    return made


def segments_parts(found: Sequence[Segments]) -> Iterator[RenderableType]:
    """Scores by label."""
    for one in found:
        yield f"{one_line(one.evaluator)} by {one.by.value}"
        if not one.parts:
            yield f"  no scored result has a {one.by.value}"
            continue
        numbers = ("mean", "95 %", "results", "against the rest", "its 95 %", "p", "Holm")
        made = table(one.by.value, *numbers, right=numbers)
        for part in one.parts:
            difference = UNKNOWN if part.difference is None else f"{part.difference:+.4f}"
            average = part.average
            made.add_row(
                one_line(part.label),
                _score(average.mean),
                _range(average.interval),
                f"{average.items:,}",
                difference,
                _range(part.interval),
                p_value(part.p),
                p_value(part.p_adjusted),
            )
        yield made
        if one.unlabelled:
            yield f"  {counted(one.unlabelled, 'result')} without a {one.by.value}"


def failures_parts(told: JobFailures) -> Iterator[RenderableType]:
    """What has no score."""
    waiting = f", {told.not_evaluated:,} not evaluated" if told.not_evaluated else ""
    yield f"{_job(told.job)}: {counted(told.failures, 'result')} without a score{waiting}"
    if told.by_status:
        yield _kinds("status", told.by_status)
    if told.by_text:
        yield _kinds("message", told.by_text)
    if told.read < told.failures:
        yield f"  {told.failures - told.read:,} say nothing, or stand beyond the 20,000 most frequent messages"


def _kinds(name: str, kinds: Sequence[Kind]) -> Table:
    made = table(name, "results", "share", "examples", right=("results", "share"))
    for kind in kinds:
        examples = ", ".join(one_line(one, at_most=40) for one in kind.examples)
        made.add_row(one_line(kind.label), f"{kind.count:,}", percent(kind.share), examples)
    return made


def distribution_parts(found: Sequence[Spread]) -> Iterator[RenderableType]:
    """Ranges, quantiles and histograms."""
    for one in found:
        name = one_line(one.evaluator)
        if one.undefined is not None:
            yield f"{name}: {one.undefined}"
            continue
        quantiles = ", ".join(f"{float(share):.0%} {value:.4f}" for share, value in one.quantiles.items())
        yield f"{name}: {counted(one.count, 'score')} from {_score(one.low)} to {_score(one.high)}"
        yield f"  deviation {_score(one.deviation)}; {quantiles}"
        made = table("from", "to", "scores", "", right=("from", "to", "scores"))
        for low, high, count in zip(one.edges, one.edges[1:], one.counts, strict=False):
            bar = "█" * round(count / max(one.counts) * _BAR)
            made.add_row(_score(low), _score(high), f"{count:,}", bar)
        yield made


def repeats_parts(found: Sequence[Repeats]) -> Iterator[RenderableType]:
    """pass@k and pass^k."""
    numbers = ("k", "pass@k", "95 %", "pass^k", "95 % ", "examples")
    made = table("evaluator", *numbers, right=numbers)
    for one in found:
        for chance in one.chances:
            made.add_row(
                one_line(one.evaluator),
                str(chance.k),
                _score(chance.any.mean),
                _range(chance.any.interval),
                _score(chance.all.mean),
                _range(chance.all.interval),
                f"{one.examples:,}",
            )
    yield made
    yield from (f"  {one_line(one.evaluator)}: {one.undefined}" for one in found if one.undefined is not None)


def agreement_parts(told: Agreement) -> Iterator[RenderableType]:
    """Alpha over all, kappa of each two."""
    rounded = "" if told.decimals is None else f", scores rounded to {counted(told.decimals, 'decimal')}"
    yield f"{_job(told.job)}: {counted(len(told.evaluators), 'evaluator')} as raters, {told.level}{rounded}"
    numbers = ("value", "95 %", "results")
    made = table("agreement", *numbers, right=numbers)
    made.add_row("Krippendorff's alpha", *_agreed(told.alpha))
    for one in told.kappas:
        made.add_row(f"Cohen's kappa: {one_line(one.a)}, {one_line(one.b)}", *_agreed(one.kappa))
    yield made
    if told.alpha.undefined is not None:
        yield f"  alpha: {told.alpha.undefined}"
    undefined = [one for one in told.kappas if one.kappa.undefined is not None]
    yield from (f"  {one_line(one.a)}, {one_line(one.b)}: {one.kappa.undefined}" for one in undefined)


def _agreed(found: Agreed) -> tuple[str, str, str]:
    return _score(found.value), _range(found.interval), f"{found.items:,}"


def history_parts(told: History) -> Iterator[RenderableType]:
    """Means over time."""
    if not told.same_version:
        yield "The jobs judged different dataset versions: their means are of other examples."
    for series in told.series:
        yield one_line(series.evaluator)
        yield _moments(series)
        for turn in series.changes:
            yield f"  from {short_id(turn.job)} on: {turn.before:.4f} to {turn.after:.4f}, p {p_value(turn.p)}"


def _moments(series: Series) -> Table:
    made = table(
        "job", "id", "submitted", "mean", "95 %", "coverage", right=("mean", "95 %", "coverage"), whole=("id",)
    )
    for one in series.moments:
        found = one.average
        mean, interval = (UNKNOWN, UNKNOWN) if found is None else (_score(found.mean), _range(found.interval))
        submitted = one.created_at.strftime("%Y-%m-%d %H:%M")
        made.add_row(one_line(one.job.name), short_id(one.job.id), submitted, mean, interval, percent(one.coverage))
    return made


def plan_lines(plan: Plan) -> Iterator[str]:
    """What a comparison takes, or shows."""
    design = plan.design
    if plan.needed is not None:
        yield f"{counted(plan.needed, 'example')} show a difference of {plan.difference:g} with {plan.power:.0%} power"
    if plan.items is not None:
        words = counted(plan.items, "example")
        yield f"{words} show a difference of {plan.detectable:.4f} or more with {plan.power:.0%} power"
    if plan.found is not None and plan.items is not None:
        yield f"{counted(plan.items, 'example')} show a difference of {plan.difference:g} with {plan.found:.1%} power"
    yield (
        f"  variance between examples {design.between:.4g}, within {design.within_a:.4g} and {design.within_b:.4g}, "
        f"repeats {design.trials_a} and {design.trials_b}, alpha {design.alpha:g}"
    )


def _job(job: JobReference) -> str:
    return f"{one_line(job.name)} ({short_id(job.id)})"


def _score(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.4f}"


def _range(found: Interval | None) -> str:
    return UNKNOWN if found is None else f"[{found.low:.4f}, {found.high:.4f}]"
