"""A report of one job, and of its comparison with another: every figure with the SQL that gives it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from proctor.analysis.errors import ScoresInvalid
from proctor.jobs.analyses.books import Shelf, reference_of
from proctor.jobs.analyses.comparing import Sides, compared
from proctor.jobs.analyses.describing import spread
from proctor.jobs.analyses.differences import Difference, EvaluatorComparison, JobComparison
from proctor.jobs.analyses.failing import CHARACTERS, failed
from proctor.jobs.analyses.figures import Figure, JobReport, Section, SectionKind
from proctor.jobs.analyses.segmenting import parted
from proctor.jobs.analyses.telling import Scored, literal, of_failures, of_pairs, where_rows
from proctor.jobs.analyses.values import By, Kind, Part, Segments, Spread
from proctor.jobs.errors import JobInvalid
from proctor.jobs.summaries import EvaluatorSummary, summarised
from proctor.jobs.values import Job

__all__ = ["reported"]

LABELS: int = 50
"""Of one evaluator and kind of label in a report, those of most results: `proctor job segments` has all."""
MESSAGES: int = 20
"""In a report, the most frequent: `proctor job failures` has more, and which are alike."""
RANGES: int = 500
"""Of rows in a query: a query of more is no text that anybody copies."""
Ranges = Mapping[str, Sequence[tuple[int, int]]]


def reported(shelf: Shelf, job: Job, against: Job | None = None) -> JobReport:
    """Numbers, comparison, distributions, segments and failures of a job.

    Raises ``JobInvalid``, ``StatsExtraMissing``, ``DataExtraMissing``, ``ObjectMissing``.
    """
    comparison = None if against is None else compared(shelf, Sides(a=job, b=against))
    sections = [
        *(_numbers(job, one) for one in summarised(shelf.reader, job)),
        *(() if comparison is None else _comparison(comparison)),
        *(_distribution(job, one) for one in spread(shelf, job) if one.count),
        *(section for by in By for section in _segments(shelf, job, by)),
        *_failures(shelf, job),
    ]
    return JobReport(
        job=reference_of(job),
        against=None if against is None else reference_of(against),
        state=job.state.value,
        done=job.done,
        expected=job.expected,
        sections=tuple(sections),
    )


# --- numbers ----------------------------------------------------------------------------------------------------------


def _numbers(job: Job, one: EvaluatorSummary) -> Section:
    scored = Scored(job.id, one.evaluator)
    missing = one.expected - one.scored
    low, high = (one.interval.low, one.interval.high) if one.interval is not None else (None, None)
    figures = (
        Figure(
            name="mean",
            value=one.mean,
            query=scored.value("avg(score)"),
            low=low,
            high=high,
            error=one.error,
            items=one.scored,
        ),
        Figure(name="scored", value=one.scored, query=scored.value("count(*)"), items=one.expected),
        *_of_expected(one, scored),
    )
    notes = (f"{missing:,} of {one.expected:,} results have no score.",) if missing else ()
    return Section(kind=SectionKind.NUMBERS, title="Numbers", evaluator=one.evaluator, figures=figures, notes=notes)


def _of_expected(one: EvaluatorSummary, scored: Scored) -> Iterator[Figure]:
    """Coverage and bounds, which a stream to which nothing came has none of."""
    if one.bounds is None:
        return
    said = {"items": one.expected}
    covered = scored.value(f"count(*) / {one.expected}")
    yield Figure(name="coverage", value=one.coverage, query=covered, **said)
    low = scored.value(f"coalesce(sum(score) / {one.expected}, 0)")
    yield Figure(name="lower bound", value=one.bounds.low, query=low, **said)
    high = scored.value(f"coalesce((sum(score) + {one.expected} - count(*)) / {one.expected}, 1)")
    yield Figure(name="upper bound", value=one.bounds.high, query=high, **said)


# --- comparison -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class _Pairs:
    """How the SQL of one evaluator's pairs is written."""

    told: JobComparison
    evaluator: str

    def query(self, expression: str) -> str:
        a, b = Scored(self.told.a.id, self.evaluator), Scored(self.told.b.id, self.evaluator)
        return of_pairs(a, b, self.told.paired_by, expression)


def _comparison(told: JobComparison) -> Iterator[Section]:
    for one in told.evaluators:
        pairs = _Pairs(told=told, evaluator=one.evaluator)
        examples = Figure(name="examples compared", value=one.examples, query=pairs.query("count(*)"))
        figures = [examples] if one.difference is None else [*_difference(one, one.difference, pairs), examples]
        yield Section(
            kind=SectionKind.COMPARISON,
            title="Comparison",
            evaluator=one.evaluator,
            figures=tuple(figures),
            notes=tuple(_remarks(told, one)),
        )


def _difference(one: EvaluatorComparison, found: Difference, pairs: _Pairs) -> Iterator[Figure]:
    yield Figure(
        name="difference",
        value=found.mean,
        query=pairs.query("avg(a.score - b.score)"),
        low=found.interval.low,
        high=found.interval.high,
        error=found.error,
        p=found.p_adjusted,
        items=one.examples,
    )
    for name, value, expression in (
        ("mean of this job", found.mean_a, "avg(a.score)"),
        ("mean of the other", found.mean_b, "avg(b.score)"),
        ("better", found.better, "count(*) FILTER (a.score > b.score)"),
        ("worse", found.worse, "count(*) FILTER (a.score < b.score)"),
    ):
        yield Figure(name=name, value=value, query=pairs.query(expression), items=one.examples)


def _remarks(told: JobComparison, one: EvaluatorComparison) -> Iterator[str]:
    if one.undefined is not None:
        yield one.undefined
    if one.difference is not None:
        yield f"Finding: {one.difference.finding.value}; {one.difference.test}, p adjusted by Holm."
    if one.difference is not None and one.difference.detectable is not None:
        yield f"A true difference of {one.difference.detectable:.4g} would be seen with 80 % power."
    if told.paired_by == "example":
        a, b = (side.dataset or "a stream" for side in (told.a, told.b))
        yield f"Different dataset versions, paired by example id: {a} and {b}."
    if not one.same_evaluator:
        yield "It was another version of the evaluator in each job."
    left = one.left_out
    yield (
        f"Left out: {left.only_a:,} scored in this job alone, {left.only_b:,} in the other alone, {left.neither:,} in "
        f"neither; {left.absent_a:,} and {left.absent_b:,} not in its dataset version."
    )


# --- distributions and segments ---------------------------------------------------------------------------------------


def _distribution(job: Job, one: Spread) -> Section:
    scored, last = Scored(job.id, one.evaluator), len(one.counts) - 1
    figures = []
    for number, ((low, high), count) in enumerate(zip(pairwise(one.edges), one.counts, strict=True)):
        ends = "]" if number == last else ")"
        query = scored.value("count(*)", f"score >= {low!r} AND score {'<=' if number == last else '<'} {high!r}")
        figures.append(Figure(name=f"[{low:g}, {high:g}{ends}", value=count, query=query, items=one.count))
    return Section(
        kind=SectionKind.DISTRIBUTION,
        title="Distribution of scores",
        evaluator=one.evaluator,
        figures=tuple(figures),
        edges=one.edges,
    )


def _segments(shelf: Shelf, job: Job, by: By) -> Iterator[Section]:
    """Nothing where no example has such a label."""
    title = f"Segments by {by.value}"
    try:
        found = [one for one in parted(shelf, job, by) if one.parts]
    except (JobInvalid, ScoresInvalid) as error:
        yield Section(kind=SectionKind.SEGMENTS, title=title, evaluator=None, figures=(), notes=(error.message,))
        return
    ranges = _ranges(shelf, job, by) if found else {}
    yield from (_parts(job, title, one, ranges) for one in found)


def _ranges(shelf: Shelf, job: Job, by: By) -> Ranges:
    """The rows of each label that takes few ranges."""
    with shelf.opened(job) as book:
        book.attach_examples(job, "examples")
        book.run(f"label_by_{by.value}")
        found: dict[str, list[tuple[int, int]]] = {}
        for label, first, last in book.run("label_ranges", most=RANGES).fetchall():
            found.setdefault(label, []).append((first, last))
    return found


def _parts(job: Job, title: str, one: Segments, ranges: Ranges) -> Section:
    scored = Scored(job.id, one.evaluator)
    shown = sorted(one.parts, key=lambda part: -part.average.items)[:LABELS]
    notes = [f"{one.unlabelled:,} results have no {one.by.value}."] if one.unlabelled else []
    if len(one.parts) > LABELS:
        notes.append(f"{len(one.parts) - LABELS:,} more labels: `proctor job segments` has them.")
    if any(part.label not in ranges for part in shown):
        notes.append("A label whose rows lie apart has no query: it would be too long.")
    figures = tuple(_part(part, scored, ranges) for part in shown)
    return Section(kind=SectionKind.SEGMENTS, title=title, evaluator=one.evaluator, figures=figures, notes=tuple(notes))


def _part(part: Part, scored: Scored, ranges: Ranges) -> Figure:
    average, rows = part.average, ranges.get(part.label)
    low, high = (average.interval.low, average.interval.high) if average.interval is not None else (None, None)
    return Figure(
        name=part.label,
        value=average.mean,
        query=None if rows is None else scored.value("avg(score)", where_rows(rows)),
        low=low,
        high=high,
        error=average.error,
        p=part.p_adjusted,
        items=average.items,
    )


# --- failures ---------------------------------------------------------------------------------------------------------


def _failures(shelf: Shelf, job: Job) -> Iterator[Section]:
    told = failed(shelf, job)
    statuses = [_failure(job, kind, f"status = {literal(kind.label)}", told.failures) for kind in told.by_status]
    notes = (f"{told.not_evaluated:,} expected results are not there.",) if told.not_evaluated else ()
    if statuses or notes:
        title = "Failures by status"
        yield Section(kind=SectionKind.FAILURES, title=title, evaluator=None, figures=tuple(statuses), notes=notes)
    with shelf.opened(job) as book:
        words = {"job": str(job.id), "evaluator": None}
        said = book.run("count_errors", **words, characters=CHARACTERS, limit=MESSAGES).fetchall()
    messages = [
        Figure(
            name=error,
            value=count,
            query=of_failures(job.id, f"left(error, {CHARACTERS}) = {literal(error)}"),
            items=told.failures,
        )
        for error, count, _ in said
    ]
    if messages:
        title = "Failures by message, the most frequent"
        yield Section(kind=SectionKind.FAILURES, title=title, evaluator=None, figures=tuple(messages))


def _failure(job: Job, kind: Kind, condition: str, whole: int) -> Figure:
    return Figure(name=kind.label, value=kind.count, query=of_failures(job.id, condition), items=whole)
