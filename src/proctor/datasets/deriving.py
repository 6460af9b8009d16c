"""Versions made of versions: which rows of which, in which order. All of it streams; questions over all rows spill."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proctor.datasets.browsing import Wanted, positions_of
from proctor.datasets.derivations import Dedupe, Merge, Relabel, Sample
from proctor.datasets.differing import version_files
from proctor.datasets.errors import MergeConflict, RelabelInvalid, SampleInvalid
from proctor.datasets.examples import unstored
from proctor.datasets.fields import FieldInvalid, Fields, read_example
from proctor.datasets.reading import tables
from proctor.datasets.schema import table_of
from proctor.datasets.selecting import only, without
from proctor.datasets.versions import DatasetVersion
from proctor.datasets.workbench import Files, Workbench
from proctor.objects.store import ObjectStore

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Deriver"]

TOLD: int = 20
"""Ids that a refusal lists."""
CHANGEABLE: frozenset[str] = frozenset({"expected", "difficulty", "source", "tags", "metadata"})
"""What a new label may replace: with another input it would be another example."""


class Deriver:
    """The rows of what is to be made, a table at a time."""

    def __init__(self, objects: ObjectStore, folder: Path, asked: Workbench) -> None:
        """``folder``: for copies of parts that are not on this machine, until the rows were read."""
        self._objects, self._folder, self._asked = objects, folder, asked

    def filter(self, version: DatasetVersion, wanted: Wanted) -> Iterator[pa.Table]:
        """The rows that are wanted."""
        return only(tables(self._objects, version), positions_of(self._objects, version, wanted))

    def merge(self, versions: Sequence[DatasetVersion], merge: Merge) -> Iterator[pa.Table]:
        """The rows of all, each id once. Raises ``MergeConflict`` where nothing says which example of an id stays."""
        files = self._files(versions[0])
        for version in versions[1:]:
            files += self._files(version)
        if merge.prefer is None:
            self._refuse_contradictions(files)
        query = "superseded" if merge.prefer == "last" else "repeated"
        rows = chain.from_iterable(tables(self._objects, version) for version in versions)
        return without(rows, _positions(self._asked.of(query, files)))

    def _refuse_contradictions(self, files: Files) -> None:
        rows = list(self._asked.rows("contradicting", files=files.names, most=TOLD + 1))
        if rows:
            told = ", ".join(repr(identity[:100]) for (identity,) in rows[:TOLD])
            more = " and more" if len(rows) > TOLD else ""
            raise MergeConflict(f"These ids stand for different examples: {told}{more}.")

    def relabel(self, version: DatasetVersion, relabel: Relabel) -> Iterator[pa.Table]:
        """All rows, those of the labels with their new fields. Raises ``RelabelInvalid``, also after the last row."""
        labels = _by_id(relabel.labels)
        missing = dict.fromkeys(labels)
        for table in tables(self._objects, version):
            ids = table.column("id").to_pylist()
            hits = [place for place, identity in enumerate(ids) if identity in labels]
            yield _relabelled(table, hits, labels) if hits else table
            for place in hits:
                missing.pop(ids[place], None)
        if missing:
            told = ", ".join(repr(identity[:100]) for identity in list(missing)[:TOLD])
            raise RelabelInvalid(f"{version.reference} has no example {told}.", where="labels")

    def dedupe(self, version: DatasetVersion, dedupe: Dedupe) -> Iterator[pa.Table]:
        """The first row of those that say the same."""
        query = "alike_by_input" if dedupe.by == "input" else "alike_by_input_and_expected"
        return without(tables(self._objects, version), _positions(self._asked.of(query, self._files(version))))

    def sample(self, version: DatasetVersion, sample: Sample) -> Iterator[pa.Table]:
        """Rows drawn by the seed, in the version's order; the same of the same examples, whatever their order.

        Raises ``SampleInvalid``.
        """
        if sample.size > version.rows:
            raise SampleInvalid(f"{version.reference} has {version.rows:,} examples.", where="size")
        files, by = self._files(version), sample.by or ""
        sizes = _allotted(list(self._asked.rows("strata", files=files.names, by=by)), sample.size)
        drawn = self._asked.of(
            "drawn", files, by=by, seed=str(sample.seed), strata=list(sizes), sizes=list(sizes.values())
        )
        return only(tables(self._objects, version), _positions(drawn))

    def _files(self, version: DatasetVersion) -> Files:
        return version_files(self._objects, version, self._folder)


def _positions(rows: Iterator[tuple[Any, ...]]) -> Iterator[int]:
    return (row[0] for row in rows)


def _by_id(labels: Sequence[Mapping[str, Any]]) -> Mapping[str, Mapping[str, Any]]:
    """Raises ``RelabelInvalid``."""
    found: dict[str, Mapping[str, Any]] = {}
    for number, label in enumerate(labels, 1):
        identity = label.get("id")
        if not isinstance(identity, str):
            raise RelabelInvalid(f"Label {number:,} has no id that is a string.", where="labels")
        unknown = label.keys() - CHANGEABLE - {"id"}
        if unknown or len(label) == 1:
            names = ", ".join(sorted(CHANGEABLE))
            raise RelabelInvalid(f"Label {number:,}: {min(unknown, default='nothing')} can't be changed; {names} can.")
        if identity in found:
            raise RelabelInvalid(f"Label {number:,}: {identity[:100]!r} has one already.", where="labels")
        found[identity] = label
    return found


def _relabelled(table: pa.Table, hits: Sequence[int], labels: Mapping[str, Mapping[str, Any]]) -> pa.Table:
    import pyarrow as pa

    changed = []
    for row in table.take(list(hits)).to_pylist():
        try:
            changed.append(read_example({**unstored(row), **labels[row["id"]]}, Fields()))
        except FieldInvalid as error:
            raise RelabelInvalid(f"{row['id'][:100]!r}: {error}.", where="labels") from error
    order = list(range(table.num_rows))
    for place, hit in enumerate(hits):
        order[hit] = table.num_rows + place
    return pa.concat_tables([table, table_of(changed)]).take(order)


def _allotted(strata: Sequence[tuple[Any, ...]], size: int) -> Mapping[str | None, int]:
    """How many of each stratum: its share, rounded so that they come to the size (largest remainders first)."""
    total = sum(count for _, count in strata)
    shares = {name: divmod(size * count, total) for name, count in strata}
    left = size - sum(whole for whole, _ in shares.values())
    by_remainder = sorted(shares, key=lambda name: -shares[name][1])  # stable: ties in the order of the values
    more = set(by_remainder[:left])
    return {name: whole + (name in more) for name, (whole, _) in shares.items()}
