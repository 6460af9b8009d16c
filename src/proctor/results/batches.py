"""Batches: rows of results as they are written, an object or, where they are few, a value of their row."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any, ClassVar
from uuid import UUID

from proctor.kernel.ids import derived_id
from proctor.objects.store import ObjectStore
from proctor.results.schema import encoded

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["STAGED_BELOW", "Batch", "Counts", "Place", "Spent", "Sums", "counted", "stored"]

STAGED_BELOW: int = 1000
"""Rows: a smaller batch as an object would be mostly footer, and a store of a million of them is slow to read."""

Counts = Mapping[str, Mapping[str, int]]
"""Rows by evaluator and status."""
Sums = Sequence[Mapping[str, Any]]
"""Rows added up, as rollups are: those columns, and each one's id."""


@dataclass(frozen=True, kw_only=True)
class Place:
    """Which chunk of which job, and the token of the claim that it is done under."""

    tenant: UUID
    job: UUID
    chunk: int
    claim: UUID
    """The chunk's row in the queue."""
    token: int

    @property
    def batch(self) -> UUID:
        """The id of what comes of it: of another claim, another."""
        return derived_id("result-batch", self.job, self.chunk, self.token)


@dataclass(frozen=True, kw_only=True)
class Spent:
    """How many outputs an evaluator judged, and the seconds that all of them took."""

    evaluations: int
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Batch:
    """One batch. ``path``: of its object; ``staged``: itself, where it has none."""

    id: UUID
    job: UUID
    chunk: int | None
    path: str | None
    staged: bytes | None
    sha256: str
    rows: int
    bytes: int
    min_time: datetime
    max_time: datetime
    counts: Counts
    sums: Sums | None = None
    """Of its rows, once they were merged; ``None``: nobody added them up."""
    spent: Mapping[str, Spent] = field(default_factory=dict)
    """What each evaluator took for it, by digest; not kept with it."""
    __pydantic_config__: ClassVar[dict[str, str]] = {"ser_json_bytes": "base64", "val_json_bytes": "base64"}
    """Its JSON form, between processes."""


def stored(objects: ObjectStore, place: Place, table: pa.Table) -> Batch:
    """Write a chunk's rows where they belong; they count when the manifest says so. Raises ``ObjectStoreFull``."""
    import pyarrow.compute as pc

    data = encoded(table)
    path = f"{place.tenant}/results/{place.job}/{place.batch}.parquet" if table.num_rows >= STAGED_BELOW else None
    if path is not None:
        objects.put(path, data)
    times = pc.min_max(table.column("time")).as_py()
    return Batch(
        id=place.batch,
        job=place.job,
        chunk=place.chunk,
        path=path,
        staged=data if path is None else None,
        sha256=hashlib.sha256(data).hexdigest(),
        rows=table.num_rows,
        bytes=len(data),
        min_time=times["min"],
        max_time=times["max"],
        counts=counted(table),
    )


def counted(table: pa.Table) -> Counts:
    """Its rows by evaluator and status."""
    found: dict[str, dict[str, int]] = {}
    words = table.select(["evaluator", "status"]).unify_dictionaries()
    grouped = words.group_by(["evaluator", "status"]).aggregate([([], "count_all")])
    for row in grouped.to_pylist():
        found.setdefault(row["evaluator"], {})[row["status"]] = row["count_all"]
    return found
