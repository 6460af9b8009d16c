"""``proctor status``, ``pause``, ``cancel`` and ``unblock``."""

from __future__ import annotations

from typing import Annotated

import typer

from proctor.cli.output import AsJson, client, print_json, show

__all__ = ["register"]

RunSet = Annotated[str | None, typer.Argument(metavar="[RUN_SET]", help="Name or id; the newest without.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(status)
    app.command()(pause)
    app.command()(cancel)
    app.command()(unblock)


def status(run_set: RunSet = None, as_json: AsJson = False) -> None:
    """Show run sets, or one: its progress, what runs, and what waits for what until when."""
    with client(as_json=as_json) as opened:
        if run_set is None:
            rows = opened.run_sets()
            if as_json:
                print_json({"run_sets": rows})
                return
            from proctor.reports.tables import run_sets_table

            show(run_sets_table(rows) if rows else "No run sets yet: proctor run FILE.toml")
            return
        seen = opened.status(run_set)
        running, stalled = opened.running(seen.run_set), opened.stalled(seen.run_set)
        if as_json:
            print_json({"status": seen, "running": running, "stalled": stalled})
            return
        from proctor.reports.tables import status_lines

        show(*status_lines(seen, running, stalled, opened.task_names(seen.run_set.suite_id)))


def pause(run_set: RunSet = None, as_json: AsJson = False) -> None:
    """Start no more of a run set's cells; running ones finish. `resume` goes on."""
    with client(as_json=as_json) as opened:
        row = opened.pause(run_set)
        print_json(row) if as_json else show(f"{row.name}: paused. To go on: proctor resume {row.name}")


def cancel(run_set: RunSet = None, as_json: AsJson = False) -> None:
    """End a run set and what runs of it. Its cells stay expected and owed; `resume` brings them back."""
    with client(as_json=as_json) as opened:
        row = opened.cancel(run_set)
        print_json(row) if as_json else show(f"{row.name}: cancelled. What was decided stays decided.")


def unblock(
    scope: Annotated[str, typer.Argument(metavar="provider|registry|node", help="As `status` tells it.")],
    name: Annotated[str, typer.Argument(help="Its name, as `status` tells it.")],
    as_json: AsJson = False,
) -> None:
    """Let cells start again that wait for a provider, registry or node, without waiting for its probe."""
    with client(as_json=as_json) as opened:
        opened.unblock(scope, name)
        print_json({"unblocked": {"scope": scope, "name": name}}) if as_json else show(f"{scope} {name}: open")
