"""Tables of suites. All rows are written once and never changed; a label moves by a new row."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Index,
    Integer,
    Table,
    Text,
    Uuid,
    func,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from proctor.database.schema import SCHEMA, metadata

__all__ = ["alias", "suite", "suite_task", "task"]

task = Table(
    "task",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("content_digest", Text, primary_key=True),
    Column("agent_digest", Text, nullable=False),
    Column("verifier_digest", Text, nullable=False),
    Column("name", Text, nullable=False, comment="a label: the name it was first imported under"),
    Column("config", JSONB(none_as_null=True), comment="the task with every default filled in; NULL: malformed"),
    Column("images", ARRAY(Text), comment="what its sandboxes start from, as its files say; NULL: nobody looked"),
    Column("problem", JSONB(none_as_null=True), comment="[{file, field, reason}]; NULL: none"),
    Column("archive_key", Text),
    Column("archive_sha256", Text),
    Column("archive_size", BigInteger),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    CheckConstraint("(problem IS NULL) = (config IS NOT NULL)", name="usable"),
    CheckConstraint(
        "(config IS NULL AND num_nonnulls(archive_key, archive_sha256, archive_size) = 0)"
        " OR (config IS NOT NULL AND num_nulls(archive_key, archive_sha256, archive_size) = 0)",
        name="archive",
    ),
)

suite = Table(
    "suite",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("suite_id", Text, primary_key=True, comment="sha256 over the sorted content digests"),
    Column("task_count", Integer, nullable=False),
    Column("source", Text, nullable=False, comment="where it was first imported from"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    CheckConstraint("task_count > 0", name="task_count"),
)

suite_task = Table(
    "suite_task",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("suite_id", Text, primary_key=True),
    Column("content_digest", Text, primary_key=True),
    Column("position", Integer, nullable=False),
    ForeignKeyConstraint(["tenant_id", "suite_id"], [f"{SCHEMA}.suite.tenant_id", f"{SCHEMA}.suite.suite_id"]),
    ForeignKeyConstraint(
        ["tenant_id", "content_digest"], [f"{SCHEMA}.task.tenant_id", f"{SCHEMA}.task.content_digest"]
    ),
    Index(None, "tenant_id", "content_digest"),
)

alias = Table(
    "alias",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("kind", Text, primary_key=True, comment="what the label is of: suite"),
    Column("name", Text, primary_key=True),
    Column(
        "valid_from",
        DateTime(timezone=True),
        primary_key=True,
        server_default=func.clock_timestamp(),
        comment="until the next row of the same name",
    ),
    Column("target", Text, nullable=False),
    Column("source", Text, nullable=False, comment="who or what set it"),
)
