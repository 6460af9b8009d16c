"""``proctor cells``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated
from uuid import UUID

import typer

from proctor.cli.output import AsJson, client, print_json, show
from proctor.kernel.errors import UsageError

if TYPE_CHECKING:
    from proctor.engine.reading import CellPage

__all__ = ["check_outcome", "options_named", "register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(cells)


def cells(
    run_set: Annotated[str | None, typer.Argument(help="Name or id; the newest without.")] = None,
    outcome: Annotated[str | None, typer.Option(help="A class, such as failed or image_error, or not_started.")] = None,
    profile: Annotated[str | None, typer.Option(help="A profile's name.")] = None,
    task: Annotated[str | None, typer.Option(metavar="GLOB", help="Tasks whose name fits.")] = None,
    limit: Annotated[int, typer.Option(min=1, max=10_000, help="Rows of a page.")] = 200,
    after: Annotated[str | None, typer.Option(metavar="CURSOR", help="The next page: what the last one said.")] = None,
    as_json: AsJson = False,
) -> None:
    """List a run set's cells with the class and owner of each."""
    with client(as_json=as_json) as opened:
        check_outcome(outcome)
        with options_named():
            row, page, profiles, tasks = opened.cells(
                run_set, outcome=outcome, profile=profile, task=task, after=_cursor(after), limit=limit
            )
        following = _cursor_text(page)
        if as_json:
            print_json({"run_set": row, "cells": page.cells, "profiles": profiles, "tasks": tasks, "after": following})
            return
        from proctor.reports.tables import cells_table

        show(cells_table(page.cells, profiles, tasks))
        if following:
            show(f"more: --after {following}")


def check_outcome(outcome: str | None) -> None:
    """Raises ``BadParameter`` naming the classes there are."""
    from proctor.engine.outcomes import OutcomeClass

    known = [*OutcomeClass, "not_started"]
    if outcome is not None and outcome not in known:
        raise typer.BadParameter(f"{outcome!r} is no class; there are {', '.join(known)}", param_hint="--outcome")


@contextmanager
def options_named() -> Iterator[None]:
    """An error that is about a profile or a task names the option that it came with."""
    try:
        yield
    except UsageError as error:
        if error.where in ("profile", "task"):
            error.where = f"--{error.where}"
        raise


def _cursor(text: str | None) -> tuple[int, str, int, UUID] | None:
    if text is None:
        return None
    try:
        profile, task, trial, cell = text.split(":")
        return int(profile), task, int(trial), UUID(cell)
    except ValueError:
        raise typer.BadParameter("not a cursor that a page gave", param_hint="--after") from None


def _cursor_text(page: CellPage) -> str | None:
    return ":".join(str(part) for part in page.cursor) if page.cursor else None
