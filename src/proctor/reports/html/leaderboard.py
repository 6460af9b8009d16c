"""The leaderboard: no rate without its n, no row without what makes it comparable, every number a link to its cells."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from proctor.engine.leaderboards import LeaderboardRow, Usage
from proctor.engine.numbers import Rates, TaskTally, compare
from proctor.kernel.words import counted
from proctor.reports.formats import UNKNOWN, cost, duration, interval, percent, reward, tokens
from proctor.reports.html.charts import axis, rates_plot
from proctor.reports.html.markup import count, isolated, points, scrollable, text, unknown
from proctor.reports.html.view import ProfileView, View

__all__ = ["leaderboard", "pairs", "quartet"]

ALL_PAIRS: int = 5
"""Up to so many profiles every pair is compared in words (10 lines); above, neighbours only."""

_FIRST: tuple[tuple[str, str, str], ...] = (
    ("Rank", "", "Best and worst rank within this run set that the data allow"),
    ("Strict", "n", "Passed of all expected cells; a cell without a verdict counts as not passed"),
    ("95 %", "n", "Interval of the strict rate: Wilson, clustered by task where there are several trials"),
    ("Graded", "n", "Passed of the cells with a verdict"),
    ("Coverage", "n", "Cells with a verdict of all expected"),
    ("Bounds", "n", "Strict if every missing verdict were a fail, or a pass"),
)
_REWARD: tuple[str, str, str] = ("Reward", "n", "Mean reward of the cells that have one")
_LAST: tuple[tuple[str, str, str], ...] = (
    ("Cost", "n", "All attempts behind the cells; ≥ where not every attempt reported"),
    ("Tokens in / out", "n", "Input with cache / output, all attempts"),
    ("Usage", "n", "Attempts that reported what they used, of all"),
    ("Mean time", "n", "Mean wall time of an attempt"),
    ("Comparable", "", "Whether this row may stand beside rows of other run sets, or why not"),
)


def quartet(view: View, rates: Rates) -> str:
    """Strict, graded, coverage and bounds of everything together."""
    counts = rates.counts
    passed = view.link("only-passed", count(counts.passed))
    decided = view.link("only-decided", count(counts.decided))
    missing = counts.expected - counts.decided
    owed = view.link("only-owed", f"{counted(missing, 'cell')} owed") if missing else "nothing owed"
    figures = (
        ("Strict", percent(rates.strict), f"{passed} / {count(counts.expected)} passed"),
        ("Graded", percent(rates.graded), f"{passed} / {decided} with a verdict"),
        ("Coverage", percent(rates.coverage), f"{decided} / {count(counts.expected)} have a verdict"),
        ("Bounds", interval(rates.bounds.low, rates.bounds.high) if rates.bounds else UNKNOWN, owed),
    )
    items = "".join(f"<div><dt>{name}</dt><dd><b>{value}</b><span>{n}</span></dd></div>" for name, value, n in figures)
    return f'<dl class="quartet">{items}</dl>'


@dataclass(frozen=True, kw_only=True)
class _Shape:
    """What the whole table decides for its rows."""

    shared: Sequence[str]
    """Reasons that every row has, said once."""
    rewards: bool
    """Rewards have a column where they say more than the verdicts do."""

    @property
    def heads(self) -> list[tuple[str, str, str]]:
        """Name, kind and meaning of each column after the profile."""
        return [*_FIRST, *((_REWARD,) if self.rewards else ()), *_LAST]


def leaderboard(view: View) -> str:
    """Comparable rows first; the others below, each with its reasons."""
    rows = [(profile, profile.row) for profile in view.profiles if profile.row is not None]
    if not rows:
        return "<p>There is no profile to rank.</p>"
    shape = _shape([row for _, row in rows])
    good = "".join(_row(view, profile, row, shape) for profile, row in rows if row.comparable)
    bad = "".join(_row(view, profile, row, shape) for profile, row in rows if not row.comparable)
    body = (f"<tbody>{good}</tbody>" if good else "") + (f"<tbody>{_divider(shape)}{bad}</tbody>" if bad else "")
    table = f'<table class="board"><caption>Leaderboard, best strict rate first</caption>{_head(shape)}{body}</table>'
    key = (
        '<p class="note">● strict with its 95 % interval · ○ graded, where it differs · ▒ bounds · '
        "n: passed / cells. Each count links to its cells.</p>"
    )
    return scrollable("Leaderboard", table) + key + _gaps([row for _, row in rows])


def _shape(rows: Sequence[LeaderboardRow]) -> _Shape:
    rewards = any(
        row.mean_reward is not None and not math.isclose(row.mean_reward, row.rates.graded or 0.0, abs_tol=1e-9)
        for row in rows
    )
    return _Shape(shared=_common_reasons(rows), rewards=rewards)


def _head(shape: _Shape) -> str:
    rank, *rest = (f'<th scope="col" class="{kind}" title="{why}">{name}</th>' for name, kind, why in shape.heads)
    plot = f'<th scope="col" aria-label="Rates from 0 to 100 percent">{axis()}</th>'
    return f'<thead><tr><th scope="col">Profile</th>{rank}{plot}{"".join(rest)}</tr></thead>'


def _divider(shape: _Shape) -> str:
    shared = f": every profile, {'; '.join(text(reason) for reason in shape.shared)}" if shape.shared else ""
    span = len(shape.heads) + 2
    return f'<tr class="divider"><th scope="rowgroup" colspan="{span}"><span>Not comparable{shared}</span></th></tr>'


def _common_reasons(rows: Sequence[LeaderboardRow]) -> list[str]:
    """Reasons of the whole run set are said once, not in every row."""
    if len(rows) < 2:
        return []
    return [reason for reason in rows[0].reasons if all(reason in row.reasons for row in rows)]


def _row(view: View, profile: ProfileView, row: LeaderboardRow, shape: _Shape) -> str:
    low, high = row.rank
    numbers = [
        *_numbers(view, profile, row.rates),
        *([_reward(row.mean_reward)] if shape.rewards else []),
        *_spend(row.usage),
    ]
    name = view.link(profile.anchor, text(row.profile))
    return (
        f'<tr><th scope="row" title="{text(row.profile)}">{name}</th>'
        f"<td>{low if low == high else f'{low}–{high}'}</td><td>{rates_plot(row.rates)}</td>"
        + "".join(f'<td class="n">{number}</td>' for number in numbers)
        + f'<td class="why">{_comparable(view, profile, row, shape.shared)}</td></tr>'
    )


def _numbers(view: View, profile: ProfileView, rates: Rates) -> Iterator[str]:
    counts, at = rates.counts, profile.anchor
    if not counts.expected:
        yield from [unknown("no cell is expected")] * 5
        return
    passed = view.link(f"{at}-passed", count(counts.passed))
    decided = view.link(f"{at}-decided", count(counts.decided))
    expected = view.link(at, count(counts.expected))
    yield f"<b>{percent(rates.strict)}</b> <small>{passed}/{expected}</small>"
    yield interval(rates.interval.low, rates.interval.high) if rates.interval else UNKNOWN
    graded = unknown("no cell has a verdict yet") if rates.graded is None else percent(rates.graded)
    yield f"{graded} <small>{passed}/{decided}</small>"
    yield f"{percent(rates.coverage)} <small>{decided}/{expected}</small>"
    yield interval(rates.bounds.low, rates.bounds.high) if rates.bounds else UNKNOWN


def _reward(mean: float | None) -> str:
    return unknown("no cell has a reward") if mean is None else reward(mean)


def _spend(usage: Usage) -> Iterator[str]:
    why = _why_unknown(usage)
    yield unknown(why) if usage.cost_nano is None else text(cost(usage.cost_nano, usage.coverage))
    both = (usage.input_tokens, usage.output_tokens)
    at_least = "≥ " if usage.coverage is not None and usage.coverage < 1 else ""
    shown = " / ".join(UNKNOWN if one is None else f'<span title="{one:,}">{tokens(one)}</span>' for one in both)
    yield unknown(why) if both == (None, None) else at_least + shown
    yield f"{unknown('no attempt yet') if usage.coverage is None else percent(usage.coverage)} " + (
        f"<small>{count(usage.reported)}/{count(usage.attempts)}</small>"
    )
    yield unknown("no attempt has ended") if usage.mean_seconds is None else text(duration(usage.mean_seconds))


def _why_unknown(usage: Usage) -> str:
    if not usage.attempts:
        return "no attempt has ended"
    return "no attempt reported its usage" if not usage.reported else "no attempt's usage says so"


def _comparable(view: View, profile: ProfileView, row: LeaderboardRow, common: Sequence[str]) -> str:
    parts = ["yes"] if row.comparable else []
    parts += [_reason(view, profile, reason) for reason in row.reasons if reason not in common]
    if row.other_trials:
        parts.append(
            f"{counted(row.other_trials, 'other complete trial')} of this configuration, "
            f"mean {percent(row.other_trials_mean)}"
        )
    if not parts:
        return "no, as every profile"
    return "<br>".join(parts)


def _reason(view: View, profile: ProfileView, reason: str) -> str:
    for beginning, cells in (("coverage:", "owed"), ("withdrawn:", "withdrawn")):
        if reason.startswith(beginning):
            return view.link(f"{profile.anchor}-{cells}", text(reason))
    return text(reason)


def _gaps(rows: Sequence[LeaderboardRow]) -> str:
    """Why a number is missing, in words: a title alone says nothing on paper or to a finger."""
    silent = [row for row in rows if row.usage.cost_nano is None]
    if not silent:
        return ""
    reasons: dict[str, list[str]] = {}
    for row in silent:
        reasons.setdefault(_why_unknown(row.usage), []).append(row.profile)
    lines = "; ".join(f"{text(why)} ({_names(names, len(rows))})" for why, names in reasons.items())
    return f'<p class="note">Cost {UNKNOWN} is unknown, not 0: {lines}.</p>'


def _names(names: Sequence[str], of: int) -> str:
    if len(names) == of > 1:
        return "every profile"
    shown = ", ".join(isolated(name) for name in names[:4])
    return shown + (f" and {len(names) - 4} more" if len(names) > 4 else "")


def pairs(view: View) -> str:
    """Which profiles can be told apart, in words, from the paired difference by task; and the tasks that flipped."""
    rows = view.board.rows
    if len(rows) < 2:
        return ""
    chosen = list(combinations(rows, 2)) if len(rows) <= ALL_PAIRS else list(pairwise(rows))
    scope = "every pair" if len(rows) <= ALL_PAIRS else "each profile and the next"
    items = "".join(f"<li>{_pair(one, other)}{_flips(view, one, other)}</li>" for one, other in chosen)
    return (
        f"<h3>Differences, {scope}</h3><p class=note>Paired by task, 95 %; a cell without a verdict counts as not "
        f"passed. Told apart are profiles whose interval excludes 0 and whom an exact sign test over the tasks that "
        f"differ tells apart too, at 5 %.</p><ul class=pairs>{items}</ul>"
    )


def _pair(one: LeaderboardRow, other: LeaderboardRow) -> str:
    a, b = isolated(one.profile), isolated(other.profile)
    found = compare(_means(one), _means(other))
    if found is None:
        return f"{a} and {b}: fewer than two tasks in common, nothing to compare"
    numbers = (
        f"{points(found.mean)} pp [{points(found.interval.low)}, {points(found.interval.high)}], "
        f"{counted(found.tasks, 'task')}"
    )
    if not found.distinguishable:
        return f"{a} and {b}: <b>not distinguishable</b>, {numbers}"
    return f"{a} is {'above' if found.mean > 0 else 'below'} {b}, {numbers}"


def _flips(view: View, one: LeaderboardRow, other: LeaderboardRow) -> str:
    """The tasks that only one of two passes, which is in more than half of its trials with a verdict."""
    a, b = _passed(one), _passed(other)
    only = [
        (row, [task for task in view.tasks if task.digest in mine - theirs and task.digest in decided])
        for row, mine, theirs, decided in ((one, a, b, other.tasks), (other, b, a, one.tasks))
    ]
    flipped = sum(len(tasks) for _, tasks in only)
    if not flipped:
        return ""
    lines = "".join(
        f"<p>only {isolated(row.profile)}: {', '.join(view.link(task.anchor, text(task.name)) for task in tasks)}</p>"
        for row, tasks in only
        if tasks
    )
    return f"<details><summary>{counted(flipped, 'task')} flipped</summary>{lines}</details>"


def _passed(row: LeaderboardRow) -> frozenset[str]:
    return frozenset(task for task, tally in row.tasks.items() if 2 * tally.passed > tally.decided)


def _means(row: LeaderboardRow) -> dict[str, float]:
    return {task: _mean(tally) for task, tally in row.tasks.items() if tally.expected}


def _mean(tally: TaskTally) -> float:
    return tally.passed / tally.expected
