"""Examples that say the same as others of their version: repeated, contradicting, in two splits at once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from proctor.datasets.differing import version_files
from proctor.datasets.matching import Marks
from proctor.datasets.queries import Flaw, FlawTerm, Term
from proctor.datasets.splits import Split
from proctor.datasets.versions import DatasetVersion
from proctor.datasets.workbench import Files, Workbench, workbench
from proctor.objects.store import ObjectStore

__all__ = ["look_for_alike", "look_for_leaks", "marked_flaws", "marks_of"]

_QUERIES = {Flaw.DUPLICATE: "duplicates", Flaw.CONTRADICTION: "contradictions", Flaw.LEAKED: "leaked"}


def marked_flaws(terms: Iterable[Term]) -> Collection[Flaw]:
    """The flaws that terms name which only the whole version tells."""
    return {term.flaw for term in terms if isinstance(term, FlawTerm) and term.flaw in _QUERIES}


def marks_of(
    objects: ObjectStore, version: DatasetVersion, folder: Path, splits: Sequence[Split], flaws: Collection[Flaw]
) -> Marks:
    """Which rows have them. Raises ``ObjectMissing``, ``ObjectDamaged``."""
    if not flaws:
        return {}
    files = version_files(objects, version, folder)
    found: dict[Flaw, bytes] = {}
    with workbench(folder) as asked:
        look_for_alike(asked, files)
        if Flaw.LEAKED in flaws:
            look_for_leaks(asked, files, splits)
        for flaw in flaws:
            marks = bytearray(version.rows)
            for (position,) in asked.rows(_QUERIES[flaw]):
                marks[position] = 1
            found[flaw] = bytes(marks)
    return found


def look_for_alike(asked: Workbench, files: Files) -> None:
    """What the queries on examples of one input are asked of."""
    asked.make("alike", files)


def look_for_leaks(asked: Workbench, files: Files, splits: Sequence[Split]) -> None:
    """What the queries on splits are asked of, after those on one input; splits by their places in the list."""
    asked.make(
        "placed",
        files,
        numbers=list(range(len(splits))),
        seeds=[split.seed for split in splits],
        lows=[split.low_ppm for split in splits],
        highs=[split.high_ppm for split in splits],
    )
