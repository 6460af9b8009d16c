"""The installation's objective: what it failed itself is counted once, in the window that is said, with its n."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import create_engine, text

from proctor.api import create_app
from proctor.app import Server
from proctor.database.engine import Database
from proctor.identity.permissions import Role
from proctor.objects.store import ObjectStore
from proctor.serving.sampling import keep_sample
from tests.api.conftest import Asker, Tenant, new_tenant
from tests.api.test_metrics import metrics
from tests.api.test_usage import RUN_SET
from tests.bench import Bench, write_tasks
from tests.conftest import Urls


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


def sampled(server: Server, ago: int, attempts: int, lost: int, minutes: int = 1) -> None:
    """So many minutes ago a server counted so many attempts, of the minutes before."""
    at = f"date_trunc('minute', now()) - make_interval(mins => {ago})"
    _write(
        server,
        f"INSERT INTO proctor.health_sample SELECT {at}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, 0,"
        f" {at} - make_interval(mins => {minutes}), {attempts}, {lost}",
    )


def told(administrator: Tenant, back: str = "1h") -> Any:
    return administrator.owner.get(f"health/objective?range={back}")


def test_nothing_ended_is_no_rate(server: Server, administrator: Tenant) -> None:
    answer = told(administrator)
    assert (answer["objective"], answer["alert"]) == (0.99, None)
    assert answer["burn"] | {"since": 0, "until": 0} == {
        "since": 0,
        "until": 0,
        "sampled_sec": 0,
        "attempts": 0,
        "lost": 0,
        "rate": None,
    }
    sampled(server, 1, 0, 0)
    assert told(administrator)["burn"]["sampled_sec"] == 60
    assert told(administrator)["burn"]["rate"] is None


def test_a_rate_is_of_the_range_and_says_of_what(server: Server, administrator: Tenant) -> None:
    for ago in range(120):
        sampled(server, ago, 10, 1 if ago in (30, 90) else 0)
    hour, day = told(administrator)["burn"], told(administrator, "24h")["burn"]
    assert (hour["attempts"], hour["lost"]) in ((600, 1), (590, 1)), "the minute may have turned"
    assert hour["rate"] == pytest.approx(1 / hour["attempts"] / 0.01)
    assert hour["sampled_sec"] in (3600, 3540)
    assert (day["attempts"], day["lost"], day["sampled_sec"]) == (1200, 2, 7200)
    since, until = (datetime.fromisoformat(day[name]) for name in ("since", "until"))
    assert (until - since).total_seconds() == 86_400
    assert (until.second, until.microsecond) == (0, 0)


def test_a_sample_that_reaches_out_of_the_range_counts_only_what_is_in_it_as_time(
    server: Server, administrator: Tenant
) -> None:
    sampled(server, 50, 5, 0, minutes=45)
    assert told(administrator)["burn"]["sampled_sec"] in (600, 540)


def test_samples_from_before_it_was_counted_are_not_known(server: Server, administrator: Tenant) -> None:
    _write(
        server,
        "INSERT INTO proctor.health_sample SELECT date_trunc('minute', now()) - interval '5 min',"
        " 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0.5, NULL, 0, 48",
    )
    burn = told(administrator)["burn"]
    assert (burn["attempts"], burn["rate"], burn["sampled_sec"]) == (0, None, 0)


def test_each_attempt_is_counted_once_however_often_servers_look(
    server: Server,
    administrator: Tenant,
    acme: Tenant,
    database: Database,
    objects: ObjectStore,
    bench: Bench,
    urls: Urls,
    tmp_path: Path,
) -> None:
    own = Bench(database=database, tenant=acme.id, objects=objects, folder=tmp_path, owner=bench.owner)
    write_tasks(tmp_path / "suite", 3)
    own.run(RUN_SET)
    keep_sample(database, [acme.id])
    assert told(administrator)["burn"]["attempts"] in (0, 12), "this minute is not over"
    _earlier(server, acme, urls, 7)
    _write(server, "DELETE FROM proctor.health_sample")
    sampled(server, 9, 0, 0)
    for _ in range(3):
        keep_sample(database, [acme.id])
    burn = told(administrator)["burn"]
    assert (burn["attempts"], burn["lost"]) == (12, 0), "nobody looked for nine minutes, and none is missing"
    assert burn["sampled_sec"] in (600, 660)


def _earlier(server: Server, tenant: Tenant, urls: Urls, minutes: int) -> None:
    """As if its attempts had ended that much earlier; which of them were of the infrastructure is left."""
    engine = create_engine(urls.owner)
    with engine.begin() as connection:
        connection.execute(text("SELECT set_config('proctor.tenant', :tenant, true)"), {"tenant": str(tenant.id)})
        moved = "UPDATE proctor.recent_end SET minute = minute - make_interval(mins => :minutes)"
        connection.execute(text(moved), {"minutes": minutes})
    engine.dispose()


def test_what_is_ours_is_lost_and_what_is_not_is_not(
    server: Server, administrator: Tenant, acme: Tenant, database: Database, bench: Bench, urls: Urls
) -> None:
    classes = {
        "passed": (50, False),
        "failed": (9, False),
        "provider_error": (8, False),
        "verifier_error": (7, False),
        "cancelled": (6, False),
        "sandbox_error": (5, True),
        "lease_lost": (4, True),
        "unclassified": (3, True),
    }
    values = "".join(
        f", (:tenant, date_trunc('minute', now()) - interval '2 min', gen_random_uuid(), '', '', '', '', '{name}', {n},"
        " '', false)"
        for name, (n, _) in classes.items()
    )
    insert = (
        "INSERT INTO proctor.recent_end (tenant_id, minute, run_set_id, provider, registry, node, blame, class,"
        f" attempts, task, several) VALUES {values[2:]}"
    )
    database.as_tenant(acme.id, lambda c: c.execute(text(insert), {"tenant": acme.id}))
    keep_sample(database, [acme.id])
    burn = told(administrator)["burn"]
    assert burn["attempts"] == sum(n for n, _ in classes.values())
    assert burn["lost"] == sum(n for n, ours in classes.values() if ours)
    assert burn["rate"] == pytest.approx(12 / 92 / 0.01)


def test_it_burns_too_fast_when_it_does_now_too(server: Server, administrator: Tenant) -> None:
    def alert_of(*, lost: int, since: int, until: int) -> Any:
        """In an hour of ten attempts a minute, so many of each minute from one to the other."""
        _write(server, "DELETE FROM proctor.health_sample")
        for ago in range(1, 60):
            sampled(server, ago, 10, lost if until < ago <= since else 0)
        return told(administrator, "7d")["alert"]

    alert = alert_of(lost=3, since=20, until=0)
    assert (alert["window"], alert["short_window"], alert["threshold"]) == ("6h", "30m", 6.0)
    assert (alert["burn"]["lost"], alert["burn"]["attempts"]) == (60, 590)
    assert alert["burn"]["rate"] == pytest.approx(60 / 590 / 0.01)
    assert alert_of(lost=6, since=20, until=0)["window"] == "1h"
    assert alert_of(lost=6, since=20, until=11)["window"] == "6h", "it is over, and six hours do not forget it yet"


def test_the_objective_is_the_servers_setting(server: Server, administrator: Tenant) -> None:
    sampled(server, 3, 1000, 3)
    assert told(administrator)["burn"]["rate"] == pytest.approx(0.3)
    strict = replace(server, settings=server.settings.model_copy(update={"slo_objective": 0.999}))
    app: FastAPI = create_app(strict)
    with TestClient(app) as http:
        answer = Asker(http, administrator.owner_key).get("health/objective")
    assert answer["objective"] == 0.999
    assert answer["burn"]["rate"] == pytest.approx(3)


def test_prometheus_is_told_the_same(server: Server, administrator: Tenant) -> None:
    sampled(server, 20, 1000, 3)
    found = metrics(administrator)
    assert found["proctor_slo_objective_ratio"][()] == 0.99
    assert found["proctor_slo_attempts"] == {("10m",): 0, ("30m",): 1000, ("1h",): 1000, ("6h",): 1000, ("3d",): 1000}
    assert found["proctor_slo_attempts_lost"]["1h",] == 3
    assert found["proctor_slo_burn_rate"]["1h",] == pytest.approx(0.3)
    assert ("10m",) not in found["proctor_slo_burn_rate"], "nothing ended, which is no rate"


def test_it_is_the_administrators(acme: Tenant, administrator: Tenant) -> None:
    for role in Role:
        assert acme.as_role(role)("GET", "health/objective").status_code == 403
        assert acme.as_role(role)("GET", "health/backups").status_code == 403
    assert administrator.owner.get("health/objective?range=1y", 422)["code"] == "request-invalid"
