"""The SQL that gives a figure of a report over ``results``, as one line of text to copy.

Names and messages are other people's words: a literal holds nothing but characters that can be printed, and what can't
be is ``chr`` of its number, so that what is copied is what was stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from uuid import UUID

__all__ = ["Scored", "literal", "of_failures", "of_pairs", "where_rows"]


def literal(text: str) -> str:
    """A text as an SQL expression."""
    parts = []
    for shown, characters in groupby(text, key=str.isprintable):
        run = "".join(characters)
        parts += ["'" + run.replace("'", "''") + "'"] if shown else [f"chr({ord(one)})" for one in run]
    return " || ".join(parts) or "''"


class Scored:
    """Queries of one evaluator's scored results in a job."""

    def __init__(self, job: UUID, evaluator: str) -> None:
        self.where = f"job = '{job}' AND evaluator = {literal(evaluator)} AND status = 'scored'"

    def value(self, expression: str, more: str = "") -> str:
        """``expression`` over them; ``more``: a further condition."""
        condition = f" AND {more}" if more else ""
        return f"SELECT {expression} AS value FROM results WHERE {self.where}{condition}"  # noqa: S608  text to copy

    def by_key(self, key: str) -> str:
        """Each example with its mean over repeats."""
        return f"SELECT {key}, avg(score) AS score FROM results WHERE {self.where} GROUP BY {key}"  # noqa: S608


def of_pairs(a: Scored, b: Scored, key: str, expression: str) -> str:
    """``expression`` over the examples that both jobs scored. ``key``: ``row`` or ``example``."""
    both = f"WITH a AS ({a.by_key(key)}), b AS ({b.by_key(key)})"
    return f"{both} SELECT {expression} AS value FROM a JOIN b USING ({key})"  # noqa: S608  text to copy


def of_failures(job: UUID, condition: str) -> str:
    """How many results of a job have no score and fulfil a condition."""
    where = f"job = '{job}' AND status <> 'scored' AND {condition}"
    return f"SELECT count(*) AS value FROM results WHERE {where}"  # noqa: S608  text to copy


def where_rows(ranges: Sequence[tuple[int, int]]) -> str:
    """A condition on rows."""
    found = [f"row = {low}" if low == high else f"row BETWEEN {low} AND {high}" for low, high in ranges]
    return f"({' OR '.join(found)})"
