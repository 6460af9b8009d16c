"""Tables of evaluation jobs and of the outputs that they judge. A job's chunks are rows of the queue."""

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
    LargeBinary,
    Table,
    Text,
    UniqueConstraint,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import JSONB

from proctor.database.schema import metadata

__all__ = ["evaluation_job", "job_piece", "judgement", "prompt_version", "sample_set", "target_output"]

sample_set = Table(
    "sample_set",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("id", Uuid, primary_key=True, comment="derived from the dataset version and the content"),
    Column("name", Text, nullable=False, comment="a label"),
    Column("dataset_version", Uuid, nullable=False),
    Column("rows", BigInteger, nullable=False, comment="of the dataset version; each repeat has so many"),
    Column("repeats", Integer, nullable=False),
    Column("outputs", BigInteger, nullable=False, comment="of all rows and repeats, those that have one"),
    Column("parts", JSONB, nullable=False, comment="[{key, rows, bytes, sha256}]"),
    Column("content_hash", Text, nullable=False),
    Column("model", Text, nullable=False, server_default="", comment="what made them, as told; empty: nobody said"),
    Column("source", Text, nullable=False),
    Column("creator", Uuid),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column(
        "left_out", BigInteger, nullable=False, server_default="0", comment="rows that were no outputs of an example"
    ),
    Column("problems", JSONB, nullable=False, server_default=text("'[]'"), comment="[{row, field, reason}], the first"),
    CheckConstraint("rows > 0 AND repeats > 0", name="size"),
    Index(None, "tenant_id", "name", "created_at"),
)

evaluation_job = Table(
    "evaluation_job",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False, comment="a label"),
    Column("state", Text, nullable=False, server_default="queued"),
    Column("spec", JSONB, nullable=False, comment="what was asked for, with every reference resolved"),
    Column("dataset_version", Uuid, comment="NULL: a stream, whose rows are of none"),
    Column("sample_set", Uuid, comment="the outputs that are judged"),
    Column("band", Integer, nullable=False),
    Column("rows", BigInteger, nullable=False),
    Column("repeats", Integer, nullable=False),
    Column("chunk_rows", Integer, nullable=False),
    Column("chunks", Integer, nullable=False),
    Column("chunks_done", Integer, nullable=False, server_default="0"),
    Column("counts", JSONB, nullable=False, server_default=text("'{}'"), comment="results by evaluator and status"),
    Column("budget_nano", BigInteger, comment="what its target may cost at the most; NULL: no limit of its own"),
    Column("creator", Uuid),
    Column("trace_id", Text, nullable=False),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("started_at", DateTime(timezone=True)),
    Column("ended_at", DateTime(timezone=True)),
    Column(
        "kept",
        Boolean,
        nullable=False,
        server_default=text("true"),
        comment="false: its results go when they are as old as the tenant says",
    ),
    Column("held_at", DateTime(timezone=True), comment="since when a legal hold keeps it; NULL: none does"),
    Column("held_by", Uuid),
    Column("held_reason", Text),
    Column("deleted_at", DateTime(timezone=True), comment="its results are gone, and this row is what is left"),
    Column("deleted_by", Uuid),
    Column("stream", Boolean, nullable=False, server_default=text("false"), comment="its rows come while it runs"),
    Column("open", Boolean, nullable=False, server_default=text("false"), comment="rows may still come"),
    CheckConstraint(
        "state IN ('queued', 'running', 'paused', 'complete', 'complete_with_gaps', 'cancelled', 'deleted')",
        name="state",
    ),
    CheckConstraint(
        "(state IN ('complete', 'complete_with_gaps', 'cancelled', 'deleted')) = (ended_at IS NOT NULL)", name="ended"
    ),
    CheckConstraint("(held_at IS NULL) = (held_reason IS NULL)", name="held"),
    CheckConstraint("(state = 'deleted') = (deleted_at IS NOT NULL)", name="deleted"),
    CheckConstraint("held_at IS NULL OR deleted_at IS NULL", name="hold_keeps"),
    CheckConstraint("chunks_done BETWEEN 0 AND chunks", name="done"),
    CheckConstraint("stream = (dataset_version IS NULL)", name="stream"),
    CheckConstraint("NOT open OR (stream AND ended_at IS NULL)", name="open"),
    Index(None, "tenant_id", "created_at"),
    Index(None, "tenant_id", "sample_set", postgresql_where=text("state <> 'deleted'")),
    Index(None, "tenant_id", "id", postgresql_where=text("state IN ('queued', 'running', 'paused')")),
    Index("ix_evaluation_job_tenant_id_name_open", "tenant_id", "name", unique=True, postgresql_where=text("open")),
)

job_piece = Table(
    "job_piece",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("job_id", Uuid, primary_key=True),
    Column("chunk", Integer, primary_key=True, comment="which of the job's it is"),
    Column("start", BigInteger, nullable=False, comment="position of its first row in the stream"),
    Column("rows", Integer, nullable=False),
    Column("examples", JSONB, nullable=False, comment="{key, rows, bytes, sha256} of what was asked and expected"),
    Column("outputs", JSONB, nullable=False, comment="the same of what was answered"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    CheckConstraint("chunk >= 0 AND start >= 0 AND rows > 0", name="place"),
    Index(None, "tenant_id", "created_at"),
)

target_output = Table(
    "target_output",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("target", Text, primary_key=True, comment="digest of the model, the prompt and the parameters"),
    Column("example", LargeBinary, primary_key=True, comment="the digest of the example"),
    Column("repeat", Integer, primary_key=True),
    Column("output", Text),
    Column("status", Text, comment="why there is no output"),
    Column("error", Text),
    Column("model", Text, nullable=False, comment="that answered, as its provider named it"),
    Column("seconds", Float, nullable=False),
    Column("cost_nano", BigInteger, comment="NULL: not known"),
    Column("call_id", Uuid, comment="NULL: a command made it"),
    Column("job_id", Uuid, nullable=False, comment="which job asked, and paid"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    CheckConstraint("(output IS NULL) = (status IS NOT NULL)", name="output"),
)

judgement = Table(
    "judgement",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("evaluator", Text, primary_key=True, comment="digest of the definition"),
    Column("sample", LargeBinary, primary_key=True, comment="the digest of the example and its output"),
    Column("repeat", Integer, primary_key=True),
    Column("score", Float),
    Column("status", Text, nullable=False),
    Column("label", Text),
    Column("error", Text),
    Column("cost_nano", BigInteger, comment="its share of a batch; NULL: not known"),
    Column("job_id", Uuid, nullable=False, comment="which job asked, and paid"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    CheckConstraint("(score IS NOT NULL) = (status = 'scored')", name="score"),
)

prompt_version = Table(
    "prompt_version",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("version", Integer, primary_key=True),
    Column("system", Text, nullable=False),
    Column("prompt", Text, nullable=False),
    Column("digest", Text, nullable=False, comment="of the two texts"),
    Column("description", Text, nullable=False),
    Column("creator", Uuid),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    UniqueConstraint("tenant_id", "name", "digest"),
    CheckConstraint("version > 0", name="version"),
)
