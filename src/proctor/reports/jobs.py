"""Evaluation jobs for a terminal: mean, error, coverage and bounds always stand together, with their counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import RenderableType
from rich.table import Table

from proctor.evaluators.statuses import Status
from proctor.jobs.summaries import EvaluatorSummary, JobStanding
from proctor.jobs.targets import Target
from proctor.jobs.values import Job, SampleSet
from proctor.kernel.ids import short_id
from proctor.kernel.money import exact_usd, format_usd
from proctor.kernel.words import counted
from proctor.reports.formats import UNKNOWN, ago, duration, one_line, percent
from proctor.reports.tables import table
from proctor.streaming.values import KeptRefusal, Stream

if TYPE_CHECKING:
    from proctor.analysis.intervals import Interval
    from proctor.jobs.prompts import PromptRow

__all__ = [
    "job_lines",
    "jobs_table",
    "left_out_lines",
    "prompts_table",
    "refusals_table",
    "results_table",
    "samples_table",
    "stream_line",
]

_GAPS_SHOWN: int = 20


def job_lines(standing: JobStanding) -> list[RenderableType]:
    """A job with its numbers."""
    job = standing.job
    lines: list[RenderableType] = [
        f"{job.name} ({short_id(job.id)}): {job.state.value}",
        f"  {_of(job)}",
        f"  {standing.done:,} of {standing.expected:,} evaluations{_rate(standing)}{_cost(standing)}",
        *_keeping(job),
        _numbers(standing.evaluators),
    ]
    lines += [f"  {one.evaluator}: {told}" for one in standing.evaluators if (told := _missing(one))]
    lines += [
        f"  no results: rows {gap.start:,} to {gap.stop - 1:,}, repeat {gap.repeat}: {one_line(gap.reason)}"
        for gap in standing.gaps[:_GAPS_SHOWN]
    ]
    if len(standing.gaps) > _GAPS_SHOWN:
        lines.append(f"  and {len(standing.gaps) - _GAPS_SHOWN:,} more such chunks")
    return lines


def _of(job: Job) -> str:
    """What is judged."""
    if job.stream:
        return f"stream, {'open' if job.open else 'closed'} · {counted(job.cut.rows, 'row')}"
    examples, repeats = counted(job.cut.rows, "example"), counted(job.cut.repeats, "repeat")
    return f"{job.dataset} · {_source(job)} · {examples}, {repeats}"


def _source(job: Job) -> str:
    """Whose outputs are judged."""
    return str(job.samples if job.target is None else Target.model_validate(job.target).words)


def _keeping(job: Job) -> list[str]:
    """What of a job is not as with most: a hold, a deletion, or results that pass."""
    told = []
    if job.hold is not None:
        told.append(f"  held ({ago(job.hold.at)}): {one_line(job.hold.reason)}")
    if job.deletion is not None:
        told.append(f"  deleted {ago(job.deletion.at)}")
    if not job.kept:
        told.append("  not kept: results go when they are as old as the tenant says")
    return told


def _rate(standing: JobStanding) -> str:
    if standing.per_second is None:
        return ""
    left = "" if standing.left_sec is None else f", {duration(standing.left_sec)} left"
    return f" · {standing.per_second:,.0f} a second{left}"


def _cost(standing: JobStanding) -> str:
    """What models cost; nothing of a job that asks none."""
    budget = standing.job.budget_nano
    if not standing.spent_nano and budget is None:
        return ""
    return f" · {format_usd(standing.spent_nano)}" + ("" if budget is None else f" of {exact_usd(budget)}")


def _numbers(summaries: Sequence[EvaluatorSummary]) -> Table:
    numbers = ("mean", "95 %", "error", "scored", "coverage", "bounds")
    made = table("evaluator", *numbers, right=numbers)
    for one in summaries:
        made.add_row(
            one.evaluator,
            _score(one.mean),
            _range(one.interval),
            _score(one.error),
            f"{one.scored:,}/{one.expected:,}",
            percent(one.coverage),
            _range(one.bounds),
        )
    return made


def _missing(one: EvaluatorSummary) -> str:
    told = [f"{rows:,} {status}" for status, rows in sorted(one.counts.items()) if status != Status.SCORED]
    unevaluated = one.expected - sum(one.counts.values())
    return " · ".join([*told, *([f"{unevaluated:,} not evaluated"] if unevaluated else [])])


def _score(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.4f}"


def _range(found: Interval | None) -> str:
    return UNKNOWN if found is None else f"[{found.low:.4f}, {found.high:.4f}]"


def stream_line(stream: Stream) -> str:
    """What came to a stream, in a line."""
    job = stream.job
    return (
        f"{job.name} ({short_id(job.id)}): {'open' if job.open else 'closed'}, {job.state.value} · "
        f"{counted(job.cut.rows, 'row')}, {stream.refused:,} refused"
    )


def refusals_table(found: Sequence[KeptRefusal]) -> Table:
    """Rows that were refused, the newest first."""
    made = table("refused", "row", "field", "reason", "begins with", right=("row",))
    for one in found:
        made.add_row(ago(one.at), str(one.row), one_line(one.field), one_line(one.reason), one_line(one.said))
    return made


def jobs_table(jobs: Sequence[Job]) -> Table:
    """Jobs, the newest first."""
    made = table("job", "id", "state", "evaluations", "submitted", right=("evaluations",), whole=("id", "state"))
    for job in jobs:
        done = f"{job.done:,}/{job.expected:,}"
        made.add_row(job.name, short_id(job.id), job.state.value, done, ago(job.created_at))
    return made


def prompts_table(rows: Sequence[PromptRow]) -> RenderableType:
    """Versions of prompts."""
    made = table("prompt", "made", "digest", "description")
    for row in rows:
        made.add_row(row.reference, ago(row.created_at), row.digest[:12], one_line(row.description))
    return made


def samples_table(found: Sequence[SampleSet]) -> Table:
    """Outputs that are kept, the newest first."""
    made = table("samples", "id", "outputs", "repeats", "model", "kept", right=("outputs", "repeats"), whole=("id",))
    for one in found:
        made.add_row(
            one.name, short_id(one.id), f"{one.outputs:,}", str(one.repeats), one.model or UNKNOWN, ago(one.created_at)
        )
    return made


def left_out_lines(kept: SampleSet) -> list[str]:
    """What of a file was no output; nothing where all of it was."""
    if not kept.left_out:
        return []
    lines = [f"{counted(kept.left_out, 'row')} left out:"]
    lines += [f"  {one_line(str(problem))}" for problem in kept.problems[:_GAPS_SHOWN]]
    more = kept.left_out - len(lines) + 1
    return [*lines, f"  and {more:,} more"] if more else lines


def results_table(rows: Sequence[Mapping[str, object]]) -> Table:
    """Single results."""
    made = table("evaluator", "row", "example", "repeat", "status", "score", "label or error", right=("row", "repeat"))
    for row in rows:
        score = row["score"]
        made.add_row(
            str(row["evaluator"]),
            f"{row['row']:,}",
            str(row["example"]),
            str(row["repeat"]),
            str(row["status"]),
            _score(score if isinstance(score, float) else None),
            one_line(str(row["error"] or row["label"] or "")),
        )
    return made
