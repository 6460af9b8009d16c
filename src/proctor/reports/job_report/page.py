"""A job's report as one HTML file: no request leaves it, no script runs in it, nothing somebody wrote is markup."""

from __future__ import annotations

from string import Template

from proctor.jobs.analyses.figures import Figure, JobReport, Section, SectionKind
from proctor.reports.formats import UNKNOWN, p_value
from proctor.reports.html.markup import count, isolated, scrollable, text
from proctor.reports.html.palette import palette_css
from proctor.reports.html.sheets import document, resource
from proctor.reports.job_report.markdown import number

__all__ = ["report_page"]

_WIDTH: int = 640
_HEIGHT: int = 120
_FOOT: int = 16
"""Room below the bars for the ends of the scale."""
_STYLE: str = (
    ".bars rect{fill:var(--accent)}pre{white-space:pre-wrap;max-width:100ch;margin:4px 0}td.q{white-space:normal}"
)


def report_page(report: JobReport) -> str:
    """The whole report."""
    style = "\n".join((palette_css(), resource("report.css"), _STYLE))
    body = Template(resource("job_report.html")).substitute(
        name=text(report.job.name),
        state=_state(report),
        facts=_facts(report),
        sections="".join(map(_section, report.sections)),
    )
    return document(f"{text(report.job.name)} · Proctor", style, body)


def _state(report: JobReport) -> str:
    done = f"{count(report.done)} of {count(report.expected)} evaluations"
    return f"<b>{text(report.state.replace('_', ' '))}</b> · {done}"


def _facts(report: JobReport) -> str:
    facts = [
        ("Job", f"<code>{report.job.id}</code>"),
        ("Dataset", text(report.job.dataset or "a stream")),
    ]
    if report.against is not None:
        of = text(report.against.dataset or "a stream")
        against = f"{isolated(report.against.name)} · <code>{report.against.id}</code> · {of}"
        facts.append(("Against", against))
    return "".join(f"<div><dt>{name}</dt><dd>{value}</dd></div>" for name, value in facts)


def _section(section: Section) -> str:
    of = "" if section.evaluator is None else f" <small>{isolated(section.evaluator)}</small>"
    chart = _bars(section) if section.kind is SectionKind.DISTRIBUTION else ""
    notes = "".join(f'<p class="note">{text(note)}</p>' for note in section.notes)
    return f"<section><h2>{text(section.title)}{of}</h2>{chart}{_table(section)}{notes}</section>"


def _table(section: Section) -> str:
    if not section.figures:
        return ""
    heads = "".join(f'<th scope="col" class="n">{name}</th>' for name in ("value", "95 %", "error", "p", "of"))
    head = f'<thead><tr><th scope="col">figure</th>{heads}<th scope="col">query</th></tr></thead>'
    rows = "".join(map(_row, section.figures))
    title = f"{section.title} {section.evaluator or ''}".strip()
    return scrollable(title, f"<table><caption>{text(title)}</caption>{head}<tbody>{rows}</tbody></table>")


def _row(figure: Figure) -> str:
    interval = UNKNOWN if figure.low is None or figure.high is None else f"{figure.low:.4f} to {figure.high:.4f}"
    error = UNKNOWN if figure.error is None else f"{figure.error:.4f}"
    items = UNKNOWN if figure.items is None else count(figure.items)
    cells = (number(figure.value), interval, error, p_value(figure.p), items)
    numbers = "".join(f'<td class="n">{cell}</td>' for cell in cells)
    name = text(figure.name)
    return f'<tr><th scope="row" title="{name}">{name}</th>{numbers}<td class="q">{_query(figure)}</td></tr>'


def _query(figure: Figure) -> str:
    if figure.query is None:
        return UNKNOWN
    return f"<details><summary>SQL</summary><pre><code>{text(figure.query)}</code></pre></details>"


def _bars(section: Section) -> str:
    """A histogram: a bar for each figure, as wide as its bin."""
    low, high = section.edges[0], section.edges[-1]
    counts = [figure.value or 0 for figure in section.figures]
    scale, width = (_HEIGHT - _FOOT) / max(*counts, 1), _WIDTH / len(counts)
    bars = "".join(
        f'<rect x="{place * width:.1f}" y="{_HEIGHT - _FOOT - bar * scale:.1f}" width="{max(width - 1, 1):.1f}" '
        f'height="{bar * scale:.1f}"><title>{text(figure.name)}: {bar:,.0f}</title></rect>'
        for place, (bar, figure) in enumerate(zip(counts, section.figures, strict=True))
    )
    ends = (
        f'<text x="0" y="{_HEIGHT - 2}">{low:g}</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT - 2}" text-anchor="end">{high:g}</text>'
    )
    label = f"{sum(counts):,.0f} scores from {low:g} to {high:g}, in {len(counts)} bins"
    head = f'<svg class="bars" width="{_WIDTH}" height="{_HEIGHT}" role="img" aria-label="{text(label)}">'
    return scrollable("Histogram", f"{head}{bars}{ends}</svg>")
