"""What a node has left, from its own files, and how many attempts that is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.headroom import HeldBack, Need, NodeReader, Reading, Reserved, Room, held_back_words, room_of
from proctor.headroom.reader import Disk, Memory
from proctor.kernel.clock import FakeClock

GB = 1024
READING = Reading(
    taken=100.0,
    cpus=4.0,
    memory=Memory(total_mb=10 * GB, free_mb=9 * GB),
    disk=Disk(total_mb=100 * GB, free_mb=50 * GB),
)
TWO = Reserved(rows=2, promised=Need(memory_mb=4 * GB, cpus=2, disk_mb=10 * GB))


def room(reading: Reading | None = READING, reserved: Reserved = TWO, *, now: float = 101.0) -> Room:
    return room_of(reading, reserved, now=now, overcommit=2.0)


# --- how much a claim may take ----------------------------------------------------------------------------------------


def left(found: Room) -> Need:
    assert found.left is not None
    return found.left


def test_what_is_promised_is_not_there_though_nobody_uses_it() -> None:
    assert left(room()) == Need(memory_mb=5 * GB, cpus=6, disk_mb=39 * GB)


def test_what_others_use_is_not_there_though_nobody_was_promised_it() -> None:
    memory = replace(READING.memory, free_mb=3 * GB)
    assert left(room(replace(READING, memory=memory))).memory_mb == 2 * GB


def test_grants_that_have_not_begun_are_taken_off_what_is_free() -> None:
    memory = replace(READING.memory, free_mb=6 * GB)
    begun, about_to = room(replace(READING, memory=memory)), replace(TWO, unbegun=Need(memory_mb=3 * GB))
    assert left(begun).memory_mb == 5 * GB
    assert left(room(replace(READING, memory=memory), about_to)).memory_mb == 2 * GB


def test_what_a_running_sandbox_was_promised_is_kept_for_it_while_another_takes_more_than_its_own() -> None:
    """One of two was promised 1 GB and eats 5; the other has 3 GB to come. Of the 4 that are free 3 are its own."""
    memory = replace(READING.memory, free_mb=5 * GB, promised_mb=3 * GB, sandboxes_mb=5 * GB)
    assert left(room(replace(READING, memory=memory))).memory_mb == 1 * GB


@pytest.mark.parametrize(
    "reading",
    [None, replace(READING, memory=None), replace(READING, disk=None), replace(READING, taken=90.0)],
    ids=["none", "no-memory", "no-disk", "stale"],
)
def test_what_can_t_be_read_means_one_at_a_time(reading: Reading | None) -> None:
    assert room(reading, Reserved()) == Room(rows=1)
    assert room(reading, TWO) == Room(rows=0)


def test_a_node_that_thrashes_takes_nothing_more_until_it_is_empty() -> None:
    pressed = replace(READING, memory=replace(READING.memory, pressure=30.0))
    assert room(pressed).rows == 0
    assert room(pressed, Reserved()).rows is None


def test_a_row_is_waited_for_if_it_fits_an_empty_node_and_passed_over_if_others_have_its_memory() -> None:
    busy = replace(READING, memory=replace(READING.memory, free_mb=2 * GB))
    assert room().can_hold(Need(memory_mb=9 * GB))
    assert not room().can_hold(Need(memory_mb=10 * GB))
    assert room(busy).can_hold(Need(memory_mb=5 * GB))
    assert not room(busy).can_hold(Need(memory_mb=6 * GB))


def test_a_task_that_names_more_processors_than_there_are_has_them_all() -> None:
    assert room(READING, Reserved()).has(Need(cpus=64))
    assert not room().has(Need(cpus=64))


@given(
    free=st.floats(0, 10 * GB),
    promised=st.floats(0, 20 * GB),
    coming=st.floats(0, 5 * GB),
    unbegun=st.floats(0, 1),
)
def test_granted_memory_is_never_more_than_is_unpromised_or_free(
    free: float, promised: float, coming: float, unbegun: float
) -> None:
    memory = Memory(total_mb=10 * GB, free_mb=free, promised_mb=coming)
    about_to = Need(memory_mb=promised * unbegun)
    reserved = Reserved(rows=1, promised=Need(memory_mb=promised), unbegun=about_to)
    granted = left(room(replace(READING, memory=memory), reserved)).memory_mb
    assert granted <= 10 * GB - promised
    assert granted <= free - coming - about_to.memory_mb


# --- in words ---------------------------------------------------------------------------------------------------------

CELL = UUID("0123456789abcdef0123456789abcdef")


def words(need: Need, found: Room, *, never: int = 0) -> str:
    return held_back_words(HeldBack(rows=1, never=never, first=CELL, need=need, room=found))


def test_who_waits_for_what_is_told() -> None:
    assert words(Need(memory_mb=6 * GB), room()) == (
        "cell 01234567 needs 6,144 MB of memory, 5,120 are left on this node"
    )
    assert words(Need(cpus=7), room()) == "cell 01234567 needs 7 processors, 6 are left on this node"
    assert words(Need(memory_mb=64 * GB), room(), never=1) == (
        "cell 01234567 needs 65,536 MB of memory, and this node has 9,216 to give"
    )
    two = HeldBack(rows=3, never=0, first=CELL, need=Need(cpus=7), room=room())
    assert held_back_words(two).endswith("6 are left on this node (2 more wait)")
    assert "can't be read, so it runs one attempt at a time" in words(Need(), Room(rows=0))
    assert words(Need(), replace(room(), rows=0)) == "cell 01234567 waits until this node is under less pressure"


# --- the node's own files ---------------------------------------------------------------------------------------------


def write(root: Path, **files: object) -> None:
    for name, content in files.items():
        path = root / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{content}\n")


def machine(root: Path) -> NodeReader:
    write(root, proc__meminfo="MemTotal: 10485760 kB\nMemFree: 1 kB\nMemAvailable: 4194304 kB")
    return NodeReader(FakeClock(), root, own_group=True, root=root)


def test_a_plain_machine(tmp_path: Path) -> None:
    reading = machine(tmp_path).read()
    assert reading.memory == Memory(total_mb=10 * GB, free_mb=4 * GB)
    assert reading.cpus >= 1
    assert reading.disk is not None
    assert 0 < reading.disk.free_mb <= reading.disk.total_mb


def test_groups_of_version_1_cap_the_machine_and_tell_what_sandboxes_were_promised(tmp_path: Path) -> None:
    reader = machine(tmp_path)
    write(tmp_path, proc__self__cgroup="4:memory:/own\n1:cpu:/own\n0::/")
    own, sandbox = "sys__fs__cgroup__memory__own__", "sys__fs__cgroup__memory__proctor-sandboxes__one__"
    write(
        tmp_path,
        **{
            f"{own}memory_dot_limit_in_bytes": 2 * GB * 2**20,
            f"{own}memory_dot_usage_in_bytes": 1536 * 2**20,
            f"{own}memory_dot_stat": f"cache 1\ntotal_inactive_file {512 * 2**20}",
            f"{sandbox}memory_dot_soft_limit_in_bytes": 600 * 2**20,
            f"{sandbox}memory_dot_usage_in_bytes": 100 * 2**20,
            "sys__fs__cgroup__cpu__own__cpu_dot_cfs_quota_us": 50000,
            "sys__fs__cgroup__cpu__own__cpu_dot_cfs_period_us": 100000,
        },
    )
    reading = reader.read()
    assert reading.memory == Memory(total_mb=2 * GB, free_mb=1 * GB, promised_mb=500, sandboxes_mb=100)
    assert reading.cpus == 0.5


def test_groups_of_version_2_and_pressure(tmp_path: Path) -> None:
    reader = machine(tmp_path)
    write(tmp_path, proc__self__cgroup="0::/user/own", sys__fs__cgroup__cgroup_dot_controllers="cpu memory")
    write(tmp_path, proc__pressure__memory="some avg10=9.00 avg60=0\nfull avg10=2.50 avg60=0.00 avg300=0.00 total=5")
    parent = "sys__fs__cgroup__user__"
    write(
        tmp_path,
        **{
            f"{parent}memory_dot_max": 3 * GB * 2**20,
            f"{parent}memory_dot_current": 2 * GB * 2**20,
            f"{parent}own__memory_dot_max": "max",
            f"{parent}own__cpu_dot_max": "25000 100000",
            "sys__fs__cgroup__docker__a__memory_dot_low": 0,
            "sys__fs__cgroup__docker__a__memory_dot_current": 70 * 2**20,
        },
    )
    reading = reader.read()
    assert reading.memory == Memory(total_mb=3 * GB, free_mb=1 * GB, sandboxes_mb=70, pressure=2.5)
    assert reading.cpus == 0.25


def test_what_is_not_there_is_unknown_and_not_nothing(tmp_path: Path) -> None:
    reading = NodeReader(FakeClock(), None, own_group=False, root=tmp_path).read()
    assert (reading.memory, reading.disk) == (None, None)


def test_this_machine_can_be_read(tmp_path: Path) -> None:
    reading = NodeReader(FakeClock(), tmp_path / "not" / "yet", own_group=True).read()
    assert reading.memory is not None
    assert 0 < reading.memory.free_mb <= reading.memory.total_mb
    assert reading.disk is not None
