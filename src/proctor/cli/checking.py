"""A check on the screen: while it goes on, and after."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from proctor.cli.output import ExitCode, err, show

if TYPE_CHECKING:
    from proctor.engine.certificates.certificate import CheckedTask
    from proctor.sdk.checking import CheckReport, CheckSession

__all__ = ["check", "exit_code"]


def check(session: CheckSession, *, quiet: bool, to_go_on: str) -> CheckReport:
    """Run a check with its progress on standard error and its result on standard output."""
    if quiet:
        return session.run(on_run=lambda name, run: None, on_task=lambda checked: None)
    for one in session.skipped:
        err().print(_line(one), soft_wrap=True)
    with _progress(session.todo) as (told, tell):
        report = session.run(on_run=lambda name, run: told(f"{name}: {run.check.solution}"), on_task=tell)
    _show(report)
    if report.interrupted:
        err().print(f"Interrupted. To go on: proctor suite check {to_go_on}", soft_wrap=True)
    return report


@contextmanager
def _progress(todo: int) -> Iterator[tuple[Callable[[str], None], Callable[[CheckedTask], None]]]:
    """How to tell that a run ended, and that a task did."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[seen]}", markup=False),
        TimeElapsedColumn(),
    )
    console = err()
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as bar:
        task = bar.add_task("", total=todo, seen="")

        def tell(checked: CheckedTask) -> None:
            console.print(_line(checked), soft_wrap=True)
            bar.advance(task)

        yield lambda seen: bar.update(task, seen=seen), tell


def _line(checked: CheckedTask) -> str:
    if checked.skipped:
        return f"{checked.name}: certified already"
    return f"{checked.name}: {_word(checked)}"


def _word(checked: CheckedTask) -> str:
    return checked.verdict.value.replace("_", " ") if checked.verdict is not None else "not come to"


def _show(report: CheckReport) -> None:
    from proctor.reports.certificates import checked_table, remarks

    show(checked_table(report.tasks), *remarks(report.tasks))


def exit_code(report: CheckReport) -> int:
    """0 all certified, 1 some refused, 3 some not decided, 130 interrupted."""
    from proctor.engine.certificates.certificate import CheckVerdict

    if report.interrupted:
        return ExitCode.INTERRUPTED
    if report.count(CheckVerdict.REFUSED):
        return ExitCode.GATE_MISSED
    return ExitCode.DONE if report.count(CheckVerdict.CERTIFIED) == len(report.tasks) else ExitCode.GAPS
