"""Tables of the engine. ``expected_cell`` is the only denominator in the system."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    DateTime,
    Float,
    ForeignKeyConstraint,
    Index,
    Integer,
    Numeric,
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
    "attempt",
    "cell",
    "configuration",
    "evidence",
    "expected_cell",
    "grading",
    "kept_side",
    "leaderboard_entry",
    "ledger",
    "outcome",
    "outcome_policy",
    "recent_end",
    "result",
    "run_set",
    "run_set_profile",
    "side_change",
    "side_task",
    "unlinked",
]


def _tenant() -> Column[object]:
    return Column("tenant_id", Uuid, primary_key=True)


def _when(name: str, *, nullable: bool = False, comment: str | None = None) -> Column[object]:
    default = None if nullable else func.now()
    return Column(name, DateTime(timezone=True), nullable=nullable, server_default=default, comment=comment)


def _refers(columns: Sequence[str], target: str, there: Sequence[str]) -> ForeignKeyConstraint:
    return ForeignKeyConstraint(columns, [f"{SCHEMA}.{target}.{name}" for name in there])


configuration = Table(
    "configuration",
    metadata,
    _tenant(),
    Column("hash", Text, primary_key=True),
    Column("document", JSONB, nullable=False, comment="everything that can change a result, canonical"),
    Column("origin", Text, nullable=False),
    _when("created_at"),
)

run_set = Table(
    "run_set",
    metadata,
    _tenant(),
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("spec_digest", Text, nullable=False, comment="sha256 of the file as written"),
    Column("suite_id", Text, nullable=False),
    Column("continued", Integer, nullable=False, server_default="0", comment="counts --new of the same file"),
    Column("spec", JSONB, nullable=False),
    Column("policy_version", Text, nullable=False),
    Column("reuse_sec", BigInteger, comment="NULL: off"),
    Column("state", Text, nullable=False, server_default="running"),
    Column("reason", Text, nullable=False, server_default=""),
    Column("trace_id", Text, nullable=False),
    _when("created_at"),
    _when("ended_at", nullable=True),
    _when("running_since", comment="when it was last told to go on"),
    UniqueConstraint("tenant_id", "name", "spec_digest", "suite_id", "continued"),
    CheckConstraint("state IN ('running', 'complete', 'complete_with_gaps', 'paused', 'cancelled')", name="state"),
    _refers(["tenant_id", "suite_id"], "suite", ["tenant_id", "suite_id"]),
)

run_set_profile = Table(
    "run_set_profile",
    metadata,
    _tenant(),
    Column("run_set_id", Uuid, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("name", Text, nullable=False),
    Column("series", Text, nullable=False),
    Column("configuration", Text, nullable=False),
    Column("routing", JSONB, nullable=False, comment="what runs it and changes no result"),
    UniqueConstraint("tenant_id", "run_set_id", "name"),
    _refers(["tenant_id", "run_set_id"], "run_set", ["tenant_id", "id"]),
    _refers(["tenant_id", "configuration"], "configuration", ["tenant_id", "hash"]),
)

cell = Table(
    "cell",
    metadata,
    _tenant(),
    Column("id", Uuid, primary_key=True),
    Column("configuration", Text, nullable=False),
    Column("agent_digest", Text, nullable=False),
    Column("verifier_digest", Text, nullable=False),
    Column("trial", Integer, nullable=False),
    UniqueConstraint("tenant_id", "configuration", "agent_digest", "verifier_digest", "trial"),
    CheckConstraint("trial > 0", name="trial"),
    _refers(["tenant_id", "configuration"], "configuration", ["tenant_id", "hash"]),
)

expected_cell = Table(
    "expected_cell",
    metadata,
    _tenant(),
    Column("run_set_id", Uuid, primary_key=True),
    Column("cell_id", Uuid, primary_key=True),
    Column("profile", Integer, nullable=False, comment="position in run_set_profile"),
    Column("content_digest", Text, nullable=False),
    Column("reused", Boolean, nullable=False, comment="decided before this run set asked"),
    _when("withdrawn_at", nullable=True),
    Column("reason", Text, nullable=False, server_default=""),
    _refers(["tenant_id", "run_set_id"], "run_set", ["tenant_id", "id"]),
    _refers(["tenant_id", "cell_id"], "cell", ["tenant_id", "id"]),
    _refers(["tenant_id", "content_digest"], "task", ["tenant_id", "content_digest"]),
    Index(None, "tenant_id", "cell_id"),
    Index("ix_expected_cell_page", "tenant_id", "run_set_id", "profile", "content_digest", "cell_id"),
    Index("ix_expected_cell_reused", "tenant_id", "run_set_id", postgresql_where=text("reused")),
)

attempt = Table(
    "attempt",
    metadata,
    _tenant(),
    Column("id", Uuid, primary_key=True),
    Column("cell_id", Uuid, nullable=False),
    Column("number", Integer, nullable=False),
    Column("run_set_id", Uuid, nullable=False, comment="the run set that pays"),
    Column("content_digest", Text, nullable=False),
    Column("token", BigInteger, nullable=False),
    Column("worker_id", Uuid, nullable=False),
    Column("backend", Text, nullable=False),
    Column("trace_id", Text, nullable=False),
    _when("started_at"),
    _when("ended_at", nullable=True),
    Column("last_segment", Integer, nullable=False, server_default="0"),
    Column("phase", Text, nullable=False, server_default="", comment="the one it is in, as its worker last said"),
    _when("progressed_at", comment="when its evidence, log or trajectory last grew"),
    Column("limits", JSONB, nullable=False, server_default=text("'{}'")),
    Column("usage", JSONB, comment="NULL: unknown"),
    Column("waited_sec", Float, comment="its cell was ready so long before it started; NULL: unknown"),
    Column("artifacts", JSONB, nullable=False, server_default=text("'[]'")),
    UniqueConstraint("tenant_id", "cell_id", "number"),
    _refers(["tenant_id", "cell_id"], "cell", ["tenant_id", "id"]),
    _refers(["tenant_id", "run_set_id"], "run_set", ["tenant_id", "id"]),
    # Partial, so that no foreign key's check can take it for its own: without statistics all indexes that begin with
    # the tenant look alike to the planner, and checks that read every attempt of the tenant were seen.
    Index("ix_attempt_started", "started_at", postgresql_using="brin"),
    Index("ix_attempt_running", "tenant_id", "run_set_id", postgresql_where=text("ended_at IS NULL")),
)

recent_end = Table(
    "recent_end",
    metadata,
    _tenant(),
    Column("minute", DateTime(timezone=True), primary_key=True),
    Column("run_set_id", Uuid, primary_key=True),
    Column("provider", Text, primary_key=True),
    Column("registry", Text, primary_key=True, comment="empty: none was asked"),
    Column("node", Text, primary_key=True),
    Column("blame", Text, primary_key=True, comment="the narrowest scope that it may be laid on; empty: none"),
    Column("class", Text, primary_key=True),
    Column("attempts", Integer, nullable=False),
    Column("task", Text, nullable=False, comment="content digest of the first"),
    Column("several", Boolean, nullable=False, comment="whether there were other tasks too"),
    Column(
        "tasks",
        ARRAY(Text),
        nullable=False,
        server_default="{}",
        comment="content digests, of as many as tell few from many",
    ),
)

evidence = Table(
    "evidence",
    metadata,
    _tenant(),
    Column("attempt_id", Uuid, primary_key=True),
    Column("seq", Integer, primary_key=True),
    Column("phase", Text, nullable=False),
    Column("started_at", DateTime(timezone=True), nullable=False),
    Column("ended_at", DateTime(timezone=True), nullable=False),
    Column("detail", JSONB, nullable=False),
    _refers(["tenant_id", "attempt_id"], "attempt", ["tenant_id", "id"]),
)

grading = Table(
    "grading",
    metadata,
    _tenant(),
    Column("attempt_id", Uuid, primary_key=True),
    Column("verifier_digest", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("mode", Text, nullable=False),
    Column("backend", Text, nullable=False),
    Column("forgeable", Boolean, nullable=False),
    Column("rewards", JSONB, comment="NULL: the verifier left none"),
    Column("detail", JSONB, nullable=False),
    _when("graded_at"),
    _refers(["tenant_id", "attempt_id"], "attempt", ["tenant_id", "id"]),
)

outcome = Table(
    "outcome",
    metadata,
    _tenant(),
    Column("attempt_id", Uuid, primary_key=True),
    Column("grading", Integer, primary_key=True, comment="0: not graded"),
    Column("policy_version", Text, primary_key=True),
    Column("class", Text, nullable=False),
    Column("owner", Text, nullable=False),
    Column("rule", Text, nullable=False),
    Column("verdict", Boolean, comment="NULL: no verdict, which is not a fail"),
    Column("limit", Text, nullable=False, server_default=""),
    _when("decided_at"),
    _refers(["tenant_id", "attempt_id"], "attempt", ["tenant_id", "id"]),
)

outcome_policy = Table(
    "outcome_policy",
    metadata,
    _tenant(),
    Column(
        "version",
        Text,
        primary_key=True,
        comment="the file's own name and, after @, the beginning of its digest",
    ),
    Column("source", Text, nullable=False, comment="the file as written"),
    _when("created_at"),
)

result = Table(
    "result",
    metadata,
    _tenant(),
    Column("cell_id", Uuid, primary_key=True),
    Column("policy_version", Text, primary_key=True),
    Column("attempt_id", Uuid, nullable=False),
    Column("grading", Integer, nullable=False),
    Column("class", Text, nullable=False),
    Column("verdict", Boolean, nullable=False),
    Column("reward", Float),
    _when("decided_at"),
    _refers(["tenant_id", "cell_id"], "cell", ["tenant_id", "id"]),
    _refers(["tenant_id", "attempt_id"], "attempt", ["tenant_id", "id"]),
    Index("ix_result_class", "tenant_id", "policy_version", "class", "cell_id"),
)

leaderboard_entry = Table(
    "leaderboard_entry",
    metadata,
    _tenant(),
    Column("suite_id", Text, primary_key=True),
    Column("configuration", Text, primary_key=True),
    Column("revision", Integer, primary_key=True),
    Column("run_set_id", Uuid, nullable=False),
    Column("profile", Text, nullable=False),
    Column("series", Text, nullable=False),
    Column("policy_version", Text, nullable=False),
    Column("counts", JSONB, nullable=False),
    Column("comparable", Boolean, nullable=False),
    Column("reasons", JSONB, nullable=False),
    _when("created_at"),
    _refers(["tenant_id", "run_set_id"], "run_set", ["tenant_id", "id"]),
    Index(None, "tenant_id", "series", "created_at"),
)

ledger = Table(
    "ledger",
    metadata,
    _tenant(),
    Column("id", Uuid, primary_key=True),
    Column("run_set_id", Uuid),
    Column("attempt_id", Uuid),
    Column("price_version", Text, nullable=False),
    Column("nano", BigInteger, nullable=False),
    Column("profile", Text, comment="NULL: from before it was kept"),
    Column("user_id", Text, comment="NULL: from before it was kept"),
    _when("created_at"),
    _refers(["tenant_id", "attempt_id"], "attempt", ["tenant_id", "id"]),
    Index(None, "tenant_id", "run_set_id"),
    Index("ix_ledger_created", "created_at", postgresql_using="brin"),
)

kept_side = Table(
    "kept_side",
    metadata,
    _tenant(),
    Column("id", Uuid, primary_key=True),
    Column("run_set_id", Uuid, nullable=False),
    Column("profile", Integer, nullable=False),
    Column("policy_version", Text, nullable=False),
    Column(
        "cells",
        Text,
        nullable=False,
        server_default="",
        comment="the same for two sides only if they stand for the very same cells",
    ),
    Column(
        "priced",
        Integer,
        nullable=False,
        server_default="0",
        comment="tasks of which every attempt told its cost; the sums are theirs",
    ),
    Column("unpriced", Integer, nullable=False, server_default="0", comment="tasks with an attempt that did not"),
    Column("cost_nano", Numeric, nullable=False, server_default="0"),
    Column("cost_squares", Numeric, nullable=False, server_default="0"),
    Column(
        "kept",
        Boolean,
        nullable=False,
        server_default=text("false"),
        comment="its tasks are counted, and whoever changes them since sees it",
    ),
    _when("used_at", comment="to the minute"),
    _refers(["tenant_id", "run_set_id"], "run_set", ["tenant_id", "id"]),
    Index(None, "tenant_id", "run_set_id", "profile"),
)

side_task = Table(
    "side_task",
    metadata,
    _tenant(),
    Column("side_id", Uuid, primary_key=True),
    Column(
        "place",
        Integer,
        primary_key=True,
        autoincrement=False,
        comment="in the order of what the agent sees and what judges",
    ),
    Column(
        "key",
        Uuid,
        nullable=False,
        comment="of what the agent sees and what judges: by it the tasks of two sides are the same",
    ),
    Column("content_digest", Text, nullable=False),
    Column("name", Text, nullable=False),
    Column("difficulty", Text, comment="as its author says in a word of a usual length; NULL: not so"),
    Column("category", Text),
    Column("cells", Integer, nullable=False, comment="withdrawn ones too"),
    Column("expected", Integer, nullable=False),
    Column("decided", Integer, nullable=False),
    Column("passed", Integer, nullable=False),
    Column("attempts", Integer, nullable=False, comment="that ended, behind the cells that are expected"),
    Column("priced", Integer, nullable=False, comment="attempts that told their cost"),
    Column("cost_nano", BigInteger),
    Column("seconds", Float),
    Index("ix_side_task_open", "tenant_id", "side_id", postgresql_where=text("decided < cells")),
)

side_change = Table(
    "side_change",
    metadata,
    _tenant(),
    Column("side_id", Uuid, primary_key=True),
    Column("id", Uuid, primary_key=True, server_default=text("gen_random_uuid()")),
)

unlinked = Table(
    "unlinked",
    metadata,
    _tenant(),
    Column("id", Uuid, primary_key=True),
    Column("run_set_id", Uuid, nullable=False),
    Column("suite", Text, nullable=False),
    Column("profile", Text, nullable=False),
    Column("task", Text, nullable=False),
    Column("trial", Integer, nullable=False),
    Column("number", Integer, nullable=False),
    Column("record", JSONB, nullable=False, comment="the imported line, whole"),
    Column("reason", Text, nullable=False, comment="which name does not resolve"),
    _when("created_at"),
    _when("linked_at", nullable=True),
    Column(
        "linked_by",
        Text,
        nullable=False,
        server_default="",
        comment="the alias or rule by which it was linked",
    ),
    _refers(["tenant_id", "run_set_id"], "run_set", ["tenant_id", "id"]),
    Index(None, "tenant_id", "run_set_id", postgresql_where=text("linked_at IS NULL")),
)
