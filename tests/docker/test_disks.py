"""What containers take on the engine's disk beside their own files: volumes, by whomever they are filled."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from pathlib import Path
from uuid import uuid4

import pytest

from proctor.sandboxes.docker import DockerBackend, meters, services
from proctor.sandboxes.docker.engine import Engine
from proctor.sandboxes.errors import ServiceStopped
from proctor.sandboxes.interfaces import (
    ExecRequest,
    LimitKind,
    Limits,
    Place,
    Probe,
    Sandbox,
    SandboxSpec,
    Service,
    ServiceSpec,
    Volume,
)
from tests.contracts.sandboxes import labels, shell

SMALL = Limits(disk_mb=32)
FILL = "i=0; while sleep 0.05; do i=$((i+1)); head -c 4000000 /dev/zero > {folder}/$i || exit 1; done"
SHARED = {"/shared": Volume(name="v")}


@pytest.fixture
def backend(image_folder: Path) -> DockerBackend:
    return DockerBackend(f"tests-{uuid4().hex}")


@pytest.fixture
async def image(backend: DockerBackend, base: str, tmp_path: Path) -> str:
    """An image with a volume of its own in which something is."""
    (tmp_path / "Dockerfile").write_text(f"FROM {base}\nRUN mkdir /own && echo old > /own/old\nVOLUME /own\n")
    return await backend.build(tmp_path, 120)


@pytest.fixture
async def box(backend: DockerBackend, image: str) -> AsyncIterator[Sandbox]:
    """One with a volume that its image declares, and one that its task does."""
    box = await backend.create(SandboxSpec(labels=labels(), image=image, limits=SMALL, place=Place(volumes=SHARED)))
    yield box
    await box.destroy()


@pytest.mark.parametrize("folder", ["/own", "/shared"])
async def test_who_fills_a_volume_is_stopped_at_the_limit(box: Sandbox, folder: str) -> None:
    before = await box.disk_used()
    result = await shell(box, FILL.format(folder=folder), timeout_sec=30)
    assert (result.limit, result.signal) == (LimitKind.DISK, 9)
    assert before < 1_000_000
    assert await box.disk_used() > 32 * 1000**2
    assert (await shell(box, "echo verifier > /logs/verifier/f; sleep 2")).exit_code == 0


async def test_deleted_files_of_a_volume_that_are_held_open_count(box: Sandbox) -> None:
    hold = "import os, time\nf = open('/shared/f', 'wb')\nos.unlink('/shared/f')\nf.write(bytes(40 << 20))\nf.flush()\n"
    result = await box.exec(ExecRequest(argv=["python3", "-c", hold + "time.sleep(60)"], timeout_sec=30))
    assert result.limit is LimitKind.DISK


async def test_folders_that_are_too_deep_to_be_walked_hide_nothing(box: Sandbox) -> None:
    deep = "cd /shared; for i in $(seq 140); do mkdir d; cd d; done; sleep 60"
    assert (await shell(box, deep, timeout_sec=30)).limit is LimitKind.DISK


MANY = "import os, time\nfor i in range(12_000): {make}\ntime.sleep(60)"


@pytest.mark.parametrize("make", ["os.mkdir(f'/tmp/{i:0200}')", "open(f'/tmp/{i}', 'w').close()"])
async def test_folders_and_empty_files_count(box: Sandbox, make: str) -> None:
    result = await box.exec(ExecRequest(argv=["python3", "-c", MANY.format(make=make)], timeout_sec=60))
    assert (result.limit, result.signal) == (LimitKind.DISK, 9)
    assert await box.disk_used() > 32 * 1000**2
    assert (await shell(box, "echo verifier > /logs/verifier/f; sleep 2")).exit_code == 0


async def test_of_a_sparse_file_what_is_on_the_disk_counts(box: Sandbox) -> None:
    assert (await shell(box, "truncate -s 1G /tmp/f; sleep 2", timeout_sec=30)).limit is None
    assert await box.disk_used() < 1_000_000


async def test_what_was_removed_of_the_image_takes_next_to_nothing(box: Sandbox) -> None:
    assert (await shell(box, "rm -rf /usr/share/* ; sleep 2", user="root", timeout_sec=60)).limit is None
    assert await box.disk_used() < 1_000_000


async def test_an_engine_that_does_not_say_where_changes_lie_counts_them(box: Sandbox, monkeypatch) -> None:
    monkeypatch.setattr(meters, "_upper", lambda _: ["/not/here"])
    await shell(box, "head -c 20000000 /dev/zero > /tmp/a")
    assert 20_000_000 <= await box.disk_used() < 21_000_000


async def test_an_engine_elsewhere_is_asked_what_its_volumes_hold(box: Sandbox, monkeypatch) -> None:
    monkeypatch.setattr(Engine, "is_local", property(lambda _: False))
    await shell(box, "head -c 20000000 /dev/zero > /own/a; head -c 1000000 /dev/zero > /shared/b")
    assert 20_900_000 < await box.disk_used() < 22_000_000


async def ask_for_ever(service: Service) -> None:
    while True:
        await service.exec(ExecRequest(argv=["sleep", "0.2"], cwd="/"))


@pytest.mark.parametrize("folder", ["/own", "/shared", "/tmp"])
async def test_a_service_that_fills_a_disk_is_killed(backend, image, monkeypatch, folder: str) -> None:
    monkeypatch.setattr(services, "DEFAULTS", replace(services.DEFAULTS, disk_mb=32))
    monkeypatch.setattr(services, "_LOOK_SEC", 0.2)
    fill = ("sh", "-c", f"sleep 2; {FILL.format(folder=folder)}")
    filler = ServiceSpec(place=Place(name="db", volumes=SHARED), image=image, command=fill, probe=Probe())
    quiet = ServiceSpec(place=Place(name="quiet"), image=image, command=("sleep", "60"), probe=Probe())
    box = await backend.create(SandboxSpec(labels=labels(), image=image, services=(filler, quiet)))
    try:
        with pytest.raises(ServiceStopped, match="exit code 137"):
            await asyncio.wait_for(ask_for_ever(box.service("db")), 30)
        assert (await box.service("quiet").exec(ExecRequest(argv=["true"], cwd="/"))).exit_code == 0
    finally:
        await box.destroy()


async def test_a_volume_that_may_only_be_read_is_not_the_readers(backend, image) -> None:
    writes = ServiceSpec(
        place=Place(name="db", volumes=SHARED),
        image=image,
        command=("sh", "-c", "head -c 9000000 /dev/zero > /shared/a; sleep 60"),
        probe=Probe(argv=("test", "-s", "/shared/a"), interval_sec=1),
    )
    reads = Place(volumes={"/in": Volume(name="v", read_only=True)})
    box = await backend.create(SandboxSpec(labels=labels(), image=image, services=(writes,), place=reads))
    try:
        assert await box.disk_used() < 1_000_000
    finally:
        await box.destroy()
