"""What an agent leaves so that an engine stumbles over it, and images whose shell is none: told as whose it is."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import time
from pathlib import Path

import pytest

from proctor.sandboxes.docker import DockerBackend, furnishing, leavings, leftovers, sandbox
from proctor.sandboxes.docker.engine import EngineSilent, connected
from proctor.sandboxes.errors import LeftBroken, UnsupportedByBackend
from proctor.sandboxes.interfaces import ExecRequest, LimitKind, SandboxSpec
from tests.contracts.sandboxes import labels, shell
from tests.docker.conftest import PODMAN

pytestmark = pytest.mark.skipif(PODMAN, reason="of Docker's engine")

PIPE = "rm {0}; mkfifo {0}"


@pytest.fixture
def backend() -> DockerBackend:
    return DockerBackend("tests")


@pytest.fixture
async def image(backend, image_folder) -> str:
    return await backend.build(image_folder, 120)


@pytest.fixture
async def roots(backend, image):
    """A sandbox whose commands are root's."""
    box = await backend.create(SandboxSpec(labels=labels(), image=image, user="root"))
    yield box
    await box.destroy()


@pytest.fixture
async def wedged(roots, monkeypatch):
    """One whose engine waits at a pipe: what would have been seen first was not looked at."""

    async def unseen(*_: object) -> None:
        return

    monkeypatch.setattr(sandbox, "refuse_odd_users", unseen)
    monkeypatch.setattr(leavings, "_LOOK_SEC", 1.0)
    monkeypatch.setattr(sandbox, "_START_SECONDS", 2.0)
    monkeypatch.setattr(sandbox, "_WEDGED_SECONDS", 1.0)
    plain = roots._engine.ask

    async def ask(method, to, body=None, *, within=60.0, **params):
        return await plain(method, to, body, within=within and min(within, 3.0), **params)

    monkeypatch.setattr(roots._engine, "ask", ask)
    asked = ["docker", "inspect", "--format", "{{.GraphDriver.Data.MergedDir}}", roots.id]
    merged = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    await shell(roots, PIPE.format("/etc/passwd"))
    yield roots
    await asyncio.to_thread(unwedge, roots.id, Path(merged) / "etc/passwd")


def unwedge(container: str, pipe: Path) -> None:
    """Let the engine read the pipe's end, as often as it does, until it has removed the container."""
    command = subprocess.Popen(["docker", "rm", "--force", container], stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while command.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError):
            os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
        time.sleep(0.05)
    command.wait(timeout=30)


@pytest.mark.parametrize(
    "left",
    [
        PIPE.format("/etc/passwd"),
        PIPE.format("/etc/group"),
        "rm /etc/group; mkfifo /tmp/p; ln -s /tmp/p /etc/group",
        "rm /etc/passwd; mkdir /etc/passwd",
        "head -c 300000 /dev/zero | tr '\\0' a > /etc/passwd",
        "rm /etc/passwd; ln -s passwd /etc/passwd",
        "truncate -s 50M /etc/passwd",
        "sed -i /agent/d /etc/passwd",
    ],
)
async def test_users_that_no_engine_can_read_are_laid_on_whoever_left_them(roots, left):
    began = time.monotonic()
    assert (await shell(roots, left)).exit_code == 0
    with pytest.raises(LeftBroken):
        await roots.exec(ExecRequest(argv=["/bin/true"], user="agent", timeout_sec=20))
    await roots.kill_session("main")
    await roots.kill_all()
    assert await roots.processes() == 0
    assert time.monotonic() - began < 15


async def test_a_command_that_left_a_pipe_still_ends_with_its_time(roots):
    command = PIPE.format("/etc/passwd") + "; exec sleep 5000"
    result = await roots.exec(ExecRequest(argv=["/bin/sh", "-c", command], timeout_sec=1))
    assert (result.limit, result.signal) == (LimitKind.WALL, 9)
    assert result.seconds < 15
    with pytest.raises(LeftBroken):
        await roots.exec(ExecRequest(argv=["/bin/true"]))


async def test_users_that_are_elsewhere_or_nowhere_are_no_fault(roots):
    await shell(roots, "mv /etc/passwd /srv/p; ln -s /srv/p /etc/passwd; rm /etc/group")
    assert (await shell(roots, "id -u", user="agent")).exit_code == 0


async def test_a_command_that_does_not_start_ends_with_its_time(wedged):
    result = await wedged.exec(ExecRequest(argv=["/bin/true"], timeout_sec=1))
    assert (result.limit, result.signal) == (LimitKind.WALL, 9)


async def test_a_command_without_a_time_that_does_not_start_ends_all_the_same(wedged):
    with pytest.raises(LeftBroken):
        await wedged.exec(ExecRequest(argv=["/bin/true"]))


async def test_an_engine_that_is_stuck_with_one_container_says_whose_it_is(wedged):
    began = time.monotonic()
    await wedged.kill_all()
    with pytest.raises(LeftBroken):
        await wedged.exec(ExecRequest(argv=["/bin/true"], timeout_sec=30))
    await wedged.destroy()
    assert time.monotonic() - began < 30


async def test_a_container_that_can_t_be_removed_keeps_no_other(wedged, monkeypatch):
    monkeypatch.setattr(leftovers, "_REMOVE_SEC", 2.0)
    await wedged.kill_all()
    with pytest.raises(LeftBroken):
        await wedged.exec(ExecRequest(argv=["/bin/true"]))
    ended = []

    async def one() -> None:
        ended.append("another")

    async with connected() as engine:
        removal = leftovers.remove(engine, wedged._container.id)
        assert await leftovers.all_removed([removal, one()]) == 1
        with pytest.raises(EngineSilent, match="does not answer"):
            await engine.ask("GET", f"containers/{wedged._container.id}/json", within=1.0)
    assert ended


@pytest.mark.parametrize(
    "dockerfile",
    [
        "FROM scratch\nCOPY Dockerfile /\n",
        "FROM {base}\nRUN cp /bin/false /tmp/f && mv /tmp/f /bin/sh\n",
        "FROM {base}\nRUN cp /bin/sleep /tmp/f && printf '#!/tmp/f 1000\\n' > /tmp/sh && chmod 755 /tmp/sh"
        " && mv /tmp/sh /bin/sh\n",
    ],
)
async def test_an_image_whose_shell_is_none_is_the_tasks(backend, base, tmp_path, monkeypatch, dockerfile):
    if "sleep" in dockerfile:
        monkeypatch.setattr(furnishing, "_ANSWER_SEC", 3.0)
    (tmp_path / "Dockerfile").write_text(dockerfile.replace("{base}", base))
    image = await backend.build(tmp_path, 120)
    began = time.monotonic()
    with pytest.raises(UnsupportedByBackend, match="/bin/sh"):
        await backend.create(SandboxSpec(labels=labels(), image=image))
    assert time.monotonic() - began < 15
