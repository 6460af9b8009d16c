"""Disks without room: whose fault it is said to be, and what goes on once there is room again."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from proctor.database.engine import Database
from proctor.database.errors import DatabaseFull
from proctor.engine.evidence import Phase
from proctor.engine.phases import PhaseFailed, PhaseRecorder
from proctor.kernel.clock import SystemClock
from proctor.objects.store import ObjectStore, ObjectStoreFull
from proctor.sandboxes.errors import HostDiskFull
from proctor.sandboxes.interfaces import SandboxSpec
from proctor.sandboxes.local import LocalBackend
from tests.chaos.disks import Disk, can_mount, mounted
from tests.contracts.sandboxes import labels, shell

pytestmark = [
    pytest.mark.sandboxes,
    pytest.mark.skipif(bool(can_mount()), reason=can_mount() or "a disk can be mounted"),
]


@pytest.fixture
def disk() -> Iterator[Disk]:
    with tempfile.TemporaryDirectory(prefix="full-disk-") as name:
        Path(name).chmod(0o711)
        with mounted(Path(name), 16, mode=0o711) as made:
            yield made


def test_a_full_object_store_says_so_and_takes_objects_again_once_there_is_room(disk: Disk, tmp_path: Path) -> None:
    objects = ObjectStore(disk.place / "objects")
    (tmp_path / "state").write_bytes(bytes(5000))
    disk.fill()
    for data in (bytes(5000), bytes(3_000_000)):
        with pytest.raises(ObjectStoreFull, match="Free some space"):
            objects.put("t/one", data)
    with pytest.raises(ObjectStoreFull):
        objects.put_file("t/two", tmp_path / "state")
    assert not objects.exists("t/one")
    disk.empty()
    assert objects.get(objects.put("t/one", b"there").key) == b"there"


def test_a_full_object_store_is_the_hosts_fault_and_no_bug_of_ours(disk: Disk) -> None:
    objects, recorder = ObjectStore(disk.place / "objects"), PhaseRecorder(SystemClock())
    disk.fill()
    with pytest.raises(PhaseFailed), recorder.phase(Phase.RECORD):
        objects.put("t/one", bytes(5000))
    assert recorder.evidence[0].detail["source"] == "sandbox"
    assert recorder.evidence[0].detail["exception"] == "ObjectStoreFull"


async def test_what_ran_while_the_hosts_disk_was_full_is_nobodys_failure(disk: Disk) -> None:
    """Else a verifier that could not write its reward is the task's error, and an agent without room has failed."""
    backend = LocalBackend(disk.place / "sandboxes")
    box = await backend.create(SandboxSpec(labels=labels()))
    try:
        assert (await shell(box, "echo 1 > /tmp/reward")).exit_code == 0
        disk.fill()
        with pytest.raises(HostDiskFull):
            await shell(box, "echo 1 > /tmp/another")
        disk.empty()
        with pytest.raises(HostDiskFull):  # what was not written then is missing now
            await shell(box, "cat /tmp/another")
    finally:
        await box.destroy()
    fresh = await backend.create(SandboxSpec(labels=labels()))
    try:
        assert (await shell(fresh, "echo 1 > /tmp/reward")).exit_code == 0
    finally:
        await fresh.destroy()


@pytest.mark.database
def test_a_full_database_disk_is_waited_for_and_told_as_what_it_is(database: Database, tenant: object) -> None:
    tries = 0

    def work(connection: Connection) -> int:
        nonlocal tries
        tries += 1
        if tries == 1:
            connection.execute(text("DO $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = 'disk_full'; END $$"))
        return tries

    assert database.as_scheduler(work) == 2
    with pytest.raises(DatabaseFull, match="no room"), database.scheduler() as connection:
        connection.execute(text("DO $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = 'disk_full'; END $$"))
