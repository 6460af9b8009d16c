"""What the gateway adds to a call: latency, the first streamed byte, and processor time, at a fixed rate.

Four processes: a simulated provider on OpenAI's chat wire, a bare proxy written with the same library on the same event
loop, the gateway with its real ledger in PostgreSQL, and this one, which calls each of them in turn: whole answers,
streams of few events and of many. Calls begin when their time has come, whether those before were answered or not; one
that is refused, or whose connection is reset, is counted as failed. What is added is the difference to the provider
itself, of the same quantiles in the same run; the first streamed byte counts from when the provider sent it, by the
machine's clock. Processor time is of the gateway's own process, beside it that of its database's processes and of the
bare proxy, which passes every piece on and looks at nothing.

    python -m benchmarks.gateway [--rate 200] [--seconds 10] [--json]

The targets, at 200 calls/s on two cores: under 5 ms p50 and 20 ms p99 added, the first streamed byte within 5 ms,
under 1 ms of processor time a call.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import uvloop
from aiohttp import web

from benchmarks.grounds import fresh_platform
from benchmarks.timing import load_average
from proctor.kernel.clock import SystemClock
from proctor.kernel.ids import new_id
from proctor.models.calls import Payer
from proctor.models.fake import FakeRates, FakeSpending
from proctor.models.gateway.breakers import Breakers
from proctor.models.gateway.gateway import Gateway
from proctor.models.gateway.litellm import LitellmUpstream
from proctor.models.gateway.parts import GatewayParts
from proctor.models.gateway.sessions import Declared, Session
from proctor.models.litellm_worker.client import LitellmWorker
from proctor.models.prices.book import PriceBook
from proctor.models.providers.catalogue import Catalogue, Provider
from proctor.models.wires.interfaces import WireName

MODEL = "m"
JSON_TYPE = {"Content-Type": "application/json"}
WORDS = 120
"""Of a whole answer."""
EVENTS: tuple[int, ...] = (20, 120)
"""Of a stream: a tool call in pieces of a few tokens, and a page of words."""
KINDS: tuple[str, ...] = ("whole", *(f"stream of {count}" for count in EVENTS))
PROMPT = "word " * 2000
"""An agent's request early in its work: 10 kB."""
SETTLED_SEC = 3.0
"""After the calls, until the ledger is written and the gateway is idle."""


# --- the provider -----------------------------------------------------------------------------------------------------


def _usage() -> dict[str, int]:
    return {"prompt_tokens": 2000, "completion_tokens": WORDS, "total_tokens": 2000 + WORDS}


async def _answer(request: web.BaseRequest) -> web.StreamResponse:
    body = json.loads(await request.read())
    if not body.get("stream"):
        message = {"role": "assistant", "content": "word " * WORDS}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        head = {"id": "c", "object": "chat.completion", "created": 0, "model": MODEL}
        return web.json_response({**head, "choices": [choice], "usage": _usage()})
    response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await response.prepare(request)
    head = {"object": "chat.completion.chunk", "created": 0, "model": MODEL}
    for number in range(int(body["max_tokens"])):
        delta = {"index": 0, "delta": {"content": "word "}, "finish_reason": None}
        event = {"id": f"{time.time():.6f}", **head, "choices": [delta]}
        await response.write(b"data: " + json.dumps(event).encode() + b"\n\n")
        if number % 10 == 0:
            await asyncio.sleep(0.001)
    end = {"id": "c", **head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
    used = {"id": "c", **head, "choices": [], "usage": _usage()}
    for event in (end, used):
        await response.write(b"data: " + json.dumps(event).encode() + b"\n\n")
    await response.write(b"data: [DONE]\n\n")
    return response


async def _provide() -> None:
    server = web.Server(_answer, access_log=None)
    listening = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    print(json.dumps({"port": listening.sockets[0].getsockname()[1]}), flush=True)
    await asyncio.to_thread(sys.stdin.read)


# --- a bare proxy -----------------------------------------------------------------------------------------------------


async def _pass_on(port: int) -> None:
    """What no gateway in this language and library can do with less."""
    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        url = f"http://127.0.0.1:{port}{request.path}"
        async with session.post(url, data=await request.read(), headers=JSON_TYPE) as there:
            response = web.StreamResponse(status=there.status, headers={"Content-Type": there.content_type})
            await response.prepare(request)
            async for piece in there.content.iter_any():
                await response.write(piece)
            await response.write_eof()
            return response

    server = web.Server(handle, access_log=None)
    listening = await asyncio.get_running_loop().create_server(server, "127.0.0.1", 0)
    print(json.dumps({"port": listening.sockets[0].getsockname()[1]}), flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await session.close()


# --- the gateway ------------------------------------------------------------------------------------------------------


def _serve_litellm(port: int, python: str) -> None:
    """The gateway again, with its money in memory, before a provider that litellm reaches."""
    known = Provider(
        name="hosted_vllm",
        base_url=f"http://127.0.0.1:{port}/v1",
        wires=frozenset({WireName.OPENAI_CHAT}),
        through_litellm=True,
    )
    source = str(Path(__file__).parents[1] / "src")
    upstream = LitellmUpstream(LitellmWorker(python=python, environment={"PYTHONPATH": source}))

    def make() -> GatewayParts:
        return GatewayParts(
            catalogue=Catalogue({known.name: known}),
            prices=PriceBook({}),
            spending=FakeSpending(),
            rates=FakeRates(),
            upstream=lambda _provider: upstream,
            clock=SystemClock(),
            breakers=Breakers(SystemClock()),
        )

    async def close(_parts: GatewayParts) -> None:
        await upstream.close()

    gateway = Gateway(make, close)
    session = Session(Payer(tenant=new_id()), Declared(model=f"hosted_vllm/{MODEL}"), {})
    with tempfile.TemporaryDirectory(prefix="proctor-bench-") as folder:
        socket = asyncio.run(gateway.serve(session, Path(folder)))
        print(json.dumps({"socket": str(socket), "token": session.token, "database": []}), flush=True)
        sys.stdin.read()
        gateway.close()


def _serve(port: int) -> None:
    with fresh_platform() as (platform, folder):
        home = platform.settings.home
        (home / "providers.toml").write_text(
            f'[providers.simulated]\nbase_url = "http://127.0.0.1:{port}"\nwires = ["openai-chat"]\nkeys = []\n'
            "requests_per_minute = 1000000\ntokens_per_minute = 10000000000\n"
            f'[models."simulated/{MODEL}"]\nprice = {{ input = "1 USD", output = "5 USD", max_output = 4096 }}\n'
        )
        models = platform.open_models()
        payer = Payer(tenant=platform.tenant, run_set=None, profile="bench", attempt=new_id())
        session = Session(payer, Declared(model=f"simulated/{MODEL}"), {})
        socket = asyncio.run(models.gateway.serve(session, folder))
        servers = [int(path.read_text().split()[0]) for path in (home / "postgres").rglob("postmaster.pid")]
        print(json.dumps({"socket": str(socket), "token": session.token, "database": servers}), flush=True)
        sys.stdin.read()
        models.close()


# --- the caller -------------------------------------------------------------------------------------------------------


@dataclass
class Seen:
    """Latencies of one kind of call one way, in milliseconds."""

    whole: list[float] = field(default_factory=list)
    first_byte: list[float] = field(default_factory=list)
    """From when the provider sent it."""
    failed: int = 0


@dataclass
class Way:
    """Where calls go."""

    http: aiohttp.ClientSession
    url: str
    headers: dict[str, str]
    seen: dict[str, Seen] = field(default_factory=lambda: {kind: Seen() for kind in KINDS})

    async def call(self, due: float, kind: str) -> None:
        """One call that was to begin at ``due``."""
        events = 0 if kind == "whole" else int(kind.rsplit(" ", 1)[1])
        body = {"model": MODEL, "max_tokens": events or 4096, "messages": [{"role": "user", "content": PROMPT}]}
        if events:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        seen = self.seen[kind]
        try:
            async with self.http.post(self.url, json=body, headers=self.headers) as response:
                response.raise_for_status()
                if events:
                    first = await response.content.readuntil(b"\n\n")
                    seen.first_byte.append((time.time() - float(json.loads(first[6:])["id"])) * 1000)
                await response.read()
        except (aiohttp.ClientError, OSError):  # refused, or its connection was reset
            seen.failed += 1
        else:
            seen.whole.append((time.perf_counter() - due) * 1000)


async def _load(way: Way, kind: str, rate: float, seconds: float) -> None:
    """Calls of one kind, each begun when its time has come."""
    begun, calls = time.perf_counter(), []
    for number in range(int(rate * seconds)):
        due = begun + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        calls.append(asyncio.create_task(way.call(due, kind)))
    await asyncio.gather(*calls)


@asynccontextmanager
async def _child(*arguments: str) -> AsyncIterator[tuple[psutil.Process, dict[str, Any]]]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "benchmarks.gateway", *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdin is not None
    try:
        yield psutil.Process(process.pid), json.loads(await process.stdout.readline())
    finally:
        process.stdin.close()
        await process.wait()


def _processor_sec(processes: Sequence[psutil.Process]) -> float:
    """Of these alone: a process below one of them is asked for by itself."""
    times = [one.cpu_times() for one in processes]
    return sum(one.user + one.system for one in times)


def _database(told: dict[str, Any]) -> list[psutil.Process]:
    servers = [psutil.Process(pid) for pid in told["database"]]
    return [one for server in servers for one in (server, *server.children(recursive=True))]


async def measure(rate: float, seconds: float) -> dict[str, Any]:
    """Each kind of call: to the provider itself, through the bare proxy, through the gateway."""
    async with (
        _child("--provide") as (_, provider),
        _child("--pass-on", str(provider["port"])) as (proxy, proxied),
        _child("--serve", str(provider["port"])) as (gateway, told),
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as plain,
        aiohttp.ClientSession(connector=aiohttp.UnixConnector(told["socket"], limit=0)) as through,
    ):
        urls = [f"http://127.0.0.1:{port}/v1/chat/completions" for port in (provider["port"], proxied["port"])]
        direct, bare = (Way(plain, url, {}) for url in urls)
        token = {"Authorization": f"Bearer {told['token']}"}
        proctor = Way(through, "http://gateway/v1/chat/completions", token)
        report: dict[str, Any] = {"rate": rate, "seconds_each": seconds}
        for kind in KINDS:
            for way in (direct, bare, proctor):  # connections are made, code is warm
                await _load(way, kind, rate, 2.0)
                way.seen[kind] = Seen()
            await _load(direct, kind, rate, seconds)
            of_bare = await _spent(bare, kind, rate, seconds, [proxy])
            database = _database(told)
            before = _processor_sec(database)
            of_gateway = await _spent(proctor, kind, rate, seconds, [gateway])
            of_database = (_processor_sec(database) - before) / len(proctor.seen[kind].whole) * 1000
            report[kind] = {
                **_latencies(direct.seen[kind], bare.seen[kind], proctor.seen[kind]),
                "gateway_processor_ms": round(of_gateway, 3),
                "bare_proxy_processor_ms": round(of_bare, 3),
                "gateway_processor_ratio_to_bare_proxy": round(of_gateway / of_bare, 2),
                "database_processor_ms": round(of_database, 3),
            }
    report["load_average"] = load_average()
    return report


async def measure_litellm(python: str, rate: float, seconds: float) -> dict[str, Any]:
    """Whole answers of a provider that litellm reaches, with the processor time of its worker."""
    async with (
        _child("--provide") as (_, provider),
        _child("--serve", str(provider["port"]), "--litellm", python) as (gateway, told),
        aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as plain,
        aiohttp.ClientSession(connector=aiohttp.UnixConnector(told["socket"], limit=0)) as through,
    ):
        direct = Way(plain, f"http://127.0.0.1:{provider['port']}/v1/chat/completions", {})
        token = {"Authorization": f"Bearer {told['token']}"}
        proctor = Way(through, "http://gateway/v1/chat/completions", token)
        await proctor.call(time.perf_counter(), KINDS[0])  # its worker starts, which takes seconds
        for way in (direct, proctor):
            await _load(way, KINDS[0], rate, 2.0)
            way.seen[KINDS[0]] = Seen()
        await _load(direct, KINDS[0], rate, seconds)
        spent = await _spent(proctor, KINDS[0], rate, seconds, [gateway, *gateway.children(recursive=True)])
        found = _latencies(direct.seen[KINDS[0]], direct.seen[KINDS[0]], proctor.seen[KINDS[0]])
        return {"rate": rate, **found, "processor_ms": round(spent, 3), "load_average": load_average()}


async def _spent(way: Way, kind: str, rate: float, seconds: float, processes: Sequence[psutil.Process]) -> float:
    """Milliseconds of processor that a call took of these."""
    before = _processor_sec(processes)
    await _load(way, kind, rate, seconds)
    await asyncio.sleep(SETTLED_SEC)
    return (_processor_sec(processes) - before) / len(way.seen[kind].whole) * 1000


def _quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def _latencies(direct: Seen, bare: Seen, proctor: Seen) -> dict[str, Any]:
    report: dict[str, Any] = {"calls": len(proctor.whole), "failed": direct.failed + bare.failed + proctor.failed}
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        there, here = _quantile(direct.whole, share), _quantile(proctor.whole, share)
        report[f"{name}_ms"] = round(here, 2)
        report[f"{name}_added_ms"] = round(here - there, 2)
        report[f"{name}_added_by_bare_proxy_ms"] = round(_quantile(bare.whole, share) - there, 2)
        report[f"{name}_ratio_to_direct"] = round(here / there, 2)
        if proctor.first_byte:
            report[f"first_byte_{name}_ms"] = round(_quantile(proctor.first_byte, share), 2)
            report[f"first_byte_{name}_direct_ms"] = round(_quantile(direct.first_byte, share), 2)
    return report


def main() -> None:
    """Measure, or be one of the processes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway", description=__doc__)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--json", action="store_true", help="print nothing but the report")
    parser.add_argument("--litellm", metavar="PYTHON", help="instead, through the litellm of that Python")
    parser.add_argument("--provide", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--pass-on", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.provide:
        uvloop.run(_provide())
    elif options.pass_on:
        uvloop.run(_pass_on(options.pass_on))
    elif options.serve and options.litellm:
        _serve_litellm(options.serve, options.litellm)
    elif options.serve:
        _serve(options.serve)
    elif options.litellm:
        print(json.dumps(asyncio.run(measure_litellm(options.litellm, options.rate, options.seconds)), indent=2))
    else:
        print(json.dumps(asyncio.run(measure(options.rate, options.seconds)), indent=2))


if __name__ == "__main__":
    main()
