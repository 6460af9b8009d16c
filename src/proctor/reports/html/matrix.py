"""Profiles by tasks, one square for each pair: where a stripe runs across, a profile or a provider is the cause; where
one runs down, a task is."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from proctor.engine.reading import CellRow
from proctor.reports.html.markup import scrollable, text, word
from proctor.reports.html.palette import HOLLOW, css_class
from proctor.reports.html.view import ProfileView, TaskView, View, kind_of, standing

__all__ = ["matrix"]

GLYPHS_UP_TO: int = 44
"""Tasks up to which squares are 22 px with glyphs: 44 of them and the names fit a 1,280 px window; above, 12 px."""

BARS: int = 12
"""Trials drawn in one square; what is beyond is in the square's words and in the list of cells."""


def matrix(view: View) -> str:
    """The whole picture as a table of links to the cells behind each square."""
    if not view.drawn:
        return "<p>There is no cell yet. <code>proctor run</code> makes them.</p>"
    kind = "large" if len(view.tasks) <= GLYPHS_UP_TO else "small"
    stripped = _without_common_folder([task.name for task in view.tasks])
    heads = "".join(
        f'<th scope="col" title="{text(task.name)}">{view.link(task.anchor, f"<span>{text(name)}</span>")}</th>'
        for task, name in zip(view.tasks, stripped, strict=True)
    )
    lines = "".join(_line(view, profile) for profile in view.profiles if profile.cells)
    table = (
        f'<table class="matrix {kind}"><caption>Profiles by tasks, easiest task first</caption>'
        f"<thead><tr><td></td>{heads}</tr></thead><tbody>{lines}</tbody></table>"
    )
    skip = '<a class="skip" href="#cost">Skip the matrix</a>'
    return skip + scrollable("Matrix of profiles and tasks", table) + _key(view)


def _without_common_folder(names: Sequence[str]) -> list[str]:
    folders = {name.partition("/")[0] for name in names}
    if len(folders) == 1 and all("/" in name for name in names):
        return [name.partition("/")[2] for name in names]
    return list(names)


def _line(view: View, profile: ProfileView) -> str:
    name = f'<th scope="row" title="{text(profile.name)}">{view.link(profile.anchor, text(profile.name))}</th>'
    return f"<tr>{name}{''.join(_square(profile, task) for task in view.tasks)}</tr>"


def _square(profile: ProfileView, task: TaskView) -> str:
    cells = profile.cells.get(task.digest)
    if not cells:
        return "<td></td>"
    title = text(f"{profile.name} · {task.name}: {_words(cells)}")
    target = f"{profile.anchor}-{task.anchor}"
    if len(cells) == 1:
        return f'<td><a class="m {_look(cells[0])}" href="#{target}" title="{title}"></a></td>'
    bars = "".join(f'<i class="{_look(cell)}"></i>' for cell in cells[:BARS])
    more = "+" if len(cells) > BARS else ""
    return f'<td><a class="m many" href="#{target}" title="{title}">{bars}{more}</a></td>'


def _look(cell: CellRow) -> str:
    kind = css_class(kind_of(cell))
    texture = " h" if kind in HOLLOW else " o" if standing(cell) == "owed" else ""
    return kind + texture + (" lim" if cell.verdict and cell.limit else "")


def _words(cells: Sequence[CellRow]) -> str:
    if len(cells) == 1:
        return word(kind_of(cells[0])) + (", owed" if standing(cells[0]) == "owed" else "")
    kinds = Counter(kind_of(cell) for cell in cells)
    owed = sum(1 for cell in cells if standing(cell) == "owed")
    listed = ", ".join(f"{word(kind)} {number}" for kind, number in kinds.most_common())
    return f"{listed} of {len(cells)} trials" + (f", {owed} owed" if owed else "")


def _key(view: View) -> str:
    several = any(len(cells) > 1 for profile in view.profiles for cells in profile.cells.values())
    bars = " Bars in a square are trials." if several else ""
    missing = ""
    if view.drawn < view.total:
        missing = (
            f" <b>Only the first {view.drawn:,} of {view.total:,} cells are drawn;</b> the numbers above count all."
        )
    return f'<p class="note">Solid: has a verdict. Open: owed. Each square leads to its cells.{bars}{missing}</p>'
