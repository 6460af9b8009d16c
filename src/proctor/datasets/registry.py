"""Datasets and their versions as rows of PostgreSQL, in the caller's transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row, Text, cast, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from proctor.datasets.errors import DatasetUnknown, SplitInvalid, VersionTaken
from proctor.datasets.models import dataset, dataset_parent, dataset_split, dataset_version
from proctor.datasets.references import id_prefix, named, unknown
from proctor.datasets.splits import Split
from proctor.datasets.versions import DatasetVersion, Lineage, Parent
from proctor.objects.parquet import Part

__all__ = [
    "DatasetRow",
    "add",
    "add_splits",
    "datasets",
    "erase",
    "find",
    "labels",
    "newest",
    "splits",
    "versions",
    "versions_known",
]

_v = dataset_version.c
_RACED = "Another version was made at the same time."
_AGAIN = "Do it again: what is new in that version counts then."


@dataclass(frozen=True, kw_only=True)
class DatasetRow:
    """A dataset in a list. ``version``, ``rows``, ``changed_at``: of its newest version."""

    name: str
    versions: int
    version: str
    rows: int
    has_embeddings: bool
    creator: str
    created_at: datetime
    changed_at: datetime


def datasets(connection: Connection, tenant: UUID) -> list[DatasetRow]:
    """Every dataset, by name."""
    last = (
        select(_v.dataset, func.max(_v.position).label("position"))
        .where(_v.tenant_id == tenant)
        .group_by(_v.dataset)
        .subquery()
    )
    query = (
        select(dataset, dataset_version)
        .join(last, last.c.dataset == dataset.c.name)
        .join(
            dataset_version,
            (_v.tenant_id == dataset.c.tenant_id) & (_v.dataset == last.c.dataset) & (_v.position == last.c.position),
        )
        .where(dataset.c.tenant_id == tenant)
        .order_by(dataset.c.name)
    )
    return [_dataset_row(row) for row in connection.execute(query).mappings()]


def _dataset_row(row: Mapping[Any, Any]) -> DatasetRow:
    return DatasetRow(
        name=row[dataset.c.name],
        versions=row[_v.position],
        version=row[_v.version],
        rows=row[_v.row_count],
        has_embeddings=row[_v.has_embeddings],
        creator=row[dataset.c.creator],
        created_at=row[dataset.c.created_at],
        changed_at=row[_v.created_at],
    )


def versions(
    connection: Connection, tenant: UUID, name: str, *, before: int | None = None, limit: int | None = None
) -> list[tuple[int, DatasetVersion]]:
    """A dataset's versions with their positions, the newest first. Raises ``DatasetUnknown``."""
    query = select(dataset_version).where(_v.tenant_id == tenant, _v.dataset == name).order_by(_v.position.desc())
    if before is not None:
        query = query.where(_v.position < before)
    rows = connection.execute(query.limit(limit)).all()
    if not rows and before is None:
        raise unknown(name, _names(connection, tenant))
    return [(row.position, found) for row, found in zip(rows, _made(connection, tenant, rows), strict=True)]


def newest(connection: Connection, tenant: UUID, name: str) -> tuple[int, DatasetVersion] | None:
    """Its newest version with its position; ``None`` of a dataset that is not there yet."""
    query = select(dataset_version).where(_v.tenant_id == tenant, _v.dataset == name)
    rows = connection.execute(query.order_by(_v.position.desc()).limit(1)).all()
    return (rows[0].position, _made(connection, tenant, rows)[0]) if rows else None


def labels(connection: Connection, tenant: UUID, name: str) -> Mapping[str, str]:
    """The content hash of each of its versions, by label."""
    query = select(_v.version, _v.content_hash).where(_v.tenant_id == tenant, _v.dataset == name)
    return {row.version: row.content_hash for row in connection.execute(query)}


def find(connection: Connection, tenant: UUID, reference: str) -> DatasetVersion:
    """What a reference means. Raises ``DatasetUnknown`` with the nearest names, or with the ids that a prefix fits."""
    said = named(reference)
    query = select(dataset_version).where(_v.tenant_id == tenant, _v.dataset == said.dataset)
    if said.version is not None:
        query = query.where(_v.version == said.version)
    rows = connection.execute(query.order_by(_v.position.desc()).limit(1)).all()
    if not rows and (prefix := id_prefix(reference)) is not None:
        hexadecimal = func.replace(cast(_v.id, Text), "-", "")
        query = select(dataset_version).where(_v.tenant_id == tenant, hexadecimal.startswith(prefix))
        rows = connection.execute(query.order_by(_v.id).limit(_FITTING)).all()
    if len(rows) > 1:
        raise DatasetUnknown(f"{reference!r} fits several versions: {', '.join(str(row.id) for row in rows)}.")
    if not rows:
        raise _lost(connection, tenant, reference)
    return _made(connection, tenant, rows)[0]


_FITTING: int = 5
"""Versions that an ambiguous beginning of an id is told to fit."""


def _lost(connection: Connection, tenant: UUID, reference: str) -> DatasetUnknown:
    said = named(reference)
    there = labels(connection, tenant, said.dataset)
    return unknown(reference, [f"{said.dataset}@{one}" for one in there] or _names(connection, tenant))


def _names(connection: Connection, tenant: UUID) -> Sequence[str]:
    return connection.execute(select(dataset.c.name).where(dataset.c.tenant_id == tenant)).scalars().all()


def add(connection: Connection, version: DatasetVersion, *, position: int) -> DatasetVersion:
    """Write a version down as its dataset's so many-th, with the splits of the one before; it as it is kept.

    Written again, nothing changes. Raises ``VersionTaken`` where somebody was faster.
    """
    tenant = version.tenant
    first = {"tenant_id": tenant, "name": version.dataset, "creator": version.creator}
    connection.execute(insert(dataset).values(first).on_conflict_do_nothing())
    connection.execute(insert(dataset_version).values(_values(version, position)).on_conflict_do_nothing())
    kept = connection.execute(select(dataset_version).where(_v.tenant_id == tenant, _v.id == version.id)).all()
    if not kept:
        raise VersionTaken(_RACED, where=version.dataset, remedy=_AGAIN)
    parents = [
        {"tenant_id": tenant, "version_id": version.id, "position": place, "parent_id": parent.id}
        for place, parent in enumerate(version.lineage.parents, 1)
    ]
    if parents:
        connection.execute(insert(dataset_parent).on_conflict_do_nothing(), parents)
    _inherit_splits(connection, version, kept[0].position)
    return _made(connection, tenant, kept)[0]


def _values(version: DatasetVersion, position: int) -> dict[str, object]:
    return {
        "tenant_id": version.tenant,
        "id": version.id,
        "dataset": version.dataset,
        "version": version.version,
        "position": position,
        "row_count": version.rows,
        "content_hash": version.content_hash,
        "parts": [asdict(part) for part in version.parts],
        "has_embeddings": version.has_embeddings,
        "operation": version.lineage.operation,
        "parameters": dict(version.lineage.parameters),
        "metadata": dict(version.metadata),
        "creator": version.creator,
    }


def _inherit_splits(connection: Connection, version: DatasetVersion, position: int) -> None:
    """The rules of the version before hold in this one too: an example stays where it was."""
    own = [column for column in dataset_split.c if column.name not in ("version_id", "created_at")]
    before = (
        select(dataset_version.c.id)
        .where(_v.tenant_id == version.tenant, _v.dataset == version.dataset, _v.position == position - 1)
        .scalar_subquery()
    )
    rows = connection.execute(
        select(*own).where(dataset_split.c.tenant_id == version.tenant, dataset_split.c.version_id == before)
    ).mappings()
    inherited = [{**row, "version_id": version.id} for row in rows]
    if inherited:
        connection.execute(insert(dataset_split).on_conflict_do_nothing(), inherited)


def splits(connection: Connection, tenant: UUID, version: UUID) -> list[Split]:
    """The splits of a version, in the order of their ranges."""
    s = dataset_split.c
    query = select(dataset_split).where(s.tenant_id == tenant, s.version_id == version)
    rows = connection.execute(query.order_by(s.seed, s.low_ppm, s.name))
    return [Split(name=row.name, seed=row.seed, low_ppm=row.low_ppm, high_ppm=row.high_ppm) for row in rows]


def add_splits(
    connection: Connection, tenant: UUID, version: UUID, new: Sequence[Split], *, creator: str
) -> list[Split]:
    """Give a version splits; all that it has then. Raises ``SplitInvalid`` for a name that has another rule."""
    rows = [{"tenant_id": tenant, "version_id": version, "creator": creator, **asdict(split)} for split in new]
    connection.execute(insert(dataset_split).on_conflict_do_nothing(), rows)
    there = splits(connection, tenant, version)
    for split in new:
        if split not in there:
            raise SplitInvalid(
                f"It has a split {split.name!r} of another seed or share already.",
                where=split.name,
                remedy="Use other names, or make the splits of another version.",
            )
    return there


def versions_known(connection: Connection, tenant: UUID, ids: Sequence[UUID]) -> set[UUID]:
    """Which of these are versions."""
    query = select(_v.id).where(_v.tenant_id == tenant, _v.id.in_(list(ids)))
    return set(connection.execute(query).scalars())


def erase(connection: Connection, tenant: UUID) -> None:
    """Forget every dataset of a tenant; the owner role alone may."""
    for table in (dataset_split, dataset_parent, dataset_version, dataset):
        connection.execute(delete(table).where(table.c.tenant_id == tenant))


def _made(connection: Connection, tenant: UUID, rows: Sequence[Row[Any]]) -> list[DatasetVersion]:
    parents = _parents(connection, tenant, [row.id for row in rows])
    return [_version(row, tuple(parents[row.id])) for row in rows]


def _parents(connection: Connection, tenant: UUID, ids: Sequence[UUID]) -> Mapping[UUID, list[Parent]]:
    p = dataset_parent.c
    query = (
        select(p.version_id, _v.id, _v.dataset, _v.version)
        .join(dataset_version, (_v.tenant_id == p.tenant_id) & (_v.id == p.parent_id))
        .where(p.tenant_id == tenant, p.version_id.in_(list(ids)))
        .order_by(p.version_id, p.position)
    )
    found: dict[UUID, list[Parent]] = defaultdict(list)
    for row in connection.execute(query):
        found[row.version_id].append(Parent(id=row.id, dataset=row.dataset, version=row.version))
    return found


def _version(row: Row[Any], parents: tuple[Parent, ...]) -> DatasetVersion:
    return DatasetVersion(
        tenant=row.tenant_id,
        id=row.id,
        dataset=row.dataset,
        version=row.version,
        rows=row.row_count,
        parts=tuple(Part(**part) for part in row.parts),
        content_hash=row.content_hash,
        has_embeddings=row.has_embeddings,
        created_at=row.created_at,
        creator=row.creator,
        metadata=row.metadata,
        lineage=Lineage(operation=row.operation, parameters=row.parameters, parents=parents),
    )
