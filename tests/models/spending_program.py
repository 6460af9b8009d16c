"""A process that spends: many calls at once from a budget that others spend from too, until it has no more room.

``python -m tests.models.spending_program SPEC``, a JSON object. What was settled is noted in a file, a line a
call, so that a test knows it whenever the process is killed.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from pathlib import Path
from uuid import UUID

from sqlalchemy import make_url

from proctor.database.engine import Database
from proctor.models.calls import Payer
from proctor.models.errors import BudgetExhausted
from proctor.models.ports import ScopeKind
from proctor.models.spending.service import Spender
from proctor.models.spending.tills import Timing
from tests.models.spending import FixedBudgets, call_of


async def spend(spec: dict[str, object]) -> None:
    """Until the budget has no room, or so many calls were made."""
    chance = random.Random(str(spec["seed"]))
    database = Database(make_url(str(spec["app"])), make_url(str(spec["scheduler"])))
    payer = Payer(tenant=UUID(str(spec["tenant"])))
    budgets = FixedBudgets(limits={ScopeKind.TENANT: int(str(spec["limit"]))})
    spender = Spender(database, budgets, Path(str(spec["folder"])), timing=Timing(idle=0.3))
    notes = os.open(str(spec["notes"]), os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    left = int(str(spec["calls"]))

    async def worker() -> None:
        nonlocal left
        while left > 0:
            left -= 1
            worst = chance.randint(1, 2_000_000)
            try:
                reservation = await spender.reserve(payer, worst, wait_sec=5, model="mock/m")
            except BudgetExhausted:
                return
            await asyncio.sleep(chance.random() * 0.05)
            call = call_of(reservation, chance.choice((0, worst, chance.randint(0, worst))))
            spender.settle(reservation, call)
            os.write(notes, f"{call.id} {call.cost_nano}\n".encode())

    async with asyncio.TaskGroup() as group:
        for _ in range(int(str(spec["at_once"]))):
            group.create_task(worker())
    await spender.close()
    database.close()


if __name__ == "__main__":
    asyncio.run(spend(json.loads(sys.argv[1])))
