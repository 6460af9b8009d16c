"""Outputs to be judged: taken from a file, put in the order of their dataset version, kept as Parquet.

Rows come in any order and in any number; they are sorted by DuckDB, which spills to disk what does not fit.
"""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.datasets.problems import Problem, Problems
from proctor.datasets.versions import DatasetVersion
from proctor.evaluators.statuses import Status
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
NAMED: int = 100
"""Rows left out that are kept with what was taken: enough to see what is wrong with the rest."""


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
    skip_malformed: bool = False
    """Whether rows that are no outputs of an example are left out, and told."""


class SampleKeeper:
    """Keeps outputs for one dataset version."""

    def __init__(self, objects: ObjectStore, version: DatasetVersion, folder: Path) -> None:
        """``folder``: for what is sorted meanwhile."""
        self._objects, self._version, self._folder = objects, version, folder

    def keep(
        self, told: Told, arrived: Iterable[Arrived], problems: Problems, on_rows: Callable[[int], None]
    ) -> SampleSet:
        """Outputs, stored; nothing refers to them yet. ``problems``: of rows that did not arrive, and of those that do
        not fit. Raises ``SamplesInvalid`` for the first of them where they are not left out; ``ObjectStoreFull``."""
        with _sorter(self._folder) as sorter, tempfile.TemporaryDirectory(dir=self._folder) as folder:
            _take(sorter, arrived, on_rows)
            self._take_examples(sorter)
            _find_misfits(sorter, problems)
            if problems.count and not told.skip_malformed:
                raise SamplesInvalid(problems.told("can't be kept"), where=told.source)
            _leave_out(sorter)
            kept = self._written(told, sorter, _repeats(sorter), Path(folder))
            return replace(kept, left_out=problems.count, problems=problems.in_order[:NAMED])

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
    for batch in _batches(arrived):
        sorter.register("batch", _arrow(batch))
        sorter.execute("INSERT INTO arrived SELECT * FROM batch")
        on_rows(len(batch))


def _batches(arrived: Iterable[Arrived]) -> Iterator[list[Arrived]]:
    held: list[Arrived] = []
    for one in arrived:
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


_MISFITS = """
    CREATE TABLE misfit AS
    SELECT number, first_value(number) OVER same AS first, example, repeat, e.id IS NULL AS strange
    FROM arrived LEFT JOIN example AS e ON e.id = arrived.example
    WINDOW same AS (PARTITION BY example, repeat ORDER BY number)
    QUALIFY strange OR number <> first
"""
"""Outputs of no example, and all but the first of one and the same."""


def _find_misfits(sorter: duckdb.DuckDBPyConnection, problems: Problems) -> None:
    sorter.execute(_MISFITS)
    found = sorter.execute("SELECT number, first, example, repeat, strange FROM misfit ORDER BY number")
    while rows := found.fetchmany(GROUP_ROWS):
        for number, first, example, repeat, strange in rows:
            reason = f"the dataset version has no example {example[:100]!r}"
            if not strange:
                reason = f"row {first:,} has repeat {repeat} of {example[:100]!r} too; repeats are numbered from 0"
            problems.add(Problem(row=number, field="" if strange else "repeat", reason=reason))


def _leave_out(sorter: duckdb.DuckDBPyConnection) -> None:
    """Raises ``SamplesInvalid`` where nothing is left."""
    sorter.execute("DELETE FROM arrived WHERE number IN (SELECT number FROM misfit)")
    if sorter.execute("SELECT count(*) FROM arrived").fetchall() == [(0,)]:
        raise SamplesInvalid("There is no output in it.")


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
