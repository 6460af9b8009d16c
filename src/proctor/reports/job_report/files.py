"""The kinds of file that a report may be, by the ending of its name."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping
from pathlib import Path

from proctor.jobs.analyses.figures import Figure, JobReport, Section
from proctor.kernel.canonical import Json
from proctor.kernel.extras import need_data_extra
from proctor.kernel.paths import new_file
from proctor.reports.job_report.markdown import report_markdown
from proctor.reports.job_report.page import report_page

__all__ = ["SUFFIXES", "write_report"]

Document = Mapping[str, Json]


def write_report(report: JobReport, document: Document, path: Path) -> None:
    """Write a report as a new file, whole or not at all. ``document``: its JSON form.

    Raises ``FileTaken``, ``PathUnusable``, ``DataExtraMissing`` for Parquet, ``KeyError`` for a name that ends in none
    of ``SUFFIXES``.
    """
    writer = _WRITERS[path.suffix]
    with new_file(path) as filling:
        writer(report, document, filling)


def _markdown(report: JobReport, _: Document, path: Path) -> None:
    path.write_text(report_markdown(report), encoding="utf-8")


def _html(report: JobReport, _: Document, path: Path) -> None:
    path.write_text(report_page(report), encoding="utf-8")


def _json(_: JobReport, document: Document, path: Path) -> None:
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def _csv(report: JobReport, _: Document, path: Path) -> None:
    rows = _rows(report)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, _COLUMNS)
        writer.writeheader()
        writer.writerows(rows)


def _parquet(report: JobReport, _: Document, path: Path) -> None:
    need_data_extra()
    import pyarrow as pa
    import pyarrow.parquet as pq

    types = {name: pa.string() for name in ("job", "against", "section", "evaluator", "figure", "query")}
    types |= {name: pa.float64() for name in ("value", "low", "high", "error", "p")} | {"items": pa.int64()}
    schema = pa.schema([pa.field(name, types[name]) for name in _COLUMNS])
    pq.write_table(pa.Table.from_pylist(_rows(report), schema=schema), path)


_WRITERS: Mapping[str, Callable[[JobReport, Document, Path], None]] = {
    ".md": _markdown,
    ".html": _html,
    ".csv": _csv,
    ".parquet": _parquet,
    ".json": _json,
}
SUFFIXES: tuple[str, ...] = tuple(_WRITERS)
"""What a report's name may end in."""

_COLUMNS: tuple[str, ...] = (
    *("job", "against", "section", "evaluator", "figure"),
    *("value", "low", "high", "error", "p", "items", "query"),
)


def _rows(report: JobReport) -> list[dict[str, str | float | None]]:
    """One for each figure."""
    return [_row(report, section, figure) for section in report.sections for figure in section.figures]


def _row(report: JobReport, section: Section, figure: Figure) -> dict[str, str | float | None]:
    return {
        "job": str(report.job.id),
        "against": None if report.against is None else str(report.against.id),
        "section": section.title,
        "evaluator": section.evaluator,
        "figure": figure.name,
        "value": figure.value,
        "low": figure.low,
        "high": figure.high,
        "error": figure.error,
        "p": figure.p,
        "items": figure.items,
        "query": figure.query,
    }
