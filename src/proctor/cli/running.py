"""A run on the screen: before, while it goes on, and after."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING

import typer

from proctor.cli.output import ExitCode, err, show

if TYPE_CHECKING:
    from datetime import datetime
    from uuid import UUID

    from rich.console import RenderableType

    from proctor.engine.planning import RunSetRow
    from proctor.engine.reading import Progress
    from proctor.engine.service import Opened
    from proctor.engine.spec import Gate
    from proctor.sdk.client import Client, Leaderboard, Prepared
    from proctor.sdk.previews import DryRun
    from proctor.sdk.requests import RunRequest
    from proctor.sdk.running import RunSession

__all__ = [
    "begin",
    "dry_run_lines",
    "exit_code",
    "follow",
    "show_end",
    "tell_size",
    "told_how_to_go_on",
    "warn_of_gate",
]

LOOK_SEC: float = 0.25
"""Between looks at a run's progress: often enough to feel live, seldom enough to cost nothing."""
MANY: int = 20_000
"""Cells that take more than moments to plan."""
SHOWN: int = 3
"""Images that did not come named in a line: the rest have most often the same cause."""
LINE_SEC: float = 5.0
"""Between lines where standard error is no terminal."""


def dry_run_lines(report: DryRun) -> list[RenderableType]:
    """A dry run for a reader."""
    from proctor.kernel.money import format_usd
    from proctor.kernel.words import counted
    from proctor.reports.formats import UNKNOWN, duration

    worst = UNKNOWN + " (no budget, and a profile sets no max_cost)" if report.worst_case_nano is None else None
    lines = [
        f"{report.run_set}: {counted(report.expected, 'cell')} expected",
        f"  decided {report.decided:,} · reused {report.reused:,} · owed {report.owed:,} · new {report.new:,}",
        f"  to be run now {report.queued:,}",
        f"  worst-case cost {worst or format_usd(report.worst_case_nano)}",
        f"  expected time {duration(report.expected_sec)} · at most {duration(report.at_most_sec)}",
        "  comparable: yes" if report.comparable else "  comparable: no",
        *(f"    {reason}" for reason in report.reasons),
        *(f"  malformed: {line}" for line in report.malformed),
        *(f"  {line}" for line in report.remarks),
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


def tell_size(prepared: Prepared, *, quiet: bool) -> None:
    """Say that it takes a while until more is seen, where there is much to plan."""
    if prepared.cells > MANY and not quiet:
        err().print(f"{prepared.cells:,} cells to be planned, some thousands a second")


def begin(client: Client, prepared: Prepared, request: RunRequest, *, quiet: bool) -> RunSession:
    """Open the run set and start its worker."""
    opened = client.open_run_set(prepared, on_moved=request.on_moved, fresh=request.fresh, selection=request.selection)
    with told_how_to_go_on(client, opened.run_set):
        if not quiet:
            _tell_opened(prepared, opened)
        session = client.session(prepared, opened)
        if session.nothing_to_do and not quiet:
            err().print("nothing to do")
    return session


@contextmanager
def told_how_to_go_on(client: Client, run_set: RunSetRow) -> Iterator[None]:
    """Say what to type after Ctrl-C, whenever it comes, and end with its exit code."""
    try:
        yield
    except KeyboardInterrupt:
        err().print(f"Interrupted. {client.how_to_go_on(run_set)}", soft_wrap=True)
        raise typer.Exit(ExitCode.INTERRUPTED) from None


def _tell_opened(prepared: Prepared, opened: Opened) -> None:
    from proctor.kernel.words import counted

    row, since = opened.run_set, f", since {opened.why_new}" if opened.why_new else ""
    word = f"new run set{since}" if opened.created else "run set of this file"
    err().print(f"{row.name} ({str(row.id)[:8]}): {word}, {counted(opened.queued, 'cell')} queued", soft_wrap=True)
    for task in prepared.resolved.malformed:
        err().print(f"  malformed task {task.name}: {task.problems[0]}", style="yellow", soft_wrap=True)
    for remark in prepared.resolved.remarks:
        err().print(f"  {remark}", style="yellow", soft_wrap=True)


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


class _Stalls:
    """Tells of each attempt that makes no progress, once for each time it stands still."""

    def __init__(self, session: RunSession) -> None:
        self._session = session
        self._told: set[tuple[UUID, datetime]] = set()
        self._waited = 0.0

    def look(self) -> None:
        """Call it as often as one looks at the run; it asks the database more seldom."""
        from rich.text import Text

        from proctor.reports.stalls import stall_words

        self._waited += LOOK_SEC
        if self._waited < LINE_SEC:
            return
        self._waited = 0.0
        for stall in self._session.stalled():
            if (stall.attempt, stall.since) not in self._told:
                self._told.add((stall.attempt, stall.since))
                err().print(Text(stall_words(stall), style="yellow"), soft_wrap=True)


def _lines(session: RunSession) -> None:
    waited, stalls = 0.0, _Stalls(session)
    while not session.wait(LOOK_SEC):
        stalls.look()
        waited += LOOK_SEC
        if waited >= LINE_SEC:
            waited = 0.0
            err().print(_line(session), soft_wrap=True)
    err().print(_line(session), soft_wrap=True)


def _line(session: RunSession) -> str:
    seen = session.progress()
    return f"{seen.decided:,} of {seen.expected:,} decided: {_parts(session, seen)}"


def _parts(session: RunSession, seen: Progress) -> str:
    """What the decided cells are made of, so that it adds up to their number, then what is not decided, and why."""
    from proctor.reports.waits import wait_line

    here = session.decided.most_common()
    earlier = seen.decided - sum(count for _, count in here)
    parts = [f"{name} {count:,}" for name, count in here]
    parts += [f"{earlier:,} earlier or elsewhere"] if earlier > 0 else []
    parts += [f"{session.running} running"]
    parts += [f"{seen.waiting:,} waiting"] if seen.waiting else []
    parts += [session.held_back] if session.held_back else []
    owed = " ".join(f"{name} {count:,}" for name, count in session.undecided.most_common())
    parts += [f"attempts without a verdict: {owed}"] if owed else []
    parts += [wait_line(wait) for wait in seen.waits]
    parts += _images(session)
    return " · ".join(parts)


def _images(session: RunSession) -> list[str]:
    """How far the images have come, and which did not."""
    from proctor.reports.formats import one_line

    bringing = session.preflight
    if bringing is None:
        return []
    coming = [f"images {bringing.done:,} of {bringing.total:,}"] if bringing.done < bringing.total else []
    names = ", ".join(f"{one_line(one.image)} ({one.outcome.outcome.value})" for one in bringing.missing[:SHOWN])
    return coming + ([f"images that did not come: {names}"] if names else [])


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
        stalls = _Stalls(session)
        while not session.wait(LOOK_SEC):
            stalls.look()
            seen = session.progress()
            word = ("" if not presses else "stopping, Ctrl-C again to cancel · ") + _parts(session, seen)
            bar.update(task, completed=seen.decided, total=seen.expected, seen=word)


def show_end(board: Leaderboard) -> None:
    """The leaderboard and what stands around it."""
    from proctor.reports.summary import summary

    show(*summary(board))


def exit_code(board: Leaderboard) -> int:
    """0 done and gate met, 1 gate missed, 3 gaps remain or the gate is open, 4 paused."""
    if board.gate.state.value == "missed":
        return ExitCode.GATE_MISSED
    if board.run_set.state == "paused":
        return ExitCode.PAUSED
    if board.gate.state.value == "open":
        return ExitCode.GAPS
    return ExitCode.DONE if board.progress.decided == board.progress.expected else ExitCode.GAPS
