"""The migrated database is what the models say, and no program works with a schema it does not know."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from uuid import UUID

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.engine import URL

import proctor
from proctor.database import upgrade as upgrading
from proctor.database.embedded import EmbeddedServer
from proctor.database.errors import DatabaseUnavailable, SchemaMismatch, SchemaMissing, SchemaNewer, SchemaOlder
from proctor.database.schema import SCHEMA, metadata
from proctor.database.upgrade import HEAD, check_schema, current_revision, upgrade
from proctor.engine.reading import spent
from proctor.engine.usage import used_now
from tests.conftest import Urls

pytestmark = pytest.mark.database

VERSIONS = Path(upgrading.__file__).parent / "migrations" / "versions"


def load_models() -> None:
    """Every package's tables, whoever imported what before."""
    for module in pkgutil.walk_packages(proctor.__path__, "proctor."):
        if module.name.rpartition(".")[2] == "models":
            importlib.import_module(module.name)


def _ours(name: str | None, kind: str, parents: object) -> bool:
    if kind == "schema":
        return name == SCHEMA
    if kind == "table":
        return name != "alembic_version" and not str(name).startswith("queue_item_")
    return True


def test_the_database_is_what_the_models_say(urls: Urls) -> None:
    load_models()
    engine = create_engine(urls.owner)
    options = {
        "include_schemas": True,
        "include_name": _ours,
        "compare_type": True,
        "compare_server_default": True,
        "version_table_schema": SCHEMA,
    }
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts=options)
        differences = compare_metadata(context, metadata)
    engine.dispose()
    assert differences == []


def test_conditions_of_indexes_and_checks_are_what_the_models_say(urls: Urls) -> None:
    """Alembic compares neither. The database prints them its own way, so they are compared by what they mention."""
    load_models()
    engine = create_engine(urls.owner)
    query = text("SELECT indexdef FROM pg_indexes WHERE schemaname = 'proctor' AND indexname = :name")
    with engine.connect() as connection:
        for table in metadata.tables.values():
            for index in table.indexes:
                definition = connection.execute(query, {"name": index.name}).scalar_one()
                where = index.dialect_options["postgresql"]["where"]
                assert (" WHERE " in definition) == (where is not None), index.name
                assert ("deduplicate_items" in definition) == bool(index.dialect_options["postgresql"]["with"])
    engine.dispose()


def test_each_kind_has_its_partition(urls: Urls) -> None:
    from proctor.queue.models import KINDS

    engine = create_engine(urls.owner)
    query = (
        "SELECT inhrelid::regclass::text FROM pg_inherits WHERE inhparent = 'proctor.queue_item'::regclass ORDER BY 1"
    )
    with engine.connect() as connection:
        found = [row[0] for row in connection.execute(text(query))]
    engine.dispose()
    assert found == [f"proctor.queue_item_{kind}" for kind in sorted(KINDS)]


def test_head_is_the_newest_revision_file() -> None:
    assert max(path.name.split("_")[0] for path in VERSIONS.glob("[0-9]*.py")) == HEAD


# --- upgrades ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[URL]:
    """A new database, bootstrapped and never migrated."""
    with EmbeddedServer(tmp_path_factory.mktemp("schema") / "database") as urls:
        yield urls.owner


@pytest.fixture
def engine(owner: URL) -> Iterator[Engine]:
    engine = create_engine(owner)
    yield engine
    engine.dispose()


def check(engine: Engine) -> None:
    with engine.connect() as connection:
        check_schema(connection)


def pretend(engine: Engine, revision: str) -> None:
    with engine.begin() as connection:
        connection.execute(text("UPDATE proctor.alembic_version SET version_num = :to"), {"to": revision})


def test_a_new_database_is_missing_its_schema_and_then_is_not(owner: URL, engine: Engine) -> None:
    with pytest.raises(SchemaMissing, match="no Proctor schema") as caught:
        check(engine)
    assert caught.value.remedy == "Run `proctor database upgrade`."
    assert upgrade(owner)
    assert not upgrade(owner)
    check(engine)
    with engine.connect() as connection:
        assert current_revision(connection) == HEAD


def test_upgrades_at_once_are_one_upgrade(owner: URL) -> None:
    with ThreadPoolExecutor(4) as pool:
        changed = list(pool.map(upgrade, [owner] * 4))
    assert sorted(changed) == [False, False, False, True]


def test_a_newer_schema_is_refused_and_left_alone(owner: URL, engine: Engine) -> None:
    upgrade(owner)
    pretend(engine, "9999")
    for refused in (lambda: check(engine), lambda: upgrade(owner)):
        with pytest.raises(SchemaNewer, match=f"at revision 9999, this program knows {HEAD}") as caught:
            refused()
        assert caught.value.code == "database-schema-newer"
        assert caught.value.remedy == "Use a newer Proctor."
    with engine.connect() as connection:
        assert current_revision(connection) == "9999"


def test_an_older_schema_is_refused_until_it_is_upgraded(
    owner: URL, engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    upgrade(owner)
    monkeypatch.setattr(upgrading, "HEAD", "9999")
    with pytest.raises(SchemaOlder, match=f"at revision {HEAD}, this program knows 9999") as caught:
        check(engine)
    assert caught.value.exit_code == 2
    assert "upgrade" in caught.value.remedy


def stop_at(owner: URL, revision: str) -> None:
    """A database as the release that knew this revision left it."""
    import alembic.command
    import alembic.config

    config = alembic.config.Config()
    config.set_main_option("script_location", str(VERSIONS.parent))
    engine = create_engine(owner)
    with engine.begin() as connection:
        config.attributes["connection"] = connection
        alembic.command.upgrade(config, revision)
    engine.dispose()


def test_the_first_schema_is_upgraded_and_keeps_what_is_in_it(owner: URL, engine: Engine) -> None:
    stop_at(owner, "0001")
    with engine.begin() as connection:
        assert current_revision(connection) == "0001"
        connection.execute(text("SET LOCAL proctor.tenant = '00000000-0000-0000-0000-000000000001'"))
        row = "INSERT INTO proctor.tenant (tenant_id, name) VALUES ('00000000-0000-0000-0000-000000000001', 'kept')"
        connection.execute(text(row))
    with pytest.raises(SchemaOlder):
        check(engine)
    assert upgrade(owner)
    check(engine)
    with engine.begin() as connection:
        connection.execute(text("SET LOCAL proctor.tenant = '00000000-0000-0000-0000-000000000001'"))
        assert connection.execute(text("SELECT name FROM proctor.tenant")).scalars().all() == ["kept"]
        assert connection.execute(text("SELECT count(*) FROM proctor.certificate")).scalar_one() == 0


LEDGER_OF_0015 = """
SET LOCAL proctor.tenant = '00000000-0000-0000-0000-000000000001';
INSERT INTO proctor.tenant (tenant_id, name) SELECT id, 'kept' FROM (VALUES (:t)) AS v (id);
INSERT INTO proctor.configuration (tenant_id, hash, document, origin) VALUES (:t, 'c', '{}', 'own');
INSERT INTO proctor.suite (tenant_id, suite_id, task_count, source) VALUES (:t, 's', 1, '');
INSERT INTO proctor.cell (tenant_id, id, configuration, agent_digest, verifier_digest, trial)
    VALUES (:t, :t, 'c', 'a', 'v', 1);
INSERT INTO proctor.run_set (tenant_id, id, name, spec_digest, suite_id, spec, policy_version, trace_id)
    VALUES (:t, :t, 'r', 'd', 's', '{}', 'p', 'x');
INSERT INTO proctor.attempt (tenant_id, id, cell_id, number, run_set_id, content_digest, token, worker_id, backend,
                             trace_id)
    VALUES (:t, :t, :t, 1, :t, 'd', 1, :t, 'local', 'x');
INSERT INTO proctor.ledger (tenant_id, id, run_set_id, attempt_id, price_version, nano)
    VALUES (:t, :t, :t, :t, 'reported', 5)
"""


def test_money_spent_before_calls_were_kept_counts_after_the_upgrade(owner: URL, engine: Engine) -> None:
    stop_at(owner, "0015")
    tenant = UUID("00000000-0000-0000-0000-000000000001")
    with engine.begin() as connection:
        for statement in LEDGER_OF_0015.replace(":t", f"CAST('{tenant}' AS uuid)").split(";"):
            connection.execute(text(statement))
    assert upgrade(owner)
    with engine.begin() as connection:
        connection.execute(text(f"SET LOCAL proctor.tenant = '{tenant}'"))
        row = connection.execute(text("SELECT run_set_id, attempt_id, nano, profile FROM proctor.ledger")).one()
        assert tuple(row) == (tenant, tenant, 5, None)
        assert used_now(connection, tenant).cost_month_nano == 5
        old_program = (
            "INSERT INTO proctor.ledger (tenant_id, id, run_set_id, attempt_id, price_version, nano)"
            " SELECT tenant_id, gen_random_uuid(), run_set_id, id, 'reported', 6 FROM proctor.attempt"
        )
        connection.execute(text(old_program))
        assert spent(connection, tenant, tenant) == 11


def test_a_schema_that_can_not_be_read_is_a_mismatch_and_no_crash(owner: URL, engine: Engine) -> None:
    upgrade(owner)
    with engine.begin() as connection:
        connection.execute(text("ALTER TABLE proctor.alembic_version RENAME COLUMN version_num TO other"))
    with pytest.raises(SchemaMismatch, match="can't be read"):
        check(engine)


def test_a_server_that_is_away_is_said_to_be(owner: URL) -> None:
    with pytest.raises(DatabaseUnavailable):
        upgrade(owner.set(query={**owner.query, "port": "1"}))
