"""How the installation was: sampled once a minute by one server, kept for eight days, told to its administrators."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from proctor.app import Server
from proctor.database.engine import Database
from proctor.identity.permissions import Role
from proctor.objects.store import ObjectStore
from proctor.serving.planner import Planner
from proctor.serving.sampling import keep_sample
from tests.api.conftest import Tenant, new_tenant
from tests.api.test_usage import RUN_SET
from tests.bench import Bench, write_tasks


@pytest.fixture
def administrator(server: Server, acme: Tenant) -> Tenant:
    return new_tenant(server, acme.http, administrator=True)


@pytest.fixture(autouse=True)
def nothing_kept(server: Server) -> Iterator[None]:
    """The table is of the installation, which all tests share."""
    _write(server, "DELETE FROM proctor.health_sample")
    yield
    _write(server, "DELETE FROM proctor.health_sample")


def _write(server: Server, statement: str) -> None:
    server.database.as_scheduler(lambda c: c.execute(text(statement)))


def kept(server: Server) -> int:
    query = text("SELECT count(*) FROM proctor.health_sample")
    return int(server.database.as_scheduler(lambda c: c.execute(query)).scalar_one())


def last(answer: dict[str, Any]) -> dict[str, float | None]:
    """Of each series the newest value there is."""
    found = {name: [one for one in values if one is not None] for name, values in answer["series"].items()}
    return {name: values[-1] if values else None for name, values in found.items()}


SAMPLE = (
    "INSERT INTO proctor.health_sample SELECT date_trunc('minute', now()) - make_interval(mins => {ago}),"
    " 0, {age}, 0, 0, {pending}, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL"
)


def test_what_waits_and_how_attempts_ended_is_sampled(
    server: Server,
    administrator: Tenant,
    acme: Tenant,
    database: Database,
    objects: ObjectStore,
    bench: Bench,
    tmp_path: Path,
) -> None:
    own = Bench(database=database, tenant=acme.id, objects=objects, folder=tmp_path, owner=bench.owner)
    write_tasks(tmp_path / "suite", 3)
    own.run(RUN_SET)
    own.open(RUN_SET.replace("counted", "waiting"), fresh=True)
    keep_sample(database, [acme.id])
    answer = administrator.owner.get("health/samples")
    assert (answer["step_sec"], len(answer["series"]["pending"])) == (60, 60)
    found = last(answer)
    assert found["pending"] is not None
    assert found["pending"] >= 12
    assert found["oldest_normal"] is not None
    assert found["oldest_normal"] >= 0
    assert found["ended"] == 12
    assert (found["infrastructure"], found["provider"]) == (0, 0), "twelve ended, by nobody's fault but the model's"


def test_a_minute_has_one_sample_however_many_servers_look(server: Server, database: Database) -> None:
    first, second = Planner(server), Planner(server)
    for planner in (first, second, first, second):
        planner._look()
    assert kept(server) in (1, 2), "two, where a minute began meanwhile"
    keep_sample(database, [])
    assert kept(server) in (1, 2)


def test_what_is_over_eight_days_old_is_forgotten(server: Server, database: Database) -> None:
    for days in (7, 9):
        _write(server, SAMPLE.format(ago=days * 1440, age=0, pending=0))
    keep_sample(database, [])
    assert kept(server) == 2


def test_a_longer_range_has_longer_steps_and_keeps_the_worst_age(server: Server, administrator: Tenant) -> None:
    for minutes in range(120):
        _write(server, SAMPLE.format(ago=minutes, age=900 if minutes == 47 else 1, pending=4))
    for back, step, steps in (("24h", 300, 288), ("7d", 1800, 336)):
        answer = administrator.owner.get(f"health/samples?range={back}")
        assert (answer["step_sec"], len(answer["series"]["oldest_high"])) == (step, steps)
        known = [one for one in answer["series"]["oldest_high"] if one is not None]
        assert max(known) == 900
        assert set(last(answer).values()) == {0, 1, 4, None}


def test_a_time_without_a_server_is_a_gap_and_not_zero(server: Server, administrator: Tenant) -> None:
    for minutes in (1, 2, 30):
        _write(server, SAMPLE.format(ago=minutes, age=0, pending=5))
    pending = administrator.owner.get("health/samples")["series"]["pending"]
    assert [one for one in pending if one is not None] == [5, 5, 5]
    assert pending.count(None) == 57


def test_samples_are_the_administrators(server: Server, acme: Tenant, administrator: Tenant) -> None:
    for role in Role:
        assert acme.as_role(role)("GET", "health/samples").status_code == 403
    assert acme.owner("GET", "health/samples").status_code == 403
    assert administrator.owner("GET", "health/samples").status_code == 200
    assert administrator.owner.get("health/samples?range=1y", 422)["code"] == "request-invalid"
