"""``proctor suite import|list|show|alias``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, ExitCode, client, print_json, show

if TYPE_CHECKING:
    from proctor.suites.service import SuiteDetail

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Immutable sets of tasks: import them, look at them, label them.")


@app.command("import")
def import_suite(
    folder: Annotated[Path, typer.Argument(help="A task, or a folder of tasks, in Harbor's format.")],
    label: Annotated[str | None, typer.Option(help="A label for the suite.")] = None,
    as_json: AsJson = False,
) -> None:
    """Import a folder of tasks. Malformed ones are listed with file, field and reason, and stop nothing."""
    with client(as_json=as_json) as opened:
        suite_id, detail = opened.import_suite(folder, label=label)
        if as_json:
            print_json({"suite_id": suite_id, "suite": detail})
        else:
            _tell(detail)
        malformed = detail.row.malformed_count
    if malformed:
        raise typer.Exit(ExitCode.GAPS)


@app.command("list")
def list_suites(as_json: AsJson = False) -> None:
    """List suites with their labels."""
    with client(as_json=as_json) as opened:
        rows = opened.suites()
        if as_json:
            print_json({"suites": rows})
            return
        from proctor.reports.tables import suites_table

        show(suites_table(rows) if rows else "No suites yet: proctor suite import FOLDER")


@app.command("show")
def show_suite(
    suite: Annotated[str, typer.Argument(help="An id, its first 8 characters, or a label.")], as_json: AsJson = False
) -> None:
    """Show a suite's tasks with their digests, verification modes and problems."""
    with client(as_json=as_json) as opened:
        detail = opened.suite(suite)
        print_json(detail) if as_json else _tell(detail)


@app.command("alias")
def set_alias(
    label: Annotated[str | None, typer.Argument(help="The label; without one all are listed.")] = None,
    suite: Annotated[str | None, typer.Argument(help="What it stands for from now on.")] = None,
    as_json: AsJson = False,
) -> None:
    """Let a label stand for a suite; earlier meanings are kept with their time."""
    with client(as_json=as_json) as opened:
        if label is not None and suite is None:
            raise typer.BadParameter("name the suite it stands for", param_hint="SUITE")
        if label is not None and suite is not None:
            opened.set_alias(label, suite)
        rows = [alias for alias in opened.aliases() if label is None or alias.name == label]
        if as_json:
            print_json({"aliases": rows})
            return
        from proctor.reports.tables import aliases_table

        show(aliases_table(rows) if rows else "No labels yet: proctor suite alias LABEL SUITE")


def _tell(detail: SuiteDetail) -> None:
    from proctor.kernel.words import counted
    from proctor.reports.tables import suite_table

    row = detail.row
    names = f" ({', '.join(row.aliases)})" if row.aliases else ""
    show(
        f"suite {row.suite_id}{names}: {counted(row.task_count, 'task')}, {row.malformed_count} malformed",
        suite_table(detail),
    )
