"""Who commands run as: an image's ``USER`` with its group, and what an image says that it does not have."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from uuid import uuid4

import pytest

from proctor.sandboxes.docker import DockerBackend, furnishing
from proctor.sandboxes.errors import UnsupportedByBackend
from proctor.sandboxes.interfaces import ExecRequest, Place, Probe, SandboxSpec, ServiceSpec
from tests.contracts.sandboxes import labels, shell

PEOPLE = """FROM {base}
RUN useradd --create-home app && groupadd --gid 2002 crew && groupadd --gid 2003 more && usermod -aG more app
RUN printf '{odd}' >> /etc/passwd
USER {user}
"""
ODD = "x:x:²:0::/:/bin/sh\\ny:x:" + "9" * 5000 + ":0::/:/bin/sh\\n"
SAID = {
    "1234:2345": b"1234 2345 2345",
    "app:crew": b"1000 2002 2002",
    "app": b"1000 1000 1000 2003",
    "1000": b"1000 1000 1000 2003",
    "4242": b"4242 0 0",
}
Image = Callable[[str], Awaitable[str]]


@pytest.fixture
def backend() -> DockerBackend:
    return DockerBackend(f"tests-{uuid4().hex}")


@pytest.fixture
def image(backend: DockerBackend, base: str, tmp_path: Path) -> Image:
    """Of an image with that ``USER``."""

    async def build(user: str) -> str:
        (tmp_path / "Dockerfile").write_text(PEOPLE.format(base=base, user=user, odd=ODD))
        return await backend.build(tmp_path, 120)

    return build


async def asked_in_vain(*_: object) -> None:
    """As where the first process does not answer."""


@pytest.mark.parametrize("by_archive", [False, True])
@pytest.mark.parametrize("user", SAID)
async def test_a_command_has_the_group_that_the_image_says(backend, image, monkeypatch, user, by_archive) -> None:
    if by_archive:
        monkeypatch.setattr(furnishing, "_asked", asked_in_vain)
    box = await backend.create(SandboxSpec(labels=labels(), image=await image(user), workdir="/made"))
    try:
        assert (await shell(box, "echo $(id -u) $(id -g) $(id -G)")).stdout.strip() == SAID[user]
        owner = b":".join(SAID[user].split()[:2])
        assert (await shell(box, "stat -c %u:%g /made")).stdout.strip() == owner
        assert (await shell(box, "id -u", user="app")).stdout == b"1000\n"
    finally:
        await box.destroy()


@pytest.mark.parametrize("user", ["ghost", "²", "99999999999", "app:ghost", "app:99999999999"])
async def test_a_user_that_the_image_does_not_have_is_refused(backend, image, user) -> None:
    name = await image(user)
    with pytest.raises(UnsupportedByBackend, match="no such") as told:
        await backend.create(SandboxSpec(labels=labels(), image=name))
    assert told.value.where == "user"


async def test_services_have_their_group_and_are_refused_likewise(backend, image, base) -> None:
    async def served(user: str) -> bytes:
        service = ServiceSpec(place=Place(name="db"), image=await image(user), command=("sleep", "60"), probe=Probe())
        box = await backend.create(SandboxSpec(labels=labels(), image=base, services=(service,)))
        try:
            ids = ["sh", "-c", "echo $(id -u) $(id -g)"]
            return (await box.service("db").exec(ExecRequest(argv=ids, cwd="/"))).stdout
        finally:
            await box.destroy()

    assert await served("app:crew") == b"1000 2002\n"
    with pytest.raises(UnsupportedByBackend):
        await asyncio.wait_for(served("ghost"), 60)
