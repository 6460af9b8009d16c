"""The spender: room in budgets for the calls of one process, and the ledger of what they cost."""

from __future__ import annotations

import asyncio
import itertools
import socket
from datetime import UTC, datetime
from pathlib import Path
from uuid import UUID

import psutil

from proctor.database.engine import Database
from proctor.kernel.ids import new_id
from proctor.models.calls import Call, Payer
from proctor.models.ports import Budgets, Reservation
from proctor.models.spending.accounts import Holder
from proctor.models.spending.journal import Journal
from proctor.models.spending.tills import Desk, Till, Timing

__all__ = ["Spender"]


class Spender:
    """``Spending`` over PostgreSQL. One to a process, used from one loop; ``close`` it before the loop ends.

    What other processes of this machine left when they were killed is taken in by ``reconcile``, not here.
    """

    def __init__(self, database: Database, budgets: Budgets, folder: Path, *, timing: Timing | None = None) -> None:
        """``folder``: where this machine's processes keep their journals; made where it is not there."""
        process = psutil.Process()
        holder = Holder(
            id=new_id(),
            host=socket.gethostname(),
            pid=process.pid,
            started=datetime.fromtimestamp(process.create_time(), UTC),
        )
        self._journal = Journal(folder, holder)
        self._desk = Desk(
            database=database,
            budgets=budgets,
            journal=self._journal,
            holder=holder,
            timing=timing or Timing(),
            numbers=itertools.count(1).__next__,
        )
        self._tills: dict[UUID, Till] = {}

    async def reserve(self, payer: Payer, worst_nano: int | None, *, wait_sec: float, model: str = "") -> Reservation:
        """As the port has it."""
        till = self._tills.get(payer.tenant)
        if till is None:
            till = self._tills[payer.tenant] = Till(payer.tenant, self._desk)
        return await till.reserve(payer, worst_nano, wait_sec=wait_sec, model=model)

    def settle(self, reservation: Reservation, call: Call) -> None:
        """As the port has it."""
        self._tills[reservation.payer.tenant].settle(reservation, call)

    async def close(self) -> None:
        """As the port has it. The journal stays while something of it is not in the database."""
        await asyncio.gather(*(till.close() for till in self._tills.values()))
        self._journal.close()
