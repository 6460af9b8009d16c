"""What administrators are told of backups: how old the newest proven one is, and when one is missed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from pydantic import SecretStr
from sqlalchemy import text

from proctor.api import create_app
from proctor.app import Server
from proctor.health import backups
from tests.api.conftest import Asker, Tenant, new_tenant
from tests.api.test_metrics import metrics, read

HOUR = 3600.0


@pytest.fixture
def administrator(server: Server, acme: Tenant) -> Tenant:
    return new_tenant(server, acme.http, administrator=True)


@pytest.fixture(autouse=True)
def nothing_kept(server: Server) -> Iterator[None]:
    """The table is of the installation, which all tests share."""
    forget = text("DELETE FROM proctor.backup")
    server.database.as_scheduler(lambda c: c.execute(forget))
    yield
    server.database.as_scheduler(lambda c: c.execute(forget))


def made(server: Server, name: str, *, hours: float, verified: bool) -> str:
    digest = name * 64
    when = datetime.now(UTC) - timedelta(hours=hours)
    server.database.as_scheduler(
        lambda c: backups.record(c, digest=digest, made_at=when, size=7, host="store-1", folder="/backups/x")
    )
    if verified:
        assert server.database.as_scheduler(lambda c: backups.judge(c, digest, whole=True))
    return digest


def told(administrator: Tenant) -> Any:
    return administrator.owner.get("health/backups")


def test_a_young_installation_misses_nothing(server: Server, administrator: Tenant) -> None:
    answer = told(administrator)
    assert (answer["recorded"], answer["newest"], answer["newest_verified"]) == (0, None, None)
    assert 0 <= answer["unaudited_sec"] < 26 * HOUR == answer["limit_sec"]
    assert answer["is_overdue"] is False
    found = metrics(administrator)
    assert found["proctor_backup_age_seconds"] == found["proctor_backup_verified_age_seconds"] == {}
    assert found["proctor_backup_unaudited_seconds"][()] >= 0


def test_one_that_nobody_proved_is_told_apart_from_one_that_somebody_did(server: Server, administrator: Tenant) -> None:
    old, new = made(server, "a", hours=31, verified=True), made(server, "b", hours=2, verified=False)
    answer = told(administrator)
    assert (answer["newest"]["digest"], answer["newest_verified"]["digest"]) == (new, old)
    assert (answer["newest"]["host"], answer["newest"]["folder"], answer["newest"]["bytes"]) == (
        "store-1",
        "/backups/x",
        7,
    )
    assert answer["unaudited_sec"] == pytest.approx(31 * HOUR, abs=60)
    assert answer["is_overdue"] is True
    found = read(administrator.owner("GET", "../../metrics").text)
    assert found["proctor_backup_age_seconds"][()] == pytest.approx(2 * HOUR, abs=60)
    assert found["proctor_backup_verified_age_seconds"][()] == pytest.approx(31 * HOUR, abs=60)
    assert found["proctor_backup_unaudited_seconds"][()] == pytest.approx(31 * HOUR, abs=60)
    assert "store-1" not in administrator.owner("GET", "../../metrics").text
    server.database.as_scheduler(lambda c: backups.judge(c, new, whole=True))
    assert told(administrator)["is_overdue"] is False


def test_of_an_installation_that_is_old_none_is_missed_too(server: Server, administrator: Tenant) -> None:
    at = "(SELECT min(created_at) FROM proctor.tenant)"
    shift = text(f"SELECT {at} - interval '27 hours'")
    earlier = server.database.as_scheduler(lambda c: c.execute(shift)).scalar_one()
    moved = text("UPDATE proctor.tenant SET created_at = :at WHERE tenant_id = :tenant")
    server.database.as_tenant(administrator.id, lambda c: c.execute(moved, {"at": earlier, "tenant": administrator.id}))
    answer = told(administrator)
    assert answer["unaudited_sec"] > 27 * HOUR
    assert answer["is_overdue"] is True
    made(server, "c", hours=1, verified=False)
    assert told(administrator)["is_overdue"] is True, "made is not proven"


def test_where_others_take_them_none_is_missed(server: Server, administrator: Tenant) -> None:
    made(server, "d", hours=40, verified=True)
    changed = {"backups_elsewhere": "pgBackRest, nightly", "database_url": SecretStr("postgresql://x")}
    other = replace(server, settings=server.settings.model_copy(update=changed))
    with TestClient(create_app(other)) as http:
        asker = Asker(http, administrator.owner_key)
        answer = asker.get("health/backups")
        assert (answer["elsewhere"], answer["own_database"]) == ("pgBackRest, nightly", True)
        assert (answer["unaudited_sec"], answer["is_overdue"]) == (None, False)
        assert read(asker("GET", "../../metrics").text)["proctor_backup_unaudited_seconds"] == {}


def test_one_that_is_not_known_is_not_judged(server: Server) -> None:
    assert not server.database.as_scheduler(lambda c: backups.judge(c, "e" * 64, whole=True))
    digest = made(server, "f", hours=500 * 24, verified=False)
    assert not server.database.as_scheduler(lambda c: backups.judge(c, digest, whole=True)), "over 400 days old"
