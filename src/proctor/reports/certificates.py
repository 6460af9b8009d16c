"""What a check of a suite found, on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from proctor.engine.certificates.certificate import NOT_TRIED, CheckedTask, is_untried
from proctor.reports.formats import UNKNOWN
from proctor.reports.tables import table

__all__ = ["checked_table", "remarks"]


def checked_table(tasks: Sequence[CheckedTask]) -> Table:
    """One line a task: how often the solution passed, and what never may."""
    live = any(one.snapshot is not None for one in tasks)
    made = table("task", "certificate", "oracle", "noop", "wrong", "forgeries", *(["snapshot"] if live else []))
    for one in tasks:
        verdict = one.verdict.value.replace("_", " ") if one.verdict else "not come to"
        made.add_row(
            one.name,
            f"{verdict} (already)" if one.skipped else verdict,
            _oracle(one),
            _said(one, "noop"),
            _said(one, "wrong"),
            _forgeries(one),
            *([{True: "passes too", False: "does not pass", None: ""}[one.snapshot]] if live else []),
        )
    return made


def remarks(tasks: Sequence[CheckedTask]) -> Iterator[RenderableType]:
    """Why a task is not certified, and what the author of a live one can do about it."""
    for one in tasks:
        for problem in one.problems:
            yield Text(f"{one.name}: {problem}")
    untried = [one.name for one in tasks if is_untried(one.runs)]
    if untried:
        yield Text(
            f"no wrong solution was tried: {', '.join(untried)}; that the verifier can say no, noop and the forgeries "
            "show alone. A solution/wrong.sh would be tried too"
        )
    better = [one.name for one in tasks if one.snapshot]
    if better:
        yield Text(
            f'live, and the oracle passes in snapshot too: {", ".join(better)}; verification = "snapshot" under '
            "[metadata.proctor] would leave no process of the agent beside the verifier"
        )


def _oracle(one: CheckedTask) -> str:
    runs = [run for run in one.runs if run["solution"] == "oracle"]
    return f"{sum(run['verdict'] is True for run in runs)} of {len(runs)}" if runs else UNKNOWN


def _said(one: CheckedTask, solution: str) -> str:
    for run in one.runs:
        if run["solution"] == solution:
            return "PASSES" if run["verdict"] is True else str(run["class"]).replace(NOT_TRIED, "not tried")
    return UNKNOWN


def _forgeries(one: CheckedTask) -> str:
    """Caught of all; those that only broke the verifier are counted apart, for they cost an attempt its verdict."""
    runs = [run for run in one.runs if run["forgery"]]
    if not runs:
        return UNKNOWN
    caught = sum(bool(run["as_wanted"]) for run in runs)
    broke = sum(run["class"] == "verifier_error" for run in runs)
    return f"{caught} of {len(runs)} caught" + (f", {broke} by a verifier error" if broke else "")
