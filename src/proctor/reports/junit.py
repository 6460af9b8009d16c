"""JUnit XML, as CI systems read it: a suite a profile, a test case a task.

The dialect is the one that Jenkins, GitLab and the GitHub reporters share: one result element a case at most. A cell
without a verdict is an ``error`` with its class and owner, so that nobody takes a rate limit for a failure.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from proctor.reports.formats import one_line

if TYPE_CHECKING:
    from proctor.engine.leaderboards import LeaderboardRow
    from proctor.engine.pairs import Side, Tally, TaskCells
    from proctor.reports.summary import Board

__all__ = ["junit"]

_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What XML 1.0 can't carry in any form: control characters, halves of surrogate pairs, non-characters."""


def junit(board: Board, sides: Sequence[Side]) -> str:
    """A run set's report. ``sides``: the cells of each of its profiles."""
    root = ElementTree.Element("testsuites", {"name": _clean(board.run_set.name)})
    rows = {row.profile: row for row in board.rows}
    for side in sides:
        root.append(_suite(board, rows[side.profile], side))
    for name in ("tests", "failures", "errors", "skipped"):
        root.set(name, str(sum(int(suite.get(name, "0")) for suite in root)))
    ElementTree.indent(root)
    body = ElementTree.tostring(root, encoding="unicode")
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{body}\n'


def _suite(board: Board, row: LeaderboardRow, side: Side) -> ElementTree.Element:
    name = f"{board.run_set.name}.{side.profile}"
    suite = ElementTree.Element("testsuite", {"name": _clean(name)})
    suite.set("timestamp", board.run_set.created_at.strftime("%Y-%m-%dT%H:%M:%S"))
    properties = ElementTree.SubElement(suite, "properties")
    for key, value in _properties(board, row).items():
        ElementTree.SubElement(properties, "property", {"name": key, "value": _clean(value)})
    for task in sorted(side.tasks.values(), key=lambda one: one.name):
        suite.append(_case(name, task))
    found = [result.tag for case in suite.iter("testcase") for result in case]
    suite.set("tests", str(len(side.tasks)))
    for attribute, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(attribute, str(found.count(tag)))
    suite.set("time", f"{sum(task.seconds or 0.0 for task in side.tasks.values()):.3f}")
    return suite


def _properties(board: Board, row: LeaderboardRow) -> dict[str, str]:
    """The rates with what they are made of, and the gate with each of its lines."""
    rate, counts = row.rates, row.rates.counts
    bounds = rate.bounds
    found: Mapping[str, float | int | str | None] = {
        "strict": rate.strict,
        "graded": rate.graded,
        "coverage": rate.coverage,
        "bounds.low": bounds.low if bounds else None,
        "bounds.high": bounds.high if bounds else None,
        "expected": counts.expected,
        "decided": counts.decided,
        "passed": counts.passed,
        "withdrawn": counts.withdrawn,
        "run_set": str(board.run_set.id),
        "configuration": row.configuration,
        "policy": board.run_set.policy_version,
        "gate": board.gate.state.value if board.gate.checks else "none",
    }
    known = {key: _number(value) for key, value in found.items() if value is not None}
    of_row = [check for check in board.gate.checks if check.profile in ("", row.profile)]
    return known | {f"gate.{place}": check.line for place, check in enumerate(of_row, 1)}


def _number(value: float | str) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _case(classname: str, task: TaskCells) -> ElementTree.Element:
    case = ElementTree.Element("testcase", {"classname": _clean(classname), "name": _clean(one_line(task.name))})
    case.set("time", f"{task.seconds or 0.0:.3f}")
    missing = [tally for tally in task.gaps if tally.withdrawn is None]
    failed = [tally for tally in task.tallies if tally.withdrawn is None and tally.verdict is False]
    if not task.expected:
        _result(case, "skipped", task, task.gaps, f"withdrawn: {task.gaps[0].withdrawn}" if task.gaps else "no cells")
    elif missing:
        cells = sum(tally.cells for tally in missing)
        _result(case, "error", task, missing, f"{cells} of {task.expected} cells without a verdict: {_told(missing)}")
    elif failed:
        message = f"{task.passed} of {task.expected} passed: {_told(failed)}"
        _result(case, "failure", task, failed, message)
    return case


def _told(tallies: Sequence[Tally]) -> str:
    return ", ".join(f"{tally.outcome} ({tally.owner}) {tally.cells}" for tally in tallies)


def _result(case: ElementTree.Element, tag: str, task: TaskCells, tallies: Sequence[Tally], message: str) -> None:
    """The one result of a case; its text lists every cell of the task."""
    result = ElementTree.SubElement(case, tag, {"message": _clean(one_line(message, at_most=500))})
    if tag == "skipped":
        return  # older readers know no more of it than its message
    result.set("type", _clean(tallies[0].outcome))
    words = {True: "pass", False: "fail", None: "no verdict"}
    lines = [
        f"{tally.cells} x {words[tally.verdict]}: {tally.outcome} (owner: {tally.owner})"
        + ("" if tally.withdrawn is None else f", withdrawn: {tally.withdrawn}")
        for tally in task.tallies
    ]
    result.text = _clean("\n".join(lines))


def _clean(text: str) -> str:
    return _NOT_XML.sub("", text)
