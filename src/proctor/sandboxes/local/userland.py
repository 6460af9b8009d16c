"""What a sandbox sees: the system's own read-only paths and the folder of its own that is its root."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from proctor.sandboxes import requests
from proctor.sandboxes.errors import UnsupportedByBackend
from proctor.sandboxes.files.trees import remove_tree
from proctor.sandboxes.interfaces import LAYERS, RELAY

__all__ = [
    "AGENT",
    "AGENT_ID",
    "HOSTNAME",
    "WORKDIR",
    "Userland",
    "agent_environment",
    "host_userland",
    "image_userland",
    "interpreter",
    "make_root",
    "shared_etc",
    "workdir_parts",
]

AGENT = "agent"
WORKDIR = "/app"
AGENT_ID = 1000
HOME = "/home/agent"
HOSTNAME = "sandbox"
_PATH = f"/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:{HOME}/.local/bin"
"""What an agent installs is found, and never in the place of a program of the system: a verifier runs with the same
path, and a ``bash`` or ``python3`` of the agent's would grade it."""

_SYSTEM = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "libx32")
_IMAGE_SYSTEM = (*_SYSTEM, "etc", "opt")
_ETC = {
    "passwd": (
        "root:x:0:0:root:/root:/bin/sh\n"
        f"agent:x:{AGENT_ID}:{AGENT_ID}:agent:{HOME}:/bin/bash\n"
        "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n"
    ),
    "group": f"root:x:0:\nagent:x:{AGENT_ID}:\nnogroup:x:65534:\n",
    "hosts": f"127.0.0.1\tlocalhost {HOSTNAME}\n::1\tlocalhost\n",
    "hostname": f"{HOSTNAME}\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\n",
    "resolv.conf": "",
    "shells": "/bin/sh\n/bin/bash\n",
}
_FROM_HOST_ETC = (
    *("alternatives", "ssl/certs", "ssl/openssl.cnf", "pki/tls/certs", "ca-certificates", "ld.so.cache"),
    *("os-release", "localtime", "mime.types", "services", "protocols", "terminfo", "fonts", "python3"),
)
"""Of the host's ``/etc`` only this: what programs need to run, nothing about the host or its users."""

FOLDERS = (
    *("app", "home/agent", "root", "opt", "srv", "mnt", "run", "var/lib", "var/log", "var/cache"),
    *("logs/agent", "logs/verifier", "logs/artifacts"),
)
_OPEN_FOLDERS = ("tmp", "var/tmp")
HIDDEN = ("proc", "dev", RELAY.strip("/"), LAYERS.strip("/"))


@dataclass(frozen=True, kw_only=True)
class Userland:
    """Read-only mounts (path in the sandbox -> host path) and where the rest of the root comes from."""

    read_only: tuple[tuple[str, Path], ...]
    template: Path | None = None
    """Its entries that are not read-only mounts are copied into the sandbox's own root."""

    @property
    def mounted(self) -> frozenset[str]:
        """Top-level names that the sandbox can't write and a transfer can't touch."""
        return frozenset({path.split("/")[1] for path, _ in self.read_only} | set(HIDDEN))


def host_userland(etc: Path, *, network: bool) -> Userland:
    """The host's programs, and a made-up ``/etc`` kept at ``etc``."""
    mounts = [(f"/{name}", Path("/", name).resolve()) for name in _SYSTEM if Path("/", name).is_dir()]
    mounts.append(("/etc", etc))
    if network:
        mounts.append(("/etc/resolv.conf", Path("/etc/resolv.conf")))
    return Userland(read_only=tuple(mounts))


def image_userland(image: Path) -> Userland:
    """An unpacked image: its system read-only, everything else of it copied."""
    mounts = []
    for name in _IMAGE_SYSTEM:
        source = image / name
        resolved = source.resolve()
        if source.is_dir():
            if image.resolve() not in (resolved, *resolved.parents):
                raise UnsupportedByBackend(f"its /{name} leads out of it", where="image")
            mounts.append((f"/{name}", resolved))
    return Userland(read_only=tuple(mounts), template=image)


def shared_etc(home: Path) -> Path:
    """The ``/etc`` of host-userland sandboxes below ``home``; made anew when the host's own has changed."""
    etc = home / f"etc-{_stamp()}"
    if etc.exists():
        return etc
    draft = Path(tempfile.mkdtemp(prefix="etc.", dir=home))
    try:
        _write_etc(draft)
        with suppress(OSError):  # another process was first, with the same content
            draft.rename(etc)
    finally:
        if draft.exists():
            remove_tree(draft)
    return etc


def _stamp() -> str:
    sources = [Path("/etc", name) for name in _FROM_HOST_ETC]
    seen = [(str(path), path.stat().st_mtime_ns) for path in sources if path.exists()]
    return hashlib.sha256(repr((_ETC, seen)).encode()).hexdigest()[:16]


def _write_etc(etc: Path) -> None:
    for name, text in _ETC.items():
        (etc / name).write_text(text)
    for name in _FROM_HOST_ETC:
        source, target = Path("/etc", name), etc / name
        if source.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            _copy_readable(source, target)
    for path in (etc, *etc.rglob("*")):
        if not path.is_symlink():
            path.chmod(0o755 if path.is_dir() else 0o644)


def _copy_readable(source: Path, target: Path) -> None:
    """Copy what every user of the host may read, and nothing else."""
    if source.is_symlink():
        target.symlink_to(source.readlink())
    elif not source.stat().st_mode & 0o004:
        return
    elif source.is_dir():
        target.mkdir(exist_ok=True)
        for entry in source.iterdir():
            with suppress(FileNotFoundError):  # a package is being installed; the next look finds a new time
                _copy_readable(entry, target / entry.name)
    elif source.is_file():
        shutil.copyfile(source, target)


def make_root(root: Path, userland: Userland, owner: int | None, workdir: str) -> None:
    """Make the folders every sandbox starts with and the points its mounts lie on."""
    for name in (*FOLDERS, *_OPEN_FOLDERS, *sorted(userland.mounted)):
        (root / name).mkdir(parents=True, exist_ok=True)
    parts = workdir_parts(workdir)
    if parts[0] not in userland.mounted:
        root.joinpath(*parts).mkdir(parents=True, exist_ok=True)
    for name in _OPEN_FOLDERS:
        (root / name).chmod(0o1777)
    for folder, _, _ in os.walk(root) if owner is not None else ():
        os.chown(folder, owner, owner, follow_symlinks=False)  # type: ignore[arg-type]


def workdir_parts(workdir: str) -> tuple[str, ...]:
    """The components of a working directory; raises where it isn't an absolute path below ``/``."""
    parts = requests.workdir_parts(workdir)
    if not parts:
        raise UnsupportedByBackend("`/` itself can't be the working directory", where="workdir")
    return parts


def agent_environment() -> dict[str, str]:
    """The whole environment that an exec starts with; nothing of the host's."""
    return {
        "PATH": _PATH,
        "HOME": HOME,
        "USER": AGENT,
        "LOGNAME": AGENT,
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }


def interpreter() -> Path | None:
    """The host interpreter that the keeper runs on: reachable for every user, and on the sandbox's path."""
    found = shutil.which("python3", path="/usr/bin:/bin:/usr/local/bin")
    return Path(found) if found else None
