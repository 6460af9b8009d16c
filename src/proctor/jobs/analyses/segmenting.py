"""The scores of a job by tag, difficulty or source of its examples, each label against the rest, corrected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from proctor.jobs.analyses.books import Book, Shelf, chosen
from proctor.jobs.analyses.values import Average, By, Part, Segments
from proctor.jobs.errors import JobInvalid
from proctor.jobs.values import Job

if TYPE_CHECKING:
    from proctor.analysis.arrays import Mask
    from proctor.analysis.means import Mean
    from proctor.analysis.segments import Segment

__all__ = ["average_of", "parted"]

LARGEST: int = 1_000_000_000
"""Labels times results: whether each result is of each label is a byte, and all of them are held at once."""


def parted(shelf: Shelf, job: Job, by: By, evaluators: Sequence[str] = ()) -> list[Segments]:
    """Each evaluator's scores by label; p values are adjusted over the labels of one evaluator (Holm).

    Clustered by example where there are repeats. An evaluator without a score has no parts. Raises ``JobInvalid``,
    ``StatsExtraMissing``, ``DataExtraMissing``, ``ObjectMissing``.
    """
    names = chosen(job, evaluators)
    with shelf.opened(job) as book:
        book.attach_examples(job, "examples")
        book.run(f"label_by_{by.value}")
        return [_of_evaluator(book, job, by, name) for name in names]


def _of_evaluator(book: Book, job: Job, by: By, evaluator: str) -> Segments:
    from proctor.analysis.segments import segments

    book.run("number_scored", job=str(job.id), evaluator=evaluator)
    found = book.run("numbered_scores").fetchnumpy()
    members = _members(book, len(found["score"]))
    clusters = found["row"] if job.cut.repeats > 1 else None
    parts = segments(found["score"], members, clusters=clusters) if members else ()
    return Segments(evaluator=evaluator, by=by, parts=tuple(map(_part, parts)), unlabelled=book.number("unlabelled"))


def _members(book: Book, results: int) -> Mapping[str, Mask]:
    """For each label which of the scored results are of it."""
    from proctor.analysis.arrays import np
    from proctor.analysis.segments import SEGMENTS

    labels = book.run("label_names", limit=SEGMENTS + 1).fetchall()
    if len(labels) > SEGMENTS or len(labels) * results > LARGEST:
        raise JobInvalid(f"There are too many labels to look at together: {len(labels):,}.", where="by")
    if not labels:
        return {}
    ends = np.cumsum([count for _, count in labels], dtype=np.int64)
    places = np.split(book.column("place", "members"), ends[:-1])
    members: dict[str, Mask] = {}
    for (label, _), inside in zip(labels, places, strict=True):
        members[label] = np.zeros(results, dtype=np.bool_)
        members[label][inside] = True
    return members


def _part(found: Segment) -> Part:
    return Part(
        label=found.label,
        average=average_of(found.mean),
        difference=found.difference,
        interval=found.interval,
        p=found.p,
        p_adjusted=found.p_adjusted,
    )


def average_of(found: Mean) -> Average:
    """The same as a plain value."""
    return Average(
        mean=found.value,
        error=found.error,
        interval=found.interval,
        items=found.items,
        clusters=found.clusters,
    )
