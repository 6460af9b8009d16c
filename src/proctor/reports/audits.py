"""What an audit found, for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

from rich.console import RenderableType

from proctor.engine.auditing import Cells, Denominator, Unlinked
from proctor.engine.imports.bringing import UNDER_WAY
from proctor.kernel.words import counted

__all__ = ["audit_lines"]


class _RunSet(Protocol):
    """One run set of a report."""

    @property
    def run_set(self) -> str: ...
    @property
    def profiles(self) -> int: ...
    @property
    def cells(self) -> Cells: ...
    @property
    def unlinked(self) -> Unlinked: ...
    @property
    def stale_revisions(self) -> int: ...
    @property
    def unfinished_import(self) -> bool: ...


class _Stored(Protocol):
    @property
    def rows(self) -> int: ...
    @property
    def missing(self) -> Sequence[str]: ...
    @property
    def damaged(self) -> Sequence[str]: ...
    @property
    def unreferenced(self) -> int: ...


class _Repair(Protocol):
    @property
    def run_set(self) -> str: ...
    @property
    def linked(self) -> Mapping[str, int]: ...
    @property
    def verdicts(self) -> int: ...


class _Report(Protocol):
    """What is shown."""

    @property
    def run_sets(self) -> Sequence[_RunSet]: ...
    @property
    def denominators(self) -> Sequence[Denominator]: ...
    @property
    def stored(self) -> _Stored: ...
    @property
    def leaked_sandboxes(self) -> int: ...
    @property
    def repairs(self) -> Sequence[_Repair]: ...
    @property
    def written(self) -> str | None: ...
    @property
    def repairable(self) -> int: ...
    @property
    def standing(self) -> int: ...


def audit_lines(report: _Report) -> list[RenderableType]:
    """Run sets with what does not add up, then lists, objects and repairs."""
    lines: list[RenderableType] = []
    for one in report.run_sets:
        lines.extend(_run_set(one))
    lines.extend(_denominator(one) for one in report.denominators)
    lines.extend(_objects(report.stored))
    if report.leaked_sandboxes:
        lines.append(f"{report.leaked_sandboxes:,} sandboxes that nobody holds any more")
    lines.extend(line for one in report.repairs for line in _repair(one))
    if report.written:
        lines.append(f"written to {report.written}")
    lines.extend(_end(report))
    return lines


def _end(report: _Report) -> Iterator[str]:
    """What can be done about it, and what stays whatever is done here."""
    if report.repairable and not report.written:
        yield "Nothing was changed. To repair it: --apply"
    if report.standing:
        names = sum(group.attempts for one in report.run_sets for group in one.unlinked.unexplained)
        imports = sum(one.unfinished_import for one in report.run_sets)
        objects = len(report.stored.missing) + len(report.stored.damaged)
        said = [
            f"{counted(names, 'attempt')} under names that nothing explains (--rules declares what they mean)",
            f"{counted(imports, 'import')} under way or cut off (the same `proctor import` again completes it)",
            f"{counted(objects, 'object')} missing or damaged (restore them from a backup)",
        ]
        standing = [line for line, count in zip(said, (names, imports, objects), strict=True) if count]
        yield f"What stands, and --apply can't repair: {'; '.join(standing)}"
    elif not report.repairable:
        yield "Nothing to repair."


def _run_set(one: _RunSet) -> Iterator[str]:
    cells = one.cells
    yield f"{one.run_set}: {cells.expected:,} cells of {one.profiles:,} profiles, {cells.decided:,} with a verdict"
    if cells.terminal:
        yield f"  ended and not linked {sum(cells.terminal.values()):,}: {_classes(cells.terminal)}"
    for group in one.unlinked.recoverable:
        yield f"  recoverable {group.cells:,} of {group.profiles:,} profiles ({group.attempts:,} attempts): {group.how}"
    for group in one.unlinked.unexplained:
        yield f"  not explained {group.cells:,} ({group.attempts:,} attempts): {group.how}"
    if cells.owed:
        yield f"  owed {sum(cells.owed.values()):,}: {_classes(cells.owed)}"
    if cells.never_attempted:
        yield f"  never attempted {cells.never_attempted:,}"
    if one.unfinished_import:
        yield f"  {UNDER_WAY}"
    if one.stale_revisions:
        yield f"  {one.stale_revisions:,} leaderboard revisions expect another number of cells"


def _classes(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items())


def _denominator(one: Denominator) -> str:
    if one.agrees:
        return f"{one.source}: agrees with the table"
    missing, extra = ", ".join(one.missing), ", ".join(one.extra)
    return (
        f"{one.source}: {one.profiles:,} profiles, {one.cells:,} cells; the table expects {one.expected_cells:,}\n"
        f"  {len(one.missing)} missing: {missing}\n  {len(one.extra)} that are not expected: {extra}"
    )


def _objects(stored: _Stored) -> Iterator[str]:
    for name, keys in (("missing", stored.missing), ("damaged", stored.damaged)):
        if keys:
            yield f"{len(keys):,} objects {name}, such as {keys[0]}"
    if stored.unreferenced:
        yield f"{stored.unreferenced:,} objects that no row refers to (attempts that were cut off leave such)"


def _repair(one: _Repair) -> Iterator[str]:
    for how, attempts in one.linked.items():
        yield f"{one.run_set}: {attempts:,} attempts linked by {how}"
    yield f"{one.run_set}: {one.verdicts:,} verdicts linked"
