"""A gateway of its own for each test, with a provider that misbehaves, and a caller at its attempt's socket."""

from __future__ import annotations

import io
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from proctor.kernel.clock import SystemClock
from proctor.kernel.ids import new_id
from proctor.models.cache import ReplyCache
from proctor.models.calls import End, Payer
from proctor.models.fake import FakeRates, FakeSpending
from proctor.models.gateway.breakers import Breakers
from proctor.models.gateway.gateway import Gateway
from proctor.models.gateway.mocking import MockUpstream
from proctor.models.gateway.parts import GatewayParts
from proctor.models.gateway.sessions import Bounds, Declared, Session
from proctor.models.gateway.upstreams import HttpUpstream
from proctor.models.mock.script import NO_SCRIPT
from proctor.models.ports import RateLimit
from proctor.models.prices.book import PriceBook
from proctor.models.prices.rows import PriceRow
from proctor.models.providers.catalogue import Catalogue, Provider
from proctor.models.wires.interfaces import WireName
from proctor.objects.store import ObjectStore

PRICE = {"input": "1 USD", "output": "10 USD", "max_output": 100}
COST = 10 * 1_000 + 5 * 10_000
"""Of 10 tokens in and 5 out, in nano-dollars."""


@dataclass
class Desk:
    """What a test works with."""

    gateway: Gateway
    spending: FakeSpending
    rates: FakeRates
    session: Session
    socket: Path
    waited: list[float] = field(default_factory=list)

    @property
    def ends(self) -> list[End]:
        """How the tries ended, in order."""
        return [call.end for call in self.spending.calls]

    async def ask(self, path: str = "/v1/chat/completions", *, token: str | None = None, **body: Any) -> Any:
        """Status, headers and body of one request of an agent's."""
        body = {"model": "m", "messages": [{"role": "user", "content": "hello"}], "max_tokens": 100, **body}
        async with self.caller() as http:
            headers = {"Authorization": f"Bearer {self.session.token if token is None else token}"}
            data = io.BytesIO(json.dumps(body).encode())
            async with http.post(f"http://gateway{path}", data=data, headers=headers) as response:
                return response.status, response.headers, await response.read()

    def caller(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(connector=aiohttp.UnixConnector(str(self.socket)))


@asynccontextmanager
async def desk(
    folder: Path,
    urls: dict[str, str],
    *,
    declared: Declared | None = None,
    keys: dict[str, str] | None = None,
    limit_nano: int | None = None,
    bounds: Bounds | None = None,
    providers: dict[str, dict[str, Any]] | None = None,
) -> AsyncIterator[Desk]:
    """``urls``: addresses of providers by name; the session's model is ``one/m``."""
    known = {
        name: Provider(
            **{
                "name": name,
                "base_url": url,
                "wires": frozenset({WireName.OPENAI_CHAT}),
                "keys": ("KEY",),
                "limit": RateLimit(),
                "timeout_sec": 60.0,
                **(providers or {}).get(name, {}),
            }
        )
        for name, url in urls.items()
    }
    rows = {f"{name}/m": PriceRow.model_validate(PRICE) for name in urls}
    spending, rates, waited = FakeSpending(limit_nano), FakeRates(), []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    def make() -> GatewayParts:
        upstream, mock = HttpUpstream(), MockUpstream(NO_SCRIPT)
        return GatewayParts(
            catalogue=Catalogue(known),
            prices=PriceBook(rows),
            spending=spending,
            rates=rates,
            upstream=lambda provider: mock if provider.is_mock else upstream,
            clock=SystemClock(),
            breakers=Breakers(SystemClock()),
            cache=ReplyCache(ObjectStore(folder / "objects")),
            sleep=sleep,
        )

    async def close(parts: GatewayParts) -> None:
        await parts.upstream(known["one"]).close()

    gateway = Gateway(make, close)
    payer = Payer(tenant=new_id(), run_set=new_id(), attempt=new_id(), profile="p")
    session = Session(payer, declared or Declared(model="one/m"), {"KEY": "k1"} if keys is None else keys, bounds)
    try:
        socket = await gateway.serve(session, folder)
        yield Desk(gateway, spending, rates, session, socket, waited)
    finally:
        await gateway.leave(session)
        gateway.close()
