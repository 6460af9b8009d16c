"""A request that is sent again after something died: whatever it made is there once, with the answer it gave."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Connection, text

from proctor.api.repeats import Repeat
from proctor.app import Server
from proctor.database.engine import Database
from proctor.database.errors import DatabaseUnavailable
from proctor.engine.overseeing import oversee
from proctor.sdk.remote.client import RemoteClient
from proctor.sdk.remote.transport import Transport
from tests.api.conftest import Asker, Tenant
from tests.api.test_isolation import RUN_SET
from tests.bench import Bench, write_tasks

ROBOT = {"name": "robot", "kind": "service", "role": "viewer"}
SPEC: dict[str, Any] = {
    "name": "twice",
    "suite": "tasks",
    "profiles": [{"name": "oracle", "agent": "oracle"}],
    "execution": {"sandbox": "local"},
}


@pytest.fixture
def suite(acme: Tenant, tmp_path: Any) -> None:
    write_tasks(tmp_path / "tasks", 1)
    RemoteClient(Transport("http://testserver", acme.owner_key, http=acme.http)).import_suite(
        tmp_path / "tasks", label="tasks"
    )


def dies_after_commit(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on; what is returned ends it."""
    once = Repeat.once

    def dying(self: Repeat, work: Callable[[Connection], Any]) -> Any:
        once(self, work)
        raise RuntimeError("the process was killed here")

    monkeypatch.setattr(Repeat, "once", dying)
    return lambda: monkeypatch.setattr(Repeat, "once", once)


def audit_log(asker: Asker) -> int:
    return len(asker.get("audit-log?limit=1000")["items"])


@pytest.mark.parametrize(
    ("path", "body", "listed"),
    [
        ("users", ROBOT, "users"),
        ("keys", {"name": "again"}, "keys"),
        ("run-sets", {"spec": SPEC, "spec_digest": "0" * 64, "fresh": True}, "run-sets"),
        ("audits", {}, "operations"),
    ],
)
def test_what_was_made_before_the_answer_was_lost_is_made_once(
    acme: Tenant, suite: None, monkeypatch: pytest.MonkeyPatch, path: str, body: Any, listed: str
) -> None:
    mend = dies_after_commit(monkeypatch)
    assert acme.owner("POST", path, body, idempotency_key="one").status_code == 500
    mend()
    before = len(acme.owner.get(listed)["items"]), audit_log(acme.owner)
    again = acme.owner("POST", path, body, idempotency_key="one")
    assert (again.status_code // 100, again.headers["idempotency-replayed"]) == (2, "true"), again.text
    assert (len(acme.owner.get(listed)["items"]), audit_log(acme.owner)) == before
    assert acme.owner("POST", path, body, idempotency_key="one").content == again.content


def test_a_repeated_answer_is_the_first_one(acme: Tenant, suite: None) -> None:
    for path, body in (("users", ROBOT), ("run-sets", {"spec": SPEC, "spec_digest": "0" * 64}), ("audits", {})):
        first = acme.owner("POST", path, body, idempotency_key=path)
        assert first.status_code // 100 == 2, first.text
        again = acme.owner("POST", path, body, idempotency_key=path)
        assert (again.status_code, again.json()) == (first.status_code, first.json())
        assert again.headers["content-type"] == first.headers["content-type"]


def test_a_commit_whose_answer_was_lost_makes_one_key_that_works(
    acme: Tenant, http: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The connection breaks at the commit, so that nobody knows whether it was done; then it is looked at again."""
    real, lost = Database.tenant, threading.Event()

    @contextmanager
    def forgetful(self: Database, tenant: UUID) -> Iterator[Connection]:
        with real(self, tenant) as connection:
            yield connection
            made = connection.execute(text("SELECT count(*) FROM proctor.api_key WHERE name = 'once'")).scalar_one()
        if made and not lost.is_set():
            lost.set()
            raise DatabaseUnavailable("the answer to a commit was lost")

    monkeypatch.setattr(Database, "tenant", forgetful)
    made = acme.owner.post("keys", {"name": "once"}, idempotency_key="one")
    assert lost.is_set()
    assert [one["name"] for one in acme.owner.get("keys")["items"]].count("once") == 1
    assert Asker(http, made["secret"])("GET", "me").status_code == 200


def test_one_whose_beginning_was_lost_goes_on(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    real, lost = Database.tenant, threading.Event()

    @contextmanager
    def forgetful(self: Database, tenant: UUID) -> Iterator[Connection]:
        with real(self, tenant) as connection:
            yield connection
            begun = connection.execute(text("SELECT count(*) FROM proctor.idempotent_request")).scalar_one()
        if begun and not lost.is_set():
            lost.set()
            raise DatabaseUnavailable("the answer to a commit was lost")

    monkeypatch.setattr(Database, "tenant", forgetful)
    assert acme.owner("POST", "users", ROBOT, idempotency_key="one").status_code == 201
    assert lost.is_set()


def test_one_that_was_taken_for_dead_makes_nothing(
    server: Server, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    once = Repeat.once

    def late(self: Repeat, work: Callable[[Connection], Any]) -> Any:
        taken = text("UPDATE proctor.idempotent_request SET began_at = began_at + interval '2 minutes'")
        server.database.as_tenant(acme.id, lambda c: c.execute(taken) and None)
        return once(self, work)

    monkeypatch.setattr(Repeat, "once", late)
    refused = acme.owner("POST", "users", ROBOT, idempotency_key="one")
    assert (refused.status_code, refused.json()["code"]) == (409, "request-running")
    assert len(acme.owner.get("users")["items"]) == 1


def test_the_client_waits_for_one_that_is_at_work(
    server: Server, acme: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its server was killed with it: the request is sent again until it is answered."""
    monkeypatch.setattr("proctor.sdk.remote.transport.uuid4", lambda: "one")
    acme.owner("POST", "users", ROBOT, idempotency_key="one")
    at_work = text("UPDATE proctor.idempotent_request SET status = CASE WHEN :at_work THEN NULL ELSE 201 END")
    server.database.as_tenant(acme.id, lambda c: c.execute(at_work, {"at_work": True}) and None)
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 6:
            server.database.as_tenant(acme.id, lambda c: c.execute(at_work, {"at_work": False}) and None)

    monkeypatch.setattr("proctor.sdk.remote.transport.time.sleep", sleep)
    transport = Transport("http://testserver", acme.owner_key, http=acme.http)
    assert transport.post("users", ROBOT)["name"] == "robot"
    assert waits == [1.0] * 6


def test_a_run_set_that_was_paused_with_its_last_cell_is_over_once_resumed(
    server: Server, acme: Tenant, bench: Bench, tmp_path: Any
) -> None:
    """What ran when it was paused finished it; nothing is left to queue, and yet it has to be said to be over."""
    write_tasks(tmp_path / "planted-suite", 1)
    own = Bench(database=server.database, tenant=acme.id, objects=server.objects, folder=tmp_path, owner=bench.owner)
    row = own.run(RUN_SET)
    paused = text("UPDATE proctor.run_set SET state = 'paused', ended_at = NULL WHERE id = :id")
    server.database.as_tenant(acme.id, lambda c: c.execute(paused, {"id": row.id}) and None)
    assert acme.owner.post(f"run-sets/{row.id}/resume", code=202)["queued"] == 0
    assert oversee(server.database, acme.id) == 1
    assert acme.owner.get(f"run-sets/{row.id}")["run_set"]["state"] == "complete"
