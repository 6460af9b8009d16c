"""What keeps a number from being computed.

ProctorError
└── UsageError
    └── AnalysisError           the root: no number is given
        ├── StatisticUndefined  the data do not define it
        ├── ScoresInvalid       what was given is not what a statistic can be computed from
        └── StatsExtraMissing   the libraries are not installed
"""

from __future__ import annotations

from proctor.kernel.errors import UsageError

__all__ = ["AnalysisError", "ScoresInvalid", "StatisticUndefined", "StatsExtraMissing"]


class AnalysisError(UsageError):
    """A statistic could not be computed."""

    code = "analysis"
    remedy = "docs/reference/statistics.md says what each statistic needs."


class StatisticUndefined(AnalysisError):
    """The data do not define this statistic."""

    code = "statistic-undefined"
    remedy = "More data are needed; docs/reference/statistics.md says of which kind."


class ScoresInvalid(AnalysisError):
    """No statistic can be computed from what was given."""

    code = "scores-invalid"
    remedy = "Give finite numbers, one for each item, in columns of the same length."


class StatsExtraMissing(AnalysisError):
    """Statistics need an extra that is not installed."""

    code = "stats-extra"
    remedy = "Install Proctor with it: pip install -e '.[stats]' in its folder."
