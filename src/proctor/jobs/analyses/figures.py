"""A report of a job as plain values: sections of figures, each with the SQL over ``results`` that gives it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from proctor.jobs.analyses.values import JobReference

__all__ = ["Figure", "JobReport", "Section", "SectionKind"]


class SectionKind(StrEnum):
    """What a section tells."""

    NUMBERS = "numbers"
    DISTRIBUTION = "distribution"
    SEGMENTS = "segments"
    FAILURES = "failures"
    COMPARISON = "comparison"


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One number. ``query``: one SELECT over ``results`` whose ``value`` it is, ``None`` where it would be too long.

    ``low``, ``high``: the ends of its 95 % interval, ``error``: its standard error, ``p``: adjusted where several were
    tested, ``items``: over how many results or examples it is; ``None``: it has none. A count is an ``int``.
    """

    name: str
    value: int | float | None
    query: str | None
    low: float | None = None
    high: float | None = None
    error: float | None = None
    p: float | None = None
    items: int | None = None


@dataclass(frozen=True, kw_only=True)
class Section:
    """Figures that belong together. ``evaluator``: whose; ``None``: of all. ``edges``: of a histogram's bins."""

    kind: SectionKind
    title: str
    evaluator: str | None
    figures: tuple[Figure, ...]
    notes: tuple[str, ...] = ()
    edges: tuple[float, ...] = ()


@dataclass(frozen=True, kw_only=True)
class JobReport:
    """All that is told of a job. ``against``: what it is compared with. ``done``: evaluations, of ``expected``."""

    job: JobReference
    against: JobReference | None
    state: str
    done: int
    expected: int
    sections: tuple[Section, ...]
