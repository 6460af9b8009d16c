"""What the gateway adds to a call: latency, the first streamed byte, and processor time, at a fixed rate.

Three processes: a simulated provider on OpenAI's chat wire, the gateway with its real ledger in PostgreSQL, and this
one, which calls in turn the provider itself and the gateway in front of it, half of the calls as streams. Calls begin
when their time has come, whether those before were answered or not. What is added is the difference of the same
quantiles in the same run; the first streamed byte counts from when the provider sent it, by the machine's clock.

    python -m benchmarks.gateway [--rate 200] [--seconds 20] [--json]

The targets, at 200 calls/s on two cores: under 5 ms p50 and 20 ms p99 added, the first streamed byte within 5 ms,
under 1 ms of processor time a call.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp
import psutil
from aiohttp import web

from benchmarks.grounds import fresh_platform
from benchmarks.timing import load_average

MODEL = "m"
WORDS = 120
"""Events of a stream, as of an answer of some hundred tokens."""
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
    for number in range(WORDS):
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


# --- the gateway ------------------------------------------------------------------------------------------------------


def _serve(port: int) -> None:
    from proctor.kernel.ids import new_id
    from proctor.models.calls import Payer
    from proctor.models.gateway.sessions import Declared, Session

    with fresh_platform() as (platform, folder):
        home = platform.settings.home
        (home / "providers.toml").write_text(
            f'[providers.simulated]\nbase_url = "http://127.0.0.1:{port}"\nwires = ["openai-chat"]\nkeys = []\n'
            "requests_per_minute = 1000000\ntokens_per_minute = 10000000000\n"
            f'[models."simulated/{MODEL}"]\nprice = {{ input = "1 USD", output = "5 USD", max_output = 4096 }}\n'
        )
        models = platform.open_models()
        session = Session(
            Payer(tenant=platform.tenant, run_set=None, profile="bench", attempt=new_id()),
            Declared(model=f"simulated/{MODEL}"),
            {},
        )
        socket = asyncio.run(models.gateway.serve(session, folder))
        owner = [int((home / "postgres").joinpath(name).read_text().split()[0]) for name in _pid_files(home)]
        print(json.dumps({"socket": str(socket), "token": session.token, "database": owner}), flush=True)
        sys.stdin.read()
        models.close()


def _pid_files(home: Path) -> list[str]:
    return [str(path.relative_to(home / "postgres")) for path in (home / "postgres").rglob("postmaster.pid")]


# --- the caller -------------------------------------------------------------------------------------------------------


@dataclass
class Seen:
    """Latencies of one way, in milliseconds."""

    whole: list[float] = field(default_factory=list)
    streamed: list[float] = field(default_factory=list)
    first_byte: list[float] = field(default_factory=list)
    """From when the provider sent it."""
    failed: int = 0

    def quantile(self, name: str, share: float) -> float:
        values = sorted(getattr(self, name))
        return values[min(len(values) - 1, int(share * len(values)))]


@dataclass
class Way:
    """Where calls go."""

    http: aiohttp.ClientSession
    url: str
    headers: dict[str, str]
    seen: Seen = field(default_factory=Seen)

    async def call(self, due: float, *, stream: bool) -> None:
        body = {"model": MODEL, "max_tokens": 4096, "messages": [{"role": "user", "content": PROMPT}]}
        if stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        async with self.http.post(self.url, json=body, headers=self.headers) as response:
            if response.status != 200:
                self.seen.failed += 1
                return
            if stream:
                first = await response.content.readuntil(b"\n\n")
                sent = float(json.loads(first[6:])["id"])
                self.seen.first_byte.append((time.time() - sent) * 1000)
            await response.read()
        (self.seen.streamed if stream else self.seen.whole).append((time.perf_counter() - due) * 1000)


async def _load(ways: Sequence[Way], rate: float, seconds: float) -> None:
    """Calls of all ways in turn, each way at ``rate``."""
    begun, calls = time.perf_counter(), []
    for number in range(int(rate * seconds)):
        due = begun + number / rate
        await asyncio.sleep(max(0.0, due - time.perf_counter()))
        calls += [asyncio.create_task(way.call(due, stream=number % 2 == 1)) for way in ways]
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
    """Of these and all below them, ended ones included."""
    total = 0.0
    for one in processes:
        for process in (one, *one.children(recursive=True)):
            times = process.cpu_times()
            total += times.user + times.system
    return total


async def measure(rate: float, seconds: float) -> dict[str, Any]:
    """Both ways, one after the other and then the gateway alone for its processor time."""
    async with _child("--provide") as (_, provider), _child("--serve", str(provider["port"])) as (gateway, told):
        direct_url = f"http://127.0.0.1:{provider['port']}/v1/chat/completions"
        socket = aiohttp.UnixConnector(told["socket"], limit=0)
        async with (
            aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as plain,
            aiohttp.ClientSession(connector=socket) as through,
        ):
            direct = Way(plain, direct_url, {})
            token = {"Authorization": f"Bearer {told['token']}"}
            proctor = Way(through, "http://gateway/v1/chat/completions", token)
            for way in (direct, proctor):  # connections are made, code is warm
                await _load([way], rate, 2.0)
                way.seen = Seen()
            for _ in range(2):
                await _load([direct], rate, seconds / 2)
                before = _processor_sec([gateway]), _database_sec(told)
                calls = len(proctor.seen.whole) + len(proctor.seen.streamed)
                await _load([proctor], rate, seconds / 2)
                await asyncio.sleep(SETTLED_SEC)
                after = _processor_sec([gateway]), _database_sec(told)
                calls = len(proctor.seen.whole) + len(proctor.seen.streamed) - calls
        return _report(direct.seen, proctor.seen, [b - a for a, b in zip(before, after, strict=True)], calls, rate)


def _database_sec(told: dict[str, Any]) -> float:
    return _processor_sec([psutil.Process(pid) for pid in told["database"]])


def _report(direct: Seen, proctor: Seen, spent: Sequence[float], calls: int, rate: float) -> dict[str, Any]:
    report: dict[str, Any] = {"rate": rate, "calls": calls, "failed": direct.failed + proctor.failed}
    for kind in ("whole", "streamed"):
        for name, share in (("p50", 0.5), ("p99", 0.99)):
            there, here = direct.quantile(kind, share), proctor.quantile(kind, share)
            report[f"{kind}_{name}_ms"] = round(here, 2)
            report[f"{kind}_{name}_added_ms"] = round(here - there, 2)
            report[f"{kind}_{name}_ratio_to_direct"] = round(here / there, 2)
    for name, share in (("p50", 0.5), ("p99", 0.99)):
        here, there = proctor.quantile("first_byte", share), direct.quantile("first_byte", share)
        report[f"first_byte_{name}_ms"], report[f"first_byte_{name}_direct_ms"] = round(here, 2), round(there, 2)
    report["gateway_processor_ms_a_call"] = round(spent[0] / calls * 1000, 3)
    report["database_processor_ms_a_call"] = round(spent[1] / calls * 1000, 3)
    report["load_average"] = load_average()
    return report


def main() -> None:
    """Measure, or be one of the processes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gateway", description=__doc__)
    parser.add_argument("--rate", type=float, default=200.0)
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--json", action="store_true", help="print nothing but the report")
    parser.add_argument("--provide", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--serve", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.provide:
        asyncio.run(_provide())
    elif options.serve:
        _serve(options.serve)
    else:
        print(json.dumps(asyncio.run(measure(options.rate, options.seconds)), indent=2))


if __name__ == "__main__":
    main()
