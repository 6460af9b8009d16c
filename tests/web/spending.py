"""Calls of models for a site: settled as the gateway settles them, and moved to days that are past."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from uuid import UUID

from sqlalchemy import create_engine, text

from proctor.database.embedded import EmbeddedServer
from proctor.database.engine import Database
from proctor.engine.budgets import EngineBudgets
from proctor.models.calls import Payer, Purpose
from proctor.models.spending.service import Spender
from tests.models.spending import call_of
from tests.web.conftest import Site

__all__ = ["Spent", "spend"]

_MOVED = """
WITH moved AS (SELECT * FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (id uuid, days int)),
charged AS (UPDATE proctor.ledger l SET created_at = l.created_at - make_interval(days => m.days)
            FROM moved m WHERE l.id = m.id)
UPDATE proctor.model_call c SET written_at = c.written_at - make_interval(days => m.days) FROM moved m WHERE c.id = m.id
"""


@dataclass(frozen=True, kw_only=True)
class Spent:
    """One call. ``cost_nano`` ``None``: nobody knows; its reservation is then what is counted."""

    cost_nano: int | None
    model: str
    days_ago: int = 0
    reserved_nano: int | None = 10_000_000_000
    run_set: str | None = None
    attempt: str | None = None
    profile: str = ""
    purpose: Purpose = Purpose.AGENT


def spend(site: Site, calls: Sequence[Spent]) -> None:
    """Make them, as the tenant's own."""
    with site.api() as api:
        me = api.get("me").json()
    tenant = UUID(me["tenant"])
    with EmbeddedServer(site.folder / "home" / "postgres") as urls:
        database = Database(urls.app, urls.scheduler)
        payer = Payer(tenant=tenant, user=me["user"])
        with ThreadPoolExecutor(1) as apart:  # the browser's own loop runs in this thread
            ids = apart.submit(lambda: asyncio.run(_settled(database, site, payer, calls))).result()
        database.close()
        engine = create_engine(urls.owner)
        with engine.begin() as connection:
            connection.execute(text("SELECT set_config('proctor.tenant', :tenant, true)"), {"tenant": str(tenant)})
            rows = [{"id": str(id_), "days": one.days_ago} for id_, one in zip(ids, calls, strict=True)]
            connection.execute(text(_MOVED), {"rows": json.dumps(rows)})
        engine.dispose()


async def _settled(database: Database, site: Site, payer: Payer, calls: Sequence[Spent]) -> list[UUID]:
    spender = Spender(database, EngineBudgets(), site.folder / "journals")
    ids = []
    for one in calls:
        whose = replace(payer, run_set=_id(one.run_set), attempt=_id(one.attempt), profile=one.profile)
        reserved = await spender.reserve(whose, one.reserved_nano, wait_sec=0)
        call = replace(
            call_of(reserved, one.cost_nano),
            provider=one.model.partition("/")[0],
            model=one.model,
            purpose=one.purpose,
            started_at=datetime.now(UTC),
        )
        spender.settle(reserved, call)
        ids.append(call.id)
    await spender.close()
    return ids


def _id(text_: str | None) -> UUID | None:
    return None if text_ is None else UUID(text_)
