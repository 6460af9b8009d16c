"""A comparison for a terminal: the difference with its interval, the test, what follows, and what was left out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from proctor.reports.formats import UNKNOWN, cost, cost_difference, one_line, p_value, percent, points, policy_words
from proctor.reports.tables import table

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table

    from proctor.analysis.intervals import Interval
    from proctor.engine.pairs import Comparison, FieldDifference, Pair, PairSegments, Segment

__all__ = [
    "comparison_parts",
    "cost_line",
    "difference_lines",
    "flip_lines",
    "policy_lines",
    "segment_parts",
    "test_line",
]

SHOWN: int = 20
"""Tasks and cells listed of each kind; the rest is counted, and --json has all."""
VALUE: int = 60
"""Characters of a configuration value that are shown."""


def comparison_parts(comparison: Comparison) -> list[RenderableType]:
    """Every pair in the order it was asked for, then who had no partner."""
    parts: list[RenderableType] = []
    for pair in comparison.pairs:
        parts.extend(_pair(pair, comparison))
    parts.extend(Text(one_line(line), style="yellow") for line in comparison.without_partner)
    return parts


def _pair(pair: Pair, comparison: Comparison) -> Iterator[RenderableType]:
    yield Text(f"{pair.a.title} against {pair.b.title} · {pair.tasks} tasks paired", style="bold")
    for line in difference_lines(pair):
        yield Text(f"  {line}")
    yield Text(f"  {test_line(pair, comparison.tests, comparison.alpha)}")
    yield Text(f"  {pair.finding}", style="bold")
    for line in (*_bounds(pair), *flip_lines(pair), cost_line(pair), *policy_lines(pair)):
        yield Text(f"  {line}")
    for field in pair.fields:
        yield Text(f"  differs: {_field(field)}")
    yield Text(f"  {pair.claim}", style="yellow" if len(pair.fields) > 1 else "")
    if pair.unpaired:
        yield Text(f"  {pair.unpaired_cells} cells are unpaired:", style="yellow")
        yield _unpaired(pair)


def difference_lines(pair: Pair) -> list[str]:
    """``graded 75.0% (8 cells) and 87.5% (8 cells): −12.5 points, 95 % −37.0 to +12.0``, and the same of strict."""
    sides = [f"{percent(side.mean)} ({side.decided} cells)" for side in (pair.a, pair.b)]
    lines = [f"graded {sides[0]} and {sides[1]}: {_difference(pair.difference, pair.interval)}"]
    if pair.strict is not None:
        shares = f"{percent(pair.strict.a)} and {percent(pair.strict.b)} over {pair.strict.tasks} tasks"
        lines.append(f"strict {shares}: {_difference(pair.strict.difference, pair.strict.interval)}")
    return lines


def _difference(mean: float | None, known: Interval | None) -> str:
    spread = f"95 % {points(known.low)} to {points(known.high)}" if known else "no interval from under two tasks"
    return f"{points(mean)} points, {spread}"


def test_line(pair: Pair, pairs: int, alpha: float) -> str:
    """The test with its p, adjusted where there were several pairs, and the seed where signs were drawn."""
    if pair.test is None:
        return "no test: the very same cells" if pair.same_cells else "no test: nothing is paired"
    adjusted = f", {p_value(pair.p_adjusted)} after Holm over {pairs} pairs" if pairs > 1 else ""
    seed = f", seed {pair.test.seed}" if pair.test.seed is not None else ""
    counts = f"better on {pair.test.better}, worse on {pair.test.worse}"
    return f"{pair.test.name}{seed}: p {p_value(pair.test.p)}{adjusted}, alpha {alpha:g}; {counts}"


def _bounds(pair: Pair) -> Iterator[str]:
    if pair.worst is not None and pair.best is not None and pair.worst != pair.best:
        low, high = points(pair.worst.difference), points(pair.best.difference)
        yield f"the missing verdicts can make it {low} to {high} points"


def flip_lines(pair: Pair) -> list[str]:
    """Tasks that one side solves and the other does not, in both directions."""
    found = ((pair.a.title, pair.only_a), (pair.b.title, pair.only_b))
    return [f"solved only by {title}: {len(names)}{_names(names)}" for title, names in found]


def _names(names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return f" ({', '.join(one_line(name) for name in names[:SHOWN])}{more})"


def cost_line(pair: Pair) -> str:
    """What the paired tasks cost on both sides; unknown stays unknown."""
    of = pair.cost
    sides = f"{cost(of.a_nano, None)} for {of.a_cells} cells and {cost(of.b_nano, None)} for {of.b_cells} cells"
    return f"cost {sides}, difference {cost_difference(of.difference_nano)}"


def policy_lines(pair: Pair) -> list[str]:
    """What both sides are judged by, where that is not what goes unsaid; where it is not the same, it differs."""
    ours, theirs = pair.a.policy_version, pair.b.policy_version
    words = policy_words(ours)
    return [f"both sides {words}"] if words and ours == theirs else []


def _field(field: FieldDifference) -> str:
    values = [UNKNOWN if value is None else one_line(str(value), at_most=VALUE) for value in (field.a, field.b)]
    return f"{one_line(field.field)}: {values[0]} and {values[1]}"


def _unpaired(pair: Pair) -> Table:
    made = table("task", "missing at", "cells", "reason", right=("cells",))
    for one in pair.unpaired[:SHOWN]:
        made.add_row(one_line(one.task), one.side, str(one.cells), one_line(one.reason))
    if len(pair.unpaired) > SHOWN:
        rest = pair.unpaired[SHOWN:]
        made.add_row(f"{len(rest)} more", "", str(sum(one.cells for one in rest)), "--json lists all")
    return made


def segment_parts(found: PairSegments) -> list[RenderableType]:
    """Two sides by what the authors of their tasks say of them: a row for each segment."""
    made = table(
        "", "segment", "tasks", found.a, found.b, "difference", "95 %", "p", "", right=("tasks", "difference", "p")
    )
    for one in found.segments:
        made.add_row(*_segment(one))
    parts: list[RenderableType] = [made]
    for field, tasks in found.unlabelled.items():
        if tasks:
            parts.append(Text(f"{tasks} tasks name no {field}", style="yellow"))
    for field, segments in found.left_out.items():
        if segments:
            parts.append(Text(f"{segments} more segments of {field} are not compared", style="yellow"))
    tests = sum(one.test is not None for one in found.segments)
    if tests > 1:
        parts.append(Text(f"p after Holm over {tests} segments, alpha {found.alpha:g}"))
    return parts


def _segment(one: Segment) -> tuple[str, ...]:
    known = one.interval
    return (
        one.field,
        one_line(one.label),
        str(one.tasks),
        percent(one.a),
        percent(one.b),
        points(one.difference),
        f"{points(known.low)} to {points(known.high)}" if known else UNKNOWN,
        UNKNOWN if one.p_adjusted is None else p_value(one.p_adjusted),
        one.finding,
    )
