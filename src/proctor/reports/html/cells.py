"""Every cell with what there is to know of it, and the filters that a number's link opens. No script: the address
chooses what the style sheet shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from proctor.engine.outcomes import OutcomeClass
from proctor.engine.reading import CellRow
from proctor.kernel.words import counted
from proctor.reports.formats import UNKNOWN
from proctor.reports.html.markup import isolated, link, scrollable, text, word
from proctor.reports.html.palette import ABSENT, css_class
from proctor.reports.html.view import ProfileView, TaskView, View, kind_of, standing

__all__ = ["ALL_SHOWN", "cells_section", "filter_css"]

ALL_SHOWN: int = 600
"""Cells up to which all are listed at once, about twenty screens; above, a profile's open by a link to them."""

_STANDINGS: tuple[str, ...] = ("decided", "owed", "withdrawn")
_PHRASES: dict[str, str] = {
    "decided": "with a verdict",
    "owed": "without a verdict",
    "withdrawn": "withdrawn",
    "not_started": "not started",
}


def cells_section(view: View) -> str:
    """All cells by profile, with an anchor for each square, task, class and standing."""
    if not view.drawn:
        return "<p>There is no cell yet.</p>"
    kinds = _kinds(cell for profile in view.profiles for cells in profile.cells.values() for cell in cells)
    filters = [_filter("only", kind, number, "cells", "all cells") for kind, number in kinds.items()]
    filters += [_task_filter(task) for task in view.tasks if task.anchor in view.anchors]
    profiles = [_profile(view, profile) for profile in view.profiles if profile.cells]
    chosen = "" if view.drawn <= ALL_SHOWN else _chooser(view)
    return chosen + "".join(filters) + "".join(profiles)


def filter_css(tasks: Sequence[TaskView]) -> str:
    """The rules that show only what a link asked for."""
    kinds = dict.fromkeys([*_STANDINGS, *(one.value for one in OutcomeClass), *ABSENT])
    rules = [
        f".f-{kind}:target~* tr[class]:not(.{kind}),.f-{kind}:target~.p:not(:has(tr.{kind})){{display:none}}"
        for kind in kinds
    ]
    rules += [f'#{task.anchor}:target~.p tbody:not([id$="-{task.anchor}"]){{display:none}}' for task in tasks]
    return "\n".join(rules)


def _kinds(cells: Iterable[CellRow]) -> dict[str, int]:
    found: Counter[str] = Counter()
    for cell in cells:
        found.update({css_class(kind_of(cell)), standing(cell)})
    return dict(sorted(found.items()))


def _filter(scope: str, kind: str, number: int, whole: str, label: str) -> str:
    which = f"{_PHRASES[kind]}" if kind in _PHRASES else f"in class {word(kind)}"
    shown = f"Filtered: {counted(number, 'cell')} {which}."
    return f'<p class="f f-{kind}" id="{scope}-{kind}">{shown} {link(whole, f"Show {label}")}</p>'


def _task_filter(task: TaskView) -> str:
    shown = f"Filtered: cells of {isolated(task.name)}. {link('cells', 'Show all cells')}"
    return f'<p class="f" id="{task.anchor}">{shown}</p>'


def _chooser(view: View) -> str:
    names = " · ".join(link(one.anchor, isolated(one.name)) for one in view.profiles if one.cells)
    return f'<p class="choose">{counted(view.drawn, "cell")}. Cells of: {names}</p>'


def _profile(view: View, profile: ProfileView) -> str:
    own = [cell for cells in profile.cells.values() for cell in cells]
    filters = "".join(
        _filter(profile.anchor, kind, number, profile.anchor, "all of this profile")
        for kind, number in _kinds(own).items()
    )
    heads = "".join(
        f'<th scope="col" class="{kind}">{name}</th>'
        for name, kind in (
            ("Task", ""),
            ("Trial", "n"),
            ("Class", ""),
            ("Owner", ""),
            ("Limit hit", ""),
            ("Reward", "n"),
            ("Attempts", "n"),
            ("Last attempt", ""),
        )
    )
    groups = "".join(
        _group(profile, task, profile.cells[task.digest]) for task in view.tasks if task.digest in profile.cells
    )
    table = f"<table><caption>Cells of {text(profile.name)}</caption><thead><tr>{heads}</tr></thead>{groups}</table>"
    return (
        f'<section class="p" id="{profile.anchor}"><h3>{isolated(profile.name)} <small>{counted(len(own), "cell")} · '
        f"{link('leaderboard', 'leaderboard')} · {link('matrix', 'matrix')}</small></h3>{filters}"
        f"{scrollable(f'Cells of {profile.name}', table, 'cells')}</section>"
    )


def _group(profile: ProfileView, task: TaskView, cells: Sequence[CellRow]) -> str:
    name = text(task.name)
    return f'<tbody id="{profile.anchor}-{task.anchor}">{"".join(_cell(cell, name) for cell in cells)}</tbody>'


def _cell(cell: CellRow, task: str) -> str:
    """A row without the end tags that HTML lets one leave out: they would be a fifth of a large page."""
    return f'<tr class="{css_class(kind_of(cell))} {standing(cell)}"><th scope=row>{task}' + "".join(
        f"<td>{value}" for value in (cell.trial, *_values(cell))
    )


def _values(cell: CellRow) -> Iterator[str]:
    kind = kind_of(cell)
    why = f": {text(cell.withdrawn)}" if cell.withdrawn else ""
    yield text(_state(cell)) if kind == "not_started" else text(kind) + why
    yield text(cell.owner) if cell.owner else UNKNOWN
    yield text(cell.limit) if cell.limit else ""
    yield UNKNOWN if cell.reward is None else f"{cell.reward:g}"
    yield f"{cell.attempts}{' · reused' if cell.reused else ''}"
    yield f"<code>proctor attempt show {cell.attempt}</code>" if cell.attempt else UNKNOWN


def _state(cell: CellRow) -> str:
    return "not started" if not cell.attempts else "no outcome yet"
