"""What is wrong with rows of a file: told by row and field, however many they are."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.kernel.words import counted

__all__ = ["Problem", "Problems"]

TOLD: int = 20
"""Problems that a refusal lists: a page of a terminal."""
KEPT: int = 1000
"""Rows left out that a report names: enough to mend them by, and no second dataset."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """What is wrong with a row. ``row``: as its format counts, from 1; ``field``: empty for the whole row."""

    row: int
    field: str
    reason: str

    def __str__(self) -> str:
        field = f"{self.field}: " if self.field else ""
        return f"row {self.row:,}: {field}{self.reason}"


class Problems:
    """All that is wrong, counted; the first of it, kept."""

    def __init__(self) -> None:
        self.count = 0
        self.first: list[Problem] = []

    def add(self, problem: Problem) -> None:
        """One more."""
        self.count += 1
        if len(self.first) < KEPT:
            self.first.append(problem)

    @property
    def in_order(self) -> tuple[Problem, ...]:
        """What is kept, by row: rows that repeat an id are found after all others."""
        return tuple(sorted(self.first, key=lambda one: one.row))

    def told(self, what: str) -> str:
        """How many rows ``what``, and the first of them, a line each."""
        lines = [str(one) for one in self.in_order[:TOLD]]
        if self.count > TOLD:
            lines.append(f"and {self.count - TOLD:,} more")
        return "\n  ".join([f"{counted(self.count, 'row')} {what}:", *lines])
