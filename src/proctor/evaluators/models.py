"""Tables of the evaluator registry. Versions are immutable; what is measured of them is kept beside them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Float,
    Index,
    Integer,
    Table,
    Text,
    Uuid,
    func,
)

from proctor.database.schema import metadata

__all__ = ["evaluator_measure", "evaluator_permission", "evaluator_version"]

evaluator_version = Table(
    "evaluator_version",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("version", Integer, primary_key=True, comment="counts from 1 for each name"),
    Column("type", Text, nullable=False),
    Column("implementation", Integer, nullable=False, comment="of the type, when it was registered"),
    Column("configuration", Text, nullable=False, comment="canonical, in RFC 8785, which jsonb does not keep"),
    Column("digest", Text, nullable=False, comment="of type, implementation and configuration"),
    Column("cost_nano", BigInteger, comment="of one evaluation; NULL: not known"),
    Column("description", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    CheckConstraint("version > 0", name="version"),
    CheckConstraint("cost_nano >= 0", name="cost"),
    Index(None, "tenant_id", "digest"),
)

evaluator_measure = Table(
    "evaluator_measure",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("digest", Text, primary_key=True, comment="of the evaluator's definition, registered or not"),
    Column("evaluations", BigInteger, nullable=False, comment="that took so long"),
    Column("seconds", Float, nullable=False, comment="that they took in all"),
    Column("accuracy", Float, comment="the share that it judges as people do; NULL: not measured"),
    Column("accuracy_source", Text, comment="where that comes from"),
    Column("changed_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    CheckConstraint("evaluations >= 0 AND seconds >= 0", name="latency"),
    CheckConstraint("accuracy BETWEEN 0 AND 1", name="accuracy"),
    CheckConstraint("(accuracy IS NULL) = (accuracy_source IS NULL)", name="source"),
)

evaluator_permission = Table(
    "evaluator_permission",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("subject", Text, primary_key=True, comment="a type, or the name of a registered evaluator"),
    Column("allowed", Boolean, nullable=False),
    Column("changed_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)
