"""Tables of evaluators."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table

from proctor.evaluators.rows import EvaluatorRow
from proctor.evaluators.suggesting import Suggestion
from proctor.kernel.money import exact_usd
from proctor.reports.formats import UNKNOWN
from proctor.reports.tables import table

__all__ = ["evaluators_table", "facts_line", "suggestions_table"]


def evaluators_table(rows: Sequence[EvaluatorRow]) -> Table:
    """Evaluators with what is known of them."""
    numbers = ("cost", "latency", "accuracy")
    made = table("evaluator", "type", *numbers, "allowed", "what it measures", right=numbers, whole=["evaluator"])
    for row in rows:
        told = (_cost(row.cost_nano), _latency(row.latency_sec), _share(row.accuracy))
        made.add_row(row.reference, row.type, *told, "yes" if row.allowed else "no", row.description)
    return made


def suggestions_table(suggestions: Sequence[Suggestion]) -> Table:
    """Suggestions, the best first, with their reasons."""
    numbers = ("fit", "cost of all", "accuracy")
    made = table("evaluator", *numbers, "why", right=numbers, whole=["evaluator"])
    for one in suggestions:
        told = (f"{one.fit:.2f}", _cost(one.cost_nano), _share(one.evaluator.accuracy))
        made.add_row(one.evaluator.reference, *told, "\n".join(one.reasons))
    return made


def facts_line(row: EvaluatorRow) -> str:
    """Cost, latency, accuracy and permission in one line; an em dash for what is not known."""
    source = f" ({row.accuracy_source})" if row.accuracy_source else ""
    return (
        f"cost {_cost(row.cost_nano)}, latency {_latency(row.latency_sec)}, accuracy {_share(row.accuracy)}{source}, "
        f"{'allowed' if row.allowed else 'not allowed'}"
    )


def _cost(nano: int | None) -> str:
    return "0" if nano == 0 else exact_usd(nano)


def _latency(seconds: float | None) -> str:
    if seconds is None:
        return UNKNOWN
    return f"{seconds * 1e6:,.1f} µs" if seconds < 0.001 else f"{seconds:,.3f} s"


def _share(share: float | None) -> str:
    return UNKNOWN if share is None else f"{share:.1%}"
