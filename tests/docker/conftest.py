"""A real engine for the tests: one that ``PROCTOR_TEST_DOCKER_HOST`` names, or Debian's dockerd, started here as root.

Its base image is made by debootstrap: no registry is asked. ``PROCTOR_TEST_DOCKER_BASE`` names one that is there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

BASE = "proctor-test-base:1"
DOCKERFILE = f"""FROM {BASE}
RUN useradd --create-home agent && mkdir /app && chown agent /app
WORKDIR /app
USER agent
"""
START_SECONDS = 60.0


@pytest.fixture(scope="session", autouse=True)
def engine() -> Iterator[str]:
    """The engine's address, in ``DOCKER_HOST`` for as long as the tests run."""
    named = os.environ.get("PROCTOR_TEST_DOCKER_HOST")
    if named is not None:
        os.environ["DOCKER_HOST"] = named
        yield named
        return
    if os.geteuid() != 0 or shutil.which("dockerd") is None:
        pytest.skip("needs root and Debian's docker.io, or PROCTOR_TEST_DOCKER_HOST")
    with tempfile.TemporaryDirectory(prefix="proctor-docker-", ignore_cleanup_errors=True) as folder:
        address = f"unix://{folder}/docker.sock"
        os.environ["DOCKER_HOST"] = address
        with Path(folder, "log").open("wb") as log:
            process = subprocess.Popen(
                ["dockerd", "--host", address, "--data-root", f"{folder}/data", "--exec-root", f"{folder}/exec",
                 "--pidfile", f"{folder}/pid"],
                stdout=log, stderr=log,
            )  # fmt: skip
        try:
            _until_it_answers(Path(folder, "log"))
            yield address
        finally:
            process.terminate()
            process.wait(timeout=60)


def _until_it_answers(log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while subprocess.run(["docker", "version"], capture_output=True).returncode != 0:
        assert time.monotonic() < deadline, log.read_text()[-2000:]
        time.sleep(0.2)


@pytest.fixture(scope="session")
def base(engine: str) -> str:
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
