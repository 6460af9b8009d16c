"""Debian's registry behind a gate that answers 429: what starts, what waits, and the probe that ends it."""

from __future__ import annotations

import asyncio
import http.client
import http.server
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from sqlalchemy import text

from proctor.engine import reading
from proctor.sandboxes.docker import DockerBackend
from proctor.sandboxes.errors import ImagePullFailed
from tests.acceptance.conftest import Cli, cli
from tests.bench import Bench
from tests.docker.test_images import forget, registry

__all__ = ["cli", "registry"]

pytestmark = pytest.mark.database

FILE = 'name = "n"\nsuite = "suite"\ntrials = 30\n[[profiles]]\nname = "p"\nagent = "noop"\n'
TASK = """
schema_version = "1.4"
[agent]
timeout_sec = 30
[environment]
docker_image = "{image}"
network_mode = "no-network"
[metadata.proctor]
verification = "snapshot"
"""
PASSED_ON = ("Accept", "Authorization", "Range", "User-Agent")


class Gate(http.server.ThreadingHTTPServer):
    """A registry's front door that can be shut."""

    def __init__(self, upstream: str, port: int = 0) -> None:
        super().__init__(("127.0.0.1", port), _Passing)
        self.upstream, self.shut = upstream, True

    @property
    def name(self) -> str:
        return f"127.0.0.1:{self.server_address[1]}"


class _Passing(http.server.BaseHTTPRequestHandler):
    server: Gate

    def do_GET(self) -> None:
        if self.server.shut and self.path != "/v2/":
            self._answer(429, {}, b'{"errors":[{"code":"TOOMANYREQUESTS","message":"pull rate limit"}]}')
            return
        there = http.client.HTTPConnection(self.server.upstream, timeout=30)
        headers = {name: ", ".join(self.headers.get_all(name, [])) for name in PASSED_ON if name in self.headers}
        there.request(self.command, self.path, headers=headers)
        answer = there.getresponse()
        body = answer.read()
        self._answer(answer.status, dict(answer.getheaders()), body)
        there.close()

    do_HEAD = do_GET  # noqa: N815

    def _answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), "Content-Type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Nothing is printed."""


@pytest.fixture
def gate(registry: str) -> Iterator[Gate]:
    forget(f"{registry}:1")
    with Gate(registry.partition("/")[0]) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        forget(f"{server.name}/small:1")
        server.shutdown()


def write_tasks(suite: Path, image: str) -> None:
    for number in range(10):
        task = suite / f"task-{number}"
        (task / "tests").mkdir(parents=True)
        (task / "task.toml").write_text(TASK.format(image=image))
        (task / "instruction.md").write_text(f"Do {number}.\n")
        (task / "tests" / "test.sh").write_text("#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n")


async def work_until_some_passed(bench: Bench, run_set: UUID) -> None:
    """The probe, and a few after it: all 300 would take minutes."""
    worker = bench.worker(run_set, slots=4, lease_sec=60)
    working = asyncio.create_task(worker.run(lambda: True))
    async with asyncio.timeout(240):
        while bench.settled["passed"] < 5:
            await asyncio.sleep(0.1)
    worker.stop()
    await working


@pytest.mark.timeout(600)
def test_no_attempt_starts_after_the_tenth_429_and_a_probe_reopens_the_registry(bench: Bench, gate: Gate) -> None:
    bench.backend = DockerBackend("tests-breakers")
    write_tasks(bench.folder / "suite", f"{gate.name}/small:1")
    row = bench.open(FILE).run_set
    asyncio.run(bench.worker(row.id, slots=16, lease_sec=60).run(lambda: False))
    seen = bench.engine.read(lambda c: reading.status(c, bench.tenant, row))
    (wait,) = seen.progress.waits
    assert (wait.scope, wait.name, wait.state) == ("registry", gate.name, "closed")
    tenth = (
        "SELECT count(*) FROM proctor.event WHERE name = 'attempt.started' AND seq > (SELECT seq FROM proctor.event"
        " WHERE name = 'attempt.ended' AND payload->>'class' = 'image_error' ORDER BY seq OFFSET 9 LIMIT 1)"
    )
    assert bench.sql(tenth) == [(0,)]
    print(f"{wait.counts} of 300 cells started, then nothing until {wait.until}")
    gate.shut = False
    reopen = text("UPDATE proctor.queue_lane SET closed_until = now() WHERE failures > 0")
    bench.database.as_scheduler(lambda c: c.execute(reopen) and None)
    asyncio.run(work_until_some_passed(bench, row.id))
    assert bench.settled["passed"] >= 5
    after = bench.engine.read(lambda c: reading.status(c, bench.tenant, row))
    assert after.progress.waits == ()


async def test_a_build_that_cant_have_its_base_is_the_registrys_and_its_own_words_are_not(
    gate: Gate, base: str, tmp_path: Path
) -> None:
    files = {
        "pulls": f"FROM {gate.name}/small:1\n",
        "prints": f"FROM {base}\nRUN echo 'Step 9/9 : FROM {gate.name}/x' && echo 'toomanyrequests: ' && exit 1\n",
    }
    laid_on = {}
    for name, text_ in files.items():
        (tmp_path / name).mkdir()
        (tmp_path / name / "Dockerfile").write_text(text_)
        with pytest.raises(ImagePullFailed) as told:
            await DockerBackend("tests-breakers").build(tmp_path / name, 60)
        laid_on[name] = told.value.registry
    assert laid_on == {"pulls": gate.name, "prints": None}


RUN_SET = """
name = "nightly"
suite = "suite"
[execution]
sandbox = "docker"
concurrency = 4
[[profiles]]
name = "p"
agent = "noop"
"""


@pytest.mark.timeout(600)
def test_images_come_before_the_first_cell_and_a_registry_that_fails_is_waited_for(
    cli: Cli,
    gate: Gate,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    plain = Cli.environment
    monkeypatch.setattr(
        Cli, "environment", lambda self, **more: plain(self, DOCKER_HOST=os.environ["DOCKER_HOST"], **more)
    )
    write_tasks(cli.folder / "suite", f"{gate.name}/small:1")
    cli.write("f.toml", RUN_SET)
    blocked = f"blocked on registry {gate.name} until "
    command = [sys.executable, "-m", "proctor", "run", "f.toml"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=cli.folder, env=cli.environment(), stderr=pipe, text=True) as process:
        assert process.stderr is not None
        try:
            told = next(line for line in process.stderr if blocked in line)
            assert f"images that did not come: {gate.name}/small:1 (image_error)" in told
            assert cli.json("cells", "--outcome", "image_error")["cells"] == []  # nothing started, no try was used
            gate.shut = False
            cli("unblock", "registry", gate.name)
            rest = process.stderr.read()
            assert process.wait(timeout=120) == 0, rest
        finally:
            process.kill()
    assert cli.json("status", "nightly")["status"]["progress"]["passed"] == 10
