"""A version is kept: its objects first, its row last. Content that is there already is not kept twice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.engine import Database
from proctor.datasets import registry
from proctor.datasets.derivations import NewVersion
from proctor.datasets.errors import VersionTaken
from proctor.datasets.versions import DatasetVersion, Lineage, next_label
from proctor.datasets.writing import Written
from proctor.kernel.ids import derived_id
from proctor.objects.parquet import Part
from proctor.objects.store import ObjectStore

__all__ = ["Draft", "Kept", "Maker"]


@dataclass(frozen=True, kw_only=True)
class Draft:
    """What is to be kept. ``now``: UTC, for a label that is the moment."""

    tenant: UUID
    written: Written
    lineage: Lineage
    new: NewVersion
    creator: str
    now: datetime


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What came of it. ``new``: ``version`` was made, or would be in a dry run, where it is ``None``."""

    label: str
    new: bool
    version: DatasetVersion | None


@dataclass(frozen=True, kw_only=True)
class _Known:
    """What a dataset has so far: its newest version and that one's position, and the content of each label."""

    position: int
    newest: DatasetVersion | None
    labels: Mapping[str, str]


class Maker:
    """Keeps versions."""

    def __init__(self, database: Database, objects: ObjectStore) -> None:
        self._database, self._objects = database, objects

    def newest(self, tenant: UUID, dataset: str) -> DatasetVersion | None:
        """A dataset's newest version; ``None`` of one that is not there yet."""
        return self._known(tenant, dataset).newest

    def make(self, draft: Draft, *, dry_run: bool = False) -> Kept:
        """Keep it, unless its content is its label's or its dataset's newest already. Raises ``VersionTaken``."""
        new, content = draft.new, draft.written.content_hash
        known = self._known(draft.tenant, new.dataset)
        label = next_label(new.version, known.labels, draft.now)
        if known.labels.get(label) == content:
            return Kept(label=label, new=False, version=self._find(draft.tenant, f"{new.dataset}@{label}"))
        if known.newest is not None and known.newest.content_hash == content:
            return Kept(label=known.newest.version, new=False, version=known.newest)
        if label in known.labels:
            raise VersionTaken(where=f"{new.dataset}@{label}")
        if dry_run:
            return Kept(label=label, new=True, version=None)
        version = self._stored(draft, label)
        kept = self._database.as_tenant(draft.tenant, lambda c: registry.add(c, version, position=known.position + 1))
        return Kept(label=label, new=True, version=kept)

    def _stored(self, draft: Draft, label: str) -> DatasetVersion:
        """Its objects, under an id that the same content and label have again."""
        tenant, new, written = draft.tenant, draft.new, draft.written
        identity = derived_id("dataset-version", tenant, new.dataset, label, written.content_hash)
        parts = []
        for number, part in enumerate(written.parts):
            stored = self._objects.put_file(f"{tenant}/datasets/{identity}/{number:05}.parquet", part.path)
            parts.append(Part(key=stored.key, rows=part.rows, bytes=stored.size, sha256=stored.sha256))
        return DatasetVersion(
            tenant=tenant,
            id=identity,
            dataset=new.dataset,
            version=label,
            rows=written.rows,
            parts=tuple(parts),
            content_hash=written.content_hash,
            has_embeddings=written.has_embeddings,
            created_at=draft.now,
            creator=draft.creator,
            metadata=new.metadata,
            lineage=draft.lineage,
        )

    def _find(self, tenant: UUID, reference: str) -> DatasetVersion:
        return self._database.as_tenant(tenant, lambda c: registry.find(c, tenant, reference))

    def _known(self, tenant: UUID, dataset: str) -> _Known:
        def look(connection: Connection) -> _Known:
            found = registry.newest(connection, tenant, dataset)
            position, newest = found or (0, None)
            return _Known(position=position, newest=newest, labels=registry.labels(connection, tenant, dataset))

        return self._database.as_tenant(tenant, look)
