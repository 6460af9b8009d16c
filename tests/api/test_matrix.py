"""A run set's matrix, and one cell of it: what is decided, owed, queued, waiting, running and given up."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import jsonschema_rs
import pytest
from fastapi import FastAPI
from sqlalchemy import create_engine, text

from proctor.app import Server
from proctor.engine.outcomes import OutcomeClass
from proctor.objects.store import ObjectStore
from proctor.sandboxes.fake import FakeBackend, rewards
from proctor.sdk.client import Client
from proctor.sdk.remote.client import RemoteClient
from tests.api.conftest import Tenant
from tests.api.listening import Live, relaying, serving
from tests.bench import TASK, Bench, write_tasks

RUN_SET = """
name = "nightly"
suite = "suite"
trials = 2
[[profiles]]
name = "good"
agent = "oracle"
[[profiles]]
name = "idle"
agent = "noop"
"""
HEAD = """
[metadata]
difficulty = "hard"
category = "shell"
tags = ["files", 7, "{long}"]
"""


@pytest.fixture
def bench(acme: Tenant, server: Server, objects: ObjectStore, bench: Bench, tmp_path: Path) -> Bench:
    """Two tasks whose verifier gives half a point at the first, and of acme's."""
    own = Bench(database=server.database, tenant=acme.id, objects=objects, folder=tmp_path, owner=bench.owner)
    config = TASK.replace("[metadata.proctor]", HEAD.format(long="x" * 500) + "[metadata.proctor]")
    write_tasks(tmp_path / "suite", 2, config=config)
    return own


@pytest.fixture
def clients(acme: Tenant, server: Server) -> Iterator[tuple[Client, RemoteClient]]:
    with RemoteClient.open("", acme.owner_key, http=acme.http) as there:
        yield Client(server.platform(acme.id)), there


def states(matrix: dict[str, Any]) -> list[str]:
    return [matrix["states"][code] for code in matrix["cells"]["state"]]


def change(bench: Bench, statement: str, **values: object) -> None:
    """By the tables' owner: some of it nobody else may."""
    engine = create_engine(bench.owner)
    with engine.begin() as connection:
        connection.execute(text("SELECT set_config('proctor.tenant', :tenant, true)"), {"tenant": str(bench.tenant)})
        connection.execute(text(statement), values)
    engine.dispose()


def test_a_matrix_says_of_each_cell_what_the_list_of_cells_does(acme: Tenant, bench: Bench) -> None:
    row = bench.run(RUN_SET)
    matrix = acme.owner.get(f"run-sets/{row.id}/matrix")
    ids = acme.owner.get(f"run-sets/{row.id}/matrix/ids")
    listed = acme.owner.get(f"run-sets/{row.id}/cells?limit=1000")
    cells, items = matrix["cells"], listed["items"]
    assert (
        {len(column) for column in cells.values()} == {len(items)} == {len(ids["cell"])} == {len(ids["attempt"])} == {8}
    )
    assert matrix["run_set"] == acme.owner.get(f"run-sets/{row.id}")["run_set"]
    assert matrix["profiles"] == ["good", "idle"]
    assert [task["name"] for task in matrix["tasks"]] == ["task-00", "task-01"]
    for at, item in enumerate(items):
        assert item["cell"].startswith(ids["cell"][at])
        assert item["attempt"].startswith(ids["attempt"][at])
        assert item["profile"] == cells["profile"][at]
        assert item["content_digest"] == matrix["tasks"][cells["task"][at]]["digest"]
        assert item["trial"] == cells["trial"][at]
        assert item["outcome"] == matrix["states"][cells["state"][at]]
        assert (item["verdict"] is not None, bool(item["verdict"])) == (cells["decided"][at], cells["passed"][at])
        assert item["attempts"] == cells["attempts"][at]
        assert item["limit"] == (cells["limit"][at] or "")
        assert (cells["given_up"][at], cells["waits_until"][at], cells["phase"][at]) == (0, None, None)
    assert cells["place"] == [0, 1] * 4
    assert {len(one) for one in ids["cell"]} == {ids["id_length"]}


def test_the_code_book_is_every_class_and_what_a_cell_is_without_one(acme: Tenant, bench: Bench) -> None:
    found = acme.owner.get(f"run-sets/{bench.open(RUN_SET).run_set.id}/matrix")["states"]
    assert found == [*OutcomeClass, "not_started", "queued", "waiting", "running", "withdrawn"]


def test_what_an_author_says_of_a_task_stands_at_its_column(acme: Tenant, bench: Bench) -> None:
    (first, _) = acme.owner.get(f"run-sets/{bench.open(RUN_SET).run_set.id}/matrix")["tasks"]
    assert (first["category"], first["difficulty"], first["tags"]) == ("shell", "hard", ["files"])


def test_a_cell_that_was_never_tried_is_queued_or_waits_or_is_not_started(acme: Tenant, bench: Bench) -> None:
    row = bench.open(RUN_SET).run_set
    path = f"run-sets/{row.id}/matrix"
    fresh = acme.owner.get(path)
    assert states(fresh) == ["queued"] * 8
    ids = [item["cell"] for item in acme.owner.get(f"run-sets/{row.id}/cells")["items"]]
    until = datetime(2999, 1, 2, 3, 4, 5, tzinfo=UTC)
    set_state = "UPDATE proctor.queue_item SET state = :state, reason = :reason WHERE id = CAST(:id AS uuid)"
    change(
        bench,
        f"{set_state.replace(' WHERE', ', run_at = :until WHERE')}",
        state="waiting",
        reason="",
        id=ids[0],
        until=until,
    )
    change(bench, set_state, state="dead", reason="three losses", id=ids[1])
    change(bench, "DELETE FROM proctor.queue_item WHERE id = CAST(:id AS uuid)", id=ids[2])
    change(bench, set_state, state="paused", reason="", id=ids[3])
    matrix = acme.owner.get(path)
    assert states(matrix) == ["waiting", "not_started", "not_started", "not_started", *["queued"] * 4]
    assert matrix["cells"]["given_up"] == [0, 1, 1, 0, 0, 0, 0, 0]
    assert matrix["cells"]["waits_until"] == ["2999-01-02T03:04:05Z", *[None] * 7]
    dead = acme.owner.get(f"run-sets/{row.id}/cells/{ids[1]}")
    assert (dead["given_up"], dead["reason"], dead["attempts"]) == (True, "three losses", [])
    waits = acme.owner.get(f"run-sets/{row.id}/cells/{ids[0]}")
    assert (waits["given_up"], waits["waits_until"]) == (False, "2999-01-02T03:04:05Z")


def test_cells_behind_a_closed_breaker_wait_until_it_opens(acme: Tenant, bench: Bench) -> None:
    row = bench.open(RUN_SET).run_set
    shut = "UPDATE proctor.queue_lane SET failures = 3, closed_until = '2999-01-01T00:00:00Z'"
    change(bench, shut)
    matrix = acme.owner.get(f"run-sets/{row.id}/matrix")
    assert set(states(matrix)) == {"waiting"}
    assert set(matrix["cells"]["waits_until"]) == {"2999-01-01T00:00:00Z"}


def test_a_paused_run_sets_cells_are_not_given_up(acme: Tenant, bench: Bench) -> None:
    row = bench.open(RUN_SET).run_set
    acme.owner.post(f"run-sets/{row.id}/pause", code=200)
    matrix = acme.owner.get(f"run-sets/{row.id}/matrix")
    assert (set(states(matrix)), set(matrix["cells"]["given_up"])) == ({"not_started"}, {0})


def test_one_that_runs_says_its_attempt_and_phase(acme: Tenant, bench: Bench) -> None:
    row = bench.run(RUN_SET)
    item = acme.owner.get(f"run-sets/{row.id}/cells")["items"][0]
    change(bench, "DELETE FROM proctor.result WHERE cell_id = CAST(:id AS uuid)", id=item["cell"])
    change(
        bench,
        "INSERT INTO proctor.attempt (tenant_id, id, cell_id, number, run_set_id, content_digest, token, worker_id,"
        " backend, trace_id, phase) SELECT tenant_id, gen_random_uuid(), cell_id, 2, run_set_id, content_digest, 0,"
        " worker_id, backend, '', 'verify' FROM proctor.attempt WHERE id = CAST(:id AS uuid)",
        id=item["attempt"],
    )
    matrix = acme.owner.get(f"run-sets/{row.id}/matrix")
    cells = matrix["cells"]
    assert (states(matrix)[0], cells["phase"][0], cells["attempts"][0], cells["given_up"][0]) == (
        "running",
        "verify",
        2,
        0,
    )
    attempt = acme.owner.get(f"run-sets/{row.id}/matrix/ids")["attempt"][0]
    assert not item["attempt"].startswith(attempt)
    detail = acme.owner.get(f"run-sets/{row.id}/cells/{item['cell']}")
    assert [one["number"] for one in detail["attempts"]] == [1, 2]
    last = detail["attempts"][1]
    assert (last["why"], last["outcome"], last["ended_at"], last["phase"]) == ("running: verify", None, None, "verify")
    assert last["id"].startswith(attempt)
    assert not detail["given_up"]


def test_an_owed_cell_wears_its_last_attempts_class(acme: Tenant, bench: Bench) -> None:
    bench.backend = FakeBackend(rewards(1.0, path="/logs/verifier/elsewhere.txt"))
    row = bench.run(RUN_SET)
    matrix = acme.owner.get(f"run-sets/{row.id}/matrix")
    assert set(states(matrix)) == {"verifier_error"}
    assert (set(matrix["cells"]["decided"]), set(matrix["cells"]["given_up"])) == ({0}, {1})
    first = acme.owner.get(f"run-sets/{row.id}/matrix/ids")["cell"][0]
    cell = acme.owner.get(f"run-sets/{row.id}/cells/{first}")
    assert cell["cell"]["verdict"] is None
    (tried,) = cell["attempts"]
    assert (tried["outcome"], tried["owner"], tried["verdict"]) == ("verifier_error", "task", None)
    assert tried["why"].startswith("verify: reward missing")


def test_a_withdrawn_cell_is_neither_decided_nor_owed(acme: Tenant, bench: Bench) -> None:
    row = bench.run(RUN_SET)
    change(bench, "UPDATE proctor.expected_cell SET withdrawn_at = now(), reason = 'replaced' WHERE profile = 0")
    matrix = acme.owner.get(f"run-sets/{row.id}/matrix")
    assert states(matrix)[:4] == ["withdrawn"] * 4
    assert matrix["cells"]["decided"] == [0] * 4 + [1] * 4
    assert matrix["cells"]["given_up"] == [0] * 8


def test_a_cell_is_found_by_the_beginning_that_the_matrix_says(acme: Tenant, bench: Bench) -> None:
    row = bench.run(RUN_SET)
    short = acme.owner.get(f"run-sets/{row.id}/matrix/ids")["cell"]
    for at, one in enumerate(short):
        detail = acme.owner.get(f"run-sets/{row.id}/cells/{one}")
        assert detail["cell"]["cell"].startswith(one)
        assert (detail["profile"], detail["task"]) == (("good", "idle")[at // 4], f"task-0{at // 2 % 2}")
        (tried,) = detail["attempts"]
        assert tried["why"] == "reward 1"
        assert tried["seconds"] is not None
        assert UUID(tried["run_set"]) == row.id
    for reference in ("x", "0", "01a22e2c-a2fa-78c5-aaf7-000000000006", "zzzzzzzz"):
        assert acme.owner.get(f"run-sets/{row.id}/cells/{reference}", 404)["code"] == "cell-unknown"
    acme.owner.get(f"run-sets/nothing/cells/{short[0]}", 404)


def test_a_cell_of_another_run_set_is_not_one_of_this(acme: Tenant, bench: Bench) -> None:
    one = bench.run(RUN_SET)
    other = bench.run(RUN_SET.replace("nightly", "other").replace("suite = ", 'reuse = "off"\nsuite = '))
    cell = acme.owner.get(f"run-sets/{one.id}/cells")["items"][0]["cell"]
    assert acme.owner.get(f"run-sets/{other.id}/cells/{cell}", 404)["code"] == "cell-unknown"


def test_the_sdk_says_the_same_here_and_from_afar(
    acme: Tenant, bench: Bench, clients: tuple[Client, RemoteClient]
) -> None:
    row = bench.run(RUN_SET)
    here, there = (client.matrix(str(row.id)) for client in clients)
    assert here.run_set == there.run_set == row
    assert vars(here.cells) == {
        name: type(getattr(here.cells, name))(column) for name, column in vars(there.cells).items()
    }
    assert (list(here.tasks), list(here.states), here.event) == (list(there.tasks), list(there.states), there.event)
    named, named_there = (client.matrix_ids(str(row.id)) for client in clients)
    assert (named.id_length, list(named.cell), list(named.attempt)) == (
        named_there.id_length,
        list(named_there.cell),
        list(named_there.attempt),
    )
    first, again = (client.cell("nightly", named.cell[0]) for client in clients)
    assert list(first.attempts) == list(again.attempts)
    assert (first.cell, first.task) == (again.cell, again.task)


def test_a_run_set_without_cells_has_an_empty_matrix(acme: Tenant, bench: Bench) -> None:
    row = bench.open(RUN_SET).run_set
    change(bench, "DELETE FROM proctor.expected_cell")
    matrix = acme.owner.get(f"run-sets/{row.id}/matrix")
    assert (matrix["tasks"], set(map(len, matrix["cells"].values()))) == ([], {0})
    assert matrix["event"] == "0"


def test_what_happens_after_the_matrix_comes_after_its_event(server: Server, acme: Tenant, bench: Bench) -> None:
    """Every change of a cell is in the matrix or among the events after its event, whenever it is asked for."""
    row = bench.open(RUN_SET).run_set
    with relaying(server), serving(server) as live:
        for _ in _rounds(live, acme, bench, row.id):
            pass


def _rounds(live: Live, acme: Tenant, bench: Bench, run_set: UUID) -> Iterator[None]:
    matrix = acme.owner.get(f"run-sets/{run_set}/matrix")
    ids = acme.owner.get(f"run-sets/{run_set}/matrix/ids")
    assert not any(matrix["cells"]["decided"])
    bench.work(run_set)
    middle = acme.owner.get(f"run-sets/{run_set}/matrix")
    assert sum(middle["cells"]["decided"]) == 8
    for seen in (matrix, middle):
        known = {cell for cell, one in zip(ids["cell"], seen["cells"]["decided"], strict=True) if one}
        with live.socket(acme.owner_key) as ws:
            ws.subscribe(f"run-set:{run_set}", after=seen["event"])
            while len(known) < 8:
                event = ws.hear().get("event", {})
                if event.get("name") == "attempt.ended":
                    known.add(event["payload"]["cell"][: ids["id_length"]])
        yield


_ROWS = {"attempt": "AttemptRow", "evidence": "EvidenceRow", "gradings": "GradingRow", "outcomes": "OutcomeRow"}


def test_an_attempt_is_as_the_document_says(app: FastAPI, acme: Tenant, bench: Bench) -> None:
    row = bench.run(RUN_SET)
    bench.backend = FakeBackend(rewards(1.0, path="/logs/verifier/elsewhere.txt"))
    broken = bench.run(RUN_SET.replace("nightly", "broken").replace("suite = ", 'reuse = "off"\nsuite = '))
    whole = {"components": app.openapi()["components"]}
    validator = jsonschema_rs.validator_for(
        {**whole, "$ref": "#/components/schemas/AttemptDocument"}, validate_formats=True
    )
    for run_set in (row, broken):
        for item in acme.owner.get(f"run-sets/{run_set.id}/cells")["items"]:
            found = acme.owner.get(f"attempts/{item['attempt']}")
            validator.validate(found)
            for part, rows in {**found, "attempt": [found["attempt"]]}.items():
                fields = set(whole["components"]["schemas"][_ROWS[part]]["properties"])
                assert rows
                assert all(set(one) == fields for one in rows), part
