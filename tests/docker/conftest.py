"""A real engine for the tests: one that ``PROCTOR_TEST_DOCKER_HOST`` names, or Debian's dockerd, started here as root,
or Podman where ``PROCTOR_TEST_ENGINE=podman`` says so.

Its base image is made by debootstrap: no registry is asked. ``PROCTOR_TEST_DOCKER_BASE`` names one that is there.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.docker.podman import Podman, why_no_podman

BASE = "proctor-test-base:1"
DOCKERFILE = f"""FROM {BASE}
RUN useradd --create-home agent && mkdir /app && chown agent /app
WORKDIR /app
USER agent
"""
START_SECONDS = 60.0
PODMAN = os.environ.get("PROCTOR_TEST_ENGINE") == "podman"
RUNTIMES = {
    "runsc": {"path": "/usr/bin/runsc", "runtimeArgs": ["--platform=ptrace", "--ignore-cgroups", "--network=none"]}
}
"""gVisor as it runs without virtualisation and without control groups of its own."""


@dataclass
class Dockerd:
    """An engine of the tests' own, in a folder of its own."""

    folder: Path
    settings: Mapping[str, object] = field(default_factory=dict)
    """Of its ``daemon.json``, beside the runtimes."""
    environment: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return f"unix://{self.folder}/docker.sock"

    def start(self) -> None:
        (self.folder / "daemon.json").write_text(json.dumps({"runtimes": RUNTIMES, **self.settings}))
        places = {"--data-root": "data", "--exec-root": "exec", "--pidfile": "pid"}
        places["--config-file"] = "daemon.json"
        options = [word for name, place in places.items() for word in (name, f"{self.folder}/{place}")]
        with (self.folder / "log").open("ab") as log:
            command = ["dockerd", "--host", self.address, *options]
            environment = {**os.environ, **self.environment}
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment)
        deadline = time.monotonic() + START_SECONDS
        while subprocess.run(["docker", "--host", self.address, "version"], capture_output=True).returncode != 0:
            assert time.monotonic() < deadline, (self.folder / "log").read_text()[-2000:]
            time.sleep(0.2)

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        self.process.wait(timeout=60)


@pytest.fixture(scope="session", autouse=True)
def engine() -> Iterator[Dockerd | None]:
    """The engine, its address in ``DOCKER_HOST``; ``None`` where somebody else keeps it."""
    named = os.environ.get("PROCTOR_TEST_DOCKER_HOST")
    if named is not None:
        os.environ["DOCKER_HOST"] = named
        yield None
        return
    if PODMAN:
        yield from _podman()
        return
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("needs root and Debian's docker.io, or PROCTOR_TEST_DOCKER_HOST")
    with tempfile.TemporaryDirectory(prefix="proctor-docker-", ignore_cleanup_errors=True) as folder:
        dockerd = Dockerd(Path(folder))
        os.environ["DOCKER_HOST"] = dockerd.address
        dockerd.start()
        try:
            yield dockerd
        finally:
            dockerd.stop()


def _podman() -> Iterator[None]:
    """Podman in the engine's place; ``None``, as nobody may start it again."""
    if why := why_no_podman():
        pytest.skip(why)
    with tempfile.TemporaryDirectory(prefix="proctor-podman-", ignore_cleanup_errors=True) as folder:
        podman = Podman(Path(folder))
        os.environ["DOCKER_HOST"] = podman.address
        podman.start()
        try:
            yield None
        finally:
            podman.stop()


@pytest.fixture(scope="session")
def base(engine: Dockerd | None) -> str:
    """A Debian with bash, coreutils and python3."""
    named = os.environ.get("PROCTOR_TEST_DOCKER_BASE")
    if named is not None:
        subprocess.run(["docker", "tag", named, BASE], check=True)
        return BASE
    with tempfile.TemporaryDirectory(prefix="proctor-base-") as folder:
        packages = "--include=python3-minimal"
        subprocess.run(
            ["debootstrap", "--variant=minbase", packages, "stable", folder], check=True, capture_output=True
        )
        with subprocess.Popen(
            ["tar", "-C", folder, "--exclude=./var/cache/apt", "--exclude=./var/lib/apt/lists", "-c", "."],
            stdout=subprocess.PIPE,
        ) as tar:
            subprocess.run(["docker", "import", "-", BASE], stdin=tar.stdout, check=True, capture_output=True)
    return BASE


@pytest.fixture(scope="session")
def image_folder(base: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a Dockerfile of an image that has the user ``agent``."""
    folder = tmp_path_factory.mktemp("image")
    (folder / "Dockerfile").write_text(DOCKERFILE)
    return folder


@contextmanager
def refusing_registry(status: int, code: str) -> Iterator[str]:
    """The address of a registry that answers every question but the first with one error."""

    class Refusing(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"errors": [{"code": code, "message": code.lower()}]}).encode()
            self.send_response(200 if self.path == "/v2/" else status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_HEAD = do_GET  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Nothing is printed."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Refusing) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield f"127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
