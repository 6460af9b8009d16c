"""What a profile cost against how often it passed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from proctor.engine.leaderboards import LeaderboardRow
from proctor.kernel.money import NANO
from proctor.reports.formats import cost, interval, percent
from proctor.reports.html.markup import isolated, scrollable, text

__all__ = ["cost_section"]

_LEFT, _RIGHT, _TOP, _BOTTOM = 44, 20, 14, 36
_WIDTH, _HEIGHT = 720, 320
_GLYPH: float = 6.4
"""Width of a letter at 11 px, to keep labels apart."""

LABELS_UP_TO: int = 12
"""Profiles up to which every point is named; above, only those that nobody beats on both axes."""

LOG_FROM: float = 20.0
"""Ratio of the largest to the smallest cost from which the axis is logarithmic."""


@dataclass(frozen=True, kw_only=True)
class _Point:
    row: LeaderboardRow
    dollars: float
    strict: float
    x: float
    y: float


def cost_section(rows: Sequence[LeaderboardRow]) -> str:
    """The chart, or one sentence where there is nothing to draw."""
    known = [row for row in rows if row.usage.cost_nano is not None and row.rates.strict is not None]
    if not known:
        return "<p>Costs are unknown: no attempt reported one.</p>"
    points = _points(known)
    silent = [row.profile for row in rows if row.usage.cost_nano is None]
    partial = any((row.usage.coverage or 0) < 1 for row in known)
    note = "Cost of all attempts behind a profile's cells; whiskers are 95 % intervals of the strict rate."
    note += " An arrow to the right: at least so much, not every attempt reported." if partial else ""
    if silent:
        note += f" Cost unknown, not drawn: {', '.join(isolated(name) for name in silent)}."
    return scrollable("Cost against strict rate", _chart(points)) + f'<p class="note">{note}</p>'


def _points(rows: Sequence[LeaderboardRow]) -> list[_Point]:
    costs = [(row.usage.cost_nano or 0) / NANO for row in rows]
    scale = _Scale(costs)
    return [
        _Point(
            row=row,
            dollars=dollars,
            strict=row.rates.strict or 0.0,
            x=scale.at(dollars),
            y=_y(row.rates.strict or 0.0),
        )
        for row, dollars in zip(rows, costs, strict=True)
    ]


class _Scale:
    """Dollars to pixels: from 0, or logarithmic where costs are far apart."""

    def __init__(self, dollars: Sequence[float]) -> None:
        low, high = min(dollars), max(dollars)
        self.log = low > 0 and high / low >= LOG_FROM
        self.low = 10 ** math.floor(math.log10(low)) if self.log else 0.0
        self.high = 10 ** math.ceil(math.log10(high)) if self.log else _round_up(high)

    def at(self, dollars: float) -> float:
        """The place of an amount."""
        share = math.log(dollars / self.low) / math.log(self.high / self.low) if self.log else dollars / self.high
        return _LEFT + share * (_WIDTH - _LEFT - _RIGHT)

    def marks(self) -> list[float]:
        """Where the axis has numbers."""
        if self.log:
            decades = round(math.log10(self.high / self.low))
            return [self.low * 10**step for step in range(decades + 1)]
        return [self.high * step / 4 for step in range(5)]


def _round_up(value: float) -> float:
    """The next amount that divides well by four."""
    if value <= 0:
        return 1.0
    size = 10.0 ** math.floor(math.log10(value))
    return next(step * size for step in (1, 2, 4, 8, 10) if step * size >= value)


def _y(rate: float) -> float:
    return _TOP + (1 - rate) * (_HEIGHT - _TOP - _BOTTOM)


def _chart(points: Sequence[_Point]) -> str:
    scale = _Scale([point.dollars for point in points])
    parts = [*_grid(scale), *(_mark(point) for point in points), *_labels(points)]
    label = "Cost against strict rate: " + "; ".join(_words(point) for point in points)
    return (
        f'<svg class="scatter" width="{_WIDTH}" height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" '
        f'aria-label="{text(label)}">{"".join(parts)}</svg>'
    )


def _grid(scale: _Scale) -> Iterator[str]:
    for mark in (0, 25, 50, 75, 100):
        y = _y(mark / 100)
        yield f'<path class="grid" d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}"/>'
        yield f'<text x="{_LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{mark}%</text>'
    base = _HEIGHT - _BOTTOM
    for dollars in scale.marks():
        x = scale.at(dollars)
        yield f'<path class="grid" d="M{x:.1f} {_TOP}V{base}"/>'
        yield f'<text x="{x:.1f}" y="{base + 16}" text-anchor="middle">${dollars:,.10g}</text>'
    kind = "cost, logarithmic" if scale.log else "cost"
    yield f'<text x="{_WIDTH - _RIGHT}" y="{base + 32}" text-anchor="end">{kind} →</text>'


def _mark(point: _Point) -> str:
    whisker = ""
    if point.row.rates.interval is not None:
        high, low = _y(point.row.rates.interval.high), _y(point.row.rates.interval.low)
        whisker = f'<path class="whisker thin" d="M{point.x:.1f} {high:.1f}V{low:.1f}"/>'
    arrow = ""
    if (point.row.usage.coverage or 0) < 1:
        arrow = f'<path class="whisker" d="M{point.x + 5:.1f} {point.y:.1f}h9m-3 -3l3 3l-3 3"/>'
    dot = f'<circle class="point" cx="{point.x:.1f}" cy="{point.y:.1f}" r="4.5"/>'
    return f"<g><title>{text(_words(point))}</title>{whisker}{arrow}{dot}</g>"


def _words(point: _Point) -> str:
    row = point.row
    between = f" ({interval(row.rates.interval.low, row.rates.interval.high)})" if row.rates.interval else ""
    counts = row.rates.counts
    return (
        f"{row.profile} {cost(row.usage.cost_nano, row.usage.coverage)}, "
        f"strict {percent(row.rates.strict)}{between}, {counts.passed}/{counts.expected}"
    )


def _labels(points: Sequence[_Point]) -> Iterator[str]:
    """Names beside their points, where there is room for them."""
    taken: list[tuple[float, float, float, float]] = [(p.x - 6, p.y - 6, p.x + 6, p.y + 6) for p in points]
    for point in _named(points):
        name = point.row.profile if len(point.row.profile) <= 32 else f"{point.row.profile[:31]}…"
        for x, y in _places(point, len(name) * _GLYPH):
            box = (x, y - 9, x + len(name) * _GLYPH, y + 3)
            if not any(_overlap(box, other) for other in taken):
                taken.append(box)
                yield f'<text class="name" x="{x:.1f}" y="{y:.1f}">{text(name)}</text>'
                break


def _named(points: Sequence[_Point]) -> list[_Point]:
    if len(points) <= LABELS_UP_TO:
        return list(points)
    return [
        one
        for one in points
        if not any(o.dollars <= one.dollars and o.strict >= one.strict and o is not one for o in points)
    ]


def _places(point: _Point, width: float) -> Iterator[tuple[float, float]]:
    partial = (point.row.usage.coverage or 0) < 1
    for shift in (4, -6, 14, -16, 24):
        for x in (point.x + (18 if partial else 9), point.x - 9 - width):
            if x >= _LEFT and x + width <= _WIDTH and _TOP <= point.y + shift <= _HEIGHT - _BOTTOM:
                yield x, point.y + shift


def _overlap(one: tuple[float, float, float, float], other: tuple[float, float, float, float]) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
