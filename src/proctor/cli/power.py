"""``proctor power``: how many examples a difference takes, before anything is run. It asks nobody."""

from __future__ import annotations

from typing import Annotated

import typer

from proctor.cli.output import AsJson, print_json, show, told

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(power)


def power(
    difference: Annotated[float | None, typer.Option(help="The difference to be seen: 0.03 is three points.")] = None,
    items: Annotated[int | None, typer.Option(help="Examples there are.")] = None,
    power: Annotated[float, typer.Option(help="The probability to see it.")] = 0.8,
    between: Annotated[
        float | None, typer.Option(help="Variance between examples of the true difference; 1/9 without.")
    ] = None,
    within_a: Annotated[float, typer.Option(help="Variance of one repeat about its example's mean, of A.")] = 0.0,
    within_b: Annotated[float, typer.Option(help="The same of B.")] = 0.0,
    repeats_a: Annotated[int, typer.Option(help="Repeats of each example by A.")] = 1,
    repeats_b: Annotated[int, typer.Option(help="The same by B.")] = 1,
    alpha: Annotated[float, typer.Option(help="The level of the two-sided test.")] = 0.05,
    as_json: AsJson = False,
) -> None:
    """Plan a comparison: the examples that a difference takes, or the difference that so many examples show."""
    from proctor.analysis.power import Design
    from proctor.jobs.analyses.planning import BETWEEN, planned

    with told(as_json=as_json):
        design = Design(
            between=BETWEEN if between is None else between,
            within_a=within_a,
            within_b=within_b,
            trials_a=repeats_a,
            trials_b=repeats_b,
            alpha=alpha,
        )
        plan = planned(design, difference=difference, items=items, power=power)
        if as_json:
            print_json(plan)
            return
        from proctor.reports.analyses import plan_lines

        show(*plan_lines(plan))
