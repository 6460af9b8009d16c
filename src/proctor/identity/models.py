"""Tables of identity."""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    ForeignKeyConstraint,
    Identity,
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
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from proctor.database.schema import SCHEMA, metadata

__all__ = [
    "api_key",
    "idempotent_request",
    "platform_setup",
    "security_event",
    "tenant",
    "tenant_quota",
    "tenant_secret",
    "tenant_user",
    "user_budget",
]

tenant = Table(
    "tenant",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("name", Text, nullable=False, unique=True),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)

platform_setup = Table(
    "platform_setup",
    metadata,
    Column("id", Integer, primary_key=True, autoincrement=False),
    Column("link_hash", LargeBinary, nullable=False, comment="keyed hash of the one-time link's token"),
    Column("expires_at", DateTime(timezone=True), nullable=False),
    Column("used_at", DateTime(timezone=True)),
    CheckConstraint("id = 1", name="one"),
)

tenant_user = Table(
    "tenant_user",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False, comment="a person's e-mail address, or a service account's name"),
    Column("kind", Text, nullable=False),
    Column("role", Text, nullable=False),
    Column("administrator", Boolean, nullable=False, server_default=text("false"), comment="of the whole installation"),
    Column("version", Integer, nullable=False, server_default="1", comment="counts changes"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("disabled_at", DateTime(timezone=True)),
    UniqueConstraint("tenant_id", "name"),
    CheckConstraint("kind IN ('person', 'service')", name="kind"),
    CheckConstraint("role IN ('viewer', 'reviewer', 'member', 'admin', 'owner')", name="role"),
    ForeignKeyConstraint(["tenant_id"], [f"{SCHEMA}.tenant.tenant_id"]),
)

api_key = Table(
    "api_key",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("id", Uuid, primary_key=True),
    Column("user_id", Uuid, nullable=False),
    Column("name", Text, nullable=False),
    Column("prefix", Text, nullable=False),
    Column("hash", LargeBinary, nullable=False),
    Column("scopes", ARRAY(Text), comment="permissions it is narrowed to; NULL: its user's"),
    Column("created_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("expires_at", DateTime(timezone=True)),
    Column("revoked_at", DateTime(timezone=True)),
    Column("last_used_at", DateTime(timezone=True), comment="to the minute"),
    Column("replaced_by", Uuid, comment="the key that it was rotated to"),
    UniqueConstraint("tenant_id", "prefix"),
    ForeignKeyConstraint(["tenant_id", "user_id"], [f"{SCHEMA}.tenant_user.tenant_id", f"{SCHEMA}.tenant_user.id"]),
    Index(None, "tenant_id", "user_id"),
)

security_event = Table(
    "security_event",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("seq", BigInteger, Identity(always=True), primary_key=True),
    Column("at", DateTime(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("action", Text, nullable=False),
    Column("actor", Uuid, comment="the user; NULL: nobody yet, or the installation itself"),
    Column("key_id", Uuid),
    Column("target", Text, nullable=False),
    Column("detail", JSONB, nullable=False, server_default=text("'{}'")),
    Column("request_id", Text, nullable=False, server_default=""),
    Index(
        "ix_security_event_started", "tenant_id", "target", "seq", postgresql_where=text("action = 'run-set.started'")
    ),
)

idempotent_request = Table(
    "idempotent_request",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("user_id", Uuid, primary_key=True),
    Column("key", LargeBinary, primary_key=True, comment="sha256 of the caller's Idempotency-Key"),
    Column("digest", LargeBinary, nullable=False, comment="sha256 of method, path and body"),
    Column("began_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("status", Integer, comment="NULL: still at work"),
    Column("body", LargeBinary, comment="what was answered, without a secret that is told once"),
    Column("media_type", Text),
    Index(None, "began_at"),
)

tenant_quota = Table(
    "tenant_quota",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("evaluations_per_day", BigInteger),
    Column("cost_month_nano", BigInteger),
    Column("storage_bytes", BigInteger),
    Column("sandboxes", BigInteger),
    Column("budget_month_nano", BigInteger, comment="hard, and the tenant's own"),
    Column("stored_bytes", BigInteger, comment="what its objects took when they were last measured"),
    Column("measured_at", DateTime(timezone=True)),
    ForeignKeyConstraint(["tenant_id"], [f"{SCHEMA}.tenant.tenant_id"]),
)

user_budget = Table(
    "user_budget",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("user_id", Uuid, primary_key=True),
    Column("month_nano", BigInteger, nullable=False),
    CheckConstraint("month_nano >= 0", name="month"),
    ForeignKeyConstraint(["tenant_id", "user_id"], [f"{SCHEMA}.tenant_user.tenant_id", f"{SCHEMA}.tenant_user.id"]),
)

tenant_secret = Table(
    "tenant_secret",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("name", Text, primary_key=True),
    Column("version", BigInteger, nullable=False, comment="counts how often it was set"),
    Column("key_id", Text, nullable=False, comment="the installation's key that wrapped its data key"),
    Column("wrapped", LargeBinary, nullable=False, comment="its data key, wrapped"),
    Column("sealed", LargeBinary, nullable=False, comment="its value under its data key"),
    Column("set_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("set_by", Uuid, nullable=False),
    Column("last_used_at", DateTime(timezone=True), comment="to the minute"),
    CheckConstraint("name ~ '^[A-Za-z_][A-Za-z0-9_]{0,127}$'", name="name"),
    CheckConstraint("version > 0", name="version"),
    ForeignKeyConstraint(["tenant_id", "set_by"], [f"{SCHEMA}.tenant_user.tenant_id", f"{SCHEMA}.tenant_user.id"]),
)
