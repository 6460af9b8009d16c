"""Tables for a terminal. Strict, graded, coverage and bounds always stand together, with their counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from rich import box
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from proctor.engine.certificates.certificate import is_untried
from proctor.engine.certificates.standing import Standing
from proctor.engine.leaderboards import LeaderboardRow
from proctor.engine.planning import RunSetRow
from proctor.engine.reading import CellRow, RunSetStatus, Stall
from proctor.kernel.words import counted
from proctor.reports.fitting import Fitting
from proctor.reports.formats import (
    UNKNOWN,
    ago,
    cost,
    cost_sum,
    duration,
    interval,
    percent,
    policy_words,
    reward,
    tokens,
)
from proctor.reports.stalls import stall_words
from proctor.reports.waits import wait_line
from proctor.suites.service import Alias, SuiteDetail, SuiteRow

if TYPE_CHECKING:
    from proctor.engine.numbers import Rates
    from proctor.engine.reclassifying import ClassMove
    from proctor.engine.regrading.candidates import Candidate, PassedOver
    from proctor.engine.regrading.difference import RegradedTask
    from proctor.engine.usage import UsageRow

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
    "qualifying_table",
    "rates_change_table",
    "regraded_table",
    "run_sets_table",
    "status_lines",
    "step_line",
    "suite_table",
    "suites_table",
    "table",
    "usage_table",
]


def table(*columns: str, right: Iterable[str] = (), whole: Iterable[str] = ()) -> Table:
    """An empty table in the one look of the CLI.

    Numbers (``right``) and what is ``whole``, such as an id to copy, are never broken into lines; other text is.
    """
    made = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    numeric, unbroken = set(right), {*right, *whole}
    for column in columns:
        side: Literal["left", "right"] = "right" if column in numeric else "left"
        made.add_column(column, justify=side, overflow="fold", no_wrap=column in unbroken, vertical="top")
    return made


def leaderboard_table(rows: Sequence[LeaderboardRow]) -> RenderableType:
    """The leaderboard: best strict rate first. On narrow terminals rates stand over their counts, the rest below."""
    numbers = (*_RATES, "reward", "cost", "tokens in/out", "usage")
    wide = table("rank", "profile", *numbers, "comparable", right=numbers, whole=("rank", "comparable"))
    rates = table("rank", "profile", "strict\n95 %", "graded", "coverage", "bounds", right=_STACKED, whole=["rank"])
    rest = table("profile", *_REST, "comparable", right=_REST, whole=["comparable"])
    for row in rows:
        wide.add_row(_rank(row), row.profile, *_rate_texts(row, " "), *_rest_texts(row))
        strict, chance, *others = _rate_texts(row, "\n")
        rates.add_row(_rank(row), row.profile, f"{strict}\n{chance}", *others)
        rest.add_row(row.profile, *_rest_texts(row))
    return Fitting([wide], [rates, rest])


_RATES = ("strict", "95 %", "graded", "coverage", "bounds")
_STACKED = ("strict\n95 %", "graded", "coverage", "bounds")
_REST = ("reward", "cost", "tokens in/out", "usage")


def _rank(row: LeaderboardRow) -> str:
    low, high = row.rank
    return str(low) if low == high else f"{low}–{high}"


def _rate_texts(row: LeaderboardRow, gap: str) -> list[str]:
    rate, counts = row.rates, row.rates.counts
    return [
        f"{percent(rate.strict)}{gap}{counts.passed}/{counts.expected}",
        interval(rate.interval.low, rate.interval.high) if rate.interval else UNKNOWN,
        f"{percent(rate.graded)}{gap}{counts.passed}/{counts.decided}",
        f"{percent(rate.coverage)}{gap}{counts.decided}/{counts.expected}",
        interval(rate.bounds.low, rate.bounds.high) if rate.bounds else UNKNOWN,
    ]


def _rest_texts(row: LeaderboardRow) -> list[str]:
    usage = row.usage
    return [
        reward(row.mean_reward),
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
    made = table("run set", "id", "state", "suite", "begun", "reason", whole=("id", "suite"))
    for row in rows:
        made.add_row(row.name, str(row.id)[:8], row.state, row.suite_id[:8], ago(row.created_at), row.reason)
    return made


def cells_table(cells: Sequence[CellRow], profiles: Mapping[int, str], tasks: Mapping[str, str]) -> RenderableType:
    """A page of cells; on narrow terminals an attempt stands below its cell, a task below its profile."""
    names = ("cell", "profile", "task", "trial", "class", "owner", "verdict", "reward", "attempts", "attempt")
    whole = ("cell", "trial", "verdict", "reward", "attempts", "attempt")
    wide = table(*names, whole=whole)
    narrow = table("cell\nattempt", "profile\ntask", "trial", "class\nowner", "verdict", "reward", whole=_CELLS)
    for one in cells:
        cell, profile, task, trial, outcome, owner, verdict, reward, attempts, attempt = _cell_texts(
            one, profiles, tasks
        )
        wide.add_row(cell, profile, task, trial, outcome, owner, verdict, reward, attempts, attempt)
        pairs = (f"{cell}\n{attempt}", f"{profile}\n{task}", trial, f"{outcome}\n{owner}", verdict, reward)
        narrow.add_row(*pairs)
    return Fitting([wide], [narrow])


_CELLS = ("cell\nattempt", "trial", "class\nowner", "verdict", "reward")


def _cell_texts(cell: CellRow, profiles: Mapping[int, str], tasks: Mapping[str, str]) -> list[str]:
    outcome = (cell.outcome or "not started") + (f" (limit: {cell.limit})" if cell.limit else "")
    return [
        str(cell.cell)[:8],
        profiles[cell.profile],
        tasks.get(cell.content_digest, cell.content_digest[:8]),
        str(cell.trial),
        outcome if cell.withdrawn is None else f"withdrawn: {cell.withdrawn}",
        cell.owner or UNKNOWN,
        {True: "pass", False: "fail", None: "none"}[cell.verdict],
        UNKNOWN if cell.reward is None else f"{cell.reward:g}",
        str(cell.attempts),
        str(cell.attempt)[:8] if cell.attempt else UNKNOWN,
    ]


def history_table(rows: Sequence[Mapping[str, Any]]) -> RenderableType:
    """A series over time; policies are named where a revision was judged by one that does not go unsaid."""
    numbers, ids = ("strict", "coverage", "comparable"), ("when", "suite", "configuration")
    policies = ["policy"] if any(policy_words(row["policy_version"]) for row in rows) else []
    wide = table("when", "run set", "profile", *ids[1:], *policies, *numbers, right=_OVER, whole=ids)
    named = "\n".join(("run set", "profile", *policies))
    narrow = table("when", named, _STOOD, *numbers, right=_OVER, whole=("when", _STOOD))
    for row in rows:
        suite, configuration = row["suite_id"][:8], row["configuration"][:8]
        comparable = "yes" if row["comparable"] else f"no: {row['reasons'][0]}"
        day, time = row["created_at"].strftime("%Y-%m-%d"), row["created_at"].strftime("%H:%M")
        names, by = (row["run_set"], row["profile"]), [row["policy_version"] for _ in policies]
        wide.add_row(f"{day} {time}", *names, suite, configuration, *by, *_over(row["counts"], " "), comparable)
        stacked = (f"{day}\n{time}", "\n".join((*names, *by)), f"{suite}\n{configuration}")
        narrow.add_row(*stacked, *_over(row["counts"], "\n"), comparable)
    return Fitting([wide], [narrow])


_OVER = ("strict", "coverage")
_STOOD: str = "suite\nconfiguration"


def _over(counts: Mapping[str, Any], gap: str) -> list[str]:
    expected = counts["expected"]
    return [f"{percent(counts[name] / expected)}{gap}{counts[name]}/{expected}" for name in ("passed", "decided")]


def status_lines(
    seen: RunSetStatus, running: Sequence[Mapping[str, Any]], stalled: Sequence[Stall], tasks: Mapping[str, str]
) -> list[RenderableType]:
    """A run set's progress and clocks, what its cells wait for until when, what runs and what of it stands still."""
    row, progress = seen.run_set, seen.progress
    state = row.state.replace("_", " ") + (f": {row.reason}" if row.reason else "")
    verdicts = (
        f"{progress.decided:,} of {counted(progress.expected, 'cell')} have a verdict, {progress.passed:,} passed"
    )
    lines: list[RenderableType] = [
        f"{row.name} ({row.id}) {state}",
        " · ".join(filter(None, (verdicts, policy_words(row.policy_version)))),
        f"queued {progress.queued:,} · running {progress.running:,} · waiting {progress.waiting:,} · "
        f"dead letters {progress.dead:,}",
        f"attempts waited {duration(seen.clocks.waited_sec)} and ran {duration(seen.clocks.worked_sec)} in all",
    ]
    if seen.per_minute is not None and seen.left_sec is not None:
        lines.append(f"{seen.per_minute:.3g} verdicts a minute · about {duration(seen.left_sec)} left")
    lines += [wait_line(wait) for wait in progress.waits]
    for one in running:
        name = tasks.get(one["content_digest"], one["content_digest"][:8])
        phase = f" · {one['phase']}" if one["phase"] else ""
        lines.append(f"running {str(one['id'])[:8]} · {name} · since {one['started_at']:%H:%M:%S} UTC{phase}")
    return [*lines, *(Text(stall_words(one), style="yellow") for one in stalled)]


def usage_table(name: str, rows: Sequence[UsageRow]) -> Table:
    """What attempts took, by what ``name`` says; no sum of costs stands without the share that is known of it."""
    numbers = ("attempts", "sandbox hours", "cost", "cost known")
    made = table(name, *numbers, right=numbers)
    for row in rows:
        known, hours = row.attempts - row.unpriced, row.sandbox_sec / _HOUR_SEC
        made.add_row(
            row.name or "all",
            f"{row.attempts:,}",
            f"{hours:,.2f}",
            cost_sum(row.cost_nano, known=known, of=row.attempts),
            f"{percent(known / row.attempts if row.attempts else None)} {known:,}/{row.attempts:,}",
        )
    return made


_HOUR_SEC = 3600


def suites_table(rows: Sequence[SuiteRow]) -> Table:
    """Suites with their labels."""
    names = ("suite", "labels", "tasks", "malformed", "imported", "from")
    made = table(*names, right=["tasks", "malformed"], whole=["suite", "imported"])
    for row in rows:
        made.add_row(
            row.suite_id[:12],
            ", ".join(row.aliases),
            str(row.task_count),
            str(row.malformed_count),
            ago(row.created_at),
            row.source,
        )
    return made


def suite_table(detail: SuiteDetail, standings: Mapping[str, Standing] | None = None) -> Table:
    """A suite's tasks, with what their certificates say where that was asked."""
    made = table(
        "task", "content", "verification", "needs", "certificate", "problem", whole=["content", "verification"]
    )
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
    when = f", {ago(standing.made_at)}" if standing.made_at else ""
    untried = ", no wrong solution tried" if is_untried(standing.runs) else ""
    reasons = standing.quarantined or "; ".join(standing.problems)
    return f"{verdict}{untried}{when}" + (f": {reasons}" if reasons else "")


def aliases_table(rows: Sequence[Alias]) -> Table:
    """Labels with what they stood for and when."""
    made = table("label", "stands for", "from", "until", "set by", whole=("stands for", "from", "until"))
    for row in rows:
        until = row.valid_to.strftime("%Y-%m-%d %H:%M") if row.valid_to else "now"
        made.add_row(row.name, row.target[:12], row.valid_from.strftime("%Y-%m-%d %H:%M"), until, row.source)
    return made


def profiles_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """A run set's profiles."""
    made = table("profile", "series", "agent", "model", "configuration", whole=["configuration"])
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


def qualifying_table(cells: Sequence[Sequence[Candidate]]) -> Table:
    """Cells that a regrade would grade, with the attempts it would grade for each, in their order."""
    made = table("profile", "task", "trial", "verdict", "attempts", right=("trial",))
    for attempts in cells:
        one, ids = attempts[0], ", ".join(str(each.attempt)[:8] for each in attempts)
        made.add_row(one.profile, one.task.name, str(one.trial), _word(one.before), ids)
    return made


def passed_over_table(cells: Sequence[PassedOver]) -> Table:
    """Cells that a regrade can't grade, and why."""
    made = table("profile", "task", "trial", "reason", right=("trial",))
    for one in cells:
        made.add_row(one.profile, one.task, str(one.trial), one.reason)
    return made


def moves_table(moves: Sequence[ClassMove]) -> Table:
    """Cells that another policy puts elsewhere: into another class, or gives another verdict or owner."""
    made = table("profile", "was", "is", "cells", right=("cells",))
    for one in moves:
        was = _stands(one.before, one.before_owner, one.before_verdict)
        made.add_row(one.profile, was, _stands(one.after, one.after_owner, one.after_verdict), f"{one.cells:,}")
    return made


def _stands(outcome: str, owner: str, verdict: bool | None) -> str:
    """``agent_limit (model, fail)``."""
    return f"{outcome} ({owner}, {'no verdict' if verdict is None else _word(verdict)})"


def rates_change_table(before: Mapping[str, Rates], after: Mapping[str, Rates]) -> RenderableType:
    """Every profile's rates under one policy and under another; on narrow terminals one over the other."""
    names = ("strict", "graded", "coverage", "bounds")
    wide, narrow = table("profile", *names, right=names), table("profile", *names, right=names)
    for profile, was in before.items():
        pairs = list(zip(_rate_cells(was, " "), _rate_cells(after[profile], " "), strict=True))
        wide.add_row(profile, *(f"{one} → {two}" for one, two in pairs))
        pairs = list(zip(_rate_cells(was, "\n"), _rate_cells(after[profile], "\n"), strict=True))
        narrow.add_row(profile, *(f"{one}\n→ {two}" for one, two in pairs))
    return Fitting([wide], [narrow])


def _rate_cells(rate: Rates, gap: str) -> list[str]:
    counts = rate.counts
    return [
        f"{percent(rate.strict)}{gap}{counts.passed}/{counts.expected}",
        f"{percent(rate.graded)}{gap}{counts.passed}/{counts.decided}",
        f"{percent(rate.coverage)}{gap}{counts.decided}/{counts.expected}",
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
