"""Images from a registry on this machine: named by digest, and what goes wrong told for what it is."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.engine.pulls import SharedTurns
from proctor.sandboxes.docker import DockerBackend
from proctor.sandboxes.errors import ImagePullFailed
from proctor.sandboxes.interfaces import SandboxSpec
from tests.contracts.sandboxes import labels, shell
from tests.docker.conftest import refusing_registry

CONFIG = """
version: 0.1
storage:
  filesystem:
    rootdirectory: {folder}
http:
  addr: 127.0.0.1:{port}
"""


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _listens(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


AUTH = """
auth:
  htpasswd:
    realm: proctor
    path: {folder}/passwords
"""
PASSWORDS = "me:$2b$04$1H8VWwWkQasbnX2aC1hBkOf9ynYexTsdOFmmbSEL.gW22BwzD8UP2\n"
"""The password is ``let-me-in``."""


@pytest.fixture(scope="module")
def registry(base: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Debian's registry with one small image, ``small:1``."""
    with serving(tmp_path_factory.mktemp("registry")) as port:
        name = f"127.0.0.1:{port}/small"
        push(f"{name}:1", f"FROM {base}\nRUN head -c 3000000 /dev/urandom > /large\n")
        yield name


@contextlib.contextmanager
def serving(folder: Path, more: str = "") -> Iterator[int]:
    """The port of a registry."""
    port = free_port()
    (folder / "config.yml").write_text(CONFIG.format(folder=folder / "data", port=port) + more)
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(["docker-registry", "serve", folder / "config.yml"], stdout=log, stderr=log)
    try:
        deadline = time.monotonic() + 20
        while not _listens(port):
            assert time.monotonic() < deadline, (folder / "log").read_text()
            time.sleep(0.1)
        yield port
    finally:
        process.terminate()
        process.wait(timeout=20)


def push(name: str, dockerfile: str, *config: str) -> None:
    subprocess.run(["docker", "build", "--quiet", "--tag", name, "-"], input=dockerfile.encode(), check=True)
    subprocess.run(["docker", *config, "push", "--quiet", name], check=True)


@pytest.fixture(scope="module")
def registry_log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return next(tmp_path_factory.getbasetemp().glob("registry*/log"))


@pytest.fixture
def backend() -> DockerBackend:
    return DockerBackend("tests")


def forget(image: str) -> None:
    subprocess.run(["docker", "rmi", "--force", image], capture_output=True, check=False)


async def test_a_pulled_image_is_named_by_digest_and_runs(backend, registry):
    forget(f"{registry}:1")
    name = await backend.pull(f"{registry}:1")
    assert name.startswith(f"{registry}@sha256:")
    box = await backend.create(SandboxSpec(labels=labels(), image=name))
    try:
        assert (await shell(box, "stat -c %s /large")).stdout == b"3000000\n"
    finally:
        await box.destroy()


async def test_what_the_registry_does_not_have_is_404(backend, registry):
    with pytest.raises(ImagePullFailed) as told:
        await backend.pull(f"{registry}:none")
    assert told.value.http_status == 404


async def test_a_registry_that_is_not_there(backend):
    with pytest.raises(ImagePullFailed) as told:
        await backend.pull(f"127.0.0.1:{free_port()}/nothing:1")
    assert told.value.http_status is None


async def test_a_registry_that_limits_us_is_429(backend):
    with refusing_registry(429, "TOOMANYREQUESTS") as registry, pytest.raises(ImagePullFailed) as told:
        await backend.pull(f"{registry}/limited:1")
    assert told.value.http_status == 429


async def test_many_who_want_one_image_pull_it_once(backend, registry, registry_log):
    forget(f"{registry}:1")
    before = registry_log.read_text().count("GET /v2/small/manifests/")
    names = await asyncio.gather(*(backend.pull(f"{registry}:1") for _ in range(8)))
    assert len(set(names)) == 1
    assert registry_log.read_text().count("GET /v2/small/manifests/") - before <= 2  # the tag, and its digest


@pytest.mark.database
async def test_pulls_of_two_workers_share_a_registrys_turns(database, tenant, registry):
    forget(f"{registry}:1")
    turns = [SharedTurns(database, tenant) for _ in range(2)]
    while await turns[0].take(registry.partition("/")[0]) == 0:
        pass
    began = time.monotonic()
    await asyncio.gather(*(DockerBackend("tests", turns=one).pull(f"{registry}:1") for one in turns))
    assert time.monotonic() - began > 2


async def test_a_registry_that_drops_the_line_in_mid_layer_is_given_up_soon(backend, registry):
    forget(f"{registry}:1")
    upstream, began = int(registry.partition(":")[2].partition("/")[0]), time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_drop, args=(server, upstream), daemon=True).start()
        with pytest.raises(ImagePullFailed, match="broke off in the middle of a layer"):
            await backend.pull(f"127.0.0.1:{server.getsockname()[1]}/small:1")
        assert time.monotonic() - began < 60
        server.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def private(base: str, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """An image of a registry that wants a password, and the file in which ``docker login`` keeps ours."""
    (tmp_path / "passwords").write_text(PASSWORDS)
    with serving(tmp_path, AUTH.format(folder=tmp_path)) as port:
        config = tmp_path / "login"
        login = ["docker", "--config", config, "login", "--username", "me", "--password-stdin", f"127.0.0.1:{port}"]
        subprocess.run(login, input=b"let-me-in", check=True, capture_output=True)
        name = f"127.0.0.1:{port}/private:1"
        push(name, f"FROM {base}\nRUN echo {port} > /private\n", "--config", str(config))
        forget(name)
        yield name, config / "config.json"


async def test_a_private_image_comes_for_whom_docker_login_knows(backend, private):
    name, logins = private
    with pytest.raises(ImagePullFailed) as told:
        await backend.pull(name)
    assert told.value.http_status in (401, 403)
    assert "private@sha256:" in await DockerBackend("tests", logins=logins).pull(name)


async def test_a_build_may_begin_from_a_private_image(backend, private, tmp_path):
    name, logins = private
    (tmp_path / "Dockerfile").write_text(f"FROM {name}\nRUN test -s /private\n")
    with pytest.raises(ImagePullFailed):
        await backend.build(tmp_path, 60)
    assert (await DockerBackend("tests", logins=logins).build(tmp_path, 60)).startswith("sha256:")


def _drop(server: socket.socket, upstream: int) -> None:
    """A proxy that lets 1 MB of any connection through, and then cuts it."""
    with contextlib.suppress(OSError):
        while True:
            client, _ = server.accept()
            threading.Thread(target=_cut, args=(client, upstream), daemon=True).start()


def _cut(client: socket.socket, upstream: int) -> None:
    with client, socket.create_connection(("127.0.0.1", upstream)) as there:
        asking = threading.Thread(target=_copy, args=(client, there, 1 << 30), daemon=True)
        asking.start()
        _copy(there, client, 1 << 20)
        for end in (client, there):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        asking.join()


def _copy(source: socket.socket, target: socket.socket, most: int) -> None:
    with contextlib.suppress(OSError):
        while most > 0 and (piece := source.recv(min(65536, most))):
            target.sendall(piece)
            most -= len(piece)
