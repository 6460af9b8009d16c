"""Steps of a trajectory over HTTP: as an index, in pages, searched, and as they come while an attempt runs."""

from __future__ import annotations

import json
import threading
import time
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import create_engine, text

from proctor.app import Server
from proctor.database.engine import Database
from proctor.engine.segments import segment_key
from proctor.objects.store import ObjectStore
from proctor.sdk.client import Client
from proctor.sdk.remote.client import RemoteClient
from proctor.sdk.remote.errors import ServerRefused
from proctor.sdk.remote.transport import Transport
from tests.api.conftest import Tenant
from tests.bench import Bench, write_tasks

RUN_SET = """
name = "steps"
suite = "suite"
[execution]
sandbox = "local"
[[profiles]]
name = "oracle"
agent = "oracle"
"""
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"


@dataclass
class Planted:
    """An attempt whose trajectory is the test's own."""

    objects: ObjectStore
    owner: Any
    tenant: UUID
    attempt: str

    def write(self, *steps: dict[str, Any]) -> None:
        """The whole document of an attempt that has ended."""
        document = json.dumps({"schema_version": "ATIF-v1.7", "steps": steps}).encode()
        stored = self.objects.put(f"{self.tenant}/attempts/{self.attempt}/planted.json", document)
        named = [{"name": "trajectory.json", "key": stored.key, "sha256": stored.sha256, "size": stored.size}]
        self._update("artifacts = CAST(:value AS jsonb)", json.dumps(named))

    def run_on(self) -> None:
        """It has not ended, and nothing of it is whole."""
        self._update("artifacts = CAST(:value AS jsonb), ended_at = NULL", "[]")

    def end(self) -> None:
        self._update("ended_at = CAST(:value AS timestamptz)", "2026-12-01T00:00:00Z")

    def segment(self, number: int, *steps: dict[str, Any]) -> None:
        key = segment_key(self.tenant, UUID(self.attempt), "trajectory", number)
        self.objects.put(key, b"".join(json.dumps(one).encode() + b"\n" for one in steps))

    def _update(self, what: str, value: str) -> None:
        engine = create_engine(self.owner)
        with engine.begin() as connection:
            connection.execute(text("SELECT set_config('proctor.tenant', :tenant, true)"), {"tenant": str(self.tenant)})
            statement = text(f"UPDATE proctor.attempt SET {what} WHERE id = :id")
            connection.execute(statement, {"value": value, "id": UUID(self.attempt)})
        engine.dispose()


@pytest.fixture
def planted(acme: Tenant, database: Database, objects: ObjectStore, bench: Bench, tmp_path) -> Planted:  # type: ignore[no-untyped-def]
    own = Bench(database=database, tenant=acme.id, objects=objects, folder=tmp_path, owner=bench.owner)
    write_tasks(tmp_path / "suite", 1)
    row = own.run(RUN_SET)
    attempt = acme.owner.get(f"run-sets/{row.id}/cells")["items"][0]["attempt"]
    return Planted(objects=objects, owner=bench.owner, tenant=acme.id, attempt=attempt)


def step(number: int, message: str = "", **more: Any) -> dict[str, Any]:
    return {"step_id": number, "source": "agent", "message": message or f"step {number}", **more}


def test_an_attempts_own_trajectory_is_indexed_and_paged(acme: Tenant, planted: Planted) -> None:
    index = acme.owner.get(f"attempts/{planted.attempt}/steps/index")
    page = acme.owner.get(f"attempts/{planted.attempt}/steps")
    assert index["steps"] == len(index["kinds"]) == len(page["items"]) > 1
    assert index["kinds"][0] == "u"
    assert index["running"] is False
    lines = acme.owner("GET", f"attempts/{planted.attempt}/trajectory").text.splitlines()
    assert [json.loads(line) for line in lines] == [one["step"] for one in page["items"]]


def test_pages_begin_anywhere(acme: Tenant, planted: Planted) -> None:
    planted.write(*(step(number) for number in range(1, 251)))
    path = f"attempts/{planted.attempt}/steps"
    assert [one["number"] for one in acme.owner.get(f"{path}?first=201")["items"]] == list(range(201, 251))
    assert len(acme.owner.get(path)["items"]) == 100
    assert [one["number"] for one in acme.owner.get(f"{path}?first=137&limit=2")["items"]] == [137, 138]
    assert acme.owner.get(f"{path}?first=251")["items"] == []
    acme.owner.get(f"{path}?limit=101", 422)


def test_what_is_hostile_stays_text(acme: Tenant, planted: Planted) -> None:
    planted.write(step(1, HOSTILE))
    answer = acme.owner("GET", f"attempts/{planted.attempt}/steps")
    assert answer.json()["items"][0]["step"]["message"] == HOSTILE
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["x-content-type-options"] == "nosniff"
    whole = acme.owner("GET", f"attempts/{planted.attempt}/steps/1")
    assert whole.headers["content-disposition"] == "attachment"


def test_the_whole_of_a_step_that_was_cut_can_be_had(acme: Tenant, planted: Planted) -> None:
    planted.write(step(1, "x" * 300_000))
    (one,) = acme.owner.get(f"attempts/{planted.attempt}/steps")["items"]
    assert one["cut"] == 300_000 - 256 * 1024
    assert len(acme.owner.get(f"attempts/{planted.attempt}/steps/1")["message"]) == 300_000
    assert acme.owner.get(f"attempts/{planted.attempt}/steps/2", 404)["code"] == "step-unknown"


def test_find_goes_over_all_steps(acme: Tenant, planted: Planted) -> None:
    planted.write(*(step(number) for number in range(1, 300)), step(300, "the needle"))
    path = f"attempts/{planted.attempt}/steps/find"
    found = acme.owner.get(f"{path}?text=NEEDLE")
    assert found == {
        "items": [{"number": 300, "place": "message", "excerpt": "the needle"}],
        "next": None,
        "steps": 300,
        "running": False,
    }
    first = acme.owner.get(f"{path}?text=step&limit=200")
    assert (len(first["items"]), first["next"]) == (200, 200)
    assert len(acme.owner.get(f"{path}?text=step&after=200")["items"]) == 99
    acme.owner.get(f"{path}?text=", 422)


def test_a_trajectory_that_is_none_is_told(acme: Tenant, planted: Planted) -> None:
    stored = planted.objects.put(f"{planted.tenant}/attempts/{planted.attempt}/planted.json", b"<html>")
    named = [{"name": "trajectory.json", "key": stored.key, "sha256": stored.sha256, "size": stored.size}]
    planted._update("artifacts = CAST(:value AS jsonb)", json.dumps(named))
    for path in ("steps", "steps/index", "steps/find?text=x", "steps/1"):
        assert acme.owner.get(f"attempts/{planted.attempt}/{path}", 422)["code"] == "trajectory-invalid"


def test_an_attempt_without_steps_has_an_empty_index(acme: Tenant, planted: Planted) -> None:
    planted._update("artifacts = CAST(:value AS jsonb)", "[]")
    index = acme.owner.get(f"attempts/{planted.attempt}/steps/index")
    assert (index["steps"], index["kinds"], index["running"]) == (0, "", False)


def test_who_waits_is_told_of_a_new_step_soon(acme: Tenant, planted: Planted) -> None:
    planted.run_on()
    planted.segment(1, step(1), step(2))
    path = f"attempts/{planted.attempt}/steps/index"
    assert acme.owner.get(f"{path}?after=0&wait=20")["steps"] == 2, "what is there is not waited for"
    began = time.monotonic()
    writing = threading.Timer(0.5, planted.segment, (2, step(3)))
    writing.start()
    index = acme.owner.get(f"{path}?after=2&wait=20")
    writing.join()
    assert (index["first"], index["steps"], index["kinds"], index["running"]) == (3, 3, "m", True)
    assert time.monotonic() - began < 10


def test_who_waits_is_told_that_it_ended(acme: Tenant, planted: Planted) -> None:
    planted.run_on()
    ending = threading.Timer(0.5, planted.end)
    ending.start()
    index = acme.owner.get(f"attempts/{planted.attempt}/steps/index?wait=20")
    ending.join()
    assert (index["steps"], index["running"]) == (0, False)


def test_who_waits_is_answered_in_the_end(acme: Tenant, planted: Planted) -> None:
    planted.run_on()
    began = time.monotonic()
    index = acme.owner.get(f"attempts/{planted.attempt}/steps/index?wait=1.2")
    assert (index["steps"], index["running"]) == (0, True)
    assert 1.1 < time.monotonic() - began < 10
    acme.owner.get(f"attempts/{planted.attempt}/steps/index?wait=31", 422)


def test_both_clients_answer_alike(acme: Tenant, server: Server, planted: Planted) -> None:
    planted.write(*(step(number) for number in range(1, 150)), step(150, "x" * 300_000, reasoning_content="hm"))
    here = Client(server.platform(acme.id))
    there = RemoteClient(Transport("http://testserver", acme.owner_key, http=acme.http))
    detail = here.attempt(planted.attempt)
    for ours, theirs in ((here.trajectories, there.trajectories),):
        assert theirs.index(detail, after=3) == ours.index(detail, after=3)
        assert theirs.page(detail, first=140) == ours.page(detail, first=140)
        assert theirs.find(detail, "hm", after=2) == ours.find(detail, "hm", after=2)
        assert theirs.step(detail, 150) == ours.step(detail, 150)
    with pytest.raises(ServerRefused) as caught:
        there.trajectories.step(detail, 151)
    assert caught.value.code == "step-unknown"
