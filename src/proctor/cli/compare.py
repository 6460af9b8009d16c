"""``proctor compare`` and ``proctor label``: two run sets side by side, and names for those worth comparing with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, client, print_json, show

if TYPE_CHECKING:
    from proctor.sdk.client import Client

__all__ = ["register"]

_REFERENCE = "RUN_SET, RUN_SET:PROFILE, label:NAME or label:NAME:PROFILE; two or more."


def register(app: typer.Typer) -> None:
    """Add the commands."""
    app.command()(compare)
    app.command()(label)


def compare(
    references: Annotated[list[str], typer.Argument(metavar="A B [C ...]", help=_REFERENCE)],
    alpha: Annotated[float, typer.Option(help="The level at which a difference is one.")] = 0.05,
    base_only: Annotated[
        bool, typer.Option("--base-only", help="The first with each of the others, and not these with one another.")
    ] = False,
    segments: Annotated[bool, typer.Option("--segments", help="By difficulty and category of the tasks.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare profiles task by task: the difference with its interval and test, flips, cost, what was left out.

    Run sets of several profiles are paired by the profiles' names.
    """
    with client(as_json=as_json) as opened:
        if len(references) < 2:
            raise typer.BadParameter("name two or more to compare", param_hint="A B")
        if not 0 < alpha < 1:
            raise typer.BadParameter("a number between 0 and 1", param_hint="--alpha")
        if segments:
            _segments(opened, references, alpha, as_json=as_json)
            return
        comparison = opened.compare(references, alpha=alpha, base_only=base_only)
        if as_json:
            print_json(comparison)
            return
        from proctor.reports.comparison import comparison_parts

        show(*comparison_parts(comparison))


def _segments(opened: Client, references: list[str], alpha: float, *, as_json: bool) -> None:
    if len(references) > 2:
        raise typer.BadParameter("two are compared by segment", param_hint="A B")
    base, other = references
    found = opened.compare_segments(base, other, alpha=alpha)
    if as_json:
        print_json(found)
        return
    from proctor.reports.comparison import segment_parts

    show(*segment_parts(found))


def label(
    run_set: Annotated[
        str | None, typer.Argument(metavar="[RUN_SET]", help="Name or id; without, list labels.")
    ] = None,
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="The label that stands for it now.")] = None,
    as_json: AsJson = False,
) -> None:
    """Let a label stand for a run set, to be compared with as label:NAME; earlier meanings are kept with their time."""
    with client(as_json=as_json) as opened:
        if run_set is not None and name is None:
            raise typer.BadParameter("name the label too", param_hint="NAME")
        if run_set is not None and name is not None:
            opened.label(run_set, name)
        rows = [one for one in opened.labels() if name is None or one.name == name]
        if as_json:
            print_json({"labels": rows})
            return
        from proctor.reports.tables import aliases_table

        show(aliases_table(rows) if rows else "No labels yet: proctor label RUN_SET NAME")
