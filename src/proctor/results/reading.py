"""Reading results: DuckDB over exactly the batches that the manifest says count, staged ones among them."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.database.engine import Database
from proctor.kernel.extras import need_data_extra
from proctor.objects.store import ObjectMissing, ObjectStore, StoredObject
from proctor.results.batches import Batch
from proctor.results.rollups import rollups
from proctor.results.schema import result_schema
from proctor.results.service import live
from proctor.results.sums import as_table
from proctor.results.views import Which, attach, attach_daily

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

__all__ = ["ResultReader", "staged", "told_apart"]

MEMORY: str = "4GB"
"""That a query of ours may use; what is beyond goes to disk."""


class ResultReader:
    """Results of one tenant."""

    def __init__(self, database: Database, objects: ObjectStore, tenant: UUID, cache: Path) -> None:
        """``cache``: for copies of objects that are kept elsewhere; what is in it never changes."""
        self._database, self._objects, self._tenant, self._cache = database, objects, tenant, cache

    def batches(self, which: Which) -> list[Batch]:
        """The batches that hold them, as the manifest has them now."""
        return self._database.as_tenant(
            self._tenant,
            lambda c: live(c, self._tenant, jobs=which.jobs, since=which.since, until=which.until),
        )

    def rollups(self) -> pa.Table:
        """What is left of results that were not kept. Raises ``DataExtraMissing``."""
        need_data_extra()
        return self._database.as_tenant(self._tenant, lambda c: rollups(c, self._tenant))

    @contextmanager
    def opened(self, which: Which) -> Iterator[duckdb.DuckDBPyConnection]:
        """A DuckDB in which ``results`` is a view of them, and ``daily`` of them added up.

        Raises ``DataExtraMissing``, ``ObjectMissing``.
        """
        need_data_extra()
        import duckdb

        batches = self.batches(which)
        beyond = _beyond(which, batches)
        sums, others = told_apart(batches) if beyond is None else (as_table([]), batches)
        rows = staged(batches)  # of none of which there are sums: merged batches are objects
        with duckdb.connect(":memory:", config={"memory_limit": MEMORY}) as connection:
            attach(connection, self.files(batches), rows, beyond)
            connection.register("sums", sums)
            attach_daily(connection, "sums", self.files(others), rows, beyond)
            yield connection

    def files(self, batches: Iterable[Batch]) -> list[Path]:
        """The objects of batches as files of this machine."""
        return [self._file(batch) for batch in batches if batch.path is not None]

    def _file(self, batch: Batch) -> Path:
        assert batch.path is not None
        local = self._objects.path_of(batch.path)
        if local is not None:
            if not local.exists():
                raise ObjectMissing(where=batch.path)
            return local
        copy = self._cache / f"{batch.id}.parquet"
        if not copy.exists():
            self._cache.mkdir(parents=True, exist_ok=True, mode=0o700)
            fresh = copy.with_suffix(".part")
            self._objects.fetch(StoredObject(key=batch.path, sha256=batch.sha256, size=batch.bytes), fresh)
            fresh.rename(copy)
        return copy


def told_apart(batches: Sequence[Batch]) -> tuple[pa.Table, list[Batch]]:
    """Of batches that were added up their sums, and the others."""
    sums = as_table(row for batch in batches for row in batch.sums or ())
    return sums, [batch for batch in batches if batch.sums is None]


def _beyond(which: Which, batches: Iterable[Batch]) -> Which | None:
    """What rows have to be asked for: nothing where every batch lies within, so that their times are not read."""
    since, until = which.since, which.until
    inside = all(
        (since is None or since <= batch.min_time) and (until is None or batch.max_time < until) for batch in batches
    )
    return None if inside else which


def staged(batches: Iterable[Batch]) -> pa.Table:
    """The rows of batches that are kept in the manifest itself."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = result_schema()
    tables = [pq.read_table(io.BytesIO(batch.staged)) for batch in batches if batch.staged is not None]
    return pa.concat_tables([schema.empty_table(), *(table.cast(schema) for table in tables)])
