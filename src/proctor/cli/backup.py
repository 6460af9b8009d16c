"""``proctor backup create|verify|restore``."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, err, print_json, show, told

if TYPE_CHECKING:
    from proctor.sdk.backups import Recorded

__all__ = ["app"]

LONGEST_HOURS: int = 24 * 366 * 10
"""Ten years."""

app = typer.Typer(no_args_is_help=True, help="Backups of this machine's data folder: made, proven, put back.")

Folder = Annotated[Path, typer.Argument(metavar="FOLDER", help="The backup.")]


@app.command()
def create(folder: Folder, as_json: AsJson = False) -> None:
    """Write database, objects and the server's secret to a new folder; work may go on meanwhile.

    The installation then knows of it, and Health says how old the newest one is that was verified.
    """
    with told(as_json=as_json):
        from proctor.sdk.backups import create_backup
        from proctor.settings import Settings

        made = create_backup(Settings(), folder)
        if as_json:
            print_json(_flat(made))
            return
        wrote = f"{sum(made.backup.rows.values()):,} rows and {made.backup.objects:,} objects in {folder}"
        show(wrote, f"Next: {shlex.join(['proctor', 'backup', 'verify', str(folder)])}")
        if made.unrecorded is not None:
            err().print(
                f"The backup is whole, but this installation does not know of it: {made.unrecorded}"
                " Health will not count it; make another when that is mended."
            )


@app.command()
def verify(
    folder: Folder,
    max_age_hours: Annotated[float, typer.Option(min=0, max=LONGEST_HOURS, help="An older one is an error.")] = 26.0,
    as_json: AsJson = False,
) -> None:
    """Restore a backup into a scratch server, count its rows and check every object.

    If the installation of PROCTOR_HOME made it, that one counts it as verified from then on.
    """
    with told(as_json=as_json):
        from datetime import timedelta

        if max_age_hours != max_age_hours:  # NaN is in no range and out of none
            raise typer.BadParameter("it is no number", param_hint="--max-age-hours")

        from proctor.sdk.backups import verify_backup
        from proctor.settings import Settings

        found = verify_backup(Settings(), folder, longest_age=timedelta(hours=max_age_hours))
        if as_json:
            print_json(found)
            return
        show(f"whole: {found.rows:,} rows and {found.objects:,} objects, made {found.age_sec / 3600:.1f} h ago")
        if found.unrecorded is not None:
            err().print(f"Health does not count it as verified: {found.unrecorded}")


@app.command()
def restore(folder: Folder, as_json: AsJson = False) -> None:
    """Put a backup into a new data folder (PROCTOR_HOME)."""
    with told(as_json=as_json):
        from proctor.sdk.backups import restore_backup
        from proctor.settings import Settings

        settings = Settings()
        done = restore_backup(settings, folder)
        if as_json:
            print_json(_flat(done))
            return
        rows, objects = sum(done.backup.rows.values()), done.backup.objects
        show(f"{rows:,} rows and {objects:,} objects are in {settings.home}")
        if done.unrecorded is not None:
            err().print(f"What was put back does not know of this backup: {done.unrecorded}")


def _flat(done: Recorded) -> dict[str, object]:
    """What the manifest says, with how the installation knows it."""
    from dataclasses import asdict

    return {**asdict(done.backup), "digest": done.digest, "unrecorded": done.unrecorded}
