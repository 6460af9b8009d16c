"""Drawings as inline SVG. They take no style of their own: the page's sheet colours them, in both themes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from proctor.engine.numbers import Rates
from proctor.reports.formats import interval, percent
from proctor.reports.html.markup import text
from proctor.reports.html.palette import HOLLOW, css_class

__all__ = ["DEFINITIONS", "Segment", "axis", "rates_plot", "stacked_bar"]

_WIDTH: int = 160
_PAD: int = 6
"""Room at both ends, so that a point at 0 or 100 is a whole point."""

DEFINITIONS: str = (
    '<svg class="defs" width="0" height="0" aria-hidden="true"><defs>'
    '<pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
    '<rect class="gap" width="2.4" height="5"/></pattern></defs></svg>'
)
"""What drawings refer to: stripes of the page's colour that open a fill."""


def _at(rate: float) -> str:
    return f"{_PAD + rate * (_WIDTH - 2 * _PAD):.1f}"


def axis() -> str:
    """The scale of ``rates_plot``, for the head of its column."""
    marks = "".join(
        f'<text x="{_at(mark / 100)}" y="11" text-anchor="{anchor}">{mark}</text>'
        for mark, anchor in ((0, "start"), (50, "middle"), (100, "end"))
    )
    return f'<svg class="axis" width="{_WIDTH}" height="14" aria-hidden="true">{marks}</svg>'


def rates_plot(rates: Rates) -> str:
    """Strict as a point with its interval, graded as a ring, the bounds as a band, between 0 and 100 %."""
    lines = "".join(f'<path class="grid" d="M{_at(mark)} 0v22"/>' for mark in (0, 0.5, 1))
    parts = [lines]
    if rates.bounds is not None and rates.bounds.high > rates.bounds.low:
        width = (rates.bounds.high - rates.bounds.low) * (_WIDTH - 2 * _PAD)
        parts.append(f'<rect class="band" x="{_at(rates.bounds.low)}" y="5" width="{width:.1f}" height="12"/>')
    if rates.interval is not None:
        low, high = _at(rates.interval.low), _at(rates.interval.high)
        parts.append(f'<path class="whisker" d="M{low} 11H{high}M{low} 7v8M{high} 7v8"/>')
    if rates.graded is not None and rates.graded != rates.strict:
        parts.append(f'<circle class="ring" cx="{_at(rates.graded)}" cy="11" r="3.5"/>')
    if rates.strict is not None:
        parts.append(f'<circle class="point" cx="{_at(rates.strict)}" cy="11" r="4"/>')
    label = _rates_label(rates)
    return f'<svg class="rates" width="{_WIDTH}" height="22" role="img" aria-label="{label}">{"".join(parts)}</svg>'


def _rates_label(rates: Rates) -> str:
    if rates.strict is None or rates.interval is None or rates.bounds is None:
        return "no cells"
    return (
        f"strict {percent(rates.strict)}, 95 % interval {interval(rates.interval.low, rates.interval.high)}, "
        f"graded {percent(rates.graded)}, bounds {interval(rates.bounds.low, rates.bounds.high)}"
    )


@dataclass(frozen=True, kw_only=True)
class Segment:
    """A part of a stacked bar; open where no verdict stands behind it."""

    outcome: str
    owner: str
    cells: int
    is_open: bool
    target: str


def stacked_bar(segments: Sequence[Segment], *, height: int, label: str) -> str:
    """Parts of a whole, each a link to its cells."""
    total = sum(one.cells for one in segments) or 1
    parts: list[str] = []
    before = 0
    for one in segments:
        parts.append(_segment(one, before / total * 100, one.cells / total * 100, height))
        before += one.cells
    head = f'<svg class="bar" width="100%" height="{height}" role="group" aria-label="{text(label)}">'
    return f"{head}{''.join(parts)}</svg>"


def _segment(one: Segment, start: float, width: float, height: int) -> str:
    name = text(f"{one.outcome}, {one.owner}: {one.cells:,}" + (" owed" if one.is_open else ""))
    place = f'x="{start:.3f}%" width="{width:.3f}%" height="{height}"'
    kind = css_class(one.outcome)
    opened = f'<rect {place} fill="url(#hatch)"/>' if one.is_open and kind not in HOLLOW else ""
    return (
        f'<a href="#{one.target}" class="{kind}" aria-label="{name}"><title>{name}</title>'
        f'<rect class="fill" {place}/>{opened}</a>'
    )
