"""Each task over all profiles."""

from __future__ import annotations

from proctor.reports.formats import percent
from proctor.reports.html.markup import count, scrollable, text, unknown
from proctor.reports.html.view import TaskView, View

__all__ = ["tasks_table"]

_WIDTH: int = 80


def tasks_table(view: View) -> str:
    """Easiest first, as the matrix has them."""
    if not view.tasks:
        return "<p>There is no task.</p>"
    heads = (
        ("Task", ""),
        ("Strict", "n"),
        ("Passed / cells", ""),
        ("Passed", "n"),
        ("With a verdict", "n"),
        ("Owed", "n"),
        ("Content", ""),
    )
    head = "".join(f'<th scope="col" class="{kind}">{name}</th>' for name, kind in heads)
    lines = "".join(_line(view, task) for task in view.tasks)
    return scrollable(
        "Tasks",
        f'<table class="tasks"><caption>Tasks over all profiles, easiest first</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table>",
    )


def _line(view: View, task: TaskView) -> str:
    tally = task.tally
    rate = percent(tally.passed / tally.expected) if tally.expected else unknown("no cell of it is expected")
    owed = tally.expected - tally.decided
    cells = "".join(
        f'<td class="{kind}">{value}</td>'
        for value, kind in (
            (rate, "n"),
            (_bar(task), ""),
            (f"{count(tally.passed)}/{count(tally.expected)}", "n"),
            (count(tally.decided), "n"),
            (count(owed) if owed else "none", "n"),
            (f"<code>{text(task.digest[:12])}</code>", ""),
        )
    )
    name = view.link(task.anchor, text(task.name))
    return f'<tr><th scope="row" title="{text(task.name)}">{name}</th>{cells}</tr>'


def _bar(task: TaskView) -> str:
    tally = task.tally
    if not tally.expected:
        return ""
    passed, decided = (round(part / tally.expected * _WIDTH, 1) for part in (tally.passed, tally.decided))
    return (
        f'<svg width="{_WIDTH}" height="10" aria-hidden="true"><rect class="frame" width="{_WIDTH}" height="10"/>'
        f'<rect class="failed fill" x="{passed}" width="{decided - passed:.1f}" height="10"/>'
        f'<rect class="passed fill" width="{passed}" height="10"/></svg>'
    )
