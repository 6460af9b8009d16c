"""What analyses of jobs answer with, as plain values: they are read where no statistics library is installed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from uuid import UUID

from proctor.analysis.intervals import Interval

__all__ = [
    "Agreed",
    "Agreement",
    "Average",
    "By",
    "Chance",
    "History",
    "JobFailures",
    "JobReference",
    "Kappa",
    "Kind",
    "Moment",
    "Part",
    "Repeats",
    "Segments",
    "Series",
    "Spread",
    "Turn",
]


class By(StrEnum):
    """What the examples of a dataset version are parted by."""

    TAG = "tag"
    DIFFICULTY = "difficulty"
    SOURCE = "source"


@dataclass(frozen=True, kw_only=True)
class JobReference:
    """Which job, and of which dataset version."""

    id: UUID
    name: str
    dataset: str | None
    """``None``: a stream."""


@dataclass(frozen=True, kw_only=True)
class Average:
    """A mean with its standard error and 95 % interval; ``None``: so few clusters can't tell it."""

    mean: float
    error: float | None
    interval: Interval | None
    items: int
    clusters: int


@dataclass(frozen=True, kw_only=True)
class Part:
    """Results of one label. ``difference``: their mean less that of the rest; ``None`` where there is no rest.

    ``interval``: 95 %, of the difference; ``None`` where too few examples tell of it. ``p``: of no difference, ``None``
    for fewer than two examples on a side; ``p_adjusted``: by Holm over the labels.
    """

    label: str
    average: Average
    difference: float | None
    interval: Interval | None
    p: float | None
    p_adjusted: float | None


@dataclass(frozen=True, kw_only=True)
class Segments:
    """One evaluator's scores by label. ``unlabelled``: scored results whose example has none, part of every rest."""

    evaluator: str
    by: By
    parts: tuple[Part, ...]
    unlabelled: int


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Failures that are alike. ``label``: a status, or a message as it was written. ``share``: of all that were read.

    ``examples``: ids of a few.
    """

    label: str
    count: int
    share: float
    examples: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class JobFailures:
    """Results without a score. ``not_evaluated``: expected and not there yet, or of a gap; they are in no kind.

    ``by_text``: over ``read`` failures; where there are more, messages beyond the most frequent were not compared.
    """

    job: JobReference
    failures: int
    not_evaluated: int
    by_status: tuple[Kind, ...]
    by_text: tuple[Kind, ...]
    read: int


@dataclass(frozen=True, kw_only=True)
class Spread:
    """How one evaluator's scores are spread. Bin i of the histogram goes from ``edges[i]`` to below ``edges[i + 1]``.

    The last bin has its end too. ``quantiles``: score by share below it. ``undefined``: why there are no numbers.
    """

    evaluator: str
    count: int
    low: float | None
    high: float | None
    deviation: float | None
    quantiles: Mapping[str, float]
    edges: tuple[float, ...]
    counts: tuple[int, ...]
    undefined: str | None


@dataclass(frozen=True, kw_only=True)
class Chance:
    """``any``: pass@k, the chance that one of k repeats passes; ``all``: pass^k, that all do. Means over examples."""

    k: int
    any: Average
    all: Average


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """One evaluator's passes over repeats. ``undefined``: why it has none of these numbers."""

    evaluator: str
    examples: int
    chances: tuple[Chance, ...]
    undefined: str | None


@dataclass(frozen=True, kw_only=True)
class Agreed:
    """1 is perfect, 0 is chance. ``interval``: 95 %, ``None`` where most resamples have no spread.

    ``value`` is ``None`` where the scores do not define it; ``undefined`` then says why.
    """

    value: float | None
    interval: Interval | None
    items: int
    undefined: str | None


@dataclass(frozen=True, kw_only=True)
class Kappa:
    """Cohen's kappa of two evaluators, over the results that both scored."""

    a: str
    b: str
    kappa: Agreed


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """Evaluators as raters of the same outputs. ``level``: how far two scores are apart; kappa's weights follow it.

    ``decimals``: to which scores were rounded first, ``None``: they were not.
    """

    job: JobReference
    evaluators: tuple[str, ...]
    level: str
    decimals: int | None
    alpha: Agreed
    kappas: tuple[Kappa, ...]


@dataclass(frozen=True, kw_only=True)
class Moment:
    """One job of a history. ``average`` is ``None`` where nothing is scored. ``coverage``: scored of expected;
    ``None``: nothing is.
    """

    job: JobReference
    created_at: datetime
    average: Average | None
    coverage: float | None


@dataclass(frozen=True, kw_only=True)
class Turn:
    """From this job on the level is another. ``before`` and ``after``: means up to the next change on each side."""

    job: UUID
    before: float
    after: float
    p: float


@dataclass(frozen=True, kw_only=True)
class Series:
    """One evaluator over jobs in the order of their submission. Jobs with nothing scored are in no change."""

    evaluator: str
    moments: tuple[Moment, ...]
    changes: tuple[Turn, ...]


@dataclass(frozen=True, kw_only=True)
class History:
    """Jobs over time. ``same_version``: whether all judged one dataset version; else means are of other examples."""

    series: tuple[Series, ...]
    same_version: bool
