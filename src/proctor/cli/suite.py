"""``proctor suite import|check|list|show|alias``."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, ExitCode, client, err, print_json, show

if TYPE_CHECKING:
    from proctor.engine.certificates.standing import Standing
    from proctor.suites.datasets import ResolvedDataset
    from proctor.suites.service import SuiteDetail

__all__ = ["app"]

app = typer.Typer(no_args_is_help=True, help="Immutable sets of tasks: import them, look at them, label them.")


@app.command("import")
def import_suite(
    source: Annotated[
        Path,
        typer.Argument(
            metavar="FOLDER|DATASET.toml|REGISTRY.json",
            help="A task or a folder of tasks (Harbor's, Terminal-Bench 1's), or a dataset file with --tasks.",
        ),
    ],
    tasks: Annotated[Path | None, typer.Option(metavar="FOLDER", help="Where a dataset's tasks are.")] = None,
    dataset: Annotated[
        str | None, typer.Option(metavar="NAME[@VERSION]", help="Which dataset of a registry.json.")
    ] = None,
    label: Annotated[str | None, typer.Option(help="A label for the suite.")] = None,
    label_dataset: Annotated[
        bool, typer.Option("--label-dataset", help="Label it NAME@VERSION, as the dataset file says.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Import a folder of tasks, or exactly the tasks of a dataset by digest or commit. Nothing is fetched.

    Malformed tasks are listed with file, field and reason, and stop nothing.
    """
    if source.is_dir() or tasks is None:
        _only_of_datasets(source, tasks, dataset, label_dataset)
    with client(as_json=as_json) as opened:
        if source.is_dir() or tasks is None:
            resolved = None
            suite_id, detail = opened.import_suite(source, label=label)
            if told := opened.tasks_further_down(source):
                err().print(told, style="yellow", soft_wrap=True)
        else:
            from proctor.suites.datasets import resolve_dataset

            resolved = resolve_dataset(source, tasks, dataset=dataset)
            label = label or (resolved.label if label_dataset else None)
            suite_id, detail = opened.import_dataset(resolved, label=label)
        if as_json:
            print_json({"suite_id": suite_id, "suite": detail, "dataset": _dataset(resolved)})
        else:
            _tell(detail)
            _tell_dataset(resolved)
        malformed = detail.row.malformed_count
    if malformed:
        raise typer.Exit(ExitCode.GAPS)


def _only_of_datasets(source: Path, tasks: Path | None, dataset: str | None, label_dataset: bool) -> None:
    if source.is_file():
        raise typer.BadParameter("name the folder where the dataset's tasks are", param_hint="--tasks")
    if tasks is not None or dataset is not None or label_dataset:
        raise typer.BadParameter("a folder of tasks is imported as it is; this is for a dataset file")


def _dataset(resolved: ResolvedDataset | None) -> dict[str, object] | None:
    if resolved is None:
        return None
    return {"name": resolved.name, "version": resolved.version, "hash": resolved.hash, "files": list(resolved.files)}


def _tell_dataset(resolved: ResolvedDataset | None) -> None:
    if resolved is not None:
        show(f"dataset {resolved.label}" + (f": hash {resolved.hash}" if resolved.hash else ""))
        if resolved.files:
            show(f"files of the dataset, which are not run: {', '.join(resolved.files)}")


@app.command("list")
def list_suites(as_json: AsJson = False) -> None:
    """List suites with their labels."""
    with client(as_json=as_json) as opened:
        rows = opened.suites()
        if as_json:
            print_json({"suites": rows})
            return
        from proctor.reports.tables import suites_table

        show(suites_table(rows) if rows else "No suites yet: proctor suite import FOLDER")


@app.command("show")
def show_suite(
    suite: Annotated[str, typer.Argument(help="An id, its first 8 characters, or a label.")], as_json: AsJson = False
) -> None:
    """Show a suite's tasks with their digests, verification modes, certificates and problems."""
    with client(as_json=as_json) as opened:
        detail = opened.suite(suite)
        standings = opened.standings(detail.row.suite_id)
        if as_json:
            print_json({"row": detail.row, "tasks": detail.tasks, "certificates": standings})
        else:
            _tell(detail, standings)


@app.command("check")
def check_suite(
    suite: Annotated[str, typer.Argument(metavar="SUITE|FOLDER", help="A label, an id, or a folder of tasks.")],
    task: Annotated[str | None, typer.Option(metavar="GLOB", help="Only tasks whose name fits.")] = None,
    concurrency: Annotated[int, typer.Option(min=1, max=1024, help="Attempts at once.")] = 4,
    oracle_runs: Annotated[int, typer.Option(min=5, help="How often the solution is run; it must pass each time.")] = 5,
    again: Annotated[bool, typer.Option("--again", help="Also where a certificate is there already.")] = False,
    as_json: AsJson = False,
) -> None:
    """Certify tasks: the solution passes every time; nothing, a wrong solution and forgeries never do.

    Exit code 0: all certified; 1: some refused; 3: some not decided. Ctrl-C keeps what is complete.
    """
    with client(as_json=as_json) as opened:
        from proctor.cli.checking import check, exit_code
        from proctor.sdk.checking import CheckRequest

        request = CheckRequest(task=task, concurrency=concurrency, oracle_runs=oracle_runs, again=again)
        report = check(opened.check(suite, request), quiet=as_json, to_go_on=suite)
        if as_json:
            print_json(report)
        code = exit_code(report)
    raise typer.Exit(code)


@app.command("alias")
def set_alias(
    label: Annotated[str | None, typer.Argument(help="The label; without one all are listed.")] = None,
    suite: Annotated[str | None, typer.Argument(help="What it stands for from now on.")] = None,
    as_json: AsJson = False,
) -> None:
    """Let a label stand for a suite; earlier meanings are kept with their time."""
    with client(as_json=as_json) as opened:
        if label is not None and suite is None:
            raise typer.BadParameter("name the suite it stands for", param_hint="SUITE")
        if label is not None and suite is not None:
            opened.set_alias(label, suite)
        rows = [alias for alias in opened.aliases() if label is None or alias.name == label]
        if as_json:
            print_json({"aliases": rows})
            return
        from proctor.reports.tables import aliases_table

        show(aliases_table(rows) if rows else "No labels yet: proctor suite alias LABEL SUITE")


def _tell(detail: SuiteDetail, standings: Mapping[str, Standing] | None = None) -> None:
    from proctor.kernel.words import counted
    from proctor.reports.tables import suite_table

    row = detail.row
    names = f" ({', '.join(row.aliases)})" if row.aliases else ""
    show(
        f"suite {row.suite_id}{names}: {counted(row.task_count, 'task')}, {row.malformed_count} malformed",
        suite_table(detail, standings),
    )
