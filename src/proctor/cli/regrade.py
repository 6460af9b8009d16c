"""``proctor regrade``: kept final states under a verifier that changed; the agents are not run again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from proctor.cli.output import AsJson, ExitCode, client, err, print_json, show

if TYPE_CHECKING:
    from proctor.engine.regrading.candidates import Candidate, PassedOver
    from proctor.sdk.regrades import RegradePlan, RegradeReport

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(regrade)


def regrade(
    run_set: Annotated[str | None, typer.Argument(metavar="[RUN_SET]", help="Name or id; the newest without.")] = None,
    suite: Annotated[str | None, typer.Option(help="Folder, label or id with the changed verifiers.")] = None,
    task: Annotated[str | None, typer.Option(metavar="GLOB", help="Only tasks whose name fits.")] = None,
    recheck: Annotated[bool, typer.Option("--recheck", help="Ask the same verifiers again: are they stable?")] = False,
    concurrency: Annotated[int, typer.Option(min=1, help="Gradings at once.")] = 2,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show which attempts qualify; grade nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Grade a run set's attempts again after a verifier was mended. Agents are not run; nothing is paid.

    The verdicts are of the changed suite's cells: `proctor run` of it takes them for nothing. Exit codes: 0 done,
    3 verdicts are still missing.
    """
    with client(as_json=as_json) as opened:
        plan = opened.plan_regrade(run_set, suite=suite, task=task, recheck=recheck)
        if dry_run:
            _tell_plan(plan, as_json=as_json)
            return
        with _progress(len(plan.regrade.cells), quiet=as_json) as advance:
            report = opened.regrade(plan, concurrency=concurrency, on_done=lambda _: advance())
        print_json(report) if as_json else _tell(report, recheck=recheck)
    if report.failed or any(one.undecided for one in report.tasks):
        raise typer.Exit(ExitCode.GAPS)


def _tell_plan(plan: RegradePlan, *, as_json: bool) -> None:
    from proctor.reports.tables import qualifying_table

    found = plan.regrade
    if as_json:
        numbers = {"qualify": len(found.cells), "decided_earlier": found.decided, "passed_over": found.passed_over}
        cells = [[_qualifying(one) for one in cell] for cell in found.cells]
        print_json({"run_set": plan.run_set.name, "suite_id": plan.suite_id, **numbers, "cells": cells})
        return
    qualify = "1 cell qualifies" if len(found.cells) == 1 else f"{len(found.cells):,} cells qualify"
    show(f"{plan.run_set.name}: {qualify}, {found.decided:,} decided earlier")
    if found.cells:
        show(qualifying_table(found.cells))
    _tell_passed_over(found.passed_over)
    show("Nothing was graded.")


def _qualifying(one: Candidate) -> dict[str, Any]:
    """An attempt that qualifies, as ``--json`` shows it; the first of a cell's to have a verdict ends it."""
    return {
        "cell": one.cell,
        "profile": one.profile,
        "task": one.task.name,
        "trial": one.trial,
        "attempt": one.attempt,
        "before": one.before,
    }


def _tell_passed_over(passed_over: Sequence[PassedOver]) -> None:
    from proctor.reports.tables import passed_over_table

    if passed_over:
        show("Not graded again:", passed_over_table(passed_over))


def _tell(report: RegradeReport, *, recheck: bool) -> None:
    from proctor.kernel.words import counted
    from proctor.reports.formats import policy_words
    from proctor.reports.tables import regraded_table

    show(regraded_table(report.tasks))
    _tell_passed_over(report.passed_over)
    for cell, reason in report.failed.items():
        err().print(f"cell {cell}: {reason}", style="yellow", soft_wrap=True)
    by = policy_words(report.policy_version)
    earlier = f", {report.decided_earlier:,} decided earlier" if report.decided_earlier else ""
    show(
        f"{report.run_set}: {counted(report.regraded, 'cell')} graded again{earlier}; "
        f"agents were not run, nothing was paid{by and f'; {by}'}"
    )
    if not recheck and report.regraded:
        show(f"`proctor run` over suite {report.suite_id[:8]} takes these verdicts for nothing.")


@contextmanager
def _progress(total: int, *, quiet: bool) -> Iterator[Callable[[], None]]:
    """A bar on a terminal; a line at each tenth elsewhere."""
    if quiet or not total:
        yield lambda: None
        return
    if not err().is_terminal:
        yield _line_by_line(total)
        return
    from rich.progress import Progress

    with Progress(console=err(), transient=True) as bar:
        shown = bar.add_task("grading", total=total)
        yield lambda: bar.advance(shown)


def _line_by_line(total: int) -> Callable[[], None]:
    from proctor.kernel.words import counted

    done = 0

    def advance() -> None:
        nonlocal done
        done += 1
        if done * 10 // total > (done - 1) * 10 // total:
            err().print(f"{done} of {counted(total, 'cell')} graded")

    return advance
