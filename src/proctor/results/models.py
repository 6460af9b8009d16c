"""Tables of results: which batches of rows there are, which of them count, and what outlives them."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Date,
    DateTime,
    Double,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    Table,
    Text,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from proctor.database.schema import metadata

__all__ = ["result_batch", "result_retention", "result_rollup"]

result_batch = Table(
    "result_batch",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("id", Uuid, primary_key=True, comment="derived from chunk and token; of a merged one from its parts"),
    Column("job_id", Uuid, nullable=False),
    Column("chunk", Integer, comment="which of the job's; NULL: several, merged"),
    Column("path", Text, comment="key of the object; NULL: staged, or deleted"),
    Column("staged", LargeBinary, comment="a small batch itself, as Parquet"),
    Column("sha256", Text, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("min_time", DateTime(timezone=True), nullable=False),
    Column("max_time", DateTime(timezone=True), nullable=False),
    Column("schema_version", SmallInteger, nullable=False),
    Column("counts", JSONB, nullable=False, comment="rows by evaluator and status"),
    Column(
        "sums", JSONB, comment="its rows added up by day, evaluator, model and status, as rollups are; NULL: nobody did"
    ),
    Column("state", Text, nullable=False, server_default="live"),
    Column("held", Boolean, nullable=False, server_default=text("false"), comment="a legal hold: nothing deletes it"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("ended_at", DateTime(timezone=True), comment="when it was superseded or deleted"),
    CheckConstraint("state IN ('live', 'superseded', 'deleted')", name="state"),
    CheckConstraint("(state = 'live') = (ended_at IS NULL)", name="ended"),
    CheckConstraint("state <> 'live' OR num_nonnulls(path, staged) = 1", name="somewhere"),
    CheckConstraint("state <> 'deleted' OR num_nonnulls(path, staged) = 0", name="gone"),
    CheckConstraint("rows > 0", name="rows"),
    Index(None, "tenant_id", "job_id", "chunk", unique=True, postgresql_where=text("chunk IS NOT NULL")),
    Index(None, "tenant_id", "job_id", "min_time", postgresql_where=text("state = 'live'")),
    Index(None, "tenant_id", "min_time", postgresql_where=text("state = 'live'")),
    Index(None, "ended_at", postgresql_where=text("state = 'superseded'")),
)

result_retention = Table(
    "result_retention",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("result_days", Integer, nullable=False, comment="of results of jobs that are not kept"),
    Column("rollup_days", Integer, nullable=False, comment="of their daily sums"),
    Column("changed_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    CheckConstraint("result_days BETWEEN 1 AND 36500 AND rollup_days BETWEEN result_days AND 36500", name="days"),
)

result_rollup = Table(
    "result_rollup",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("id", Uuid, primary_key=True, comment="derived from day, evaluator, model and status"),
    Column("day", Date, nullable=False, comment="UTC, on which the results were evaluated"),
    Column("evaluator", Text, nullable=False),
    Column("model", Text, comment="NULL: nobody said"),
    Column("status", Text, nullable=False),
    Column("n", BigInteger, nullable=False),
    Column("scored", BigInteger, nullable=False),
    Column("score_sum", Double, nullable=False),
    Column("score_squares", Double, nullable=False, comment="sum of the squares of scores"),
    Column("score_min", Double, comment="NULL: none was scored"),
    Column("score_max", Double),
    CheckConstraint("n > 0 AND scored BETWEEN 0 AND n", name="counts"),
    CheckConstraint("(scored = 0) = (score_min IS NULL) AND (scored = 0) = (score_max IS NULL)", name="bounds"),
    Index(None, "tenant_id", "day"),
)
