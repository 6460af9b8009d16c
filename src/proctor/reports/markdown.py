"""A run set's end as Markdown, for a job's summary page: rates, classes by owner, the gate, flips.

Names of tasks and profiles are other people's words: whatever means something in GitHub's Markdown is written as a
character reference, so that no name can break a table, make a link or an image, or mention somebody.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from proctor.reports.comparison import SHOWN, cost_line, difference_lines, policy_lines, test_line
from proctor.reports.formats import UNKNOWN, cost, interval, one_line, percent, policy_words

if TYPE_CHECKING:
    from proctor.engine.leaderboards import LeaderboardRow
    from proctor.engine.pairs import Comparison, Pair
    from proctor.reports.summary import Board

__all__ = ["escaped", "markdown"]

_SPECIAL = re.compile(
    r"[\\`*\[\]<>&|~#!@${}]"
    r"|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"  # within a word an underscore is only that
    r"|:(?=//)|(?<=www)\."  # GitHub makes links of these
)


def escaped(text: str, *, at_most: int = 200) -> str:
    """A text as one line of Markdown in which nothing is markup."""
    return _SPECIAL.sub(lambda found: f"&#{ord(found[0])};", one_line(text, at_most=at_most))


def markdown(board: Board) -> str:
    """The whole summary."""
    row, progress = board.run_set, board.progress
    gate = f": gate {board.gate.state.value}" if board.gate.checks else ""
    state = row.state.replace("_", " ") + (f" ({escaped(row.reason)})" if row.reason else "")
    verdicts = f"{progress.decided:,} of {progress.expected:,} cells have a verdict"
    lines = [
        f"## {escaped(row.name)}{gate}",
        "",
        f"{'; '.join(filter(None, (state, verdicts, escaped(policy_words(row.policy_version)))))}.",
        "",
        *_rates(board.rows),
        "",
        *_classes(board.rows),
        *_gate(board),
        *(_comparison(board.gate.comparison) if board.gate.comparison else ()),
    ]
    return "\n".join(lines) + "\n"


def _rates(rows: Sequence[LeaderboardRow]) -> Iterator[str]:
    yield from _head("profile", "strict", "95 %", "graded", "coverage", "bounds", "cost", "comparable")
    for row in rows:
        rate, counts = row.rates, row.rates.counts
        yield _table_row(
            escaped(row.profile),
            f"{percent(rate.strict)} ({counts.passed}/{counts.expected})",
            interval(rate.interval.low, rate.interval.high) if rate.interval else UNKNOWN,
            f"{percent(rate.graded)} ({counts.passed}/{counts.decided})",
            f"{percent(rate.coverage)} ({counts.decided}/{counts.expected})",
            interval(rate.bounds.low, rate.bounds.high) if rate.bounds else UNKNOWN,
            escaped(cost(row.usage.cost_nano, row.usage.coverage)),
            "yes" if row.comparable else "no",
        )


def _classes(rows: Sequence[LeaderboardRow]) -> Iterator[str]:
    """Cells by owner and class over all profiles, those without a verdict said to have none."""
    sums: dict[tuple[bool, str, str], int] = defaultdict(int)
    for row in rows:
        for one in row.classes:
            sums[not one.decided, one.owner, one.outcome] += one.cells
    yield from _head("owner", "class", "cells", "verdict")
    for (owed, owner, outcome), cells in sorted(sums.items(), key=lambda item: (item[0][0], -item[1])):
        yield _table_row(escaped(owner), escaped(outcome), f"{cells:,}", "none" if owed else "yes")


def _gate(board: Board) -> Iterator[str]:
    if board.gate.checks:
        yield from ("", f"### Gate {board.gate.state.value}", "")
        yield from (f"- {escaped(check.line)}" for check in board.gate.checks)


def _comparison(comparison: Comparison) -> Iterator[str]:
    yield from ("", "### Comparison", "")
    for pair in comparison.pairs:
        yield f"**{escaped(pair.a.title)}** against **{escaped(pair.b.title)}**: {escaped(pair.finding)}"
        yield ""
        test = test_line(pair, comparison.tests, comparison.alpha)
        lines = (*difference_lines(pair), test, cost_line(pair), *policy_lines(pair))
        yield from (f"- {escaped(line, at_most=500)}" for line in (*lines, pair.claim))
        if pair.unpaired:
            yield f"- {pair.unpaired_cells} cells are unpaired"
        yield from _flips(pair)
        yield ""
    yield from (f"- {escaped(line)}" for line in comparison.without_partner)


def _flips(pair: Pair) -> Iterator[str]:
    flips = [(name, pair.a.title) for name in pair.only_a] + [(name, pair.b.title) for name in pair.only_b]
    if not flips:
        yield "- no task flipped"
        return
    yield from ("", *_head("flipped task", "solved only by"))
    yield from (_table_row(escaped(name), escaped(title)) for name, title in flips[:SHOWN])
    if len(flips) > SHOWN:
        yield _table_row(f"{len(flips) - SHOWN} more", "")


def _head(*columns: str) -> tuple[str, str]:
    return _table_row(*columns), _table_row(*("---" for _ in columns))


def _table_row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
