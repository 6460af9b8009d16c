"""Tables of datasets. All rows are written once and never changed; the examples are in the object store."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
)
from sqlalchemy.dialects.postgresql import JSONB

from proctor.database.schema import SCHEMA, metadata

__all__ = ["dataset", "dataset_parent", "dataset_split", "dataset_version"]

dataset = Table(
    "dataset",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("creator", Text, nullable=False, comment="who first made a version of it"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)

dataset_version = Table(
    "dataset_version",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("id", Uuid, primary_key=True),
    Column("dataset", Text, nullable=False),
    Column("version", Text, nullable=False, comment="a label: MAJOR.MINOR.PATCH, or a moment of UTC"),
    Column("position", Integer, nullable=False, comment="1, 2, 3 by the order in which they were made"),
    Column("row_count", BigInteger, nullable=False),
    Column("content_hash", Text, nullable=False, comment="sha256 over the digests of its rows, in their order"),
    Column("parts", JSONB, nullable=False, comment="[{key, rows, bytes, sha256}], in the order of its rows"),
    Column("has_embeddings", Boolean, nullable=False),
    Column("operation", Text, nullable=False),
    Column("parameters", JSONB, nullable=False, comment="the operation's own"),
    Column("metadata", JSONB, nullable=False, comment="the creator's own"),
    Column("creator", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("tenant_id", "dataset", "version"),
    UniqueConstraint("tenant_id", "dataset", "position"),
    ForeignKeyConstraint(["tenant_id", "dataset"], [f"{SCHEMA}.dataset.tenant_id", f"{SCHEMA}.dataset.name"]),
    CheckConstraint("row_count > 0", name="row_count"),
    CheckConstraint("position > 0", name="position"),
    CheckConstraint("operation IN ('import', 'filter', 'merge', 'relabel', 'dedupe', 'sample')", name="operation"),
)

dataset_parent = Table(
    "dataset_parent",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("version_id", Uuid, primary_key=True),
    Column("position", Integer, primary_key=True, comment="1, 2, 3 as the operation named them"),
    Column("parent_id", Uuid, nullable=False),
    ForeignKeyConstraint(
        ["tenant_id", "version_id"], [f"{SCHEMA}.dataset_version.tenant_id", f"{SCHEMA}.dataset_version.id"]
    ),
    ForeignKeyConstraint(
        ["tenant_id", "parent_id"], [f"{SCHEMA}.dataset_version.tenant_id", f"{SCHEMA}.dataset_version.id"]
    ),
    Index(None, "tenant_id", "parent_id"),
)

dataset_split = Table(
    "dataset_split",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("version_id", Uuid, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("seed", BigInteger, nullable=False),
    Column("low_ppm", Integer, nullable=False, comment="the first millionth of the ids' hashes that belongs to it"),
    Column("high_ppm", Integer, nullable=False, comment="the first that does not any more"),
    Column("creator", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    ForeignKeyConstraint(
        ["tenant_id", "version_id"], [f"{SCHEMA}.dataset_version.tenant_id", f"{SCHEMA}.dataset_version.id"]
    ),
    CheckConstraint("low_ppm >= 0 AND low_ppm < high_ppm AND high_ppm <= 1000000", name="range"),
)
