"""Services beside a sandbox on a real engine: who sees whom, what they are held to, and that nothing of them stays."""

from __future__ import annotations

import socket
import subprocess
import threading
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace
from datetime import timedelta
from ipaddress import ip_address
from pathlib import Path
from uuid import uuid4

import psutil
import pytest

from proctor.sandboxes.docker import DockerBackend, services
from proctor.sandboxes.docker.cell_networks import BRIDGES
from proctor.sandboxes.docker.labels import OURS
from proctor.sandboxes.errors import ServiceFailed, ServiceFault, ServiceStopped, UnsupportedByBackend
from proctor.sandboxes.interfaces import (
    Condition,
    ExecRequest,
    Network,
    Place,
    Probe,
    Reach,
    Sandbox,
    SandboxSpec,
    ServiceSpec,
    Volume,
)
from tests.contracts.sandboxes import everybody_is_live, labels, nobody_is_live, shell

SERVE = "import socket\ns = socket.create_server(('0.0.0.0', 80))\nwhile True: s.accept()[0].sendall(b'here')"
REACH = """import socket, sys
for name in sys.argv[1:]:
    host, _, port = name.rpartition(":")
    try:
        print(name, socket.create_connection((host, int(port)), 2).recv(9).decode())
    except OSError as error:
        print(name, "-")
"""
READY = Probe(
    argv=("python3", "-c", "import socket; socket.create_connection(('127.0.0.1', 80))"), interval_sec=1, retries=20
)


@pytest.fixture
async def backend(image_folder: Path) -> AsyncIterator[DockerBackend]:
    """One whose mark is of this test alone: nothing with it is left."""
    backend = DockerBackend(f"tests-{uuid4().hex}")
    yield backend
    assert await left(backend) == []


@pytest.fixture
async def image(backend: DockerBackend, image_folder: Path) -> str:
    return await backend.build(image_folder, 120)


def server(image: str, name: str = "db", **more: object) -> ServiceSpec:
    place = more.pop("place", None) or Place(name=name)
    assert isinstance(place, Place)
    spec = ServiceSpec(place=place, image=image, command=("python3", "-c", SERVE), probe=READY)
    return replace(spec, **more)  # type: ignore[arg-type]


async def left(backend: DockerBackend) -> list[str]:
    listed = (["ps", "-aq"], ["network", "ls", "-q"], ["volume", "ls", "-q"])
    only = ["--filter", f"label={OURS}={backend._mark}"]
    said = [subprocess.run(["docker", *words, *only], capture_output=True, text=True, check=True) for words in listed]
    return [name for one in said for name in one.stdout.split()]


async def reaches(box: Sandbox, *places: str, service: str | None = None) -> list[str]:
    where = box if service is None else box.service(service)
    result = await where.exec(ExecRequest(argv=["python3", "-c", REACH, *places], cwd="/", timeout_sec=60))
    return [line.partition(" ")[0] for line in result.stdout.decode().splitlines() if line.endswith("here")]


@pytest.fixture
def hosts_server() -> Iterator[int]:
    """A server of this machine on all of its addresses."""
    with socket.create_server(("0.0.0.0", 0)) as listening:
        threading.Thread(target=_answer, args=(listening,), daemon=True).start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)


def _answer(listening: socket.socket) -> None:
    try:
        while True:
            with listening.accept()[0] as line:
                line.sendall(b"here")
    except OSError:
        return


def addresses_of_this_machine() -> list[str]:
    found = [one.address for all_of in psutil.net_if_addrs().values() for one in all_of if one.family == socket.AF_INET]
    return [address for address in found if not ip_address(address).is_loopback]


def addresses(*containers: str) -> list[str]:
    shown = ["docker", "inspect", "--format", "{{range .NetworkSettings.Networks}}{{.IPAddress}} {{end}}", *containers]
    return subprocess.run(shown, capture_output=True, text=True, check=True).stdout.split()


def first_addresses(box: Sandbox) -> list[str]:
    """Where an engine would put the machine in the networks that a sandbox is in."""
    return [str(ip_address(int(ip_address(address)) & ~63 | 1)) for address in addresses(box.id)]


async def test_without_a_network_a_cell_sees_itself_and_nothing_of_the_machine(backend, image, hosts_server):
    box = await backend.create(SandboxSpec(labels=labels(), image=image, services=(server(image),)))
    try:
        assert await reaches(box, "db:80") == ["db:80"]
        hosts = {*addresses_of_this_machine(), *first_addresses(box), "172.17.0.1"}
        assert len(first_addresses(box)) == 1
        for service in (None, "db"):
            assert await reaches(box, *(f"{address}:{hosts_server}" for address in hosts), service=service) == []
        names = await shell(box, "getent hosts some.name.test")
        assert (names.exit_code, names.stdout) == (2, b"")
        assert names.seconds < 10
        bridges = [name for name in psutil.net_if_addrs() if name.startswith(BRIDGES)]
        assert bridges
        families = {one.family for name in bridges for one in psutil.net_if_addrs()[name]}
        assert socket.AF_INET not in families
    finally:
        await box.destroy()


async def test_another_cell_is_neither_found_by_name_nor_by_address(backend, image):
    one = await backend.create(SandboxSpec(labels=labels(), image=image, services=(server(image, "db"),)))
    two = await backend.create(SandboxSpec(labels=labels(), image=image, services=(server(image, "cache"),)))
    try:
        (address,) = (await shell(one, "getent hosts db")).stdout.decode().split()[:1]
        assert await reaches(one, "db:80", f"{address}:80") == ["db:80", f"{address}:80"]
        assert await reaches(two, "cache:80", "db:80", f"{address}:80") == ["cache:80"]
    finally:
        await one.destroy()
        await two.destroy()


async def test_networks_of_a_task_keep_its_services_apart_also_where_they_lead_outside(backend, image):
    front = server(image, place=Place(name="front", networks=frozenset({"a", "b"})))
    back = server(image, place=Place(name="back", networks=frozenset({"b"}), outward=False))
    spec = SandboxSpec(labels=labels(), image=image, services=(back, front), place=Place(networks=frozenset({"a"})))
    for network in (Network.NONE, Network.PUBLIC):
        box = await backend.create(replace(spec, reach=Reach(network=network)))
        try:
            assert await reaches(box, "front:80", "back:80") == ["front:80"]
            assert await reaches(box, "front:80", "back:80", service="front") == ["front:80", "back:80"]
            found = addresses(f"{box.id}-front", f"{box.id}-back")
            seen = await reaches(box, *(f"{address}:80" for address in found))
            assert len(seen) == 1, "the one network that main and front share"
        finally:
            await box.destroy()


async def test_a_public_cell_leads_outside_and_one_without_a_way_does_not(backend, image, hosts_server):
    inner = server(image, place=Place(name="inner", outward=False))
    spec = SandboxSpec(labels=labels(), image=image, services=(inner,), reach=Reach(network=Network.PUBLIC))
    box = await backend.create(spec)
    try:
        (host, *_) = addresses_of_this_machine()
        assert await reaches(box, "inner:80", f"{host}:{hosts_server}") == ["inner:80", f"{host}:{hosts_server}"]
        assert await reaches(box, f"{host}:{hosts_server}", service="inner") == []
    finally:
        await box.destroy()


async def test_services_are_held_to_what_a_sandbox_is_and_see_nothing_of_it(backend, image):
    box = await backend.create(SandboxSpec(labels=labels(), image=image, services=(server(image),)))
    try:
        for one in (box, box.service("db")):
            held = await one.exec(
                ExecRequest(argv=["/bin/sh", "-c", "grep CapBnd /proc/self/status; ls -d /proc/[0-9]*"])
            )
            capabilities = int(held.stdout.split()[1], 16)
            assert not capabilities & (1 << 13 | 1 << 27 | 1 << 29 | 1 << 12 | 1 << 21), "raw, mknod, audit, net, sys"
            assert held.stdout.count(b"/proc/") < 8
        shown = ["docker", "inspect", "--format", "{{.HostConfig.Memory}} {{.HostConfig.PidsLimit}}"]
        found = subprocess.run([*shown, box.id, f"{box.id}-db"], capture_output=True, text=True, check=True).stdout
        assert set(found.splitlines()) == {"4096000000 1024"}
        with pytest.raises(UnsupportedByBackend, match="no service 'cache'"):
            box.service("cache")
        assert box.service("main") is box
    finally:
        await box.destroy()


async def test_files_and_volumes_are_there_before_a_service_starts(backend, base, image, tmp_path):
    root = await backend.pull(base)
    (tmp_path / "seed").mkdir()
    (tmp_path / "seed" / "a").write_text("from-the-task")
    (tmp_path / "seed" / "link").symlink_to("/etc/shadow")
    place = Place(name="job", files={"/seed": tmp_path / "seed"}, volumes={"/out": Volume(name="v")})
    job = ServiceSpec(place=place, image=root, entrypoint=("cp", "/seed/a", "/out/"), probe=Probe())
    main = Place(needs={"job": Condition.COMPLETED}, volumes={"/in": Volume(name="v", read_only=True)})
    spec = SandboxSpec(labels=labels(), image=image, services=(job,), place=main, user="root")
    box = await backend.create(spec)
    try:
        assert (await shell(box, "cat /in/a")).stdout == b"from-the-task"
        assert (await shell(box, "touch /in/x")).exit_code != 0
        with pytest.raises(ServiceStopped, match="exit code 0"):
            await box.service("job").exec(ExecRequest(argv=["true"]))
        await box.service("job").get("/seed", tmp_path / "got")
        assert (tmp_path / "got" / "a").read_text() == "from-the-task"
        assert (tmp_path / "got" / "link").readlink() == Path("/etc/shadow")
    finally:
        await box.destroy()


F = ServiceFault
FAILING: Sequence[tuple[str, dict[str, object], F, str]] = [
    ("unhealthy", {"command": ("sleep", "60"), "probe": replace(READY, retries=2)}, F.UNHEALTHY, "within 2 s"),
    ("dies", {"command": ("sh", "-c", "echo words; exit 4")}, F.EXITED, "code 4 before it was healthy.*words"),
    ("ends", {"command": ("true",)}, F.EXITED, "code 0 before it was healthy"),
    ("quiet", {"command": ("sh", "-c", "exit 4"), "probe": Probe()}, F.EXITED, "ended with exit code 4"),
    ("no program", {"command": ("/no/such",)}, F.NO_PROGRAM, "service 'db' did not start: .*no such"),
    ("no such name", {"command": ("nosuch",)}, F.NO_PROGRAM, "service 'db' did not start: .*not found"),
    ("no right", {"command": ("/etc/passwd",)}, F.NO_PROGRAM, "service 'db' did not start: .*denied"),
    ("killed", {"command": ("sh", "-c", "exit 137")}, F.KILLED, "code 137"),
    ("told to stop", {"command": ("sh", "-c", "exit 143")}, F.KILLED, "code 143"),
    ("out of memory", {"command": ("python3", "-c", "a = bytearray(8 << 30); a[::4096] = b'1' * (2 << 20)")},
     F.KILLED, "ended with exit code 137"),
]  # fmt: skip


@pytest.mark.parametrize(("how", "change", "fault", "told"), FAILING, ids=[one[0] for one in FAILING])
async def test_a_service_that_never_is_ready_is_named_and_all_of_it_removed(backend, image, how, change, fault, told):
    needs = {} if how == "quiet" else {"db": Condition.HEALTHY}
    ready = replace(READY, argv=("test", "-e", "/tmp/ready"))
    slow = server(image, "slow", command=("sh", "-c", "sleep 2; touch /tmp/ready; sleep 60"), probe=ready)
    spec = SandboxSpec(labels=labels(), image=image, services=(server(image, **change), slow), place=Place(needs=needs))
    with pytest.raises(ServiceFailed, match=f"(?s){told}") as caught:
        await backend.create(spec)
    assert (caught.value.service, caught.value.fault) == ("db", fault)
    assert await left(backend) == []


async def test_a_service_that_ends_at_once_is_never_taken_for_ready(backend, image):
    dying = server(image, command=("sh", "-c", "sleep 0.1; exit 3"), probe=Probe())
    for _ in range(4):
        with pytest.raises(ServiceFailed, match="ended with exit code 3"):
            await backend.create(SandboxSpec(labels=labels(), image=image, services=(dying,)))


async def test_a_service_without_a_healthcheck_that_others_wait_for_is_refused(backend, image):
    waits = Place(needs={"db": Condition.HEALTHY})
    spec = SandboxSpec(labels=labels(), image=image, services=(server(image, probe=Probe()),), place=waits)
    with pytest.raises(UnsupportedByBackend, match="has a healthcheck") as caught:
        await backend.create(spec)
    assert caught.value.where == "services.db"


async def test_a_job_that_never_ends_is_the_services_doing(backend, image, monkeypatch):
    monkeypatch.setattr(services, "UP_SECONDS", 3.0)
    waits = Place(needs={"job": Condition.COMPLETED})
    job = server(image, "job", command=("sh", "-c", "echo for ever; sleep 60"), probe=Probe())
    with pytest.raises(ServiceFailed, match="not ready within 3 s: for ever") as caught:
        await backend.create(SandboxSpec(labels=labels(), image=image, services=(job,), place=waits))
    assert (caught.value.service, caught.value.fault) == ("job", ServiceFault.UNHEALTHY)


async def test_an_images_own_healthcheck_counts_where_compose_has_none(backend, base, image, tmp_path):
    check = "HEALTHCHECK --interval=1s --retries=9 CMD test -e /ready\n"
    (tmp_path / "Own").write_text(f"FROM {base}\n{check}CMD sleep 1; touch /ready; sleep 60\n")
    own = await backend.build(tmp_path, 120, "Own")
    service = ServiceSpec(place=Place(name="db"), image=own)
    box = await backend.create(
        SandboxSpec(labels=labels(), image=image, services=(service,), place=Place(needs={"db": Condition.HEALTHY}))
    )
    try:
        assert (await box.service("db").exec(ExecRequest(argv=["test", "-e", "/ready"]))).exit_code == 0
    finally:
        await box.destroy()


async def test_what_a_dead_worker_left_is_counted_and_reaped(backend, image):
    mine = labels()
    old = replace(mine, expires_at=mine.expires_at - timedelta(days=400))
    volume = Place(name="db", volumes={"/data": Volume(name="rows")})
    service = server(image, place=volume)
    kept = await backend.create(SandboxSpec(labels=mine, image=image, services=(service,)))
    lost = await backend.create(SandboxSpec(labels=old, image=image, services=(service,)))
    assert len(await left(backend)) == 8
    other = DockerBackend(backend._mark)
    assert await other.leaked(everybody_is_live) == 0
    assert await other.leaked(nobody_is_live) == 4
    assert await other.reap(nobody_is_live) == 4
    assert await other.leaked(nobody_is_live) == 0
    assert len(await left(backend)) == 4
    await kept.destroy()
    await lost.destroy()


async def test_a_live_sandboxs_own_backend_reaps_it_whole(backend, image):
    mine = labels()
    old = replace(mine, expires_at=mine.expires_at - timedelta(days=400))
    await backend.create(SandboxSpec(labels=old, image=image, services=(server(image),)))
    assert await backend.reap(nobody_is_live) == 3
    assert await backend.leaked(nobody_is_live) == 0


async def test_an_allowlist_is_the_sandboxs_own_and_leaves_its_services_in_reach(backend, image, hosts_server):
    listed = Reach(network=Network.ALLOWLIST, hosts=("localhost",))
    spec = SandboxSpec(labels=labels(), image=image, services=(server(image),), reach=listed)
    box = await backend.create(spec)
    try:
        assert await reaches(box, "db:80") == ["db:80"]
        assert "db" in (await shell(box, "echo $no_proxy")).stdout.decode().strip().split(",")
        assert await reaches(box, f"127.0.0.1:{hosts_server}") == []
        asked = "import socket; s = socket.create_connection(('127.0.0.1', 3128)); s.sendall({!r}); print(s.recv(99))"
        program = asked.format(b"CONNECT a:1 HTTP/1.1\r\n\r\n")
        refused = await box.exec(ExecRequest(argv=["python3", "-c", program]))
        assert b"403" in refused.stdout
        proxy = await box.service("db").exec(ExecRequest(argv=["sh", "-c", "echo ${http_proxy:-none}"], cwd="/"))
        assert proxy.stdout == b"none\n"
        with pytest.raises(UnsupportedByBackend):
            await box.set_reach(Reach())
    finally:
        await box.destroy()
