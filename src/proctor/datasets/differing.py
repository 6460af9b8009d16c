"""How two versions differ, by the ids of their examples."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from proctor.datasets.examples import unstored
from proctor.datasets.reading import local_parts, read_rows
from proctor.datasets.versions import DatasetVersion
from proctor.datasets.workbench import Files, Workbench, workbench
from proctor.objects.parquet import GROUP_ROWS
from proctor.objects.store import ObjectStore

__all__ = ["Change", "Difference", "VersionDiff", "changes", "count_changes", "version_files"]

ChangeKind = Literal["added", "changed", "removed"]


@dataclass(frozen=True, kw_only=True)
class Difference:
    """Examples by what became of them. ``same``: as they were, though perhaps elsewhere in the order."""

    added: int
    changed: int
    removed: int
    same: int


@dataclass(frozen=True, kw_only=True)
class Change:
    """What became of one example. ``fields``: those that say something else, of a changed one."""

    id: str
    kind: ChangeKind
    fields: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class VersionDiff:
    """From ``before`` to ``after``: how many, and a page of them by id. ``next``: the id to go on after."""

    before: DatasetVersion
    after: DatasetVersion
    difference: Difference
    changes: tuple[Change, ...]
    next: str | None


def version_files(objects: ObjectStore, version: DatasetVersion, folder: Path) -> Files:
    """A version's parts on this machine, to be asked about. Raises ``ObjectMissing``, ``ObjectDamaged``."""
    return Files(paths=local_parts(objects, version, folder), rows=[part.rows for part in version.parts])


def count_changes(asked: Workbench, before: Files, after: Files) -> Difference:
    """How many examples are what."""
    (row,) = asked.rows("counted_changes", before=before.names, after=after.names)
    added, changed, removed, same = row
    return Difference(added=added, changed=changed, removed=removed, same=same)


def changes(
    objects: ObjectStore, before: DatasetVersion, after: DatasetVersion, folder: Path, *, beyond: str, limit: int
) -> VersionDiff:
    """How two versions differ, with at most ``limit`` examples whose ids come after ``beyond``."""
    files = [version_files(objects, version, folder) for version in (before, after)]
    with workbench(folder) as asked:
        difference = count_changes(asked, *files)
        found = list(asked.rows("changes", beyond=beyond, most=limit + 1, **_named(files)))
    rows = found[:limit]
    old, new = (_rows_at(objects, version, rows, place) for version, place in ((before, 1), (after, 2)))
    told = tuple(_change(one, old.get(was), new.get(now), _kind(was, now)) for one, was, now in rows)
    return VersionDiff(
        before=before,
        after=after,
        difference=difference,
        changes=told,
        next=told[-1].id if len(found) > limit else None,
    )


def _named(files: Sequence[Files]) -> Mapping[str, object]:
    before, after = files
    return {
        "before": before.names,
        "before_firsts": before.firsts,
        "after": after.names,
        "after_firsts": after.firsts,
    }


def _rows_at(
    objects: ObjectStore, version: DatasetVersion, rows: Sequence[tuple[Any, ...]], place: int
) -> Mapping[int, Mapping[str, Any]]:
    """Of the examples that both versions have, the rows of this one by position; each row group is read once."""
    wanted = sorted(row[place] for row in rows if row[1] is not None and row[2] is not None)
    return dict(_read(objects, version, wanted))


def _read(
    objects: ObjectStore, version: DatasetVersion, positions: Sequence[int]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    start, table = -GROUP_ROWS, None
    for position in positions:
        if position >= start + GROUP_ROWS:
            start = position // GROUP_ROWS * GROUP_ROWS
            table = read_rows(objects, version, start, start + GROUP_ROWS)
        assert table is not None
        (row,) = table.slice(position - start, 1).to_pylist()
        yield position, unstored(row)


def _change(identity: str, was: Mapping[str, Any] | None, now: Mapping[str, Any] | None, kind: ChangeKind) -> Change:
    if was is None or now is None:
        return Change(id=identity, kind=kind)
    fields = tuple(name for name in _FIELDS if was.get(name) != now.get(name))
    return Change(id=identity, kind=kind, fields=fields)


_FIELDS: Sequence[str] = ("input", "expected", "difficulty", "source", "tags", "embedding", "metadata")


def _kind(was: int | None, now: int | None) -> ChangeKind:
    if was is None:
        return "added"
    return "removed" if now is None else "changed"
