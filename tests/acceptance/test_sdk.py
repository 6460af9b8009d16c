"""The SDK as its how-to shows it, against a real server; and the same calls awaited."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.sdk.logins import Logins
from proctor.sdk.remote.aio import AsyncClient
from proctor.sdk.remote.errors import ServerRefused
from proctor.sdk.remote.events import LiveEvent
from tests.acceptance.conftest import ROOT, Cli, Desk, serving

pytestmark = [pytest.mark.slow, pytest.mark.server]

PROGRAMS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/how-to/use-the-sdk.md").read_text(), re.DOTALL)
RUN_SET = """
name = "nightly"
suite = "tasks"
[[profiles]]
name = "oracle"
agent = "oracle"
[[profiles]]
name = "talker"
agent = "command"
command = "echo said"
"""


@pytest.fixture
def desk(cli: Cli, tmp_path: Path) -> Iterator[Desk]:
    made = Desk(folder=tmp_path / "desk")
    made.folder.mkdir()
    with serving(cli) as link:
        made("login", link, "--tenant", "acme", "--owner", "ada@example.org")
        for name in ("one", "two"):
            made("task", "new", f"tasks/{name}")
        made.write("nightly.toml", RUN_SET)
        yield made


def login(desk: Desk) -> tuple[str, str]:
    found = Logins(desk.folder / "config" / "proctor" / "logins.json").default()
    assert found is not None
    return found.server, found.key


def ran(desk: Desk, program: str) -> str:
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=desk.folder, env=desk.environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_programs_of_the_how_to_run(desk: Desk) -> None:
    plain, awaited = PROGRAMS
    assert len([line for line in plain.splitlines() if line.strip()]) == 10
    assert ran(desk, plain).splitlines()[-2].startswith("oracle 1.0 ")
    told = ran(desk, awaited)
    assert "name='run_set.complete'" in told
    assert told.splitlines()[-1].split()[-1] == "complete"


async def test_many_calls_at_once_and_events_that_end_with_their_reader(desk: Desk) -> None:
    server, key = login(desk)
    await asyncio.to_thread(desk, "run", "nightly.toml")
    async with AsyncClient.open(server, key) as client:
        answers = await asyncio.gather(*(client.status("nightly") for _ in range(50)))
        assert {answer.progress.decided for answer in answers} == {4}
        with pytest.raises(ServerRefused) as refused:
            await client.status("gone")
        assert refused.value.code == "run-set-unknown"
        kept = [event async for event in client.events(after="0", wait=0)]
        names = [event.name for event in kept if isinstance(event, LiveEvent)]
        assert names.count("attempt.ended") == 4
        (row,) = await client.run_sets()
        (cell, *_) = (await client.cells(row.name, profile="talker"))[1].cells
        assert cell.attempt is not None
        printed = [segment async for segment in client.log_segments(cell.attempt)]
        assert b"said" in b"".join(text for _, text in printed)

        async with client.evaluations.sql("SELECT count(*) AS n FROM results") as answer:
            assert [row for batch in answer.batches for row in batch.to_pylist()] == [{"n": 0}]

        heard: list[LiveEvent] = []

        async def listen() -> None:
            async for event in client.events():
                assert isinstance(event, LiveEvent)
                heard.append(event)

        listening = asyncio.create_task(listen())
        await asyncio.sleep(1.0)
        again = asyncio.create_task(asyncio.to_thread(desk, "run", "nightly.toml", "--fresh"))
        while not any(event.name.startswith("run_set.complete") for event in heard):
            await asyncio.sleep(0.05)
        await again
        began = time.monotonic()
        listening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await listening
        assert time.monotonic() - began < 5, "whoever stops reading is not held until the next heartbeat"
        assert (await client.ended("nightly")).run_set.state == "complete"
    assert not [one for one in threading.enumerate() if one.name.startswith("proctor-sdk") and one.daemon]
