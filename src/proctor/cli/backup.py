"""``proctor backup create|verify|restore``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.output import AsJson, print_json, show, told

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Backups of this machine's data folder: made, proven, put back.")

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The backup.")]


@app.command()
def create(folder: Folder, as_json: AsJson = False) -> None:
    """Write database, objects and the server's secret to a new folder; work may go on meanwhile."""
    with told(as_json=as_json):
        from proctor.sdk.backups import create_backup
        from proctor.settings import Settings

        made = create_backup(Settings(), folder)
        if as_json:
            print_json(made)
            return
        wrote = f"{sum(made.rows.values()):,} rows and {made.objects:,} objects in {folder}"
        show(wrote, f"Next: {shlex.join(['proctor', 'backup', 'verify', str(folder)])}")


@app.command()
def verify(
    folder: Folder,
    max_age_hours: Annotated[float, typer.Option(min=0, help="An older one is an error.")] = 26.0,
    as_json: AsJson = False,
) -> None:
    """Restore a backup into a scratch server, count its rows and check every object."""
    with told(as_json=as_json):
        from datetime import timedelta

        from proctor.sdk.backups import verify_backup

        found = verify_backup(folder, longest_age=timedelta(hours=max_age_hours))
        if as_json:
            print_json(found)
            return
        show(f"whole: {found.rows:,} rows and {found.objects:,} objects, made {found.age_sec / 3600:.1f} h ago")


@app.command()
def restore(folder: Folder, as_json: AsJson = False) -> None:
    """Put a backup into a new data folder (PROCTOR_HOME)."""
    with told(as_json=as_json):
        from proctor.sdk.backups import restore_backup
        from proctor.settings import Settings

        settings = Settings()
        done = restore_backup(settings, folder)
        if as_json:
            print_json(done)
            return
        show(f"{sum(done.rows.values()):,} rows and {done.objects:,} objects are in {settings.home}")
