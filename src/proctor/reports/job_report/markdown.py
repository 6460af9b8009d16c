"""A job's report as Markdown: a table for each section, and below it the SQL of its figures."""

from __future__ import annotations

from collections.abc import Iterator

from proctor.jobs.analyses.figures import Figure, JobReport, Section
from proctor.reports.formats import UNKNOWN, one_line, p_value
from proctor.reports.markdown import escaped

__all__ = ["number", "report_markdown"]


def number(value: int | float | None) -> str:
    """``0.8122``, and ``1,198`` for a count; what is not known is an em dash."""
    if value is None:
        return UNKNOWN
    return f"{value:,}" if isinstance(value, int) else f"{value:.4f}"


def report_markdown(report: JobReport) -> str:
    """The whole report. No name or message in it is markup."""
    against = "" if report.against is None else f" against {escaped(report.against.name)}"
    of = escaped(report.job.dataset or "a stream")
    lines = [
        f"# {escaped(report.job.name)}{against}",
        "",
        f"{of}, {escaped(report.state)}: {report.done:,} of {report.expected:,} evaluations.",
        "",
        "The SQL gives each value over `results`; `proctor sql` runs it. Intervals are at 95 %.",
    ]
    for section in report.sections:
        lines += ["", *_section(section)]
    return "\n".join(lines) + "\n"


def _section(section: Section) -> Iterator[str]:
    of = "" if section.evaluator is None else f": {escaped(section.evaluator)}"
    yield f"## {section.title}{of}"
    yield ""
    if section.figures:
        yield "| figure | value | 95 % | error | p | of |"
        yield "| --- | ---: | ---: | ---: | ---: | ---: |"
        yield from (f"| {' | '.join(_cells(figure))} |" for figure in section.figures)
        yield ""
    yield from (f"- {escaped(note, at_most=500)}" for note in section.notes)
    if any(figure.query is not None for figure in section.figures):
        yield from ("", "```sql", *_queries(section), "```")


def _cells(figure: Figure) -> tuple[str, ...]:
    interval = UNKNOWN if figure.low is None or figure.high is None else f"{figure.low:.4f} to {figure.high:.4f}"
    return (
        escaped(figure.name),
        number(figure.value),
        interval,
        UNKNOWN if figure.error is None else f"{figure.error:.4f}",
        p_value(figure.p),
        UNKNOWN if figure.items is None else f"{figure.items:,}",
    )


def _queries(section: Section) -> Iterator[str]:
    """One line each, none of which begins as the end of the block does."""
    for figure in section.figures:
        if figure.query is not None:
            yield f"-- {one_line(figure.name)}"
            yield f"{figure.query};"
