"""``proctor push``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, chosen_server, counting, print_json, show, told

if TYPE_CHECKING:
    from proctor.sdk.remote.pushing import PushReport

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(push)


def push(
    run_set: Annotated[str | None, typer.Argument(metavar="[RUN_SET]", help="Name or id; the newest without.")] = None,
    as_json: AsJson = False,
) -> None:
    """Send a run set of this machine's own to the server: cells, attempts, evidence, logs and artifacts.

    Only what is not there yet is sent; again changes nothing. It is NAME.pushed there, its classes are derived again,
    and its rows say who pushed them and are never comparable: nothing there saw it run.
    """
    with told(as_json=as_json):
        from proctor.sdk.opening import push_run_set

        report = push_run_set(run_set, chosen_server(), counting("attempt", "sent", quiet=as_json))
        print_json(report) if as_json else _tell(report)


def _tell(report: PushReport) -> None:
    from proctor.kernel.words import counted

    show(
        f"{report.run_set.name}: {counted(report.new, 'attempt')} new, {report.known:,} there already; "
        f"{counted(report.objects, 'object')} sent, {report.object_bytes:,} bytes"
    )
