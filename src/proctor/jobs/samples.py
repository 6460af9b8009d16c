"""Outputs to be judged: taken from a file, put in the order of their dataset version, kept as Parquet.

Rows come in any order and in any number; they are sorted by DuckDB, which spills to disk what does not fit.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.datasets.versions import DatasetVersion
from proctor.evaluators.statuses import Status
from proctor.jobs.chunks import REPEATS
from proctor.jobs.errors import SamplesInvalid
from proctor.jobs.samples_schema import sample_digest, sample_schema
from proctor.jobs.values import SampleSet
from proctor.kernel.ids import derived_id
from proctor.objects.parquet import GROUP_ROWS, PartWriter, groups
from proctor.objects.store import ObjectStore

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = ["Arrived", "SampleKeeper", "Told"]

MEMORY: str = "1GB"
"""That DuckDB may use for sorting; what is beyond goes to its temporary folder."""
_NAMED: int = 20
"""Rows that an error names."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Arrived:
    """One output as it came. ``output`` ``None``: there is none, and ``status`` says why."""

    number: int
    """Of its row, for errors."""
    example: str
    repeat: int
    output: str | None
    is_json: bool
    status: Status | None = None
    error: str | None = None
    model: str | None = None
    seconds: float | None = None
    cost_nano: int | None = None


@dataclass(frozen=True, kw_only=True)
class Told:
    """What is said of outputs when they come."""

    name: str
    source: str
    model: str | None
    creator: UUID | None


class SampleKeeper:
    """Keeps outputs for one dataset version."""

    def __init__(self, objects: ObjectStore, version: DatasetVersion, folder: Path) -> None:
        """``folder``: for what is sorted meanwhile."""
        self._objects, self._version, self._folder = objects, version, folder

    def keep(self, told: Told, arrived: Iterable[Arrived], on_rows: Callable[[int], None]) -> SampleSet:
        """Outputs, stored; nothing refers to them yet. Raises ``SamplesInvalid``, ``ObjectStoreFull``."""
        with _sorter(self._folder) as sorter, tempfile.TemporaryDirectory(dir=self._folder) as folder:
            _take(sorter, arrived, on_rows)
            self._take_examples(sorter)
            _check(sorter)
            repeats = _repeats(sorter)
            return self._written(told, sorter, repeats, Path(folder))

    def _take_examples(self, sorter: duckdb.DuckDBPyConnection) -> None:
        sorter.execute("CREATE TABLE example (row BIGINT, id VARCHAR, digest BLOB)")
        first = 0
        for group in groups(self._objects, self._version.parts, ["id", "digest"]):
            sorter.register("group_of", group)
            sorter.execute(f"INSERT INTO example SELECT {first} + row_number() OVER () - 1, id, digest FROM group_of")  # noqa: S608
            first += group.num_rows

    def _written(self, told: Told, sorter: duckdb.DuckDBPyConnection, repeats: int, folder: Path) -> SampleSet:
        tenant, version = self._version.tenant, self._version
        hasher, outputs = hashlib.sha256(), 0
        place = derived_id("samples-written", tenant, version.id, datetime.now(UTC).isoformat())
        prefix = f"{tenant}/samples/{version.id}/{place}"
        with PartWriter(self._objects, prefix, sample_schema(), folder=folder) as writer:
            for table in _in_order(sorter, repeats):
                outputs += table.num_rows - table.column("output").null_count
                _hash(hasher, table)
                writer.write(table)
            parts = writer.finish()
        content = hasher.hexdigest()
        return SampleSet(
            id=derived_id("samples", tenant, version.id, told.name, told.model or "", content),
            name=told.name,
            dataset_version=version.id,
            rows=version.rows,
            repeats=repeats,
            outputs=outputs,
            parts=tuple(parts),
            content_hash=content,
            model=told.model,
            source=told.source,
            creator=told.creator,
            created_at=datetime.now(UTC),
        )


@contextmanager
def _sorter(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    import duckdb

    with tempfile.TemporaryDirectory(dir=folder) as spill:
        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": MEMORY,
            "temp_directory": spill,
            "threads": 2,
        }
        with duckdb.connect(":memory:", config=settings) as connection:
            yield connection


_ARRIVED = (
    "CREATE TABLE arrived (number BIGINT, example VARCHAR, repeat INTEGER, output VARCHAR, is_json BOOLEAN,"
    " status VARCHAR, error VARCHAR, model VARCHAR, seconds FLOAT, cost_nano BIGINT)"
)
_FIELDS = tuple(Arrived.__dataclass_fields__)


def _take(sorter: duckdb.DuckDBPyConnection, arrived: Iterable[Arrived], on_rows: Callable[[int], None]) -> None:
    sorter.execute(_ARRIVED)
    is_empty = True
    for batch in _batches(arrived):
        sorter.register("batch", _arrow(batch))
        sorter.execute("INSERT INTO arrived SELECT * FROM batch")
        on_rows(len(batch))
        is_empty = False
    if is_empty:
        raise SamplesInvalid("There is no output in it.")


def _batches(arrived: Iterable[Arrived]) -> Iterator[list[Arrived]]:
    held: list[Arrived] = []
    for one in arrived:
        if not 0 <= one.repeat < REPEATS:
            raise SamplesInvalid(f"Row {one.number:,}: a repeat is from 0 to {REPEATS - 1}.", where="repeat")
        held.append(one)
        if len(held) == GROUP_ROWS:
            yield held
            held = []
    if held:
        yield held


def _arrow(batch: Sequence[Arrived]) -> pa.Table:
    import pyarrow as pa

    kinds = (pa.int64(), pa.string(), pa.int32(), pa.string(), pa.bool_(), pa.string(), pa.string(), pa.string())
    types = dict(zip(_FIELDS, (*kinds, pa.float32(), pa.int64()), strict=True))
    return pa.table({name: pa.array([getattr(one, name) for one in batch], types[name]) for name in _FIELDS})


_STRANGE = """
    SELECT number, example FROM arrived WHERE NOT EXISTS (SELECT 1 FROM example WHERE id = arrived.example)
    ORDER BY number LIMIT ?
"""
_TWICE = """
    SELECT example, repeat FROM arrived GROUP BY example, repeat HAVING count(*) > 1 ORDER BY min(number) LIMIT ?
"""


def _check(sorter: duckdb.DuckDBPyConnection) -> None:
    """Raises ``SamplesInvalid`` for outputs of no example, and for two of one."""
    strange = sorter.execute(_STRANGE, [_NAMED]).fetchall()
    if strange:
        named = ", ".join(f"row {number:,} ({example[:100]!r})" for number, example in strange)
        raise SamplesInvalid(f"The dataset version has no such examples: {named}.", where="example")
    twice = sorter.execute(_TWICE, [_NAMED]).fetchall()
    if twice:
        named = ", ".join(f"{example[:100]!r}, repeat {repeat}" for example, repeat in twice)
        raise SamplesInvalid(
            f"There are several outputs of: {named}.", where="example", remedy="Number them by `repeat`, from 0."
        )


_ORDERED = """
    SELECT e.digest AS example, a.output, coalesce(a.is_json, false) AS output_is_json, a.status, a.error, a.model,
           a.seconds, a.cost_nano
    FROM example e CROSS JOIN range({repeats}) AS r (repeat)
    LEFT JOIN arrived a ON a.example = e.id AND a.repeat = r.repeat
    ORDER BY r.repeat, e.row
"""


def _in_order(sorter: duckdb.DuckDBPyConnection, repeats: int) -> Iterator[pa.Table]:
    """Outputs of every row and repeat, those that did not come as nulls, with the digest of each."""
    import pyarrow as pa

    reader = sorter.execute(_ORDERED.format(repeats=repeats)).to_arrow_reader(GROUP_ROWS)
    schema = sample_schema()
    for batch in reader:
        outputs, kinds = batch.column("output").to_pylist(), batch.column("output_is_json").to_pylist()
        digests = [
            None if output is None else sample_digest(example, output, is_json=kind)
            for example, output, kind in zip(batch.column("example").to_pylist(), outputs, kinds, strict=True)
        ]
        table = pa.Table.from_batches([batch]).drop_columns(["example"])
        table = table.append_column("digest", pa.array(digests, pa.binary(16)))
        yield pa.table([table.column(field.name).cast(field.type) for field in schema], schema=schema)


def _hash(hasher: hashlib._Hash, table: pa.Table) -> None:
    """All that a set of outputs says, in its order."""
    for digest, status in zip(table.column("digest").to_pylist(), table.column("status").to_pylist(), strict=True):
        hasher.update(digest or (status or "").encode().ljust(16, b"\x00"))


def _repeats(sorter: duckdb.DuckDBPyConnection) -> int:
    row = sorter.execute("SELECT coalesce(max(repeat), 0) + 1 FROM arrived").fetchone()
    assert row is not None
    return int(row[0])
