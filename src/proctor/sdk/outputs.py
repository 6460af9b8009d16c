"""Reports as files: JUnit XML, Markdown, and the summary page of a GitHub job."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.kernel.errors import UsageError
from proctor.kernel.paths import writing
from proctor.settings import step_summary

if TYPE_CHECKING:
    from proctor.engine.pairs import Side
    from proctor.sdk.client import Client, Leaderboard

__all__ = ["ReportUnwritable", "append_step_summary", "check_writable", "write_html", "write_junit", "write_markdown"]


class ReportUnwritable(UsageError):
    """A report can't be written there."""

    code = "report-path"
    remedy = "Name a file in a folder that this user can write."


def check_writable(path: Path) -> None:
    """Make a report's folder if need be, and open the file as writing will. Raises ``ReportUnwritable``."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        existed = path.exists()
        path.open("ab").close()
        if not existed:
            path.unlink()
    except OSError as error:
        raise ReportUnwritable(f"It can't be written: {error.strerror}.", where=str(path)) from error


def write_html(client: Client, reference: str | None, path: Path) -> None:
    """Write a run set's report as one self-contained HTML file. Raises ``PathUnusable``."""
    from proctor.reports.html import MATRIX_CELLS, render_html

    board = client.leaderboard(reference)
    _, page, profiles, tasks = client.cells(reference, limit=MATRIX_CELLS)
    with writing(path):
        path.write_text(render_html(board, page.cells, profiles, tasks), encoding="utf-8")


def write_junit(board: Leaderboard, sides: Sequence[Side], path: Path) -> None:
    """Write a run set's cells as JUnit XML. Raises ``ReportUnwritable``."""
    from proctor.reports.junit import junit

    _write(path, junit(board, sides))


def write_markdown(board: Leaderboard, path: Path) -> None:
    """Write a run set's summary as Markdown. Raises ``ReportUnwritable``."""
    from proctor.reports.markdown import markdown

    _write(path, markdown(board))


def append_step_summary(board: Leaderboard) -> str:
    """Append the Markdown to the summary page, if this is a GitHub job; what went wrong, which fails nothing."""
    path = step_summary()
    if path is None:
        return ""
    from proctor.reports.markdown import markdown

    try:
        with path.open("a", encoding="utf-8") as page:
            page.write(markdown(board))
    except OSError as error:
        return f"The job's summary page can't be written: {error.strerror}: {path}"
    return ""


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ReportUnwritable(f"It can't be written: {error.strerror}.", where=str(path)) from error
