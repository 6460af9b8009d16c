"""Credentials for registries: the file of ``docker login``, and the helpers it names."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from proctor.sandboxes.docker.credentials import Credentials
from proctor.sandboxes.errors import ImagePullFailed


def written(folder: Path, config: object) -> Credentials:
    file = folder / "config.json"
    file.write_text(config if isinstance(config, str) else json.dumps(config))
    return Credentials(file)


def read(header: object) -> Any:
    assert isinstance(header, str)
    return json.loads(base64.urlsafe_b64decode(header))


def auth(user: str, password: str) -> dict[str, str]:
    return {"auth": base64.b64encode(f"{user}:{password}".encode()).decode()}


async def test_a_login_is_said_to_its_own_registry_alone(tmp_path: Path) -> None:
    one = written(tmp_path, {"auths": {"ghcr.io": auth("me", "a:b"), "https://index.docker.io/v1/": auth("hub", "c")}})
    told = read((await one.header("ghcr.io"))["X-Registry-Auth"])
    assert told == {"username": "me", "password": "a:b", "serveraddress": "ghcr.io"}
    assert read((await one.header("docker.io"))["X-Registry-Auth"])["username"] == "hub"
    assert await one.header("evil.example") == {}
    assert set(read((await one.headers_of_all())["X-Registry-Config"])) == {"ghcr.io", "https://index.docker.io/v1/"}


async def test_without_a_file_there_is_nothing_to_say(tmp_path: Path) -> None:
    nobody = Credentials(tmp_path / "none")
    assert (await nobody.header("ghcr.io"), await nobody.headers_of_all()) == ({}, {})
    assert await written(tmp_path, {"auths": {"ghcr.io": {}}}).header("ghcr.io") == {}


@pytest.mark.parametrize(
    "config", ["no json", "[]", {"auths": []}, {"auths": {"ghcr.io": {"auth": "!"}}}, {"credsStore": "../x"}]
)
async def test_a_file_that_is_something_else_is_told(tmp_path: Path, config: object) -> None:
    with pytest.raises(ImagePullFailed) as told:
        await written(tmp_path, config).header("ghcr.io")
    assert told.value.where == str(tmp_path / "config.json")


HELPER = """#!/bin/sh
read name
case "$1 $name" in
  "get ghcr.io") echo '{"ServerURL": "ghcr.io", "Username": "me", "Secret": "s"}' ;;
  "get quay.io") echo '{"ServerURL": "quay.io", "Username": "<token>", "Secret": "t"}' ;;
  "get broken.io") echo broken; exit 1 ;;
  *) echo credentials not found in native keychain; exit 1 ;;
esac
"""


async def test_a_helper_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "docker-credential-test"
    program.write_text(HELPER)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    one = written(tmp_path, {"credHelpers": {"quay.io": "test"}, "credsStore": "test"})
    told = read((await one.header("ghcr.io"))["X-Registry-Auth"])
    assert (told["username"], told["password"]) == ("me", "s")
    assert read((await one.header("quay.io"))["X-Registry-Auth"])["identitytoken"] == "t"
    assert await one.header("elsewhere.io") == {}
    with pytest.raises(ImagePullFailed, match="docker-credential-test gives no credentials for broken.io"):
        await one.header("broken.io")
    spread = written(tmp_path, {"auths": {"ghcr.io": auth("me", "p")}, "credHelpers": {"broken.io": "test"}})
    assert set(read((await spread.headers_of_all())["X-Registry-Config"])) == {"ghcr.io"}
    with pytest.raises(ImagePullFailed, match="docker-credential-none"):
        await written(tmp_path, {"credsStore": "none"}).header("ghcr.io")
