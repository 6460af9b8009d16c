"""``proctor operation``: long work of a server by its receipt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from proctor.cli.output import AsJson, ExitCode, counting, print_json, remote, show

if TYPE_CHECKING:
    from proctor.operations.service import Operation, Receipt
    from proctor.sdk.remote.work import RemoteWork

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Long work of a server: follow it, cancel it, hand on what it made.")

Reference = Annotated[UUID, typer.Argument(metavar="ID", help="An operation's id.")]


@contextmanager
def _work(*, as_json: bool) -> Iterator[RemoteWork]:
    """The operations of the server that the command goes to."""
    with remote(as_json=as_json) as server:
        yield server.work


@app.command("list")
def list_operations(
    state: Annotated[str | None, typer.Option(help="queued, running, done, failed or cancelled.")] = None,
    as_json: AsJson = False,
) -> None:
    """List operations, the newest first."""
    with _work(as_json=as_json) as work:
        rows = work.operations(state=state)
        if as_json:
            print_json({"operations": rows})
            return
        from proctor.reports.tables import table

        made = table("operation", "kind", "state", "done", "since", whole=("operation",), right=("done",))
        for row in rows:
            made.add_row(str(row.id), row.kind, row.state, _done(row), f"{row.created_at:%Y-%m-%d %H:%M:%S} UTC")
        show(made if rows else "No operations yet.")


@app.command("show")
def show_operation(
    operation: Reference,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until it ends.")] = False,
    as_json: AsJson = False,
) -> None:
    """Show how far an operation is and what came of it. With --follow the exit code is 0 once it is done."""
    with _work(as_json=as_json) as work:
        on_more = counting("thing", "done", quiet=as_json)
        seen = work.follow(operation, on_more) if follow else work.operation(operation)
        print_json(seen) if as_json else _tell(seen)
        if follow and seen.state != "done":
            raise typer.Exit(ExitCode.GAPS)


@app.command("cancel")
def cancel_operation(operation: Reference, as_json: AsJson = False) -> None:
    """End an operation. What it did so far stays."""
    with _work(as_json=as_json) as work:
        seen = work.cancel(operation)
        print_json(seen) if as_json else _tell(seen)


@app.command("link")
def link_download(
    operation: Reference,
    minutes: Annotated[int, typer.Option(min=1, max=60, help="How long it works.")] = 10,
    as_json: AsJson = False,
) -> None:
    """Print a URL that fetches what an operation made, for a browser: it needs no key."""
    with _work(as_json=as_json) as work:
        url = work.link(operation, seconds=minutes * 60)
        print_json({"url": url}) if as_json else typer.echo(url)


def _tell(seen: Operation) -> None:
    ending = " (asked to end)" if seen.cancel_asked and seen.ended_at is None else ""
    show(f"{seen.kind} {seen.id}: {seen.state}{ending} · {_done(seen)} {seen.progress.words}".rstrip())
    if seen.error is not None:
        place = f"{seen.error['where']}: " if seen.error["where"] else ""
        show(f"[{seen.error['code']}] {place}{seen.error['message']}")
    if seen.download_until is not None:
        show(f"to be downloaded until {seen.download_until:%Y-%m-%d %H:%M} UTC: proctor operation link {seen.id}")


def _done(seen: Receipt) -> str:
    total = "" if seen.progress.total is None else f" of {seen.progress.total:,}"
    return f"{seen.progress.done:,}{total}"
