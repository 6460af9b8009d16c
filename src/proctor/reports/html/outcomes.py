"""What became of the cells: classes by owner, those with a verdict solid, those still owed open."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from proctor.engine.leaderboards import ClassCount
from proctor.engine.outcomes import OutcomeClass, Owner
from proctor.reports.html.charts import Segment, stacked_bar
from proctor.reports.html.markup import chip, count, scrollable, text, word
from proctor.reports.html.palette import css_class
from proctor.reports.html.view import ProfileView, View

__all__ = ["outcomes"]

_OWNERS: tuple[str, ...] = (*(owner.value for owner in Owner), "nothing yet")
_CLASSES: tuple[str, ...] = tuple(one.value for one in OutcomeClass)


def outcomes(view: View) -> str:
    """One bar for everything with its legend, and one for each profile where there are several."""
    merged = _segments("only", (one for row in view.board.rows for one in row.classes))
    if not merged:
        return "<p>No cell is expected, so nothing became of any.</p>"
    label = "All cells by class: " + ", ".join(f"{word(one.outcome)} {one.cells:,}" for one in merged)
    several = _by_profile(view) if len(view.board.rows) > 1 else ""
    return stacked_bar(_linked(view, merged), height=28, label=label) + _legend(view, merged) + several


def _segments(scope: str, classes: Iterable[ClassCount]) -> list[Segment]:
    """Verdicts first, then what is owed, by owner and class."""
    sums: Counter[tuple[str, str, bool]] = Counter()
    for one in classes:
        owner = "nothing yet" if one.outcome == "not_started" else one.owner
        sums[one.outcome, owner, one.decided] += one.cells
    parts = [
        Segment(
            outcome=outcome,
            owner=owner,
            cells=cells,
            is_open=not decided,
            target=f"{scope}-{css_class(outcome)}",
        )
        for (outcome, owner, decided), cells in sums.items()
    ]
    return sorted(parts, key=lambda one: (one.is_open, _place(_OWNERS, one.owner), _place(_CLASSES, one.outcome)))


def _place(order: Sequence[str], value: str) -> tuple[int, str]:
    return (order.index(value) if value in order else len(order), value)


def _linked(view: View, segments: Sequence[Segment]) -> list[Segment]:
    """Segments whose cells are not drawn lead to the section's head instead."""
    return [one if one.target in view.anchors else _redirected(one) for one in segments]


def _redirected(one: Segment) -> Segment:
    return Segment(outcome=one.outcome, owner=one.owner, cells=one.cells, is_open=one.is_open, target="cells")


def _legend(view: View, segments: Sequence[Segment]) -> str:
    groups: dict[tuple[bool, str], list[Segment]] = {}
    for one in segments:
        groups.setdefault((one.is_open, one.owner), []).append(one)
    items = "".join(
        f"<div><dt>{'owed' if is_open else 'verdict'} · {text(owner)}</dt>"
        f"<dd>{' '.join(_entry(view, one) for one in parts)}</dd></div>"
        for (is_open, owner), parts in groups.items()
    )
    return f'<dl class="legend">{items}</dl>'


def _entry(view: View, one: Segment) -> str:
    return view.link(one.target, chip(one.outcome, f" <b>{count(one.cells)}</b>"))


def _by_profile(view: View) -> str:
    lines = "".join(_profile_line(view, profile) for profile in view.profiles if profile.row is not None)
    heads = (("Profile", ""), ("Cells by class", ""), ("Owed", "n"))
    head = "".join(f'<th scope="col" class="{kind}">{name}</th>' for name, kind in heads)
    caption = "<caption>Cells by class for each profile</caption>"
    table = f'<table class="bars">{caption}<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>'
    return scrollable("Cells by class for each profile", table)


def _profile_line(view: View, profile: ProfileView) -> str:
    row = profile.row
    segments = _segments(profile.anchor, row.classes if row else ())
    owed = sum(one.cells for one in segments if one.is_open)
    label = f"{profile.name}: " + ", ".join(f"{word(one.outcome)} {one.cells:,}" for one in segments)
    shown = view.link(f"{profile.anchor}-owed", count(owed)) if owed else "none"
    return (
        f'<tr><th scope="row" title="{text(profile.name)}">{view.link(profile.anchor, text(profile.name))}</th>'
        f'<td>{stacked_bar(_linked(view, segments), height=14, label=label)}</td><td class="n">{shown}</td></tr>'
    )
