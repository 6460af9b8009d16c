"""``proctor init``, ``doctor``, ``gc`` and ``down``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, ExitCode, counting, out, print_json, show, told

if TYPE_CHECKING:
    from proctor.sdk.sweeping import Swept

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(init)
    app.command()(doctor)
    app.command()(gc)
    app.command()(down)


def init(
    folder: Annotated[Path, typer.Argument(help="Where to look for tasks.")] = Path(),
    file: Annotated[Path, typer.Option(help="The run-set file to write.")] = Path("proctor.toml"),
    as_json: AsJson = False,
) -> None:
    """Write a commented run-set file for the tasks found here. An existing file is never overwritten."""
    with told(as_json=as_json):
        from proctor.kernel.words import counted
        from proctor.sdk.starting import write_run_set_file

        found = write_run_set_file(folder, file)
        if as_json:
            print_json(found)
            return
        wrote = f"Wrote {file} for {counted(found.tasks, 'task')} in {found.suite}."
        show(wrote, f"Next: {shlex.join(['proctor', 'run', str(file), '--dry-run'])}")


def doctor(as_json: AsJson = False) -> None:
    """Check what this machine can do: database, sandboxes and how far each limit holds."""
    with told(as_json=as_json):
        from rich.text import Text

        from proctor.sdk.doctor import examine

        report = examine()
        if as_json:
            print_json(report)
        else:
            for check in report.checks:
                mark = Text("ok  ", style="green") if check.ok else Text("FAIL", style="red")
                out().print(mark + Text(f" {check.name}: {check.detail}"), soft_wrap=True)
                if not check.ok and check.remedy:
                    out().print(f"     {check.remedy}", style="dim", soft_wrap=True)
            limits = " · ".join(f"{kind} {strength}" for kind, strength in report.limits.items())
            show(f"limits of the local sandbox here: {limits}")
        if not all(check.ok for check in report.checks):
            raise typer.Exit(ExitCode.OWN_FAULT)


def gc(
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only say what would be removed.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove what nobody will ask for again: old objects that no row names, old answers, left sandboxes.

    Of every tenant of this machine's data folder, or of the database and bucket that are named. Work may go on.
    """
    with told(as_json=as_json):
        from proctor.sdk.sweeping import sweep
        from proctor.settings import Settings

        swept = sweep(Settings(), dry_run=dry_run, on_more=counting("object", "looked at", quiet=as_json))
        print_json(swept) if as_json else _tell_swept(swept)


def _tell_swept(swept: Swept) -> None:
    from proctor.reports.tables import table

    made = table("what", "to remove" if swept.dry_run else "removed", "bytes", right=("to remove", "removed", "bytes"))
    for one in swept.kinds:
        made.add_row(one.kind, f"{one.count:,}", f"{one.size:,}")
    show(made)
    if swept.unknown.count:
        show(f"Left alone: {swept.unknown.count:,} objects of no known kind, {swept.unknown.size:,} bytes.")


def down(as_json: AsJson = False) -> None:
    """Stop the embedded database, whoever still uses it."""
    with told(as_json=as_json):
        from proctor.sdk.doctor import stop_database

        stopped = stop_database()
        print_json({"stopped": stopped}) if as_json else show("Stopped." if stopped else "Nothing was running.")
