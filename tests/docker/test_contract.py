"""The docker backend on a real engine: the contract that every backend passes, and what is an engine's own."""

from __future__ import annotations

import asyncio
import json
import subprocess
import tarfile
import time
from dataclasses import replace

import pytest

from proctor.sandboxes.docker import DockerBackend
from proctor.sandboxes.errors import ImagePullFailed, LeftBroken, SandboxError, TransferRefused, UnsupportedByBackend
from proctor.sandboxes.interfaces import ExecRequest, LimitKind, Limits, SandboxSpec
from tests.contracts.confinement import ConfinementContract
from tests.contracts.sandboxes import RealSandboxContract, labels, shell
from tests.contracts.transfers import TransferContract
from tests.docker.conftest import PODMAN


def containers() -> list[str]:
    """Every container of ours that the engine has, running or not."""
    asked = ["docker", "ps", "--all", "--quiet", "--filter", "label=dev.proctor.sandbox"]
    return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()


@pytest.fixture
def backend() -> DockerBackend:
    return DockerBackend("tests")


@pytest.fixture
async def image(backend, image_folder) -> str:
    return await backend.build(image_folder, 120)


class TestDocker(RealSandboxContract, TransferContract, ConfinementContract):
    time_unit_ns = 10**9
    keeps_holes = False
    unseen = "bc"  # the engine skips sockets; to overlayfs that device is a whiteout

    @pytest.fixture
    def backend(self):
        return DockerBackend("tests")

    @pytest.fixture(autouse=True)
    async def _image(self, backend, image_folder):
        type(self).image = await backend.build(image_folder, 120)
        yield
        assert containers() == []


async def test_a_build_is_made_once_for_the_same_content(backend, image_folder, tmp_path):
    first = await backend.build(image_folder, 120)
    (tmp_path / "Dockerfile").write_text((image_folder / "Dockerfile").read_text())
    began = time.monotonic()
    assert await backend.build(tmp_path, 120) == first
    assert time.monotonic() - began < (8 if PODMAN else 2)


async def test_a_build_that_fails_says_what_was_printed(backend, base, tmp_path):
    (tmp_path / "Dockerfile").write_text(f"FROM {base}\nRUN echo what-went-wrong && exit 7\n")
    with pytest.raises(ImagePullFailed, match="what-went-wrong"):
        await backend.build(tmp_path, 120)


async def test_an_image_that_is_nowhere_is_told(backend):
    with pytest.raises(ImagePullFailed):
        await backend.pull("127.0.0.1:9/nothing:1")


async def test_commands_run_as_whom_they_are_asked_to(backend, image):
    box = await backend.create(SandboxSpec(labels=labels(), image=image))
    try:
        assert (await shell(box, "id -un; echo $HOME; pwd")).stdout == b"agent\n/home/agent\n/app\n"
        assert (await shell(box, "id -un; echo $HOME", user="root")).stdout == b"root\n/root\n"
    finally:
        await box.destroy()


async def test_root_that_patches_the_shell_is_still_killed_in_time(backend, image):
    box = await backend.create(SandboxSpec(labels=labels(), image=image, user="root"))
    try:
        lie = "#!/bin/bash\nwhile :; do read -r -t 1000 _ </dev/zero; done\n"
        plant = f"printf %b {json.dumps(lie)} > /tmp/sh; chmod 755 /tmp/sh; setsid sleep 5000 & mv /tmp/sh /bin/sh"
        await shell(box, plant)
        result = await box.exec(ExecRequest(argv=["true"], timeout_sec=1))
        assert (result.limit, result.signal) == (LimitKind.WALL, 9)
        assert result.seconds < 30
        await box.kill_all()
        top = subprocess.run(["docker", "top", box.id], capture_output=True, text=True)
        assert "sleep" not in top.stdout
    finally:
        await box.destroy()


async def test_a_container_that_is_gone_is_the_engines_trouble_and_no_answer_about_files(backend, image):
    box = await backend.create(SandboxSpec(labels=labels(), image=image))
    try:
        subprocess.run(["docker", "rm", "--force", box.id], check=True, capture_output=True)
        for asked in (shell(box, "true"), box.read("/etc/hostname", 100), box.kill_all(), box.processes()):
            with pytest.raises(SandboxError) as told:
                await asked
            assert not isinstance(told.value, TransferRefused)
    finally:
        await box.destroy()


async def test_of_a_folder_that_only_changed_itself_nothing_else_is_kept(backend, image, tmp_path):
    box = await backend.create(SandboxSpec(labels=labels(), image=image, user="root"))
    try:
        await shell(box, "chmod 711 /usr/lib; echo new > /srv/new")
        await box.kill_all()
        kept = await box.snapshot(tmp_path / "state.tar")
    finally:
        await box.destroy()
    with tarfile.open(kept.path) as archive:
        members = {one.name: one.mode for one in archive}
    assert (members["usr/lib"], members["srv/new"]) == (0o711, 0o644)
    assert not any(name.startswith("usr/lib/") for name in members)
    assert kept.changed_system_paths == ("usr/lib",)


async def test_files_that_are_called_like_whiteouts_come_back_and_remove_nothing(backend, image, tmp_path):
    spec = SandboxSpec(labels=labels(), image=image, user="root")
    box = await backend.create(spec)
    odd = "import os\nfor n in %r: open(b'/app/' + n, 'w').close()\nos.unlink('/etc/motd'); os.mkdir('/opt/.wh.x')"
    names = [b".wh.", b".wh..", b".wh...", b".wh.ok", b"ok", b".wh..wh..opq", b"a\nb", b"\xff\xfe", b"x" * 255]
    listing = ExecRequest(argv=["python3", "-c", "import os; print(sorted(os.listdir(b'/app')), os.listdir('/opt'))"])
    try:
        await shell(box, "touch /etc/motd")
        made = await box.exec(ExecRequest(argv=["python3", "-c", odd % names]))
        before = (await box.exec(listing)).stdout
        await box.kill_all()
        kept = await box.snapshot(tmp_path / "state.tar")
    finally:
        await box.destroy()
    assert made.exit_code == 0, made.stderr
    again = await backend.create(replace(spec, base=kept))
    try:
        assert (await again.exec(listing)).stdout == before == f"{sorted(names)} ['.wh.x']\n".encode()
    finally:
        await again.destroy()


@pytest.fixture
async def roots(backend, image):
    """A sandbox whose commands are root's."""
    box = await backend.create(SandboxSpec(labels=labels(), image=image, user="root"))
    yield box
    await box.destroy()


async def test_root_that_makes_the_killing_his_own_is_still_ended_for_the_time(roots):
    lie = "printf '#!/bin/bash\\nexit 0\\n' > /tmp/sh; chmod 755 /tmp/sh; mv /tmp/sh /bin/sh; exec sleep 5000"
    result = await roots.exec(ExecRequest(argv=["/bin/bash", "-c", lie], timeout_sec=2))
    assert (result.limit, result.signal) == (LimitKind.WALL, 9)
    assert result.seconds < 30
    assert await roots.processes() == 0


async def test_what_can_t_be_started_again_is_laid_on_whoever_left_it(roots):
    await shell(roots, "cp /bin/false /tmp/f; mv /tmp/f /bin/sh; kill -9 -1")
    state = ["docker", "inspect", "--format", "{{.State.Running}}", roots.id]
    while subprocess.run(state, capture_output=True, text=True, check=True).stdout.strip() == "true":
        await asyncio.sleep(0.05)
    with pytest.raises(LeftBroken):
        await roots.exec(ExecRequest(argv=["/bin/true"]))


async def test_a_name_that_no_engine_can_say_is_kept_with_its_folder(backend, image, roots, tmp_path):
    await shell(roots, "mkdir -p /app/d/e; echo kept > $(printf '/app/d/e/caf\\351'); echo too > /app/d/plain")
    await roots.kill_all()
    kept = await roots.snapshot(tmp_path / "state.tar")
    second = await backend.create(SandboxSpec(labels=labels(), image=image, base=kept))
    try:
        assert (await shell(second, "cat /app/d/e/* /app/d/plain")).stdout == b"kept\ntoo\n"
    finally:
        await second.destroy()


async def test_an_images_own_volumes_are_part_of_a_final_state_or_refused(backend, base, tmp_path):
    (tmp_path / "image").mkdir()
    dockerfile = f"FROM {base}\nRUN mkdir /data && echo of-the-image > /data/old\nVOLUME /data\n"
    (tmp_path / "image" / "Dockerfile").write_text(dockerfile)
    image = await backend.build(tmp_path / "image", 60)
    if PODMAN:
        with pytest.raises(UnsupportedByBackend, match="/data"):
            await backend.create(SandboxSpec(labels=labels(), image=image))
        return
    first = await backend.create(SandboxSpec(labels=labels(), image=image))
    try:
        assert (await shell(first, "cat /data/old; rm /data/old; echo mine > /data/new")).stdout == b"of-the-image\n"
        await first.kill_all()
        kept = await first.snapshot(tmp_path / "state.tar")
    finally:
        await first.destroy()
    second = await backend.create(SandboxSpec(labels=labels(), image=image, base=kept))
    try:
        assert (await shell(second, "ls /data; cat /data/new")).stdout == b"new\nmine\n"
    finally:
        await second.destroy()


async def test_more_processors_than_there_are_is_all_of_them(backend, image):
    box = await backend.create(SandboxSpec(labels=labels(), image=image, limits=Limits(cpus=4096)))
    try:
        assert (await shell(box, "true")).exit_code == 0
    finally:
        await box.destroy()


async def test_users_are_found_where_an_image_keeps_them(backend, base, tmp_path):
    moved = "mkdir /store && mv /etc/passwd /store/users && ln -s /store/users /etc/passwd"
    (tmp_path / "Dockerfile").write_text(f"FROM {base}\nRUN useradd --uid 1234 agent && {moved}\n")
    image = await backend.build(tmp_path, 60)
    box = await backend.create(SandboxSpec(labels=labels(), image=image, user="agent"))
    try:
        assert (await shell(box, "id -u")).stdout == b"1234\n"
    finally:
        await box.destroy()


async def test_users_of_a_file_that_a_shell_might_misread_are_read_as_they_are(backend, base, tmp_path):
    line = r"odd\name:x:1234:1235:a\tb \c::/bin/sh"
    (tmp_path / "passwd").write_text(f"root:x:0:0:root:/root:/bin/sh\n{line}\nlast:x:4321:4322::/:/bin/sh")
    (tmp_path / "Dockerfile").write_text(f"FROM {base}\nCOPY passwd /etc/passwd\n")
    image = await backend.build(tmp_path, 60)
    box = await backend.create(SandboxSpec(labels=labels(), image=image, user="last"))
    try:
        assert (await shell(box, "stat -c %u:%g:%a /logs/agent /tests")).stdout == b"4321:4322:755\n" * 2
    finally:
        await box.destroy()


async def test_an_image_without_the_programs_for_it_has_its_folders_all_the_same(backend, base, tmp_path):
    (tmp_path / "Dockerfile").write_text(
        f"FROM {base}\nRUN useradd --uid 1234 agent && mkdir -p /logs /a/b && rm /bin/mkdir\n"
    )
    image = await backend.build(tmp_path, 60)
    box = await backend.create(SandboxSpec(labels=labels(), image=image, user="agent", workdir="/a/c/d"))
    try:
        found = await shell(box, "stat -c %u /logs /logs/agent /logs/verifier /solution /a /a/c /a/c/d")
        assert found.stdout.split() == [b"0", b"1234", b"1234", b"1234", b"0", b"1234", b"1234"]
    finally:
        await box.destroy()


async def test_what_was_removed_is_not_made_again_when_the_container_is(backend, image):
    box = await backend.create(SandboxSpec(labels=labels(), image=image))
    try:
        assert (await shell(box, "rm -r /solution /logs", user="root")).exit_code == 0
        await box.kill_all()
        assert (await shell(box, "test -e /solution || test -e /logs")).exit_code == 1
    finally:
        await box.destroy()
