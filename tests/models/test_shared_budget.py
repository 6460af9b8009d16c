"""A thousand calls at once, from several processes, of a provider that misbehaves; some processes are killed.

What the provider would bill is never more than the budget, to the nano-dollar, and the ledger never says less.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import sys
from pathlib import Path
from uuid import UUID

import pytest
from aiohttp import web
from sqlalchemy import text

from proctor.database.engine import Database
from proctor.kernel.ids import new_id
from proctor.models.spending.reconciling import reconcile
from tests.conftest import Urls
from tests.models.spending import books
from tests.models.upstream import Behaviour, answers, drops, provider, refuses

pytestmark = pytest.mark.database

PROCESSES = 4
CALLS = 250
PROMPT, MOST = 10, 100
WORST = 1_300_000
"""About a call's worst case, in nano-dollars."""


def some(seed: int) -> Behaviour:
    """Each time another way to behave, of those that providers have."""
    draw = random.Random(seed)

    async def behave(request: web.BaseRequest, body: dict[str, object]) -> web.StreamResponse:
        kind = draw.random()
        completion = draw.randint(1, MOST)
        if kind < 0.1:
            chosen = refuses(429, headers={"retry-after": "0.01"})
        elif kind < 0.15:
            chosen = refuses(503)
        elif kind < 0.25:
            chosen = drops(prompt=PROMPT, completion=completion)
        else:
            chosen = answers(prompt=PROMPT, completion=completion, delay=draw.random() * 0.3)
        return await chosen(request, body)

    return behave


@pytest.mark.parametrize("room", [0.1, 20.0])
async def test_a_budget_holds_over_processes_that_are_killed(
    database: Database, urls: Urls, tenant: UUID, tmp_path: Path, room: float
) -> None:
    seed = int(os.environ.get("PROCTOR_TEST_SEED", random.randrange(1_000_000)))
    print(f"seed: {seed}")
    limit, run_set = int(PROCESSES * CALLS * WORST * room), new_id()
    async with provider(some(seed)) as there:
        spec = {
            "app": urls.app.render_as_string(hide_password=False),
            "scheduler": urls.scheduler.render_as_string(hide_password=False),
            "tenant": str(tenant),
            "run_set": str(run_set),
            "journals": str(tmp_path / "journals"),
            "url": there.url,
            "limit": limit,
            "calls": CALLS,
        }
        programs = [
            await asyncio.create_subprocess_exec(
                sys.executable, "-m", "tests.models.calling_program", json.dumps(spec), stdout=asyncio.subprocess.PIPE
            )
            for _ in range(PROCESSES)
        ]
        killing = asyncio.create_task(_killed(programs[:2], there, random.Random(seed)))
        most = await _watched(database, tenant, programs)
        await killing
        told = [json.loads(line) for one in programs[2:] if (line := await one.stdout.readline())]  # type: ignore[union-attr]
        print(told)
        assert len(told) == PROCESSES - 2
        assert any("refused" in one for one in told) == (room < 1)
    billed = there.bill.prompt * 1_000 + there.bill.completion * 10_000
    assert 0 < billed <= limit
    assert most <= limit
    reconcile(database, tmp_path / "journals")
    now = books(database, tenant)
    assert billed <= now.ledger == now.spent["run_set"] <= limit
    assert now.held["run_set"] == 0


async def _killed(programs: list[asyncio.subprocess.Process], there: object, draw: random.Random) -> None:
    """Once calls are under way, one after the other."""
    for program in programs:
        while there.bill.requests < 20:  # type: ignore[attr-defined]
            await asyncio.sleep(0.01)
        await asyncio.sleep(draw.random() * 0.5)
        if program.returncode is None:
            program.send_signal(signal.SIGKILL)


async def _watched(database: Database, tenant: UUID, programs: list[asyncio.subprocess.Process]) -> int:
    """Wait for all; the most that was ever spent and held of the run set's budget."""
    query = text(
        "SELECT coalesce(max(spent_nano + held_nano), 0)::bigint FROM proctor.budget_account WHERE kind = 'run_set'"
    )
    waiting, most = asyncio.gather(*(one.wait() for one in programs)), 0
    while not waiting.done():
        now = await asyncio.to_thread(database.as_tenant, tenant, lambda c: c.execute(query).scalar_one())
        most = max(most, now)
        await asyncio.sleep(0.02)
    return most
