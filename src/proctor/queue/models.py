"""Tables of the queue.

``queue_item`` is partitioned by kind, so that a flood of one kind never bloats another's indexes. Its indexes
follow the order of service: a window per (lane, band), longest expected first; a second one finds what is past
its target wait. A row that must wait for a time is ``waiting`` and in neither, so it never fills a window.
"""

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
    SmallInteger,
    Table,
    Text,
    Uuid,
    desc,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB

from proctor.database.schema import metadata

__all__ = ["KINDS", "queue_item", "queue_lane", "queue_service", "queue_share", "worker"]

KINDS: tuple[str, ...] = ("cell", "chunk", "delivery", "step")
"""One partition each; every kind has its own share of workers."""

_PENDING = text("state = 'pending'")
_SINGLE = {"deduplicate_items": "off"}
"""Rows of a run set share their times. As one entry of the index they would stay until the last of them is done, and
each claim would visit all that are gone; as single entries they are marked when the first claim finds them gone."""
_CLAIMED = text("state = 'claimed'")

queue_item = Table(
    "queue_item",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("id", Uuid, primary_key=True, comment="derived from what it is about, so it is also the dedupe key"),
    Column("provider", Text, nullable=False, server_default=""),
    Column("band", SmallInteger, nullable=False, comment="0 critical, 1 high, 2 normal, 3 low"),
    Column("state", Text, nullable=False, server_default="pending"),
    Column("holders", JSONB, nullable=False, comment="who wants it: {holder id: band, null: not now}"),
    Column("expected_sec", Float, nullable=False, server_default="0"),
    Column("run_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column("enqueued_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
    Column(
        "ready_at",
        DateTime(timezone=True),
        nullable=False,
        server_default=func.now(),
        comment="since when it only waits for its turn",
    ),
    Column("deadline", DateTime(timezone=True)),
    Column("need", JSONB, nullable=False, server_default=text("'{}'"), comment="{memory_mb, cpus, disk_mb}"),
    Column("payload", Text, nullable=False, server_default=""),
    Column("picks", Integer, nullable=False, server_default="0"),
    Column("tries", Integer, nullable=False, server_default="0", comment="faults of its own so far"),
    Column("losses", Integer, nullable=False, server_default="0"),
    Column("losses_alone", Integer, nullable=False, server_default="0"),
    Column("alone", Boolean, nullable=False, server_default=text("false")),
    Column("worker_id", Uuid, comment="who runs it; on a pending suspect, who is to run it alone"),
    Column("token", BigInteger),
    Column("lease_until", DateTime(timezone=True)),
    Column("served_band", SmallInteger, comment="the effective band it was claimed in"),
    Column("begun", Boolean, nullable=False, server_default=text("false"), comment="its sandbox is there"),
    Column("reason", Text, nullable=False, server_default=""),
    CheckConstraint("state IN ('pending', 'waiting', 'claimed', 'paused', 'dead')", name="state"),
    CheckConstraint("band BETWEEN 0 AND 3", name="band"),
    CheckConstraint("(state = 'claimed') = (token IS NOT NULL)", name="claimed_has_token"),
    Index(
        None,
        *("tenant_id", "kind", "provider", "band", desc("expected_sec"), "run_at"),
        postgresql_where=_PENDING,
        postgresql_with=_SINGLE,
    ),
    Index(
        None,
        *("tenant_id", "kind", "provider", "band", "enqueued_at"),
        postgresql_where=_PENDING,
        postgresql_with=_SINGLE,
    ),
    Index(None, "kind", "run_at", postgresql_where=text("state = 'waiting'")),
    Index(None, "kind", "enqueued_at", postgresql_where=text("state = 'pending' AND losses >= 2")),
    Index(
        None,
        "kind",
        "deadline",
        postgresql_where=text("state IN ('pending', 'waiting') AND deadline IS NOT NULL"),
    ),
    Index(None, "tenant_id", "kind", "id", postgresql_where=text("state = 'dead'")),
    Index(None, "worker_id", postgresql_where=_CLAIMED),
    postgresql_partition_by="LIST (kind)",
)

queue_lane = Table(
    "queue_lane",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("provider", Text, primary_key=True),
    Column("paused", Boolean, nullable=False, server_default=text("false")),
    Column("reason", Text, nullable=False, server_default=""),
    Column("closed_until", DateTime(timezone=True), comment="its breaker is open until then, then one probe"),
    Column("failures", Integer, nullable=False, server_default="0", comment="breaker failures in a row"),
    Column("max_running", Integer, comment="NULL: no limit"),
    Column("gates", ARRAY(Text), nullable=False, server_default="{}", comment="other rows that its rows wait for too"),
    Column("counts", JSONB, nullable=False, server_default="{}", comment="failures by class since it last worked"),
    Column("shut_token", BigInteger, comment="the last token given before its breaker opened"),
    Column("careful_until", DateTime(timezone=True), comment="it limited our rate: few at once until then"),
    Column("per_minute", Integer, comment="starts a minute at most; NULL: no limit"),
    Column("next_start", DateTime(timezone=True), comment="when per_minute allows the next start"),
)

queue_share = Table(
    "queue_share",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("weight", Float, nullable=False, server_default="1"),
    Column("over_quota", Boolean, nullable=False, server_default=text("false")),
    CheckConstraint("weight > 0", name="weight"),
)

queue_service = Table(
    "queue_service",
    metadata,
    Column("tenant_id", Uuid, primary_key=True),
    Column("kind", Text, primary_key=True),
    Column("band", SmallInteger, primary_key=True),
    Column("served", Float, nullable=False, comment="service received per weight: virtual time of its next row"),
    Column("started", Float, nullable=False, comment="virtual time its last row was served at"),
    CheckConstraint("band BETWEEN 0 AND 3", name="band"),
)

worker = Table(
    "worker",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("host", Text, nullable=False),
    Column("boot_id", Text, nullable=False),
    Column("pid", Integer, nullable=False),
    Column("process_started", BigInteger, nullable=False, comment="clock ticks since boot: a reused pid has others"),
    Column("slots", Integer, nullable=False),
    Column("seen_at", DateTime(timezone=True), nullable=False, server_default=func.now()),
)
