"""One real PostgreSQL for the whole session; every test works as a tenant of its own.

``PROCTOR_TEST_DATABASE`` chooses which: ``embedded`` (the default), ``external`` (Debian's) or ``proxy`` (Debian's,
through a TLS proxy that drops idle and random connections).
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import create_engine, text
from sqlalchemy.engine import URL

from proctor.database.embedded import EmbeddedServer
from proctor.database.engine import Database
from proctor.database.upgrade import upgrade
from proctor.identity.service import ensure_tenant
from proctor.kernel.ids import new_id
from proctor.objects.store import ObjectStore
from tests.bench import Bench
from tests.external.servers import external_server, flaky_proxy

IDLE_SEC: float = 3.0
DROP_PROBABILITY: float = 0.003
"""Per chunk from a client: some drops in every run, and progress between them."""


@dataclass(frozen=True)
class Urls:
    """How to reach the session's database in each role."""

    app: URL
    scheduler: URL
    owner: URL


@contextmanager
def _server(kind: str, folder: Path) -> Iterator[Urls]:
    if kind == "embedded":
        with EmbeddedServer(folder / "postgres") as c:
            yield Urls(c.app, c.scheduler, c.owner)
    elif kind == "external":
        with external_server() as server:
            yield Urls(server.app, server.scheduler, server.owner)
    elif kind == "proxy":
        seed = int(os.environ.get("PROCTOR_TEST_SEED", "1"))
        print(f"proxy seed: {seed}")
        with external_server() as server, flaky_proxy(server.port, seed, IDLE_SEC, DROP_PROBABILITY) as proxy:
            through = server.through(proxy.port)
            yield Urls(through.app, through.scheduler, server.owner)
            assert proxy.accepted
            print(f"proxy: {proxy.accepted} connections, {proxy.dropped} dropped")
    else:
        raise ValueError(kind)


@pytest.fixture(scope="session")
def urls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Urls]:
    kind = os.environ.get("PROCTOR_TEST_DATABASE", "embedded")
    with _server(kind, tmp_path_factory.mktemp("database")) as found:
        upgrade(found.owner)
        yield found


@pytest.fixture(scope="session")
def shared_database(urls: Urls) -> Iterator[Database]:
    database = Database(urls.app, urls.scheduler)
    yield database
    database.close()


@pytest.fixture
def database(shared_database: Database) -> Database:
    return shared_database


@pytest.fixture
def tenant(database: Database) -> UUID:
    return ensure_tenant(database, f"t-{new_id().hex}")


@pytest.fixture
def objects(tmp_path: Path) -> ObjectStore:
    return ObjectStore(tmp_path / "objects")


@pytest.fixture
def clean_queue(urls: Urls) -> None:
    """Claims look at every tenant's rows: tests of the queue itself begin with none."""
    engine = create_engine(urls.owner)
    with engine.begin() as connection:
        tables = ", ".join(f"proctor.{name}" for name in ("queue_item", "queue_lane", "queue_share", "queue_service"))
        connection.execute(text(f"TRUNCATE {tables}, proctor.worker"))
    engine.dispose()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", type=int, default=None, help="Repeat a chaos run.")
    parser.addoption("--faults", type=int, default=None, help="How many faults a chaos run makes.")


@pytest.fixture
def bench(
    database: Database, tenant: UUID, objects: ObjectStore, tmp_path: Path, urls: Urls, clean_queue: None
) -> Bench:
    return Bench(database=database, tenant=tenant, objects=objects, folder=tmp_path, owner=urls.owner)
