"""What of a job has no score, and why: by status, and by what the errors say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from proctor.jobs.analyses.books import Book, Shelf, chosen, reference_of
from proctor.jobs.analyses.values import JobFailures, Kind
from proctor.jobs.values import Job

if TYPE_CHECKING:
    from proctor.analysis.failures import Failures

__all__ = ["failed"]

MESSAGES: int = 20_000
"""Different messages that are read, the most frequent first: ten times those that are compared with one another."""
EXAMPLES: int = 5
"""Of a kind of failures: enough to look at."""
CHARACTERS: int = 4_000
"""Of a message: as many as the comparison looks at."""
KINDS: int = 100
"""Of messages that are told, the most frequent first: more than anybody looks through."""


def failed(shelf: Shelf, job: Job, evaluator: str | None = None) -> JobFailures:
    """The results without a score, of one evaluator or of all.

    Raises ``JobInvalid``, ``StatsExtraMissing``, ``DataExtraMissing``, ``ObjectMissing``.
    """
    names = chosen(job, [] if evaluator is None else [evaluator])
    words = {"job": str(job.id), "evaluator": evaluator}
    with shelf.opened(job) as book:
        ((results, failures),) = book.run("count_results", **words).fetchall()
        statuses = [
            Kind(label=status, count=count, share=count / failures, examples=tuple(examples))
            for status, count, examples in book.run("count_statuses", **words).fetchall()
        ]
        texts, read = _by_text(book, words)
    return JobFailures(
        job=reference_of(job),
        failures=failures,
        not_evaluated=job.cut.rows * job.cut.repeats * len(names) - results,
        by_status=tuple(statuses),
        by_text=tuple(texts[:KINDS]),
        read=read,
    )


def _by_text(book: Book, words: dict[str, str | None]) -> tuple[list[Kind], int]:
    """Kinds of messages, and how many failures said them."""
    from proctor.analysis.failures import by_text

    said = book.run("count_errors", **words, characters=CHARACTERS, limit=MESSAGES).fetchall()
    counts, examples = [count for _, count, _ in said], [example for _, _, example in said]
    found = by_text([error for error, _, _ in said], counts=counts)
    return [_of_text(one, examples) for one in found], sum(counts)


def _of_text(found: Failures, examples: Sequence[Sequence[str]]) -> Kind:
    first = dict.fromkeys(one for place in found.examples for one in examples[place])
    return Kind(label=found.label, count=found.count, share=found.share, examples=tuple(first)[:EXAMPLES])
