"""Several trials of each task: does any of k pass, do all of k pass."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.analysis.arrays import Vector, column, np, npt, same_length
from proctor.analysis.errors import ScoresInvalid, StatisticUndefined
from proctor.analysis.means import Mean, Sums, mean_of, mean_of_sums
from proctor.analysis.samples import sample

__all__ = ["Repeated", "pass_at_k", "pass_hat_k"]

TRIALS: int = 100_000
"""Of one task: the product has a factor for each of k, and nobody runs a task so often."""


@dataclass(frozen=True, kw_only=True)
class Repeated:
    """pass@k or pass^k over tasks; its error is that of the mean of the tasks' estimates."""

    k: int
    mean: Mean


def pass_at_k(passed: npt.ArrayLike, trials: npt.ArrayLike, k: int) -> Repeated:
    """pass@k, the chance that one of k trials passes: the mean over tasks of 1 - C(n - c, k) / C(n, k).

    ``passed`` (c) and ``trials`` (n) are whole numbers, one of each a task. Unbiased (Chen et al. 2021, arXiv
    2107.03374). Raises ``StatisticUndefined`` where a task has fewer than k trials, and ``ScoresInvalid``.
    """
    c, n = _counts(passed, trials, k)
    return Repeated(k=k, mean=_rate(c, n) if _is_rate(n, k) else mean_of(sample(1 - _all_among(n - c, n, k))))


def pass_hat_k(passed: npt.ArrayLike, trials: npt.ArrayLike, k: int) -> Repeated:
    """pass^k, the chance that all of k trials pass: the mean over tasks of C(c, k) / C(n, k).

    As ``pass_at_k`` (Yao et al. 2024, tau-bench, arXiv 2406.12045), and raises the same.
    """
    c, n = _counts(passed, trials, k)
    return Repeated(k=k, mean=_rate(c, n) if _is_rate(n, k) else mean_of(sample(_all_among(c, n, k))))


def _is_rate(n: Vector, k: int) -> bool:
    """Whether it is the plain rate of passes, clustered by task: then it is told as everywhere else."""
    return k == 1 and bool((n == n[0]).all())


def _rate(c: Vector, n: Vector) -> Mean:
    trials, tasks = int(n.sum()), len(n)
    rate = float(c.sum()) / trials
    return mean_of_sums(
        Sums(
            items=trials,
            clusters=tasks,
            effective_clusters=float(tasks),
            mean=rate,
            spread=float(np.sum((c - n * rate) ** 2)),
            binary=True,
            clustered=n[0] > 1,
            weighted=False,
        )
    )


def _all_among(c: Vector, n: Vector, k: int) -> Vector:
    """C(c, k) / C(n, k) as a product of k ratios, none of which overflows."""
    share = np.ones(len(c))
    for drawn in range(k):
        share *= np.maximum(c - drawn, 0) / (n - drawn)
    return share


def _counts(passed: npt.ArrayLike, trials: npt.ArrayLike, k: int) -> tuple[Vector, Vector]:
    c, n = column(passed, "passed"), column(trials, "trials")
    same_length(len(c), len(n), "passed")
    if (c % 1).any() or (n % 1).any() or c.min() < 0 or (c > n).any():
        raise ScoresInvalid("Of a task's trials, from none to all pass.", where="passed", remedy="Give whole numbers.")
    if n.max() > TRIALS:
        raise ScoresInvalid(f"A task has at most {TRIALS:,} trials.", where="trials")
    if k < 1:
        raise ScoresInvalid("k is 1 or more.", where="k", remedy="Say how many trials are drawn of each task.")
    if n.min() < k:
        short = int(np.count_nonzero(n < k))
        raise StatisticUndefined(
            f"{short:,} tasks have fewer than {k} trials.", where="trials", remedy="Run more trials, or lower k."
        )
    return c, n
