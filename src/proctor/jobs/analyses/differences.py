"""What a comparison of two jobs answers with, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.analysis.findings import Finding
from proctor.analysis.intervals import Interval
from proctor.jobs.analyses.values import JobReference

__all__ = [
    "Difference",
    "EvaluatorComparison",
    "JobComparison",
    "LeftOut",
    "MovedExample",
]


@dataclass(frozen=True, kw_only=True)
class LeftOut:
    """Examples that are in no number of a comparison, and why.

    ``only_a``, ``only_b``: scored in that job alone; ``neither``: in both dataset versions, scored in neither job;
    ``absent_a``, ``absent_b``: not in that job's dataset version. An example may be ``only_a`` because it is
    ``absent_b``. ``repeats_a``, ``repeats_b``: of the examples that are compared, repeats without a score.
    """

    only_a: int
    only_b: int
    neither: int
    absent_a: int
    absent_b: int
    repeats_a: int
    repeats_b: int


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Job a less job b over the examples that both scored, each by its mean over repeats.

    ``interval``: 95 %, normal. ``better``, ``worse``: examples on which a is better, or b. ``correlation``: of the two
    jobs' scores, ``None`` where one's are all the same. ``test``: its name, with its ``p`` and, by Holm over the
    evaluators, ``p_adjusted``; ``seed``: where signs were drawn. ``detectable``: the smallest true difference that so
    many examples show with a probability of 80 %; ``None`` where no example differs.
    """

    mean: float
    error: float
    interval: Interval
    mean_a: float
    mean_b: float
    better: int
    worse: int
    correlation: float | None
    test: str
    p: float
    p_adjusted: float
    seed: int | None
    detectable: float | None
    finding: Finding


@dataclass(frozen=True, kw_only=True)
class EvaluatorComparison:
    """One evaluator in both jobs. ``same_evaluator``: whether it was the very same version of its code and settings.

    ``difference`` is ``None`` where the data do not define it; ``undefined`` then says why.
    """

    evaluator: str
    same_evaluator: bool
    examples: int
    left_out: LeftOut
    difference: Difference | None
    undefined: str | None


@dataclass(frozen=True, kw_only=True)
class JobComparison:
    """Job a less job b. ``paired_by``: ``row`` within one dataset version, ``example`` (its id) across two.

    ``only_a``, ``only_b``: evaluators that are in that job alone. ``margin``: how much worse is no regression, ``None``
    where no verdict was asked for; ``regression``: whether an evaluator is worse, ``None`` likewise.
    """

    a: JobReference
    b: JobReference
    paired_by: str
    evaluators: tuple[EvaluatorComparison, ...]
    only_a: tuple[str, ...]
    only_b: tuple[str, ...]
    margin: float | None
    alpha: float
    regression: bool | None


@dataclass(frozen=True, kw_only=True)
class MovedExample:
    """An example that the two jobs score differently. ``row_a``, ``row_b``: its position in that dataset version."""

    example: str
    row_a: int
    row_b: int
    a: float
    b: float
