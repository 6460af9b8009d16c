"""A run set's report as one file: no request leaves it, no script runs in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Template

from proctor.engine.reading import CellRow
from proctor.kernel.words import counted
from proctor.reports.html.cells import ALL_SHOWN, cells_section, filter_css
from proctor.reports.html.charts import DEFINITIONS
from proctor.reports.html.leaderboard import leaderboard, pairs, quartet
from proctor.reports.html.markup import count, instant, isolated, text
from proctor.reports.html.matrix import matrix
from proctor.reports.html.outcomes import outcomes
from proctor.reports.html.palette import palette_css
from proctor.reports.html.scatter import cost_section
from proctor.reports.html.sheets import document, resource
from proctor.reports.html.tasks import tasks_table
from proctor.reports.html.view import View, view_of
from proctor.reports.summary import Board, spend_words

__all__ = ["MATRIX_CELLS", "render_html"]

MATRIX_CELLS: int = 24_000
"""Cells drawn: 54 profiles by 88 tasks by 5 trials (23,760), some 6 MB that a browser opens in about a second."""


def render_html(board: Board, cells: Sequence[CellRow], profiles: Mapping[int, str], tasks: Mapping[str, str]) -> str:
    """The whole report. ``profiles``: names by position; ``tasks``: names by content digest."""
    view = view_of(board, cells, profiles, tasks)
    style = "\n".join((palette_css(), resource("report.css"), filter_css(view.tasks)))
    row = board.run_set
    body = Template(resource("report.html")).substitute(
        many="many" if view.drawn > ALL_SHOWN else "few",
        definitions=DEFINITIONS,
        name=text(row.name),
        state=_state(view),
        facts=_facts(view),
        quartet=_overall(view),
        remarks=_remarks(board),
        leaderboard=leaderboard(view),
        pairs=pairs(view),
        outcomes=outcomes(view),
        matrix=matrix(view),
        cost=cost_section(board.rows),
        tasks=tasks_table(view),
        cells=cells_section(view),
    )
    return document(f"{text(row.name)} · {text(row.suite_id[:12])} · Proctor", style, body)


def _state(view: View) -> str:
    row, progress = view.board.run_set, view.board.progress
    reason = f": {isolated(row.reason)}" if row.reason else ""
    waiting = [
        f"{count(number)} {name}"
        for number, name in (
            (progress.running, "running"),
            (progress.queued, "queued"),
            (progress.waiting, "waiting"),
            (progress.dead, "given up"),
        )
        if number
    ]
    verdicts = f"{count(progress.decided)} of {counted(progress.expected, 'cell')} have a verdict"
    return f"<b>{text(row.state.replace('_', ' '))}</b>{reason} · " + " · ".join([verdicts, *waiting])


def _facts(view: View) -> str:
    row = view.board.run_set
    facts = [
        ("Run set", f"<code>{row.id}</code>"),
        ("Suite", f"<code>{text(row.suite_id[:12])}</code> · {counted(len(view.tasks), 'task')}"),
        ("Outcome policy", text(row.policy_version)),
        ("Begun", instant(row.created_at)),
        ("Ended", instant(row.ended_at) if row.ended_at else "not yet"),
    ]
    return "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)


def _overall(view: View) -> str:
    if not view.board.progress.expected:
        return "<p>This run set expects no cell, so it has no rates.</p>"
    several = len(view.board.rows)
    title = f"All {several} profiles together" if several > 1 else "All cells"
    return f"<h2 class=micro>{title}</h2>{quartet(view, view.board.rates)}"


def _remarks(board: Board) -> str:
    lines = [f"gate: {text(line)}" for line in board.gate.lines]
    if board.reused:
        oldest = f", the oldest on {instant(board.oldest_reused)}" if board.oldest_reused else ""
        lines.append(
            f"{count(board.reused)} of {counted(board.progress.expected, 'cell')} decided earlier{oldest}; "
            f"{text(spend_words(board.rows))}"
        )
    return f"<ul class=remarks>{''.join(f'<li>{line}</li>' for line in lines)}</ul>" if lines else ""
