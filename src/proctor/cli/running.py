"""A run on the screen: before, while it goes on, and after."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

from proctor.cli.output import ExitCode, err, show

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

    from proctor.engine.spec import Gate
    from proctor.sdk.client import Client, Leaderboard, Prepared
    from proctor.sdk.previews import DryRun
    from proctor.sdk.requests import RunRequest
    from proctor.sdk.running import RunSession

__all__ = ["begin", "dry_run", "dry_run_lines", "exit_code", "follow", "show_end", "warn_of_gate"]

LOOK_SEC: float = 0.25
"""Between looks at a run's progress: often enough to feel live, seldom enough to cost nothing."""
LINE_SEC: float = 5.0
"""Between lines where standard error is no terminal."""


def dry_run(client: Client, prepared: Prepared, request: RunRequest) -> DryRun:
    """What starting would take."""
    from proctor.sdk.previews import dry_run as preview

    return preview(client, prepared, request)


def dry_run_lines(report: DryRun) -> list[RenderableType]:
    """A dry run for a reader."""
    from proctor.kernel.money import format_usd
    from proctor.reports.formats import UNKNOWN, duration

    worst = UNKNOWN + " (a profile sets no max_cost)" if report.worst_case_nano is None else None
    lines = [
        f"{report.run_set}: {report.expected:,} cells expected",
        f"  decided {report.decided:,} · reused {report.reused:,} · owed {report.owed:,} · new {report.new:,}",
        f"  to be run now {report.queued:,}",
        f"  worst-case cost {worst or format_usd(report.worst_case_nano)}",
        f"  expected time {duration(report.expected_sec)} · at most {duration(report.at_most_sec)}",
        "  comparable: yes" if report.comparable else "  comparable: no",
        *(f"    {reason}" for reason in report.reasons),
        *(f"  malformed: {line}" for line in report.malformed),
        *(f"  has moved: {line}" for line in report.moved),
        *(f"  missing key: {name}" for name in report.missing_secrets),
        "Nothing was started.",
    ]
    return list(lines)


def warn_of_gate(client: Client, gate: Gate, *, quiet: bool) -> None:
    """Say before the work starts that the file's gate looks at what is not there; the run may be what will be."""
    from proctor.kernel.errors import UsageError

    if gate.against is None or quiet:
        return
    try:
        client.check_reference(gate.against)
    except UsageError as error:
        message = f"gate.against = {gate.against!r}: {error} The gate will be open."
        err().print(message, style="yellow", soft_wrap=True)


def begin(client: Client, prepared: Prepared, request: RunRequest, *, quiet: bool) -> RunSession:
    """Open the run set and start its worker."""
    opened = client.open_run_set(prepared, on_moved=request.on_moved, fresh=request.fresh, selection=request.selection)
    if not quiet:
        since = f", since {opened.why_new}" if opened.why_new else ""
        word = f"new run set{since}" if opened.created else "run set of this file"
        err().print(f"{opened.run_set.name} ({str(opened.run_set.id)[:8]}): {word}, {opened.queued:,} cells queued")
        for task in prepared.resolved.malformed:
            err().print(f"  malformed task {task.name}: {task.problems[0]}", style="yellow", soft_wrap=True)
    session = client.session(prepared, opened)
    if session.nothing_to_do and not quiet:
        err().print("nothing to do")
    return session


def follow(session: RunSession, *, quiet: bool) -> bool:
    """Show progress until the run ends; returns whether it was interrupted.

    Ctrl-C once: no new cells, running ones finish; twice: running ones are cancelled.
    """
    if session.nothing_to_do:
        return False
    with _interrupts(session) as presses:
        session.start()
        if quiet:
            _wait(session)
        elif err().is_terminal:
            _live(session, presses)
        else:
            _lines(session)
    return bool(presses)


@contextmanager
def _interrupts(session: RunSession) -> Iterator[list[int]]:
    presses: list[int] = []

    def press(number: int, _frame: FrameType | None) -> None:
        presses.append(number)
        # Not in the handler: it may interrupt the very lock that stopping needs.
        action = session.stop if len(presses) == 1 else session.cancel
        threading.Thread(target=action, daemon=True).start()

    before = {number: signal.signal(number, press) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield presses
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _wait(session: RunSession) -> None:
    while not session.wait(LOOK_SEC):
        pass


def _lines(session: RunSession) -> None:
    waited = 0.0
    while not session.wait(LOOK_SEC):
        waited += LOOK_SEC
        if waited >= LINE_SEC:
            waited = 0.0
            err().print(_line(session), soft_wrap=True)
    err().print(_line(session), soft_wrap=True)


def _line(session: RunSession) -> str:
    seen = session.progress()
    classes = " · ".join(f"{name} {count}" for name, count in session.classes.most_common())
    waiting = f" · {seen.waiting} waiting" if seen.waiting else ""
    return f"{seen.decided:,} of {seen.expected:,} decided · {session.running} running{waiting} · {classes}"


def _live(session: RunSession, presses: list[int]) -> None:
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[seen]}", markup=False),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=err(), transient=True) as bar:
        first = session.progress()
        task = bar.add_task("", total=first.expected, completed=first.decided, seen="")
        while not session.wait(LOOK_SEC):
            seen = session.progress()
            word = ("" if not presses else "stopping, Ctrl-C again to cancel · ") + _line(session).split(" · ", 1)[1]
            bar.update(task, completed=seen.decided, total=seen.expected, seen=word)


def show_end(board: Leaderboard, html: Path | None) -> None:
    """The leaderboard and what stands around it."""
    from proctor.reports.summary import summary

    show(*summary(board))
    if html is not None:
        show(f"report: {html}")


def exit_code(board: Leaderboard) -> int:
    """0 done and gate met, 1 gate missed, 3 gaps remain or the gate is open, 4 paused."""
    if board.gate.state.value == "missed":
        return ExitCode.GATE_MISSED
    if board.run_set.state == "paused":
        return ExitCode.PAUSED
    if board.gate.state.value == "open":
        return ExitCode.GAPS
    return ExitCode.DONE if board.progress.decided == board.progress.expected else ExitCode.GAPS
