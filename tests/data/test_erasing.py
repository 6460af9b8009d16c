"""A tenant's datasets, outputs, jobs and results can be erased so that no row and no object is left."""

from __future__ import annotations

from datetime import date
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import create_engine, text

from proctor.identity.service import ensure_tenant
from proctor.jobs.errors import JobHeld
from proctor.kernel.ids import new_id
from proctor.results import rollups
from proctor.results.retention import Retention
from proctor.sdk.erasing import erase_evaluations
from proctor.sdk.streams import Streams
from proctor.streaming.asking import StreamRequest
from tests.conftest import Urls
from tests.data.desk import Desk

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clean_queue")]

ERASED = {
    *("dataset", "dataset_version", "sample_set", "evaluation_job"),
    *("result_batch", "result_rollup", "result_retention", "queue_item"),
    *("job_piece", "stream_key", "stream_refusal", "stream_tally"),
}


def tables_of(urls: Urls, tenant: UUID) -> set[str]:
    """Every table that has a row of the tenant, whatever its kind."""
    engine = create_engine(urls.owner)
    with engine.connect() as connection:
        connection.execute(text("SELECT set_config('proctor.tenant', :tenant, false)"), {"tenant": str(tenant)})
        names = connection.execute(
            text(
                "SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid"
                " WHERE c.relnamespace = 'proctor'::regnamespace AND c.relkind IN ('r', 'p')"
                " AND NOT c.relispartition AND a.attname = 'tenant_id'"
            )
        ).scalars()
        found = {
            name
            for name in names
            if connection.execute(
                text(f"SELECT EXISTS (SELECT FROM proctor.{name} WHERE tenant_id = :tenant)"), {"tenant": tenant}
            ).scalar_one()
        }
    engine.dispose()
    return found


def fill(desk: Desk) -> None:
    """One of everything, results in objects and staged, a chunk that waits and rollups."""
    desk.numbers(1200)
    desk.work(desk.submit())
    desk.dataset([{"id": "a", "input": "x", "expected": "y"}], name="small")
    desk.outputs([{"id": "a", "output": "y"}], name="few", dataset="small")
    desk.work(desk.submit(samples="few", dataset="small"))
    desk.submit(samples="few", dataset="small", name="waiting")
    streams = Streams(desk.platform)
    streams.open(StreamRequest(name="bot", evaluators=["contains"]))
    streams.append_lines("bot", b'{"id": "a", "output": "y"}\nnonsense')
    desk.evaluations.set_retention(Retention(result_days=5))
    sums: dict[str, Any] = {"n": 1, "scored": 1, "score_sum": 1, "score_squares": 1, "score_min": 1, "score_max": 1}
    row = {
        "id": str(new_id()),
        "day": str(date(2026, 1, 1)),
        "evaluator": "e",
        "model": None,
        "status": "scored",
        **sums,
    }
    tenant = desk.platform.tenant
    desk.platform.database.as_tenant(tenant, lambda c: rollups.add(c, tenant, [row]))


def test_nothing_of_a_tenant_is_left_and_another_keeps_everything(desk: Desk, urls: Urls, tmp_path: Any) -> None:
    from proctor.app import _of_tenant

    platform = desk.platform
    stranger = ensure_tenant(platform.database, f"t-{new_id().hex}")
    folder = tmp_path / "stranger"
    folder.mkdir()
    other = Desk(_of_tenant(platform.settings, platform.database, platform.objects, stranger), folder)
    fill(desk)
    fill(other)
    theirs = (tables_of(urls, stranger), sorted(platform.objects.list(f"{stranger}/")))
    before = tables_of(urls, platform.tenant)
    assert before >= ERASED
    objects = list(platform.objects.list(f"{platform.tenant}/"))
    assert {key.split("/")[1] for key in objects} == {"results", "samples", "datasets", "streams"}

    assert erase_evaluations(urls.owner, platform.objects, platform.tenant) == len(objects)
    assert tables_of(urls, platform.tenant) == before - ERASED
    assert list(platform.objects.list(f"{platform.tenant}/")) == []
    assert (tables_of(urls, stranger), sorted(platform.objects.list(f"{stranger}/"))) == theirs
    assert erase_evaluations(urls.owner, platform.objects, platform.tenant) == 0


def test_a_hold_keeps_everything(desk: Desk, urls: Urls) -> None:
    fill(desk)
    desk.evaluations.hold("few", "case 7")
    tenant, objects = desk.platform.tenant, desk.platform.objects
    before = (tables_of(urls, tenant), sorted(objects.list(f"{tenant}/")))
    with pytest.raises(JobHeld):
        erase_evaluations(urls.owner, objects, tenant)
    assert (tables_of(urls, tenant), sorted(objects.list(f"{tenant}/"))) == before
