"""``proctor job compare``, ``segments``, ``failures`` and the others: what the results of jobs say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from proctor.cli.output import AsJson, ExitCode, client, print_json, show

__all__ = ["register"]

_Job = Annotated[str, typer.Argument(metavar="JOB", help="Its name (the newest), its id, or the id's beginning.")]
_Evaluators = Annotated[
    list[str] | None, typer.Option("--evaluator", "-e", metavar="NAME", help="By which; repeatable. All without.")
]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    for command in (compare, segments, failures, distribution, repeats, agreement, history, report):
        app.command()(command)


def compare(
    job: Annotated[str, typer.Argument(metavar="A", help="The job that is looked at.")],
    against: Annotated[str, typer.Argument(metavar="B", help="The job that it is compared with: the base.")],
    evaluator: _Evaluators = None,
    margin: Annotated[
        float | None, typer.Option(help="Ask for a verdict: how much worse is no regression, in the scores' unit.")
    ] = None,
    alpha: Annotated[float, typer.Option(help="The level at which a difference is one.")] = 0.05,
    moved: Annotated[int, typer.Option(min=0, max=10_000, help="So many examples that moved, drops first.")] = 0,
    after: Annotated[int, typer.Option(min=0, help="Leave so many of the first ones out.")] = 0,
    as_json: AsJson = False,
) -> None:
    """Compare two jobs example by example: A less B, with interval, test, and what was left out.

    With --margin the exit code is 1 where an evaluator is worse. --moved needs one --evaluator where there are several.
    """
    with client(as_json=as_json) as opened:
        analyses, names = opened.analyses, evaluator or []
        told = analyses.compare(job, against, evaluators=names, margin=margin, alpha=alpha)
        a, b, one = str(told.a.id), str(told.b.id), names[0] if len(names) == 1 else None
        rows = analyses.moved(a, b, evaluator=one, after=after - 1, limit=moved) if moved else []
        if as_json:
            print_json({"comparison": told, "moved": rows})
        else:
            from proctor.reports.analyses import comparison_parts, moved_table

            show(*comparison_parts(told), *([moved_table(rows)] if rows else []))
        if told.regression:
            raise typer.Exit(ExitCode.GATE_MISSED)


def segments(
    job: _Job,
    by: Annotated[str, typer.Option(help="tag, difficulty or source.")] = "tag",
    evaluator: _Evaluators = None,
    as_json: AsJson = False,
) -> None:
    """Show scores by tag, difficulty or source of the examples, each against the rest, corrected."""
    from proctor.jobs.analyses.values import By

    with client(as_json=as_json) as opened:
        if by not in list(By):
            raise typer.BadParameter(f"choose from {', '.join(By)}", param_hint="--by")
        found = opened.analyses.segments(job, By(by), evaluators=evaluator or [])
        if as_json:
            print_json({"segments": found})
            return
        from proctor.reports.analyses import segments_parts

        show(*segments_parts(found))


def failures(
    job: _Job,
    evaluator: Annotated[str | None, typer.Option("--evaluator", "-e", metavar="NAME", help="By which.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show what has no score: by status, and by what the errors say."""
    with client(as_json=as_json) as opened:
        told = opened.analyses.failures(job, evaluator=evaluator)
        if as_json:
            print_json(told)
            return
        from proctor.reports.analyses import failures_parts

        show(*failures_parts(told))


def distribution(job: _Job, evaluator: _Evaluators = None, as_json: AsJson = False) -> None:
    """Show how scores are spread: range, quantiles, histogram."""
    with client(as_json=as_json) as opened:
        found = opened.analyses.distribution(job, evaluators=evaluator or [])
        if as_json:
            print_json({"distributions": found})
            return
        from proctor.reports.analyses import distribution_parts

        show(*distribution_parts(found))


def repeats(
    job: _Job,
    k: Annotated[str, typer.Option("--k", metavar="K,K,...", help="How many repeats are drawn, commas between.")] = "1",
    evaluator: _Evaluators = None,
    as_json: AsJson = False,
) -> None:
    """Show pass@k and pass^k: does any of k repeats pass, do all of k pass."""
    with client(as_json=as_json) as opened:
        found = opened.analyses.repeats(job, _numbers(k), evaluators=evaluator or [])
        if as_json:
            print_json({"repeats": found})
            return
        from proctor.reports.analyses import repeats_parts

        show(*repeats_parts(found))


def _numbers(text: str) -> list[int]:
    parts = [one.strip() for one in text.split(",")]
    if not all(one.isascii() and one.isdigit() and len(one) <= 4 for one in parts):
        raise typer.BadParameter("whole numbers up to 1,000, commas between: 1,2,4", param_hint="--k")
    return [int(one) for one in parts]


def agreement(
    job: _Job,
    evaluators: Annotated[str, typer.Option(metavar="A,B,...", help="Two or more, commas between. All without.")] = "",
    level: Annotated[str | None, typer.Option(help="nominal, ordinal, interval or ratio; without, by scores.")] = None,
    decimals: Annotated[int | None, typer.Option(min=0, max=2, help="Round scores first.")] = None,
    as_json: AsJson = False,
) -> None:
    """Show how far evaluators agree beyond chance: Krippendorff's alpha, and Cohen's kappa of each two."""
    with client(as_json=as_json) as opened:
        names = [one.strip() for one in evaluators.split(",") if one.strip()]
        told = opened.analyses.agreement(job, evaluators=names, level=level, decimals=decimals)
        if as_json:
            print_json(told)
            return
        from proctor.reports.analyses import agreement_parts

        show(*agreement_parts(told))


def history(
    jobs: Annotated[
        list[str], typer.Argument(metavar="JOB...", help="Names and ids; a name is all jobs that have it.")
    ],
    evaluator: _Evaluators = None,
    alpha: Annotated[float, typer.Option(help="The level at which a change of level is one.")] = 0.01,
    as_json: AsJson = False,
) -> None:
    """Show means of several jobs in the order of time, and from which job on the level is another."""
    with client(as_json=as_json) as opened:
        told = opened.analyses.history(jobs, evaluators=evaluator or [], alpha=alpha)
        if as_json:
            print_json(told)
            return
        from proctor.reports.analyses import history_parts

        show(*history_parts(told))


def report(
    job: _Job,
    to: Annotated[Path, typer.Option("--to", metavar="FILE", help="A new file: .md, .html, .csv, .parquet, .json.")],
    against: Annotated[str | None, typer.Argument(metavar="[AGAINST]", help="A job to compare it with.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a report of a job: numbers, comparison, distributions, segments, failures, each figure with its SQL."""
    from proctor.reports.job_report import SUFFIXES, write_report
    from proctor.sdk.documents import document

    with client(as_json=as_json) as opened:
        if to.suffix not in SUFFIXES:
            raise typer.BadParameter(f"a name that ends in {', '.join(SUFFIXES)}", param_hint="--to")
        told = opened.analyses.report(job, against)
        whole = document(told)
        assert isinstance(whole, dict)
        write_report(told, whole, to)
        if as_json:
            print_json({"file": to, "sections": len(told.sections)})
        else:
            show(f"written: {to}")
