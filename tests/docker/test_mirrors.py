"""An engine of its own that can't reach Docker Hub, and has two mirrors of it here, the second with a password."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import shutil
import subprocess
import tarfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import pytest

from proctor.engine.policy_files import CURRENT_POLICY, load_policy
from proctor.engine.preflight import Preflight
from proctor.sandboxes.docker import DockerBackend
from proctor.sandboxes.errors import ImagePullFailed
from tests.docker.conftest import Dockerd
from tests.docker.test_breakers import Gate
from tests.docker.test_images import AUTH, PASSWORDS, free_port, serving
from tests.unit.test_preflight import parts

NOWHERE = "http://127.0.0.1:9"
"""Where nothing listens: whoever goes to the network through it reaches nobody."""
HUBS_KEY = "https://index.docker.io/v1/"


@dataclass
class Mirror:
    """A gate in front of a registry, always at the same address."""

    upstream: str
    port: int = field(default_factory=free_port)

    @contextmanager
    def up(self, *, shut: bool = False) -> Iterator[None]:
        with Gate(self.upstream, self.port) as gate:
            gate.shut = shut
            threading.Thread(target=gate.serve_forever, daemon=True).start()
            try:
                yield
            finally:
                gate.shutdown()


@dataclass(frozen=True)
class Mirrored:
    """The engine's two mirrors, and the digest of what is in the first of them as ``library/small:1``."""

    mirror: Mirror
    private: Mirror
    small: str


@contextmanager
def bridge() -> Iterator[str]:
    """A bridge of the second engine's own: one that has none takes ``docker0`` from the first as it starts."""
    name = f"mirrors{os.getpid() % 10**6}"
    subprocess.run(["ip", "link", "add", name, "type", "bridge"], check=True)
    try:
        yield name
    finally:
        subprocess.run(["ip", "link", "delete", name], check=True)


@pytest.fixture(scope="module")
def mirrored(engine: Dockerd | None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Mirrored]:
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("needs root and Debian's docker.io, for an engine with mirrors")
    first, second = (tmp_path_factory.mktemp(name) for name in ("first", "second"))
    (second / "passwords").write_text(PASSWORDS)
    with ExitStack() as stack:
        plain = stack.enter_context(serving(first))
        private = stack.enter_context(serving(second, AUTH.format(folder=second)))
        config = str(second / "login")
        login = ["docker", "--config", config, "login", "--username", "me", "--password-stdin", f"127.0.0.1:{private}"]
        subprocess.run(login, input=b"let-me-in", check=True, capture_output=True)
        small = push_file(f"127.0.0.1:{plain}/library/small:1", "small")
        push_file(f"127.0.0.1:{private}/me/secret:1", "secret", "--config", config)
        found = Mirrored(Mirror(f"127.0.0.1:{plain}"), Mirror(f"127.0.0.1:{private}"), small)
        addresses = [f"http://127.0.0.1:{one.port}" for one in (found.mirror, found.private)]
        settings = {"registry-mirrors": addresses, "bridge": stack.enter_context(bridge()), "iptables": False}
        proxies = {"HTTP_PROXY": NOWHERE, "HTTPS_PROXY": NOWHERE, "NO_PROXY": "127.0.0.1"}
        dockerd = Dockerd(tmp_path_factory.mktemp("mirrored"), settings, proxies)
        dockerd.start()
        stack.callback(dockerd.stop)
        asked = pytest.MonkeyPatch()
        stack.callback(asked.undo)
        asked.setenv("DOCKER_HOST", dockerd.address)
        yield found


def push_file(name: str, content: str, *config: str) -> str:
    """Put an image of one small file into a registry; says its digest."""
    with io.BytesIO() as out:
        with tarfile.open(fileobj=out, mode="w") as tar:
            member = tarfile.TarInfo("content")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content.encode()))
        subprocess.run(["docker", "import", "-", name], input=out.getvalue(), check=True, capture_output=True)
    subprocess.run(["docker", *config, "push", "--quiet", name], check=True, capture_output=True)
    asked = ["docker", "inspect", "--format", "{{index .RepoDigests 0}}", name]
    return subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip().partition("@")[2]


@pytest.fixture
def backend() -> Iterator[DockerBackend]:
    yield DockerBackend("tests-mirrors")
    subprocess.run(["docker", "rmi", "--force", "small:1", "me/secret:1"], capture_output=True, check=False)


async def refusal(backend: DockerBackend, image: str) -> ImagePullFailed:
    with pytest.raises(ImagePullFailed) as told:
        await backend.pull(image)
    return told.value


@pytest.mark.parametrize("image", ["small:1", "docker.io/library/small:1", "index.docker.io/library/small:1"])
async def test_an_image_comes_by_the_mirror_and_is_named_by_digest(mirrored: Mirrored, backend, image) -> None:
    with mirrored.mirror.up():
        assert await backend.pull(image) == f"small@{mirrored.small}"
    assert await backend.has(image)


async def test_what_a_mirror_has_not_is_no_fault_of_the_registry_that_nobody_can_reach(
    mirrored: Mirrored, backend, tmp_path
) -> None:
    with mirrored.mirror.up():
        told = await refusal(backend, "none:1")
        (tmp_path / "Dockerfile").write_text("FROM none:1\n")
        with pytest.raises(ImagePullFailed) as build:
            await backend.build(tmp_path, 60)
    assert [(one.http_status, one.registry) for one in (told, build.value)] == [(404, None)] * 2
    assert f"after its mirrors http://127.0.0.1:{mirrored.mirror.port}/" in str(told)


async def test_a_mirror_that_limits_us_is_told_as_the_registrys_429(mirrored: Mirrored, backend) -> None:
    with mirrored.mirror.up(shut=True):
        told = await refusal(backend, "small:1")
    assert (told.http_status, told.registry) == (429, "docker.io")
    assert "toomanyrequests" in str(told)


async def test_a_mirror_that_is_down_is_the_registry_out_of_reach(mirrored: Mirrored, backend) -> None:
    told = await refusal(backend, "small:1")
    assert (told.http_status, told.registry) == (None, "docker.io")
    assert f"after its mirrors http://127.0.0.1:{mirrored.mirror.port}/" in str(told)


async def test_a_registry_without_mirrors_answers_for_itself(mirrored: Mirrored, backend) -> None:
    with mirrored.mirror.up():
        told = await refusal(backend, "ghcr.example/small:1")
    assert told.registry == "ghcr.example"
    assert "mirrors" not in str(told)


async def test_the_hubs_login_is_good_for_its_mirrors(mirrored: Mirrored, backend, tmp_path) -> None:
    login = {"auth": base64.b64encode(b"me:let-me-in").decode()}
    (tmp_path / "config.json").write_text(json.dumps({"auths": {HUBS_KEY: login}}))
    with mirrored.mirror.up(), mirrored.private.up():
        assert (await refusal(backend, "me/secret:1")).registry is None
        known = DockerBackend("tests-mirrors", logins=tmp_path / "config.json")
        assert (await known.pull("me/secret:1")).startswith("me/secret@sha256:")


def test_before_a_run_it_is_the_hub_that_is_closed(mirrored: Mirrored, backend, tmp_path) -> None:
    preflight = Preflight(parts(backend, tmp_path), ["small:1", "me/secret:1"], load_policy(CURRENT_POLICY))
    with mirrored.mirror.up(shut=True):
        asyncio.run(preflight.run(lambda: True))
    assert {(one.registry, one.outcome.outcome.value) for one in preflight.missing} == {("docker.io", "image_error")}
