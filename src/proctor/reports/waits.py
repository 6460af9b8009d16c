"""What cells wait for, in a line each."""

from __future__ import annotations

from proctor.engine.breakers import told
from proctor.engine.waits import Wait, WaitState
from proctor.kernel.words import counted
from proctor.reports.formats import one_line

__all__ = ["wait_line"]


def wait_line(wait: Wait) -> str:
    """``blocked on registry docker.io until 14:05:10 UTC (image_error 10) · 143 cells``."""
    return _what(wait) + (f" · {counted(wait.cells, 'cell')}" if wait.cells else "")


def _what(wait: Wait) -> str:
    name = one_line(f"{wait.scope} {wait.name}" if wait.name else "no provider")
    counts = f" ({told(wait.counts)})" if wait.counts else ""
    if wait.state is WaitState.CLOSED:
        return f"blocked on {name} until {wait.until:%H:%M:%S} UTC{counts}"
    if wait.state is WaitState.PROBING:
        return f"one at a time on {name} until it works{counts}"
    if wait.state is WaitState.PAUSED:
        return f"blocked on {name} until it is opened by hand: {one_line(wait.reason)}"
    if wait.scope == "pulls":
        return f"images of {one_line(wait.name)} wait for their turn: {wait.per_minute} pulls a minute"
    limits = [f"{wait.at_once} at once" if wait.at_once is not None else ""]
    limits += [f"{wait.per_minute} starts a minute" if wait.per_minute is not None else ""]
    return f"{name} is at its limit: {', '.join(filter(None, limits))}"
