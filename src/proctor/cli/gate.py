"""``proctor gate``: is a run set good enough, in words, an exit code and the files that CI systems read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from proctor.cli.output import AsJson, ExitCode, client, err, print_json, show

if TYPE_CHECKING:
    from proctor.engine.spec import Gate
    from proctor.sdk.client import Client, Leaderboard

__all__ = ["AgainstOption", "AlphaOption", "FailUnder", "Files", "JUnitOption", "MarkdownOption", "register", "wanted"]

FailUnder = Annotated[
    list[str] | None, typer.Option("--fail-under", metavar="RATE=NUMBER", help="strict=0.8 or graded=0.7; repeatable.")
]
AgainstOption = Annotated[
    str | None, typer.Option("--against", metavar="REF", help="RUN_SET or label:NAME, to be no worse than.")
]
AlphaOption = Annotated[float | None, typer.Option("--alpha", help="The level of --against; 0.05 without.")]
JUnitOption = Annotated[Path | None, typer.Option("--junit", help="Write JUnit XML to this file.")]
MarkdownOption = Annotated[Path | None, typer.Option("--markdown", help="Write a Markdown summary to this file.")]


@dataclass(frozen=True, kw_only=True)
class Files:
    """Which reports to write. In a GitHub job the summary page gets the Markdown as well."""

    html: Path | None = None
    junit: Path | None = None
    markdown: Path | None = None

    def check(self) -> None:
        """Raises ``ReportUnwritable`` before hours of work that could not be reported."""
        from proctor.sdk.outputs import check_writable

        for path in (self.html, self.junit, self.markdown):
            if path is not None:
                check_writable(path)

    def write(self, opened: Client, board: Leaderboard) -> None:
        """Write them. Raises ``ReportUnwritable``."""
        from proctor.sdk.outputs import append_step_summary, write_html, write_junit, write_markdown

        if self.html is not None:
            write_html(opened, str(board.run_set.id), self.html)
        if self.junit is not None:
            write_junit(board, opened.sides(str(board.run_set.id)), self.junit)
        if self.markdown is not None:
            write_markdown(board, self.markdown)
        problem = append_step_summary(board)
        if problem:
            err().print(problem, style="yellow", soft_wrap=True)


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(gate)


def gate(
    run_set: Annotated[str | None, typer.Argument(metavar="[RUN_SET]", help="Name or id; the newest without.")] = None,
    fail_under: FailUnder = None,
    against: AgainstOption = None,
    alpha: AlphaOption = None,
    junit: JUnitOption = None,
    markdown: MarkdownOption = None,
    as_json: AsJson = False,
) -> None:
    """Decide whether a run set is good enough: by its file's [gate], or by what is given here instead.

    With gaps the bounds decide. Exit codes: 0 met, 1 missed, 3 open: the missing verdicts would decide it.
    """
    files = Files(junit=junit, markdown=markdown)
    with client(as_json=as_json) as opened:
        row = opened.find(run_set)
        chosen = wanted(opened, opened.gate(str(row.id)), fail_under, against, alpha)
        _refuse_nothing(chosen)
        files.check()
        board = opened.leaderboard(str(row.id), gate=chosen, must_compare=against is not None)
        files.write(opened, board)
        print_json(board) if as_json else _tell(board)
    raise typer.Exit({"met": ExitCode.DONE, "missed": ExitCode.GATE_MISSED}.get(board.gate.state.value, ExitCode.GAPS))


def wanted(
    opened: Client, of_file: Gate, fail_under: list[str] | None, against: str | None, alpha: float | None
) -> Gate:
    """The gate to judge by. Raises ``GateInvalid``, and what a reference given here can raise."""
    from proctor.engine.gates import gate_with

    chosen = gate_with(of_file, fail_under or (), against=against, alpha=alpha)
    if against is not None:
        opened.check_reference(against)
    return chosen


def _refuse_nothing(chosen: Gate) -> None:
    from proctor.engine.errors import GateInvalid

    if (chosen.strict, chosen.graded, chosen.against) == (None, None, None):
        raise GateInvalid("There is no gate: neither the run set's file nor this command sets one.")


def _tell(board: Leaderboard) -> None:
    from proctor.reports.comparison import comparison_parts
    from proctor.reports.summary import summary

    show(*summary(board))
    if board.gate.comparison is not None:
        show(*comparison_parts(board.gate.comparison))
