"""Merging small batches into large sorted ones, and removing what was merged once nobody can be reading it.

A query reads the batches that counted when it began. So a merged batch's parts stay as long as the longest query may
take, and an hour more; what was merged counts in the very transaction in which its parts stop to.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from sqlalchemy import Connection, Row

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.kernel.errors import IntegrityError
from proctor.kernel.ids import derived_id
from proctor.objects.store import ObjectStore
from proctor.results.batches import Batch, Counts, Sums, counted
from proctor.results.reading import ResultReader, staged
from proctor.results.schema import COLUMNS, result_schema, result_writer
from proctor.results.service import batch_of, known_paths, live, record, remove
from proctor.results.sums import summed
from proctor.results.views import attach

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = ["QUERY_SEC", "MergeRule", "Merger"]

QUERY_SEC: float = 3600.0
"""The longest that a query may take: those of users are ended after it."""
_GRACE_SEC: float = 3600.0
_GROUP_ROWS: int = 122_880
"""Of a merged batch: DuckDB reads a group by one thread, and skips those whose statistics rule them out."""
MEMORY: str = "1GB"
"""That sorting may use; what is beyond goes to a temporary folder."""
_PAGE: int = 1000
"""Batches merged or removed at a time."""

_run = partial(run_query, "proctor.results")


@dataclass(frozen=True, kw_only=True)
class MergeRule:
    """What is merged. ``small``: bytes below which a batch is worth merging; ``large``: of a merged one, about.

    ``rested_sec``: a job's batches are merged when none came for so long, or when they make a large one. ``many``: so
    many staged ones are merged even while more come, since each reader decodes them all.
    """

    small: int = 64 << 20
    large: int = 192 << 20
    rested_sec: float = 60.0
    many: int = 200


class Merger:
    """Merges and removes for one tenant. Safe to be killed at any point, and to run twice at once."""

    def __init__(
        self, database: Database, objects: ObjectStore, tenant: UUID, folder: Path, rule: MergeRule | None = None
    ) -> None:
        """``folder``: for what is being merged and for copies of objects that are kept elsewhere."""
        self._database, self._objects, self._tenant, self._folder = database, objects, tenant, folder
        self._rule = rule or MergeRule()

    def merge(self) -> int:
        """Merge what is worth it; how many batches were merged."""
        rule = self._rule
        worth = {"small": rule.small, "large": rule.large, "rested": rule.rested_sec, "many": rule.many}
        wanted = {**worth, "limit": _PAGE}
        found = self._read(lambda c: _run(c, "mergeable", tenant=self._tenant, **wanted).all())
        return sum(self._merge_job(row.job_id, held=row.held, staged_only=row.staged_only) for row in found)

    def _merge_job(self, job: UUID, *, held: bool, staged_only: bool) -> int:
        wanted = {"job": job, "held": held, "small": self._rule.small, "staged_only": staged_only, "limit": _PAGE}
        rows = self._read(lambda c: _run(c, "merging", tenant=self._tenant, **wanted).all())
        parts = _enough([batch_of(row) for row in rows], self._rule.large)
        if len(parts) < 2:
            return 0
        merged = self._written(job, parts)

        def work(connection: Connection) -> int:
            ids = [part.id for part in parts]
            ended = _run(connection, "supersede", tenant=self._tenant, ids=ids, held=held).all()
            if not ended:
                return 0  # another merged the same, or they were deleted or held meanwhile
            if len(ended) < len(parts):
                raise IntegrityError(f"Of {len(parts)} batches of job {job}, some were merged otherwise meanwhile.")
            record(connection, self._tenant, [merged], held=held)
            return len(parts)

        done = self._database.as_tenant(self._tenant, work)
        if not done:
            self._drop(merged)
        return done

    def _drop(self, merged: Batch) -> None:
        """Leave nothing of rows that were deleted meanwhile; of what still counts another may merge the same."""
        assert merged.path is not None
        paths, job = [merged.path], [merged.job]

        def wanted(connection: Connection) -> bool:
            return bool(known_paths(connection, self._tenant, paths) or live(connection, self._tenant, jobs=job))

        if not self._database.as_tenant(self._tenant, wanted):
            self._objects.delete(merged.path)

    def _written(self, job: UUID, parts: Sequence[Batch]) -> Batch:
        """One object of all their rows, sorted; nothing refers to it yet."""
        identity = derived_id("merged-batch", job, *sorted(str(part.id) for part in parts))
        reader = ResultReader(self._database, self._objects, self._tenant, self._folder)
        key = f"{self._tenant}/results/{job}/{identity}.parquet"
        with tempfile.TemporaryDirectory(dir=self._folder) as folder:
            path = Path(folder) / "merged.parquet"
            counts, sums = _sorted_into(path, reader.files(parts), staged(parts), Path(folder))
            stored = self._objects.put_file(key, path)
        return Batch(
            id=identity,
            job=job,
            chunk=None,
            path=key,
            staged=None,
            sha256=stored.sha256,
            rows=sum(part.rows for part in parts),
            bytes=stored.size,
            min_time=min(part.min_time for part in parts),
            max_time=max(part.max_time for part in parts),
            counts=counts,
            sums=sums,
        )

    def remove(self, *, after_sec: float = QUERY_SEC + _GRACE_SEC) -> int:
        """Remove the objects of batches that were superseded so long ago; how many."""
        removed = 0
        while rows := self._read(
            lambda c: _run(c, "outlived", tenant=self._tenant, after=after_sec, limit=_PAGE).all()
        ):
            remove(self._database, self._objects, self._tenant, rows)
            removed += len(rows)
        return removed

    def _read(self, work: Callable[[Connection], Sequence[Row[Any]]]) -> Sequence[Row[Any]]:
        return self._database.as_tenant(self._tenant, work)


def _enough(batches: Sequence[Batch], large: int) -> list[Batch]:
    """The first of them that make a large one."""
    taken: list[Batch] = []
    size = 0
    for batch in batches:
        if taken and size >= large:
            break
        taken.append(batch)
        size += batch.bytes
    return taken


def _sorted_into(path: Path, files: Sequence[Path], rows: pa.Table, spill: Path) -> tuple[Counts, Sums | None]:
    """Write the rows sorted by evaluator, repeat and row; their counts, and their sums where these are numbers."""
    import duckdb

    counts: dict[str, dict[str, int]] = {}
    config: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": MEMORY,
        "temp_directory": str(spill),
        "threads": 2,
    }
    with duckdb.connect(":memory:", config=config) as connection:
        attach(connection, files, rows)
        with result_writer(path) as writer:
            for table in _in_order(connection):
                writer.write_table(table, row_group_size=_GROUP_ROWS)
                _add(counts, counted(table))
        sums = summed(connection)
    return counts, sums if all(isfinite(one["score_squares"]) for one in sums) else None


def _in_order(connection: duckdb.DuckDBPyConnection) -> Iterator[pa.Table]:
    import pyarrow as pa

    schema = result_schema()
    reader = connection.execute("SELECT * FROM results ORDER BY evaluator, repeat, row").to_arrow_reader(_GROUP_ROWS)
    for batch in reader:
        table = pa.Table.from_batches([batch])
        columns = [_cast(table.column(name), schema.field(name).type) for name in COLUMNS]
        yield pa.table(columns, schema=schema)


def _cast(column: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return column.cast(pa.string()).dictionary_encode().cast(kind)
    return column.cast(kind)


def _add(counts: dict[str, dict[str, int]], more: Mapping[str, Mapping[str, int]]) -> None:
    for evaluator, statuses in more.items():
        own = counts.setdefault(evaluator, {})
        for status, rows in statuses.items():
            own[status] = own.get(status, 0) + rows
