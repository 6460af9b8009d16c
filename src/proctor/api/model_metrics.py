"""Metrics of calls of models. Labels are providers, ends and purposes: no model's name, and nobody's business."""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from prometheus_client.core import GaugeMetricFamily, Metric
from sqlalchemy import Connection

from proctor.models.spending.accounts import OpenSlices
from proctor.models.spending.lately import CalledLately, called_lately, left_slices

__all__ = ["CallTallies", "of_tenant"]

_BUCKETS = ("input", "cache_read", "cache_write", "output", "reasoning")
_DOLLAR = 1_000_000_000


def of_tenant(
    connection: Connection, tenant: UUID, living: Collection[tuple[str, int]]
) -> tuple[list[CalledLately], list[OpenSlices]]:
    """A tenant's calls of the last minutes, and what dead processes hold of its budgets; ``living``: the workers."""
    return called_lately(connection, tenant), left_slices(connection, tenant, living)


@dataclass(kw_only=True)
class CallTallies:
    """What is counted over all tenants."""

    _calls: Tally[tuple[str, str, str]] = field(default_factory=Tally)
    _tokens: Tally[tuple[str, str]] = field(default_factory=Tally)
    _of_provider: dict[str, Tally[str]] = field(default_factory=dict)
    _left: Tally[str] = field(default_factory=Tally)

    def add(self, calls: Iterable[CalledLately], left: Iterable[OpenSlices]) -> None:
        """A tenant's."""
        for row in calls:
            self._take(row)
        for held in left:
            self._left.update(slices=held.slices, nano=held.amount_nano)

    def _take(self, row: CalledLately) -> None:
        self._calls[(row.provider, row.ended_as, row.purpose)] += row.calls
        for bucket in _BUCKETS:
            self._tokens[(row.provider, bucket)] += getattr(row, f"{bucket}_tokens")
        sums = self._of_provider.setdefault(row.provider, Tally())
        sums.update(nano=row.cost_nano, unpriced=row.unpriced, overruns=row.overruns)

    def families(self) -> list[Metric]:
        """All of them."""
        by_provider = sorted(self._of_provider.items())
        dollars = [((name,), sums["nano"] / _DOLLAR) for name, sums in by_provider]
        unpriced = [((name,), sums["unpriced"]) for name, sums in by_provider]
        overruns = [((name,), sums["overruns"]) for name, sums in by_provider]
        return [
            _family(
                "calls_recent", "Calls that ended in the last minutes", "provider end purpose", self._calls.items()
            ),
            _family("tokens_recent", "Their tokens, as far as they are known", "provider bucket", self._tokens.items()),
            _family("cost_usd_recent", "What those cost whose cost is known", "provider", dollars),
            _family("calls_unpriced_recent", "Those whose cost is not known", "provider", unpriced),
            _family("overruns_recent", "Those that cost more than was reserved for them", "provider", overruns),
            _single("proctor_budget_slices_left", "Parts of budgets that dead processes hold", self._left["slices"]),
            _single("proctor_budget_left_usd", "What is in them, in dollars", self._left["nano"] / _DOLLAR),
        ]


def _family(name: str, told: str, labels: str, values: Iterable[tuple[Sequence[str], float]]) -> Metric:
    family = GaugeMetricFamily(f"proctor_model_{name}", told, labels=labels.split())
    for of, value in sorted(values):
        family.add_metric(of, value)
    return family


def _single(name: str, told: str, value: float) -> Metric:
    family = GaugeMetricFamily(name, told)
    family.add_metric([], value)
    return family
