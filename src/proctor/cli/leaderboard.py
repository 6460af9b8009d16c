"""``proctor leaderboard`` and ``proctor history``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.output import AsJson, client, print_json, show

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(leaderboard)
    app.command()(history)


def leaderboard(
    run_set: Annotated[str | None, typer.Argument(help="Name or id; the newest without.")] = None,
    html: Annotated[Path | None, typer.Option(help="Write an HTML report to this file too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show strict, graded, coverage and bounds together, with intervals, cost and tokens."""
    from proctor.kernel.paths import check_target
    from proctor.reports.summary import summary

    with client(as_json=as_json) as opened:
        if html is not None:
            check_target(html)
        board = opened.leaderboard(run_set)
        print_json(board) if as_json else show(*summary(board))
        if html is not None:
            from proctor.sdk.outputs import write_html

            write_html(opened, str(board.run_set.id), html)


def history(
    series: Annotated[str, typer.Argument(help="A profile's series; its name where it sets none.")],
    as_json: AsJson = False,
) -> None:
    """Show every leaderboard revision of a series, oldest first."""
    with client(as_json=as_json) as opened:
        rows = opened.history(series)
        if as_json:
            print_json({"series": series, "revisions": rows})
            return
        from proctor.reports.tables import history_table

        show(history_table(rows) if rows else f"No results of a series {series!r} yet.")
