"""Owed cells that somebody chooses are tried again, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.app import Server
from proctor.engine.choosing import CellChoice
from proctor.engine.planning import RunSetRow
from proctor.engine.service import Selection
from proctor.objects.store import ObjectStore
from proctor.sdk.remote.client import RemoteClient
from tests.api.conftest import Tenant
from tests.bench import Bench, write_tasks

RUN_SET = """
name = "nightly"
suite = "suite"
trials = 2
[[profiles]]
name = "first"
agent = "noop"
[[profiles]]
name = "second"
agent = "oracle"
"""


@pytest.fixture
def bench(acme: Tenant, server: Server, objects: ObjectStore, bench: Bench, tmp_path: Path) -> Bench:
    """Of acme's: two tasks."""
    write_tasks(tmp_path / "suite", 2)
    return Bench(database=server.database, tenant=acme.id, objects=objects, folder=tmp_path, owner=bench.owner)


@pytest.fixture
def gappy(bench: Bench) -> RunSetRow:
    """A run set that has ended with one of its eight cells decided."""
    row = bench.open(RUN_SET, selection=Selection(limit=1)).run_set
    return bench.work(row.id)


@pytest.fixture
def remote(acme: Tenant) -> Iterator[RemoteClient]:
    with RemoteClient.open("", acme.owner_key, http=acme.http) as there:
        yield there


def resume(acme: Tenant, row: RunSetRow, **said: object) -> int:
    return int(acme.owner.post(f"run-sets/{row.id}/resume", said, code=202)["queued"])


def queued(bench: Bench) -> int:
    ((rows,),) = bench.sql("SELECT count(*) FROM proctor.queue_item")
    return int(rows)


def test_cells_of_a_profile_and_a_task_are_tried_and_no_others(acme: Tenant, bench: Bench, gappy: RunSetRow) -> None:
    assert gappy.state == "complete_with_gaps"
    (done,) = (one for one in bench.cells(gappy) if one.verdict is not None)
    other = ("second", "first")[done.profile]
    assert resume(acme, gappy, profiles=[other], tasks=["*-01"], outcomes=["not_started"]) == 2
    assert queued(bench) == 2
    assert acme.owner.get(f"run-sets/{gappy.id}")["run_set"]["state"] == "running"
    assert bench.work(gappy.id).state == "complete_with_gaps"
    tried = [one for one in bench.cells(gappy) if one.verdict is not None]
    assert len(tried) == 3
    assert {one.profile for one in tried} == {0, 1}


def test_one_cell_is_tried_by_the_beginning_of_its_id(acme: Tenant, bench: Bench, gappy: RunSetRow) -> None:
    owed = next(one for one in bench.cells(gappy) if one.verdict is None)
    assert resume(acme, gappy, cell=str(owed.cell)) == 1
    bench.work(gappy.id)
    assert next(one for one in bench.cells(gappy) if one.cell == owed.cell).verdict is True


def test_a_cell_with_a_verdict_is_never_tried_again(acme: Tenant, bench: Bench, gappy: RunSetRow) -> None:
    decided = next(one for one in bench.cells(gappy) if one.verdict is not None)
    assert resume(acme, gappy, cell=str(decided.cell)) == 0
    assert resume(acme, gappy, outcomes=["passed", "failed", "image_error"]) == 0
    assert (queued(bench), acme.owner.get(f"run-sets/{gappy.id}")["run_set"]["state"]) == (0, "complete_with_gaps")


def test_what_is_not_there_is_named(acme: Tenant, gappy: RunSetRow) -> None:
    path = f"run-sets/{gappy.id}/resume"
    for said, code, problem in (
        ({"profiles": ["third"]}, 422, "run-set-file"),
        ({"tasks": ["nothing*"]}, 422, "no-task-fits"),
        ({"cell": "00000000"}, 404, "cell-unknown"),
        ({"outcomes": ["sunk"]}, 422, "request-invalid"),
        ({"cells": []}, 422, "request-invalid"),
    ):
        answer = acme.owner.post(path, said, code=code)
        assert answer["code"] == problem


def test_some_cells_of_what_was_stopped_as_a_whole_are_refused(acme: Tenant, bench: Bench, gappy: RunSetRow) -> None:
    bench.engine.pause(bench.open(RUN_SET).run_set.id)
    answer = acme.owner.post(f"run-sets/{gappy.id}/resume", {"profiles": ["first"]}, code=409)
    assert answer["code"] == "run-set-stopped"
    assert resume(acme, gappy) == 7


def test_the_sdk_chooses_alike(bench: Bench, remote: RemoteClient, gappy: RunSetRow) -> None:
    (done,) = (one for one in bench.cells(gappy) if one.verdict is not None)
    for position, profile in enumerate(("first", "second")):
        _, again = remote.resume(str(gappy.id), CellChoice(outcomes=("not_started",), profiles=(profile,)))
        assert again == 4 - (position == done.profile)
