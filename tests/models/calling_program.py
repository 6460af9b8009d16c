"""A process that makes many calls at once through a gateway of its own; what it does is said in JSON."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from uuid import UUID

from sqlalchemy.engine import make_url

from proctor.database.engine import Database
from proctor.kernel.clock import SystemClock
from proctor.kernel.ids import new_id
from proctor.models.calls import Payer
from proctor.models.conversation import ChatRequest, Message, Role, Text
from proctor.models.errors import BudgetExhausted, CallFailed
from proctor.models.fake import FakeRates
from proctor.models.gateway.breakers import Breakers
from proctor.models.gateway.gateway import Gateway
from proctor.models.gateway.parts import GatewayParts
from proctor.models.gateway.sessions import Declared, Session
from proctor.models.gateway.upstreams import HttpUpstream
from proctor.models.ports import ScopeKind
from proctor.models.prices.book import PriceBook
from proctor.models.prices.rows import PriceRow
from proctor.models.providers.catalogue import Catalogue, Provider
from proctor.models.spending.service import Spender
from proctor.models.wires.interfaces import WireName
from tests.models.spending import FixedBudgets


def main(spec: dict[str, object]) -> None:
    """Call until all are made or refused."""
    database = Database(make_url(str(spec["app"])), make_url(str(spec["scheduler"])))
    upstream = HttpUpstream()
    known = Provider(name="one", base_url=str(spec["url"]), wires=frozenset({WireName.OPENAI_CHAT}), timeout_sec=20.0)

    async def no_wait(seconds: float) -> None:
        await asyncio.sleep(min(seconds, 0.02))

    def make() -> GatewayParts:
        limits = {ScopeKind.RUN_SET: int(str(spec["limit"]))}
        return GatewayParts(
            catalogue=Catalogue({"one": known}),
            prices=PriceBook({"one/m": PriceRow.model_validate({"input": "1 USD", "output": "10 USD"})}),
            spending=Spender(database, FixedBudgets(limits=limits), Path(str(spec["journals"]))),
            rates=FakeRates(),
            upstream=lambda _provider: upstream,
            clock=SystemClock(),
            breakers=Breakers(SystemClock()),
            sleep=no_wait,
        )

    async def close(parts: GatewayParts) -> None:
        await upstream.close()
        await parts.spending.close()

    gateway = Gateway(make, close)
    asyncio.run(_call(gateway, spec))
    gateway.close()
    database.close()


async def _call(gateway: Gateway, spec: dict[str, object]) -> None:
    payer = Payer(tenant=UUID(str(spec["tenant"])), run_set=UUID(str(spec["run_set"])), profile="p")
    request = ChatRequest(
        model="one/m", messages=[Message(role=Role.USER, parts=[Text(text="hello")])], max_output_tokens=100
    )

    async def one() -> str:
        session = Session(Payer(**{**vars(payer), "attempt": new_id()}), Declared(model="one/m"), {})
        try:
            await gateway.complete(session, request)
        except BudgetExhausted:
            return "refused"
        except CallFailed:
            return "failed"
        return "done"

    ends = await asyncio.gather(*(one() for _ in range(int(str(spec["calls"])))))
    print(json.dumps({end: ends.count(end) for end in sorted(set(ends))}), flush=True)


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
