"""``proctor export``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, client, counting, print_json, show

if TYPE_CHECKING:
    from proctor.sdk.exports import ExportReport

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(export)


def export(
    to: Annotated[Path, typer.Option("--to", metavar="FOLDER", help="A new folder, or an empty one.")],
    run_set: Annotated[str | None, typer.Argument(metavar="[RUN_SET]", help="Name or id; the newest without.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a run set as a job directory of Harbor's, with classes, both readings of steps and the rates beside.

    All of it is written, or nothing. Cells without a verdict are told; they are no error.
    """
    with client(as_json=as_json) as opened:
        report = opened.export(run_set, to, on_page=counting("trial", "written", quiet=as_json))
        print_json(report) if as_json else _tell(report)


def _tell(report: ExportReport) -> None:
    from proctor.kernel.words import counted

    show(f"{report.run_set}: {counted(report.trials, 'trial')} of {counted(report.expected, 'cell')}: {report.folder}")
    for gap in report.gaps:
        show(f"no verdict: {gap.profile}: {gap.outcome} {gap.cells:,} ({gap.owner})")
    show(f"classes and rates: {report.folder / 'proctor.json'}", f"to look at it: harbor view {report.folder.parent}")
