"""One job's scores: how they are spread, what repeats of an example make of them, how far evaluators agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from typing import TYPE_CHECKING

from proctor.analysis.errors import AnalysisError, ScoresInvalid, StatisticUndefined
from proctor.jobs.analyses.books import Book, Shelf, chosen, reference_of
from proctor.jobs.analyses.segmenting import average_of
from proctor.jobs.analyses.values import Agreed, Agreement, Chance, Kappa, Repeats, Spread
from proctor.jobs.errors import JobInvalid
from proctor.jobs.values import Job

if TYPE_CHECKING:
    from proctor.analysis import agreement
    from proctor.analysis.alpha import Level
    from proctor.analysis.arrays import Vector, np, npt

__all__ = ["agreed", "repeated", "spread"]

KS: int = 20
"""Numbers of repeats that are asked for at once: a table has no more rows."""
LARGEST_K: int = 1_000
"""As many repeats as an example can have."""
RATERS: int = 20
"""Evaluators of one table: 190 pairs, and a column of floats of each."""
RATINGS: int = 200_000_000
"""Of all evaluators together: 1.6 GB of floats."""
DECIMALS: int = 2
"""At most, of rounded scores: 0 to 1 then has 101 steps, as many as agreement takes."""


def spread(shelf: Shelf, job: Job, evaluators: Sequence[str] = ()) -> list[Spread]:
    """Each evaluator's scores as they are spread.

    Raises ``JobInvalid``, ``StatsExtraMissing``, ``DataExtraMissing``, ``ObjectMissing``.
    """
    names = chosen(job, evaluators)
    with shelf.opened(job) as book:
        return [_spread(name, book.scores(job, name)[0]) for name in names]


def _spread(evaluator: str, scores: Vector) -> Spread:
    from proctor.analysis.distributions import describe

    if not len(scores):
        none: dict[str, None] = dict.fromkeys(("low", "high", "deviation"))
        return Spread(
            evaluator=evaluator, count=0, **none, quantiles={}, edges=(), counts=(), undefined="There are no scores."
        )
    found = describe(scores)
    return Spread(
        evaluator=evaluator,
        count=found.count,
        low=found.low,
        high=found.high,
        deviation=found.deviation,
        quantiles={f"{share:g}": value for share, value in found.quantiles},
        edges=found.edges,
        counts=found.counts,
        undefined=None,
    )


def repeated(shelf: Shelf, job: Job, ks: Sequence[int], evaluators: Sequence[str] = ()) -> list[Repeats]:
    """pass@k and pass^k of each k and evaluator, over the examples with a score.

    Raises ``StatisticUndefined`` or ``ScoresInvalid`` where no evaluator has them, with the first's reason;
    ``JobInvalid``, ``StatsExtraMissing``, ``DataExtraMissing``, ``ObjectMissing``.
    """
    names = chosen(job, evaluators)
    if not 1 <= len(ks) <= KS or max(ks) > LARGEST_K:
        raise JobInvalid(f"Give 1 to {KS} numbers of repeats, each up to {LARGEST_K:,}.", where="k")
    found: list[Repeats] = []
    refusals: list[AnalysisError] = []
    with shelf.opened(job) as book:
        for name in names:
            try:
                found.append(_repeats(book, job, ks, name))
            except (StatisticUndefined, ScoresInvalid) as error:
                refusals.append(error)
                found.append(Repeats(evaluator=name, examples=0, chances=(), undefined=error.message))
    if len(refusals) == len(names):
        raise refusals[0]
    return found


def _repeats(book: Book, job: Job, ks: Sequence[int], evaluator: str) -> Repeats:
    from proctor.analysis.repeats import pass_at_k, pass_hat_k

    words = {"job": str(job.id), "evaluator": evaluator}
    if partial := book.number("count_partial_scores", **words):
        raise ScoresInvalid(
            f"{partial:,} scores of {evaluator} are neither 0 nor 1.",
            where="evaluator",
            remedy="Name an evaluator that passes or fails.",
        )
    found = book.run("passes", **words).fetchnumpy()
    passed, trials = found["passed"], found["trials"]
    chances = [
        Chance(
            k=k,
            any=average_of(pass_at_k(passed, trials, k).mean),
            all=average_of(pass_hat_k(passed, trials, k).mean),
        )
        for k in ks
    ]
    return Repeats(evaluator=evaluator, examples=len(trials), chances=tuple(chances), undefined=None)


# --- agreement --------------------------------------------------------------------------------------------------------


def agreed(
    shelf: Shelf, job: Job, evaluators: Sequence[str] = (), *, level: str | None = None, decimals: int | None = None
) -> Agreement:
    """Krippendorff's alpha over all evaluators, and Cohen's kappa of each two.

    ``level``: nominal, ordinal, interval or ratio; without one nominal where every score is 0 or 1, else interval.
    Kappa's weights are quadratic but for nominal. ``decimals``: round scores first, 0 to 2. Raises ``JobInvalid`` for
    fewer than two evaluators, ``ScoresInvalid`` for more than 101 different scores, ``StatsExtraMissing``,
    ``DataExtraMissing``, ``ObjectMissing``.
    """
    from proctor.analysis.alpha import Level

    names = _raters(job, evaluators)
    if level is not None and level not in list(Level):
        raise JobInvalid(f"{level[:100]!r} is no level.", where="level", remedy=f"Choose from {', '.join(Level)}.")
    if decimals is not None and not 0 <= decimals <= DECIMALS:
        raise JobInvalid(f"Scores are rounded to 0 to {DECIMALS} decimals.", where="decimals")
    with shelf.opened(job) as book:
        table = _table(book, job, names, decimals)
    measured = _level(table) if level is None else Level(level)
    return Agreement(
        job=reference_of(job),
        evaluators=tuple(names),
        level=measured.value,
        decimals=decimals,
        alpha=_alpha(table, measured),
        kappas=tuple(
            Kappa(a=names[one], b=names[other], kappa=_kappa(table[:, one], table[:, other], measured))
            for one, other in combinations(range(len(names)), 2)
        ),
    )


def _raters(job: Job, evaluators: Sequence[str]) -> list[str]:
    names = chosen(job, evaluators)
    if not 2 <= len(names) <= RATERS:
        raise JobInvalid(
            f"{len(names)} of {job.name}'s evaluators can't be set beside each other.",
            where="evaluator",
            remedy=f"Name 2 to {RATERS} of them.",
        )
    if job.cut.rows * job.cut.repeats * len(names) > RATINGS:
        raise JobInvalid("There are too many ratings to look at together.", where="evaluator", remedy="Name fewer.")
    return names


def _table(book: Book, job: Job, names: Sequence[str], decimals: int | None) -> npt.NDArray[np.float64]:
    """Results by evaluators; NaN where one gave no score."""
    from proctor.analysis.arrays import np

    table = np.full((job.cut.rows * job.cut.repeats, len(names)), np.nan)
    for number, name in enumerate(names):
        found = book.run("ratings", job=str(job.id), evaluator=name, rows=job.cut.rows).fetchnumpy()
        table[found["place"], number] = found["score"]
    return table if decimals is None else np.round(table, decimals)


def _level(table: npt.NDArray[np.float64]) -> Level:
    from proctor.analysis.alpha import Level
    from proctor.analysis.arrays import np

    return Level.NOMINAL if (np.isnan(table) | (table == 0) | (table == 1)).all() else Level.INTERVAL


def _alpha(table: npt.NDArray[np.float64], level: Level) -> Agreed:
    from proctor.analysis.agreement import krippendorff_alpha

    return _told(lambda: krippendorff_alpha(table, level))


def _kappa(a: Vector, b: Vector, level: Level) -> Agreed:
    from proctor.analysis.agreement import Weighting, cohen_kappa
    from proctor.analysis.alpha import Level
    from proctor.analysis.arrays import np

    both = ~(np.isnan(a) | np.isnan(b))
    _, codes = np.unique(np.concatenate([a[both], b[both]]), return_inverse=True)
    middle = len(codes) // 2
    weighting = Weighting.NONE if level is Level.NOMINAL else Weighting.QUADRATIC
    return _told(lambda: cohen_kappa(codes[:middle], codes[middle:], weighting=weighting))


def _told(computed: Callable[[], agreement.Agreement]) -> Agreed:
    try:
        found = computed()
    except StatisticUndefined as error:
        return Agreed(value=None, interval=None, items=0, undefined=error.message)
    return Agreed(value=found.value, interval=found.interval, items=found.items, undefined=None)
