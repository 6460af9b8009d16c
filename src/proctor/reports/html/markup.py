"""Text from outside on its way into a page, and the few pieces of markup that stand everywhere."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from html import escape

from proctor.reports.formats import UNKNOWN
from proctor.reports.html.palette import css_class

__all__ = ["chip", "count", "instant", "isolated", "link", "points", "scrollable", "text", "unknown", "word"]

_UNSHOWABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]")
"""Control characters, halves of surrogate pairs, and marks that turn the reading direction of what follows."""


def text(value: object) -> str:
    """Any string as text or attribute value: nothing in it is markup, nothing in it moves what stands around it."""
    return escape(_UNSHOWABLE.sub("\ufffd", str(value)), quote=True)


def isolated(value: str) -> str:
    """A name within a sentence, whatever its script."""
    return f"<bdi>{text(value)}</bdi>"


def link(target: str, label: str) -> str:
    """A link within the page. ``target`` is one of our own ids, ``label`` is markup."""
    return f'<a href="#{target}">{label}</a>'


def count(number: int) -> str:
    """``4,752``."""
    return f"{number:,}"


def unknown(reason: str) -> str:
    """The em dash with why there is no number."""
    return f'<abbr title="{text(reason)}">{UNKNOWN}</abbr>'


def word(outcome: str) -> str:
    """A class as it is read: ``agent_limit`` stays, ``not_started`` is two words."""
    return "not started" if outcome == "not_started" else outcome


def chip(outcome: str, after: str = "") -> str:
    """Glyph and word of a class, with a count behind them."""
    return f'<span class="chip {css_class(outcome)}">{text(word(outcome))}{after}</span>'


def instant(when: datetime) -> str:
    """A point in time, in UTC."""
    utc = when.astimezone(UTC)
    shown = f"{utc.day} {utc:%b %Y, %H:%M} UTC"
    return f'<time datetime="{utc.isoformat(timespec="seconds")}">{shown}</time>'


def points(value: float) -> str:
    """A difference of rates in percentage points, with its sign: ``−3.1``."""
    return f"{value * 100:+.1f}".replace("-", "−")


def scrollable(label: str, content: str, kind: str = "") -> str:
    """A box that scrolls sideways, by keyboard too, so that the page does not."""
    return f'<div class="scroll {kind}" tabindex="0" role="region" aria-label="{text(label)}">{content}</div>'
