"""No tenant reaches another's rows, no fact is changed, and no table is forgotten: read off the catalog."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, Engine, Row, create_engine, text
from sqlalchemy.exc import DBAPIError, ProgrammingError

from proctor.database.embedded import EmbeddedServer
from proctor.database.engine import Database
from proctor.database.errors import UnsafeRole
from proctor.kernel.ids import new_id
from tests.conftest import Urls

pytestmark = pytest.mark.database

NO_TENANT: dict[str, str] = {
    "worker": "processes belong to the installation; only the scheduler may touch them",
    "platform_setup": "the installation's one-time link, from before there is a tenant: a keyed hash and its times",
    "rate_bucket": "rates of providers' keys, which may be the installation's own; only the scheduler may touch them",
    "health_sample": "how the installation was, of no tenant; only the scheduler may touch it",
    "backup": "backups of the whole installation; only the scheduler may touch them",
    "alembic_version": "the schema's revision, which every role may read and the owner alone may write",
}
QUEUE: tuple[str, ...] = ("queue_item", "queue_lane", "queue_share", "queue_service")
FACTS: tuple[str, ...] = (
    *("alias", "configuration", "suite", "task", "suite_task", "run_set_profile", "cell"),
    *("evidence", "grading", "outcome", "result", "leaderboard_entry", "ledger", "model_call"),
    *("certificate", "flake", "quarantine", "evaluator_version"),
    *("dataset", "dataset_version", "dataset_parent", "dataset_split"),
    "target_output",
    "judgement",
    "prompt_version",
)
IDENTITY: tuple[str, ...] = ("tenant_quota", "tenant_user", "api_key", "idempotent_request", "security_event")
SECRETS: tuple[str, ...] = ("tenant_secret",)
ALERTS: tuple[str, ...] = ("acknowledgement",)
WORK: tuple[str, ...] = ("operation",)
"""Long work: the role that does it sees whose waits, and no more of it."""
MONEY: tuple[str, ...] = ("budget_account", "budget_slice", "user_budget")
EVALUATORS: tuple[str, ...] = ("evaluator_measure", "evaluator_permission")
"""What is measured and said of versions, which are facts themselves."""
NOBODY_ELSES: tuple[str, ...] = ("event",)
"""An event is a fact too; the relay may note that it was published, and remove it after that."""


@pytest.fixture(scope="module")
def owner(urls: Urls) -> Iterator[Engine]:
    engine = create_engine(urls.owner)
    yield engine
    engine.dispose()


def ask(engine: Engine, query: str, **parameters: object) -> Sequence[Row[Any]]:
    with engine.connect() as connection:
        return connection.execute(text(query), parameters).all()


def tables(engine: Engine) -> list[Row[Any]]:
    """Every table of the schema, partitions too."""
    return list(
        ask(
            engine,
            "SELECT c.oid, c.relname AS name, c.relrowsecurity AS enabled, c.relforcerowsecurity AS forced,"
            " c.relispartition AS partition FROM pg_class c"
            " WHERE c.relnamespace = 'proctor'::regnamespace AND c.relkind IN ('r', 'p', 'f', 'm') ORDER BY 2",
        )
    )


def test_the_catalog_is_what_this_test_knows(owner: Engine) -> None:
    names = {table.name for table in tables(owner) if not table.partition}
    assert names >= {
        *NO_TENANT,
        *QUEUE,
        *FACTS,
        *IDENTITY,
        *SECRETS,
        *ALERTS,
        *WORK,
        *MONEY,
        *EVALUATORS,
        *NOBODY_ELSES,
    }


def test_every_table_has_forced_row_level_security_or_a_reason(owner: Engine) -> None:
    open_ = [t.name for t in tables(owner) if t.name not in NO_TENANT and not (t.enabled and t.forced)]
    assert open_ == []


def test_every_table_has_a_policy_for_the_tenant(owner: Engine) -> None:
    """A partition needs none: without one it is closed to all who name it directly."""
    rows = ask(
        owner,
        "SELECT tablename, qual, with_check FROM pg_policies"
        " WHERE schemaname = 'proctor' AND policyname = 'tenant' AND cmd = 'ALL' AND permissive = 'PERMISSIVE'",
    )
    assert {row.tablename for row in rows} == {
        t.name for t in tables(owner) if t.name not in NO_TENANT and not t.partition
    }
    for row in rows:
        assert row.qual == row.with_check
        assert row.qual.startswith("(tenant_id = (NULLIF(current_setting('proctor.tenant'")


def test_the_scheduler_passes_tenants_by_on_the_queues_tables_alone(owner: Engine) -> None:
    rows = ask(
        owner,
        "SELECT tablename, cmd, roles::text[] AS roles FROM pg_policies"
        " WHERE schemaname = 'proctor' AND policyname <> 'tenant'",
    )
    assert {row.tablename for row in rows if row.cmd == "ALL"} == set(QUEUE)
    assert {(row.tablename, row.cmd) for row in rows if row.cmd != "ALL"} == {
        *(("event", cmd) for cmd in ("SELECT", "UPDATE", "DELETE")),
        ("tenant", "SELECT"),
        ("operation", "SELECT"),
    }
    assert all(row.roles == ["proctor_scheduler"] for row in rows)


def test_every_key_begins_with_the_tenant(owner: Engine) -> None:
    rows = ask(
        owner,
        "SELECT t.conrelid::regclass::text AS name, t.conname, a.attname AS first, f.attname AS first_there"
        " FROM pg_constraint t JOIN pg_attribute a ON a.attrelid = t.conrelid AND a.attnum = t.conkey[1]"
        " LEFT JOIN pg_attribute f ON f.attrelid = t.confrelid AND f.attnum = t.confkey[1]"
        " WHERE t.connamespace = 'proctor'::regnamespace AND t.contype IN ('p', 'u', 'f', 'x')",
    )
    allowed = {
        "proctor.worker",
        "proctor.alembic_version",
        "proctor.platform_setup",
        "proctor.rate_bucket",
        "proctor.health_sample",
        "proctor.backup",
    }
    wrong = [row.conname for row in rows if row.name not in allowed and row.first != "tenant_id"]
    wrong += [row.conname for row in rows if row.first_there not in (None, "tenant_id")]
    assert wrong == ["uq_tenant_name"]  # a name finds the tenant


def test_unique_indexes_without_a_constraint_begin_with_the_tenant_too(owner: Engine) -> None:
    rows = ask(
        owner,
        "SELECT i.indexrelid::regclass::text AS name FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid"
        " JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]"
        " WHERE c.relnamespace = 'proctor'::regnamespace AND i.indisunique AND a.attname <> 'tenant_id'",
    )
    names = {row.name.removeprefix("proctor.") for row in rows}
    assert names == {
        "pk_worker",
        "alembic_version_pkc",
        "pk_platform_setup",
        "pk_rate_bucket",
        "uq_tenant_name",
        "pk_health_sample",
        "pk_backup",
    }


def test_every_reference_between_tenants_rows_is_a_key_of_both(owner: Engine) -> None:
    """``tenant_id`` is in each foreign key on both sides, so a row can't refer to another tenant's."""
    rows = ask(
        owner,
        "SELECT conname, (SELECT attname FROM pg_attribute WHERE attrelid = conrelid AND attnum = conkey[1]) AS here,"
        " (SELECT attname FROM pg_attribute WHERE attrelid = confrelid AND attnum = confkey[1]) AS there"
        " FROM pg_constraint"
        " WHERE connamespace = 'proctor'::regnamespace AND contype = 'f'",
    )
    assert rows
    assert [row.conname for row in rows if (row.here, row.there) != ("tenant_id", "tenant_id")] == []


def test_there_is_no_view(owner: Engine) -> None:
    """One would have to be ``security_invoker``; there is none yet."""
    query = (
        "SELECT relname FROM pg_class WHERE relnamespace = 'proctor'::regnamespace AND relkind IN ('v', 'm')"
        " AND NOT coalesce(reloptions::text LIKE '%security_invoker=true%', false)"
    )
    assert ask(owner, query) == []


def test_functions_that_run_as_the_owner_are_known_and_pinned(owner: Engine) -> None:
    rows = ask(
        owner,
        "SELECT proname, proconfig FROM pg_proc WHERE pronamespace = 'proctor'::regnamespace AND prosecdef",
    )
    assert {row.proname for row in rows} <= {"refresh_statistics"}
    assert all(row.proconfig and row.proconfig[0].startswith("search_path=pg_catalog") for row in rows)


# --- what roles may do ------------------------------------------------------------------------------------------------


def privileges(engine: Engine, role: str) -> dict[str, set[str]]:
    """Table and column privileges of a role by table."""
    rows = ask(
        engine,
        "SELECT table_name, privilege_type FROM information_schema.role_column_grants"
        " WHERE table_schema = 'proctor' AND grantee = :role UNION"
        " SELECT table_name, privilege_type FROM information_schema.role_table_grants"
        " WHERE table_schema = 'proctor' AND grantee = :role",
        role=role,
    )
    found: dict[str, set[str]] = {}
    for row in rows:
        found.setdefault(row.table_name, set()).add(row.privilege_type)
    return found


@pytest.mark.parametrize("role", ["proctor_app", "proctor_scheduler"])
def test_facts_are_only_ever_added_to(owner: Engine, role: str) -> None:
    granted = privileges(owner, role)
    assert {name: granted[name] for name in FACTS} == {name: {"SELECT", "INSERT"} for name in FACTS}


def test_the_audit_log_is_only_ever_added_to(owner: Engine) -> None:
    assert privileges(owner, "proctor_app")["security_event"] == {"SELECT", "INSERT"}
    assert not [
        name for name in (*IDENTITY, *SECRETS, *ALERTS, *MONEY) if name in privileges(owner, "proctor_scheduler")
    ]


def test_a_secret_is_never_given_another_place(owner: Engine) -> None:
    columns = ask(
        owner,
        "SELECT column_name FROM information_schema.role_column_grants WHERE table_name = 'tenant_secret'"
        " AND grantee = 'proctor_app' AND privilege_type = 'UPDATE'",
    )
    named = {row.column_name for row in columns}
    assert named == {"version", "key_id", "wrapped", "sealed", "set_at", "set_by", "last_used_at"}
    assert privileges(owner, "proctor_app")["tenant_secret"] == {"SELECT", "INSERT", "UPDATE", "DELETE"}


def test_the_scheduler_sees_whose_work_waits_and_no_more(owner: Engine) -> None:
    granted = ask(
        owner,
        "SELECT column_name, privilege_type FROM information_schema.role_column_grants"
        " WHERE table_name = 'operation' AND grantee = 'proctor_scheduler'",
    )
    seen = {"tenant_id", "id", "state", "created_at", "lease_until", "files_until"}
    assert {tuple(row) for row in granted} == {(name, "SELECT") for name in seen}
    assert privileges(owner, "proctor_app")["operation"] == {"SELECT", "INSERT", "UPDATE"}


def test_an_event_is_only_ever_added_but_by_the_relay(owner: Engine) -> None:
    assert privileges(owner, "proctor_app")["event"] == {"SELECT", "INSERT"}
    assert privileges(owner, "proctor_scheduler")["event"] == {"SELECT", "INSERT", "UPDATE", "DELETE"}
    columns = ask(
        owner,
        "SELECT column_name FROM information_schema.role_column_grants WHERE table_name = 'event'"
        " AND grantee = 'proctor_scheduler' AND privilege_type = 'UPDATE'",
    )
    assert {row.column_name for row in columns} == {"position", "published_at"}


def test_what_belongs_to_no_tenant_is_not_the_apps(owner: Engine) -> None:
    granted = privileges(owner, "proctor_app")
    assert not {"worker", "rate_bucket", "health_sample", "backup"} & granted.keys()
    assert granted["alembic_version"] == {"SELECT"}


@pytest.mark.parametrize("role", ["proctor_app", "proctor_scheduler", "PUBLIC"])
def test_nobody_can_empty_a_table_or_fire_a_trigger_on_it(owner: Engine, role: str) -> None:
    for name, granted in privileges(owner, role).items():
        assert not granted & {"TRUNCATE", "TRIGGER", "REFERENCES", "MAINTAIN"}, name
        assert role != "PUBLIC"


@pytest.mark.parametrize("table", FACTS)
@pytest.mark.parametrize("statement", ["UPDATE proctor.{} SET tenant_id = tenant_id", "DELETE FROM proctor.{}"])
def test_a_fact_can_neither_be_changed_nor_removed(
    database: Database, tenant: UUID, table: str, statement: str
) -> None:
    with pytest.raises(ProgrammingError, match="permission denied"):
        database.as_tenant(tenant, lambda c: c.execute(text(statement.format(table))))


# --- tenants apart ----------------------------------------------------------------------------------------------------


def add(connection: Connection, tenant: UUID, name: str) -> None:
    connection.execute(
        text("INSERT INTO proctor.configuration (tenant_id, hash, document, origin) VALUES (:t, :name, '{}', 'own')"),
        {"t": tenant, "name": name},
    )


def seen(connection: Connection) -> list[str]:
    return [row.hash for row in connection.execute(text("SELECT hash FROM proctor.configuration"))]


def test_a_tenant_sees_its_own_rows_alone(database: Database) -> None:
    one, two = new_id(), new_id()
    database.as_tenant(one, lambda c: add(c, one, "one"))
    database.as_tenant(two, lambda c: add(c, two, "two"))
    assert database.as_tenant(one, seen) == ["one"]
    assert database.as_tenant(two, seen) == ["two"]
    assert database.as_scheduler(seen) == []


def test_a_row_of_another_tenant_can_not_be_written(database: Database) -> None:
    one, two = new_id(), new_id()
    with pytest.raises(DBAPIError, match="row-level security"):
        database.as_tenant(one, lambda c: add(c, two, "theirs"))


def test_another_tenants_row_can_not_be_changed_or_given_away(database: Database) -> None:
    one, two = new_id(), new_id()
    insert = text("INSERT INTO proctor.queue_lane (tenant_id, kind, provider) VALUES (:t, 'cell', '')")
    database.as_tenant(one, lambda c: c.execute(insert, {"t": one}) and None)
    for statement in ("UPDATE proctor.queue_lane SET paused = true", "DELETE FROM proctor.queue_lane"):
        changed = database.as_tenant(two, lambda c, s=statement: c.execute(text(s)).rowcount)  # type: ignore[misc]
        assert changed == 0
    give = text("UPDATE proctor.queue_lane SET tenant_id = :two")
    with pytest.raises(DBAPIError, match="row-level security"):
        database.as_tenant(one, lambda c: c.execute(give, {"two": two}))


def test_without_a_tenant_there_is_nothing_to_see_or_add(database: Database, urls: Urls, owner: Engine) -> None:
    app = create_engine(urls.app)
    one = new_id()
    database.as_tenant(one, lambda c: add(c, one, "one"))
    with app.connect() as connection:
        for table in (t.name for t in tables(owner) if t.name not in NO_TENANT and not t.partition):
            assert connection.execute(text(f"SELECT count(*) FROM proctor.{table}")).scalar_one() == 0, table
        with pytest.raises(DBAPIError, match="row-level security"):
            add(connection, one, "more")
    app.dispose()


def test_a_tenant_is_forgotten_at_the_end_of_its_transaction(urls: Urls) -> None:
    """The pool hands the same connection to the next tenant."""
    database = Database(urls.app, urls.scheduler)
    one = new_id()
    database.as_tenant(one, lambda c: add(c, one, "one"))
    with database._app.connect() as connection:
        assert seen(connection) == []
        assert connection.execute(text("SELECT current_setting('proctor.tenant', true)")).scalar_one() in (None, "")
    database.close()


def test_a_partition_can_not_be_named_to_pass_the_policies_by(database: Database, tenant: UUID, owner: Engine) -> None:
    partitions = [t.name for t in tables(owner) if t.partition]
    assert len(partitions) == 4
    for name in partitions:
        with pytest.raises(ProgrammingError, match="permission denied"):
            database.as_tenant(tenant, lambda c, n=name: c.execute(text(f"SELECT FROM proctor.{n}")))  # type: ignore[misc]


def test_the_scheduler_sees_every_tenants_queue_and_no_other_rows(database: Database) -> None:
    one, two = new_id(), new_id()
    insert = text("INSERT INTO proctor.queue_lane (tenant_id, kind, provider) VALUES (:t, 'cell', 'seen')")
    for tenant in (one, two):
        database.as_tenant(tenant, lambda c, t=tenant: c.execute(insert, {"t": t}) and None)  # type: ignore[misc]
        database.as_tenant(tenant, lambda c, t=tenant: add(c, t, "own"))  # type: ignore[misc]
    query = text("SELECT tenant_id FROM proctor.queue_lane WHERE tenant_id = ANY(:ids)")
    assert len(database.as_scheduler(lambda c: c.execute(query, {"ids": [one, two]}).all())) == 2
    assert database.as_scheduler(seen) == []


# --- roles that are refused -------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def own_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Any]]:
    """A server whose superuser's password is known here."""
    folder = tmp_path_factory.mktemp("rls") / "database"
    with EmbeddedServer(folder) as urls:
        yield folder, urls


def test_the_owner_is_refused(urls: Urls) -> None:
    database = Database(urls.owner, urls.owner)
    for _ in range(2):
        with pytest.raises(UnsafeRole, match="owner"):
            database.as_scheduler(seen)
    database.close()


def test_the_superuser_is_refused(own_server: tuple[Path, Any]) -> None:
    folder, urls = own_server
    password = json.loads((folder / "passwords.json").read_text())["postgres"]
    superuser = urls.owner.set(username="postgres", password=password)
    database = Database(superuser, superuser)
    with pytest.raises(UnsafeRole, match="superuser=True"):
        database.as_scheduler(seen)
    database.close()


@pytest.mark.parametrize("change", ["BYPASSRLS", "SUPERUSER"])
def test_a_role_that_was_given_more_later_is_refused(own_server: tuple[Path, Any], change: str) -> None:
    folder, urls = own_server
    password = json.loads((folder / "passwords.json").read_text())["postgres"]
    engine = create_engine(urls.owner.set(username="postgres", password=password), isolation_level="AUTOCOMMIT")
    try:
        with engine.connect() as connection:
            connection.execute(text(f"ALTER ROLE proctor_app {change}"))
        database = Database(urls.app, urls.scheduler)
        with pytest.raises(UnsafeRole):
            database.as_tenant(new_id(), seen)
        database.close()
    finally:
        with engine.connect() as connection:
            connection.execute(text(f"ALTER ROLE proctor_app NO{change}"))
        engine.dispose()
