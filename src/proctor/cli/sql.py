"""``proctor sql``: questions to the results of evaluation jobs, in DuckDB's SQL."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, client, err, print_json, show

if TYPE_CHECKING:
    from proctor.results.sql import Answer

__all__ = ["register"]

SHOWN: int = 1000
"""Rows of a table on the screen; ``--output`` and ``--json`` have all of them."""


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command("sql")(sql)


def sql(
    query: Annotated[
        str, typer.Argument(metavar="SELECT", help="One SELECT over `results`, or `daily` sums; '-': standard input.")
    ],
    job: Annotated[list[str] | None, typer.Option(metavar="JOB", help="Only results of it; may be repeated.")] = None,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write it there: .parquet, .csv or .arrow.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Ask the results of evaluation jobs. It reads the tenant's own results and can change nothing."""
    if output is not None and output.suffix not in (".parquet", ".csv", ".arrow"):
        raise typer.BadParameter("name a .parquet, .csv or .arrow file", param_hint="--output")
    with client(as_json=as_json) as opened, opened.evaluations.sql(_read(query), job or ()) as answer:
        if output is not None:
            from proctor.reports.query import write_answer

            rows = write_answer(answer, output)
            print_json({"rows": rows, "file": str(output)}) if as_json else show(f"{rows:,} rows in {output}")
        elif as_json:
            print_json({"rows": [row for batch in answer.batches for row in batch.to_pylist()]})
        else:
            _shown(answer)


def _read(query: str) -> str:
    return sys.stdin.read() if query == "-" else query


def _shown(answer: Answer) -> None:
    from proctor.reports.query import answer_table

    table, more = answer_table(answer, most=SHOWN)
    show(table)
    if more:
        err().print(f"Only the first {SHOWN:,} rows: --output FILE or --json has all of them.")
