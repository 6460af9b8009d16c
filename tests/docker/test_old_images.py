"""Images of ours that nobody needs any more, on a real engine: which go, and which stay."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest

from proctor.sandboxes.docker import DockerBackend
from proctor.sandboxes.docker.labels import OURS
from proctor.sandboxes.errors import ImagePullFailed
from proctor.sandboxes.interfaces import SandboxSpec
from tests.contracts.sandboxes import everybody_is_live, labels, nobody_is_live


def docker(*words: str) -> str:
    return subprocess.run(["docker", *words], capture_output=True, text=True, check=True).stdout


def ours(mark: str, *more: str) -> set[str]:
    """Ids of a mark's labelled images, whether somebody could see them in a list or not."""
    return set(docker("images", "--quiet", "--no-trunc", "--filter", f"label={OURS}={mark}", *more).split())


def backend_of(mark: str, kept: timedelta = timedelta(0)) -> DockerBackend:
    return DockerBackend(mark, images_kept=kept)


@pytest.fixture
async def mark(base: str) -> AsyncIterator[str]:
    mark = f"tests-{uuid4().hex[:8]}"
    yield mark
    await backend_of(mark).reap(nobody_is_live)
    assert ours(mark) == set()
    assert await backend_of(mark).leaked(nobody_is_live) == 0


async def built(mark: str, folder: Path, base: str, text: str) -> str:
    (folder / "Dockerfile").write_text(f"FROM {base}\nRUN echo {mark} {text} > /own\n")
    return await backend_of(mark).build(folder, 120)


async def test_what_nobody_asked_for_in_time_goes_and_is_counted_before(mark, base, tmp_path):
    image = await built(mark, tmp_path, base, "old")
    for kept in (timedelta(days=1), timedelta(days=30)):
        assert await backend_of(mark, kept).leaked(nobody_is_live) == 0
        assert await backend_of(mark, kept).reap(nobody_is_live) == 0
    assert ours(mark) == {image}
    assert await backend_of(mark).leaked(everybody_is_live) == 1
    assert await backend_of(mark).reap(everybody_is_live) == 1
    assert ours(mark) == set()


async def test_who_asks_for_an_image_again_keeps_it(mark, base, tmp_path):
    image = await built(mark, tmp_path, base, "asked-for")
    await asyncio.sleep(4)
    assert await backend_of(mark, timedelta(seconds=3)).leaked(nobody_is_live) == 1
    assert await built(mark, tmp_path, base, "asked-for") == image
    assert await backend_of(mark, timedelta(seconds=3)).leaked(nobody_is_live) == 0


async def test_one_that_a_container_has_stays(mark, base, tmp_path):
    image = await built(mark, tmp_path, base, "used")
    box = await backend_of(mark).create(SandboxSpec(labels=labels(), image=image))
    try:
        assert await backend_of(mark).leaked(everybody_is_live) == 0
        await box.kill_all()
        assert await backend_of(mark).reap(everybody_is_live) == 0
        assert ours(mark) == {image}
    finally:
        await box.destroy()


async def test_another_installations_image_and_one_with_a_name_of_its_own_stay(mark, base, tmp_path):
    other = f"{mark}-other"
    theirs = await built(other, tmp_path, base, "theirs")
    image = await built(mark, tmp_path, base, "named")
    docker("tag", image, f"{mark}:kept")
    try:
        assert await backend_of(mark).reap(nobody_is_live) == 0
        assert (ours(mark), ours(other)) == ({image}, {theirs})
    finally:
        docker("rmi", f"{mark}:kept")
        await backend_of(other).reap(nobody_is_live)


async def test_one_that_lost_its_name_goes_at_once(mark, base, tmp_path):
    image = await built(mark, tmp_path, base, "replaced")
    (name,) = docker("inspect", "--format", "{{index .RepoTags 0}}", image).split()
    docker("tag", base, name)
    try:
        assert ours(mark) == {image}
        assert await backend_of(mark, timedelta(days=30)).reap(nobody_is_live) == 1
        assert ours(mark) == set()
    finally:
        docker("rmi", name)


async def test_what_a_broken_build_had_come_to_is_found_and_goes_in_its_time(mark, base, tmp_path):
    (tmp_path / "Dockerfile").write_text(f"FROM {base}\nRUN echo {mark} half > /own\nRUN exit 4\n")
    for _ in range(2):
        with pytest.raises(ImagePullFailed, match="code: 4"):
            await backend_of(mark).build(tmp_path, 120)
    assert len(docker("images", "--quiet", f"proctor-broken:{mark}-*").split()) == 1
    assert await backend_of(mark, timedelta(days=1)).leaked(nobody_is_live) == 0
    assert await backend_of(f"{mark}-other").leaked(nobody_is_live) == 0
    assert await backend_of(mark).reap(nobody_is_live) == 1
    assert docker("images", "--quiet", f"proctor-broken:{mark}-*") == ""


async def test_a_build_that_breaks_at_once_gives_its_base_no_name(mark, base, tmp_path):
    (tmp_path / "Dockerfile").write_text(f"FROM {base}\nRUN exit 4\n")
    with pytest.raises(ImagePullFailed):
        await backend_of(mark).build(tmp_path, 120)
    assert await backend_of(mark).leaked(nobody_is_live) == 0
    docker("inspect", base)
