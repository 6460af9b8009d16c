"""The litellm worker as a process, with a litellm that is made up: tests/foreign has the real one."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import aiohttp
import psutil
import pytest

from proctor.kernel.canonical import Json
from proctor.models.errors import CallFailed, ModelsExtraMissing
from proctor.models.litellm_worker.client import LitellmWorker, Question
from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.interfaces import Fault, WireName

CHAT = WIRES[WireName.OPENAI_CHAT]
MADE_UP = """
import asyncio, os

class Dumped:
    def __init__(self, body): self.body = body
    def model_dump(self, mode): return self.body

class RateLimitError(Exception):
    status_code, message, body = 429, "slow down, sk-secret", {"code": "insufficient_quota"}
    response = type("Response", (), {"headers": {"retry-after": "7"}})

class ContextWindowExceededError(Exception):
    status_code = 400

working = 0

async def acompletion(**asked):
    global working
    kind = asked["model"].partition("/")[2]
    if kind == "limited": raise RateLimitError()
    if kind == "long": raise ContextWindowExceededError("too long")
    if kind == "unreachable": raise OSError("no route")
    if kind == "crash": os._exit(3)
    if kind == "waits":
        working += 1
        await asyncio.sleep(0.05)
        most, working = working, working - 1
        return Dumped({"most": most})
    if kind == "forever":
        await asyncio.sleep(3600)
    if asked["stream"]: return streamed(kind)
    return Dumped({"asked": asked, "environment": dict(os.environ), "folder": os.getcwd()})

async def streamed(kind):
    yield Dumped({"id": "c", "model": "m", "choices": [{"index": 0, "delta": {"content": "a"}}]})
    if kind == "breaks": raise OSError("gone")
    yield Dumped({"id": "c", "model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
"""


@pytest.fixture
async def worker(tmp_path: Path) -> AsyncIterator[LitellmWorker]:
    (tmp_path / "litellm.py").write_text(MADE_UP)
    made = LitellmWorker(environment={"PYTHONPATH": str(tmp_path)}, at_once=3)
    yield made
    await made.close()


def question(kind: str, *, stream: bool = False, **more: Json) -> Question:
    body: dict[str, Json] = {"messages": [{"role": "user", "content": "hi"}], **more}
    return Question(
        model=f"made/{kind}", api_key="sk-secret", api_base="http://there", body=body, stream=stream, timeout=9.0
    )


async def asked(worker: LitellmWorker, one: Question) -> tuple[int, bytes, str | None]:
    async with worker.ask(one) as answered:
        return answered.status, await answered.read(), answered.headers.get("retry-after")


async def test_a_question_goes_to_litellm_without_the_environment(worker: LitellmWorker) -> None:
    os.environ["OPENAI_API_KEY"] = "sk-of-the-host"
    try:
        status, body, _ = await asked(worker, question("whole", temperature=0.5, store=True, model="other"))
    finally:
        del os.environ["OPENAI_API_KEY"]
    said: Any = json.loads(body)
    assert status == 200
    assert said["asked"] == {
        "messages": [{"role": "user", "content": "hi"}],
        "temperature": 0.5,
        "model": "made/whole",
        "api_key": "sk-secret",
        "api_base": "http://there",
        "stream": False,
        "timeout": 9.0,
        "num_retries": 0,
        "max_retries": 0,
    }
    assert "OPENAI_API_KEY" not in said["environment"]
    assert "sk-secret" not in json.dumps(said["environment"])
    assert Path(said["folder"]).stat().st_mode & 0o777 == 0o700
    assert worker.pid is not None
    assert "sk-secret" not in " ".join(psutil.Process(worker.pid).cmdline())


async def test_streams_whole_and_broken(worker: LitellmWorker) -> None:
    _, whole, _ = await asked(worker, question("fine", stream=True))
    meter = CHAT.meter()
    meter.feed(whole)
    assert (meter.reading().model, meter.reading().error, whole.endswith(b"data: [DONE]\n\n")) == ("m", None, True)
    status, broken, _ = await asked(worker, question("breaks", stream=True))
    meter = CHAT.meter()
    meter.feed(broken)
    error = meter.reading().error
    assert error is not None
    assert (status, error.fault, error.message) == (200, Fault.UNAVAILABLE, "gone")


async def test_errors_have_a_status_a_code_and_no_key(worker: LitellmWorker) -> None:
    for kind, status, fault, again in (
        ("limited", 429, Fault.QUOTA, "7"),
        ("long", 400, Fault.CONTEXT, None),
        ("unreachable", 502, Fault.UNAVAILABLE, None),
    ):
        for stream in (True, False):
            found, body, retry_after = await asked(worker, question(kind, stream=stream))
            assert (found, retry_after) == (status, again)
            assert CHAT.read_error(found, body).fault is fault
            assert b"sk-secret" not in body


@pytest.mark.parametrize(
    "more",
    [
        {"api_base": "http://evil"},
        {"base_url": "http://evil"},
        {"mock_response": "x"},
        {"fallbacks": ["other/model"]},
        {"extra_headers": {}},
        {"messages": "hi"},
        {"messages": ["hi"]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://10.0.0.1/"}}]}]},
        {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": "file:///etc/passwd"}]}]},
        {"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_id": "http://10.0.0.1/"}}]}]},
        {"messages": [{"role": "user", "content": ["hi"]}]},
    ],
)
async def test_what_litellm_might_take_for_its_own_is_refused(worker: LitellmWorker, more: dict[str, Json]) -> None:
    status, body, _ = await asked(worker, question("whole", **more))
    assert status == 400
    assert next(iter(more)) in CHAT.read_error(status, body).message


async def test_no_more_than_so_many_at_once(worker: LitellmWorker) -> None:
    found = await asyncio.gather(*(asked(worker, question("waits")) for _ in range(9)))
    assert max(json.loads(body)["most"] for _, body, _ in found) == 3


async def test_nobody_else_is_answered(worker: LitellmWorker) -> None:
    _, body, _ = await asked(worker, question("whole"))
    path = str(Path(json.loads(body)["folder"]) / "socket")
    connector = aiohttp.UnixConnector(path)
    async with aiohttp.ClientSession(connector=connector) as stranger, stranger.post("http://worker/") as refused:
        assert refused.status == 401


async def test_one_that_died_is_started_again(worker: LitellmWorker) -> None:
    assert worker.pid is None
    await asked(worker, question("whole"))
    first = worker.pid
    with pytest.raises(aiohttp.ClientError):
        await asked(worker, question("crash"))
    assert (await asked(worker, question("whole")))[0] == 200
    assert worker.pid != first


async def test_closing_ends_what_it_works_on(worker: LitellmWorker) -> None:
    _, body, _ = await asked(worker, question("whole"))
    waiting = asyncio.create_task(asked(worker, question("forever")))
    await asyncio.sleep(0)
    process = psutil.Process(worker.pid)
    await worker.close()
    with pytest.raises(aiohttp.ClientError):
        await waiting
    assert not process.is_running()
    assert not Path(json.loads(body)["folder"]).exists()


async def test_without_litellm_the_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "litellm.py").write_text("raise ModuleNotFoundError")
    worker = LitellmWorker(environment={"PYTHONPATH": str(tmp_path)})
    with pytest.raises(ModelsExtraMissing, match=r"\[litellm\]"):
        await asked(worker, question("whole"))
    assert worker.pid is None


async def test_a_worker_that_does_not_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "litellm.py").write_text("raise ValueError('broken install')")
    worker = LitellmWorker(environment={"PYTHONPATH": str(tmp_path)})
    with pytest.raises(CallFailed, match="broken install"):
        await asked(worker, question("whole"))
    assert worker.pid is None


def test_it_dies_with_whoever_started_it(tmp_path: Path) -> None:
    (tmp_path / "litellm.py").write_text(MADE_UP)
    code = f"""
import asyncio, sys
from proctor.models.litellm_worker.client import LitellmWorker, Question
async def main():
    worker = LitellmWorker(environment={{"PYTHONPATH": {str(tmp_path)!r}}})
    asked = Question(model="made/whole", api_key="k", body={{"messages": []}}, stream=False, timeout=9)
    async with worker.ask(asked):
        print(worker.pid, flush=True)
        await asyncio.sleep(3600)
asyncio.run(main())
"""
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        worker = psutil.Process(int(owner.stdout.readline()))
        owner.send_signal(signal.SIGKILL)
    psutil.wait_procs([worker], timeout=10)
    assert not worker.is_running() or worker.status() == psutil.STATUS_ZOMBIE
