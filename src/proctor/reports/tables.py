"""Tables for a terminal. Strict, graded, coverage and bounds always stand together, with their counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from proctor.engine.certificates.standing import Standing
from proctor.engine.planning import RunSetRow
from proctor.engine.reading import CellRow, LeaderboardRow, RunSetStatus
from proctor.reports.formats import UNKNOWN, age, cost, duration, interval, percent, tokens
from proctor.suites.service import Alias, SuiteDetail, SuiteRow

if TYPE_CHECKING:
    from proctor.engine.numbers import Rates
    from proctor.engine.reclassifying import ClassMove
    from proctor.engine.regrading.candidates import PassedOver
    from proctor.engine.regrading.difference import RegradedTask

__all__ = [
    "aliases_table",
    "attempt_phases",
    "cells_table",
    "classes_line",
    "history_table",
    "leaderboard_table",
    "moves_table",
    "passed_over_table",
    "profiles_table",
    "rates_change_table",
    "regraded_table",
    "run_sets_table",
    "status_lines",
    "step_line",
    "suite_table",
    "suites_table",
    "table",
]


def table(*columns: str, right: Iterable[str] = ()) -> Table:
    """An empty table in the one look of the CLI."""
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, header_style="bold")
    numeric = set(right)
    for column in columns:
        made.add_column(column, justify="right" if column in numeric else "left", overflow="fold")
    return made


def leaderboard_table(rows: Sequence[LeaderboardRow]) -> Table:
    """The leaderboard: best strict rate first."""
    numbers = ("strict", "95 %", "graded", "coverage", "bounds", "reward", "cost", "tokens in/out", "usage")
    made = table("rank", "profile", *numbers, "comparable", right=numbers)
    for row in rows:
        made.add_row(*_leaderboard_cells(row))
    return made


def _leaderboard_cells(row: LeaderboardRow) -> list[str]:
    rate, usage = row.rates, row.usage
    low, high = row.rank
    return [
        str(low) if low == high else f"{low}–{high}",
        row.profile,
        f"{percent(rate.strict)} {rate.counts.passed}/{rate.counts.expected}",
        interval(rate.interval.low, rate.interval.high) if rate.interval else UNKNOWN,
        f"{percent(rate.graded)} {rate.counts.passed}/{rate.counts.decided}",
        f"{percent(rate.coverage)} {rate.counts.decided}/{rate.counts.expected}",
        interval(rate.bounds.low, rate.bounds.high) if rate.bounds else UNKNOWN,
        UNKNOWN if row.mean_reward is None else f"{row.mean_reward:.2f}",
        cost(usage.cost_nano, usage.coverage),
        f"{tokens(usage.input_tokens)} / {tokens(usage.output_tokens)}",
        percent(usage.coverage),
        "yes" if row.comparable else f"no ({len(row.reasons)})",
    ]


def classes_line(rows: Sequence[LeaderboardRow]) -> Text:
    """Cells by class over all profiles; those without a verdict stand after ``owed``, each with its owner."""
    decided: dict[tuple[str, str], int] = {}
    owed: dict[tuple[str, str], int] = {}
    for row in rows:
        for one in row.classes:
            target = decided if one.decided else owed
            owner = f" ({one.owner})" if one.owner and not one.decided else ""
            target[one.outcome, owner] = target.get((one.outcome, owner), 0) + one.cells
    line = Text("cells: ") + Text(_joined(decided) or "none with a verdict")
    if owed:
        line += Text("  owed: ", style="bold yellow") + Text(_joined(owed))
    return line


def _joined(counts: Mapping[tuple[str, str], int]) -> str:
    most_first = sorted(counts.items(), key=lambda item: -item[1])
    return " · ".join(f"{name} {count}{owner}" for (name, owner), count in most_first)


def run_sets_table(rows: Sequence[RunSetRow]) -> Table:
    """Run sets, newest first."""
    made = table("run set", "id", "state", "suite", "begun", "reason")
    for row in rows:
        made.add_row(row.name, str(row.id)[:8], row.state, row.suite_id[:8], f"{age(row.created_at)} ago", row.reason)
    return made


def cells_table(cells: Sequence[CellRow], profiles: Mapping[int, str], tasks: Mapping[str, str]) -> Table:
    """A page of cells."""
    made = table("cell", "profile", "task", "trial", "class", "owner", "verdict", "reward", "attempts", "attempt")
    for cell in cells:
        outcome = (cell.outcome or "not started") + (f" (limit: {cell.limit})" if cell.limit else "")
        verdict = {True: "pass", False: "fail", None: "none"}[cell.verdict]
        made.add_row(
            str(cell.cell)[:8],
            profiles[cell.profile],
            tasks.get(cell.content_digest, cell.content_digest[:8]),
            str(cell.trial),
            outcome if cell.withdrawn is None else f"withdrawn: {cell.withdrawn}",
            cell.owner or UNKNOWN,
            verdict,
            UNKNOWN if cell.reward is None else f"{cell.reward:g}",
            str(cell.attempts),
            str(cell.attempt)[:8] if cell.attempt else UNKNOWN,
        )
    return made


def history_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A series over time."""
    made = table("when", "run set", "profile", "suite", "configuration", "strict", "coverage", "comparable")
    for row in rows:
        counts = row["counts"]
        expected = counts["expected"]
        made.add_row(
            row["created_at"].strftime("%Y-%m-%d %H:%M"),
            row["run_set"],
            row["profile"],
            row["suite_id"][:8],
            row["configuration"][:8],
            f"{percent(counts['passed'] / expected)} {counts['passed']}/{expected}",
            f"{percent(counts['decided'] / expected)} {counts['decided']}/{expected}",
            "yes" if row["comparable"] else f"no: {row['reasons'][0]}",
        )
    return made


def status_lines(
    seen: RunSetStatus, running: Sequence[Mapping[str, Any]], tasks: Mapping[str, str]
) -> list[RenderableType]:
    """A run set's progress, what runs now, and which lanes are closed until when."""
    row, progress = seen.run_set, seen.progress
    state = row.state.replace("_", " ") + (f": {row.reason}" if row.reason else "")
    lines: list[RenderableType] = [
        f"{row.name} ({row.id}) {state}",
        f"{progress.decided:,} of {progress.expected:,} cells have a verdict, {progress.passed:,} passed",
        f"queued {progress.queued:,} · running {progress.running:,} · waiting {progress.waiting:,} · "
        f"dead letters {progress.dead:,}",
    ]
    for lane in seen.lanes:
        until = f"until {lane.closed_until:%H:%M:%S} UTC" if lane.closed_until else "until it is opened by hand"
        lines.append(f"blocked on {lane.provider or 'no provider'}: {lane.reason} {until}")
    for one in running:
        name = tasks.get(one["content_digest"], one["content_digest"][:8])
        lines.append(f"running {str(one['id'])[:8]} · {name} · since {one['started_at']:%H:%M:%S} UTC")
    return lines


def suites_table(rows: Sequence[SuiteRow]) -> Table:
    """Suites with their labels."""
    made = table("suite", "labels", "tasks", "malformed", "imported", "from", right=["tasks", "malformed"])
    for row in rows:
        made.add_row(
            row.suite_id[:12],
            ", ".join(row.aliases),
            str(row.task_count),
            str(row.malformed_count),
            f"{age(row.created_at)} ago",
            row.source,
        )
    return made


def suite_table(detail: SuiteDetail, standings: Mapping[str, Standing] | None = None) -> Table:
    """A suite's tasks, with what their certificates say where that was asked."""
    made = table("task", "content", "verification", "needs", "certificate", "problem")
    for one in detail.tasks:
        made.add_row(
            one.name,
            one.content_digest[:12],
            one.task.verifier.mode.value if one.task else UNKNOWN,
            ", ".join(sorted(one.task.needs)) if one.task else UNKNOWN,
            _certificate((standings or {}).get(one.content_digest)),
            "; ".join(str(problem) for problem in one.problems),
        )
    return made


def _certificate(standing: Standing | None) -> str:
    """The last certificate in a few words, and why the task is quarantined where it is."""
    if standing is None or (standing.verdict is None and standing.quarantined is None):
        return UNKNOWN
    verdict = standing.verdict.value.replace("_", " ") if standing.verdict else "none"
    when = f", {age(standing.made_at)} ago" if standing.made_at else ""
    reasons = standing.quarantined or "; ".join(standing.problems)
    return f"{verdict}{when}" + (f": {reasons}" if reasons else "")


def aliases_table(rows: Sequence[Alias]) -> Table:
    """Labels with what they stood for and when."""
    made = table("label", "stands for", "from", "until", "set by")
    for row in rows:
        until = row.valid_to.strftime("%Y-%m-%d %H:%M") if row.valid_to else "now"
        made.add_row(row.name, row.target[:12], row.valid_from.strftime("%Y-%m-%d %H:%M"), until, row.source)
    return made


def profiles_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A run set's profiles."""
    made = table("profile", "series", "agent", "model", "configuration")
    for row in rows:
        document = row["document"]
        agent = f"{document['agent']['name']} {document['agent']['version']}"
        made.add_row(row["name"], row["series"], agent, document["model"] or UNKNOWN, row["configuration"][:12])
    return made


def attempt_phases(evidence: Sequence[Mapping[str, Any]]) -> Table:
    """An attempt's phases with how long each took and what ended it."""
    made = table("phase", "took", "what was seen", right=["took"])
    for item in evidence:
        took = (item["ended_at"] - item["started_at"]).total_seconds()
        seen = {key: value for key, value in item["detail"].items() if value not in (None, False, "", [], {})}
        seen.pop("stderr_tail", None)
        step = seen.pop("step", "")
        made.add_row(
            f"{item['phase']} ({step})" if step else item["phase"],
            duration(took),
            " ".join(f"{key}={value}" for key, value in seen.items()),
        )
    return made


def regraded_table(tasks: Sequence[RegradedTask]) -> Table:
    """What a regrade changed, task by task, with the cells whose verdict is another now."""
    made = table("task", "cells", "passed before", "passed after", "no verdict", "changed", right=_REGRADE_NUMBERS)
    for one in tasks:
        flips = [f"{flip.profile} #{flip.trial} {_word(flip.before)} → {_word(flip.after)}" for flip in one.flips]
        numbers = (one.cells, one.passed_before, one.passed_after, one.undecided)
        made.add_row(one.task, *(f"{number:,}" for number in numbers), "\n".join(flips))
    return made


def passed_over_table(cells: Sequence[PassedOver]) -> Table:
    """Cells that a regrade can't grade, and why."""
    made = table("profile", "task", "trial", "reason", right=("trial",))
    for one in cells:
        made.add_row(one.profile, one.task, str(one.trial), one.reason)
    return made


def moves_table(moves: Sequence[ClassMove]) -> Table:
    """Cells that are in another class under another policy."""
    made = table("profile", "was", "is", "cells", right=("cells",))
    for one in moves:
        made.add_row(one.profile, one.before, one.after, f"{one.cells:,}")
    return made


def rates_change_table(before: Mapping[str, Rates], after: Mapping[str, Rates]) -> Table:
    """Every profile's rates under one policy and under another."""
    names = ("strict", "graded", "coverage", "bounds")
    made = table("profile", *names, right=names)
    for profile, was in before.items():
        pairs = zip(_rate_cells(was), _rate_cells(after[profile]), strict=True)
        made.add_row(profile, *(f"{one} → {two}" for one, two in pairs))
    return made


def _rate_cells(rate: Rates) -> list[str]:
    counts = rate.counts
    return [
        f"{percent(rate.strict)} {counts.passed}/{counts.expected}",
        f"{percent(rate.graded)} {counts.passed}/{counts.decided}",
        percent(rate.coverage),
        interval(rate.bounds.low, rate.bounds.high) if rate.bounds else UNKNOWN,
    ]


_REGRADE_NUMBERS = ("cells", "passed before", "passed after", "no verdict")


def _word(verdict: bool | None) -> str:
    return UNKNOWN if verdict is None else "pass" if verdict else "fail"


def step_line(step: Mapping[str, Any]) -> str:
    """One step of a task as its grading tells it."""
    if not step["reached"]:
        return f"step {step['name']}: not reached, counts 0"
    verdict = {True: "pass", False: "fail", None: "no verdict"}[step["passed"]]
    problem = f" · {step['problem']}" if step["problem"] else ""
    return f"step {step['name']}: {verdict} · rewards {step['rewards']}{problem}"
