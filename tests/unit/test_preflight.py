"""Images before the cells start: each once, by digest, and a registry that fails is not asked again."""

from __future__ import annotations

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from proctor.engine.library import CachedLibrary
from proctor.engine.parts import RunnerParts
from proctor.engine.policy_files import CURRENT_POLICY, load_policy
from proctor.engine.preflight import Preflight
from proctor.kernel.clock import SystemClock
from proctor.objects.store import ObjectStore
from proctor.sandboxes.errors import ImagePullFailed
from proctor.sandboxes.fake import FakeBackend


class Pulling(FakeBackend):
    """Has every image but those of a registry that fails and those that are not there."""

    def __init__(self, down: str = "", missing: str = "") -> None:
        super().__init__()
        self.down, self.missing, self.pulls = down, missing, Counter[str]()

    async def pull(self, image: str | None) -> str:
        assert image is not None
        self.pulls[image] += 1
        await asyncio.sleep(0)
        registry = image.partition("/")[0]
        if registry == self.down:
            raise ImagePullFailed("toomanyrequests: ", http_status=429, registry=registry, where=image)
        if image == self.missing:
            raise ImagePullFailed("manifest unknown", http_status=404, where=image)
        return f"{image}@sha256:1"


def parts(backend: FakeBackend, folder: Path) -> RunnerParts:
    objects = ObjectStore(folder / "objects")
    library = CachedLibrary(None, folder / "cache")  # type: ignore[arg-type]
    return RunnerParts(
        backend=backend, objects=objects, library=library, clock=SystemClock(), owner="me", scratch=folder
    )


async def bring(backend: FakeBackend, folder: Path, *images: str) -> tuple[Preflight, RunnerParts]:
    made = parts(backend, folder)
    preflight = Preflight(made, images, load_policy(CURRENT_POLICY))
    await preflight.run(lambda: True)
    assert preflight.done == preflight.total == len(images)
    return preflight, made


async def test_each_image_is_brought_once_and_known_by_its_digest(tmp_path: Path) -> None:
    backend = Pulling()
    preflight, made = await bring(backend, tmp_path, "a.example/x:1", "a.example/y:1")
    assert made.images == {"a.example/x:1": "a.example/x:1@sha256:1", "a.example/y:1": "a.example/y:1@sha256:1"}
    assert (set(backend.pulls.values()), preflight.missing) == ({1}, [])


async def test_a_registry_that_fails_is_not_asked_for_all_the_others(tmp_path: Path) -> None:
    backend = Pulling(down="down.example")
    images = [*(f"down.example/{n}:1" for n in range(50)), "up.example/x:1"]
    preflight, made = await bring(backend, tmp_path, *images)
    assert sum(backend.pulls.values()) <= 4 + 1
    assert list(made.images) == ["up.example/x:1"]
    assert preflight.worked == {"up.example"}
    assert {(one.registry, one.outcome.outcome.value) for one in preflight.missing} == {("down.example", "image_error")}


async def test_an_image_that_is_not_there_is_its_own_fault(tmp_path: Path) -> None:
    backend = Pulling(missing="a.example/none:1")
    preflight, made = await bring(backend, tmp_path, "a.example/none:1", "a.example/y:1")
    (missing,) = preflight.missing
    assert (missing.image, missing.registry) == ("a.example/none:1", None)
    assert list(made.images) == ["a.example/y:1"]


@pytest.mark.timeout(10)
async def test_to_be_stopped_waits_for_no_pull(tmp_path: Path) -> None:
    class Endless(FakeBackend):
        async def pull(self, image: str | None) -> str:
            await asyncio.Event().wait()
            return image or ""

    preflight = Preflight(parts(Endless(), tmp_path), ["a.example/x"], load_policy(CURRENT_POLICY))
    await preflight.run(lambda: False)
    assert preflight.done == 0
