"""The libraries of statistics, asked for before they are imported."""

from __future__ import annotations

from importlib.util import find_spec

from proctor.analysis.errors import StatsExtraMissing

__all__ = ["need_stats_extra"]

_STATS: tuple[str, ...] = ("numpy", "scipy", "statsmodels", "evalica")


def need_stats_extra() -> None:
    """Raises ``StatsExtraMissing`` where one is not installed."""
    missing = [name for name in _STATS if find_spec(name) is None]
    if missing:
        raise StatsExtraMissing(f"{' and '.join(missing)} is missing.")
