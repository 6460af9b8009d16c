"""The local backend: bubblewrap sandboxes on this machine."""

from __future__ import annotations

import asyncio
import hashlib
import os
import subprocess
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from proctor.sandboxes.errors import SandboxError, SandboxStartError, UnsupportedByBackend
from proctor.sandboxes.files.archives import extract
from proctor.sandboxes.files.confined import descriptor
from proctor.sandboxes.files.trees import Copier, remove_tree, remove_tree_but_last
from proctor.sandboxes.interfaces import (
    Capabilities,
    Check,
    Footing,
    Labels,
    LimitKind,
    Network,
    Sandbox,
    SandboxSpec,
    Snapshot,
    Strength,
    TransferLimits,
)
from proctor.sandboxes.local import doctor, homes, strengths
from proctor.sandboxes.local.cgroups import ControlGroup, control_group
from proctor.sandboxes.local.launch import launch_keeper, run_once
from proctor.sandboxes.local.orphans import kill_orphans
from proctor.sandboxes.local.records import (
    RECORD,
    Record,
    is_running,
    kill_keeper,
    made_by_owner,
    read_record,
    started_at,
    write_record,
)
from proctor.sandboxes.local.sandbox import LocalSandbox, Place
from proctor.sandboxes.local.userland import (
    AGENT,
    WORKDIR,
    Userland,
    host_userland,
    image_userland,
    interpreter,
    make_root,
    shared_etc,
    workdir_parts,
)
from proctor.sandboxes.owners import owner_is_dead
from proctor.sandboxes.requests import refuse_layers, refuse_services
from proctor.sandboxes.system_paths import belongs_to_system, runs_at_start

__all__ = ["LocalBackend"]

_START_SECONDS = 30.0
"""A start takes some 20 ms; a machine under heavy load may need a thousand times that."""
_DRAFT = ".new-"
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC
_UNCAPPED = TransferLimits(entries=10**9, total_bytes=1 << 62, file_bytes=1 << 62, ratio=float("inf"))
"""For a snapshot that already passed its caps when it was written: the digest says it is that one."""


class LocalBackend:
    """Implements the ``SandboxBackend`` port with bubblewrap. ``root`` is a folder of its own."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._home: Path | None = None
        self._open: dict[str, LocalSandbox] = {}
        self._versions: dict[tuple[str, ...], Mapping[str, str]] = {}

    @property
    def name(self) -> str:
        """``local``."""
        return "local"

    def capabilities(self) -> Capabilities:
        """What works on this machine for this user."""
        return Capabilities(
            networks=frozenset({Network.NONE, Network.PUBLIC}),
            switches_network=False,
            users=frozenset({AGENT}),
            host=True,
            builds=False,
            snapshots=True,
            services=False,
            limits=strengths.strengths(),
        )

    def environment_identity(self, tools: Sequence[str]) -> Mapping[str, str]:
        """Digest of os-release and each tool's version line, read once inside a sandbox's userland."""
        wanted = tuple(sorted(set(tools)))
        if wanted not in self._versions:
            self._versions[wanted] = self._read_versions(wanted)
        return self._versions[wanted]

    def footing(self) -> Footing:
        """This machine: the folder of its sandboxes, and whatever this process may use."""
        return Footing(disk=self._root, own_group=True)

    def doctor(self) -> Sequence[Check]:
        """Whether sandboxes can start here and what to do where they can't."""
        return doctor.examine(self._root)

    async def has(self, image: str) -> bool:
        """No registry is ever asked."""
        return True

    async def pull(self, image: str | None) -> str:
        """Nothing to pull: the host's userland or an unpacked image's path."""
        return image or "host"

    async def build(self, folder: Path, timeout_sec: float, dockerfile: str = "Dockerfile") -> str:
        """Nothing is built here."""
        raise UnsupportedByBackend("an image can't be built here", where=str(folder))

    async def create(self, spec: SandboxSpec) -> Sandbox:
        """Start a sandbox. Raises ``UnsupportedByBackend`` before launch or ``SandboxStartError``."""
        userland = self._validate(spec)
        place = self._new_place(userland, spec)
        try:
            await self._fill(place, spec)
            return await self._start(place, spec)
        except BaseException:
            await asyncio.to_thread(_remove, place.folder)
            raise

    async def leaked(self, is_live: Callable[[Labels], Awaitable[bool]]) -> int:
        """How many sandboxes ``reap`` would remove."""
        folders = self._place().glob(f"{homes.PREFIX}*")
        return sum([await self._outlived(folder, is_live) for folder in folders])

    async def reap(self, is_live: Callable[[Labels], Awaitable[bool]]) -> int:
        """Remove sandboxes whose expiry passed or whose owner is dead and not live; returns how many."""
        removed = 0
        _remove_unborn(self._place())
        await asyncio.to_thread(kill_orphans)
        for folder in sorted(self._place().glob(f"{homes.PREFIX}*")):
            if await self._outlived(folder, is_live):
                known = self._open.get(folder.name)
                await (known.destroy() if known is not None else asyncio.to_thread(_reap, folder))
                removed += 1
        return removed

    async def _outlived(self, folder: Path, is_live: Callable[[Labels], Awaitable[bool]]) -> bool:
        record = read_record(folder)
        if record is None:  # its removal was cut off at the very end, or is just there
            with suppress(FileNotFoundError):
                return not any(folder.iterdir()) or time.time() - folder.stat().st_mtime > _START_SECONDS
            return False
        expired = datetime.now(UTC) >= record.labels.expires_at
        dead = not is_running(record.maker) or (not made_by_owner(record) and owner_is_dead(record.labels))
        return (expired or dead) and not await is_live(record.labels)

    def _place(self) -> Path:
        if self._home is None:
            self._home = homes.home_of(self._root)
            homes.spread(self._home)
        return self._home

    def _validate(self, spec: SandboxSpec) -> Userland:
        if spec.user not in (None, AGENT):
            raise UnsupportedByBackend(f"user {spec.user!r}: only {AGENT!r} exists in local sandboxes", where="user")
        if spec.reach.network is Network.ALLOWLIST:
            raise UnsupportedByBackend("single hosts can't be allowed; all or none can", where="network")
        if spec.base is not None and not spec.restore_system:
            changed = [path for path in spec.base.changed_system_paths if belongs_to_system(path)]
            if changed:
                raise UnsupportedByBackend(f"the system's own /{changed[0]} differs in it", where="base")
        refuse_services(spec)
        refuse_layers(spec)
        for tree in spec.layers.values():
            if os.geteuid() == 0 and not homes.reachable_by_others(tree):
                raise UnsupportedByBackend(f"{tree} lies in a folder that other users can't enter", where="layers")
        workdir_parts(spec.workdir or WORKDIR)
        if spec.image is None:
            return host_userland(shared_etc(self._place()), network=spec.reach.network is Network.PUBLIC)
        return self._image(Path(spec.image))

    def _image(self, image: Path) -> Userland:
        if not image.is_absolute() or not image.is_dir():
            raise UnsupportedByBackend(f"{image} is no folder of an unpacked image", where="image")
        if os.geteuid() == 0 and not homes.reachable_by_others(image):
            raise UnsupportedByBackend(f"{image} lies in a folder that other users can't enter", where="image")
        if not (image / "usr/bin/python3").exists():
            raise UnsupportedByBackend(f"{image} has no /usr/bin/python3 for its first process", where="image")
        return image_userland(image)

    def _new_place(self, userland: Userland, spec: SandboxSpec) -> Place:
        """Its folder appears with its labels in it: whoever is killed meanwhile leaves a draft that names him."""
        sandbox_id = homes.new_id()
        owner = homes.owner_of(sandbox_id)
        folder = self._place() / sandbox_id
        maker = started_at(os.getpid()) or ""
        draft = self._place() / f"{_DRAFT}{maker}-{sandbox_id}"
        draft.mkdir(mode=0o700)
        if owner is not None:  # its own user may pass through, nobody else
            os.chown(draft, 0, owner)
            draft.chmod(0o710)
        write_record(draft, Record(labels=spec.labels, maker=maker))
        draft.rename(folder)
        return Place(id=sandbox_id, folder=folder, owner=owner, userland=userland, relay=spec.relay)

    async def _fill(self, place: Place, spec: SandboxSpec) -> None:
        place.root.mkdir(mode=0o755)
        if place.relay_folder is not None:
            place.relay_folder.mkdir()
            place.relay_folder.chmod(0o711)
        make_root(place.root, place.userland, place.owner, spec.workdir or WORKDIR)
        if spec.base is not None:
            await asyncio.to_thread(_unpack, spec.base, place, spec.restore_system)
        elif place.userland.template is not None:
            await asyncio.to_thread(_copy_template, place.userland.template, place)

    async def _start(self, place: Place, spec: SandboxSpec) -> LocalSandbox:
        python = interpreter() if spec.image is None else Path("/usr/bin/python3")
        if python is None:
            raise self._start_error("no python3")
        group = self._group(place.id, spec)
        rlimits = strengths.ceilings(spec.limits)
        program = homes.program_for(self._place())
        try:
            launched = launch_keeper(
                program,
                place.userland,
                place.root,
                spec.reach.network,
                place.owner,
                rlimits,
                python,
                place.relay_folder,
                spec.layers,
            )
        except BaseException:
            if group is not None:
                group.remove()
            raise
        held = _for_this(strengths.strengths(), spec)
        sandbox = LocalSandbox(place, spec, launched, group, held, self._destroyed)
        self._open[place.id] = sandbox
        try:
            await asyncio.wait_for(sandbox.started(strengths.metered_limits(spec.limits)), _START_SECONDS)
            if sandbox.keeper_pid is not None:
                keeper = started_at(sandbox.keeper_pid)
                write_record(
                    place.folder, Record(labels=spec.labels, maker=started_at(os.getpid()) or "", keeper=keeper)
                )
        except (SandboxError, TimeoutError, OSError, ValueError, LookupError) as error:
            words = sandbox.last_words()
            await sandbox.destroy()
            raise self._start_error(words or str(error)) from error
        except asyncio.CancelledError:
            await sandbox.destroy()
            raise
        return sandbox

    def _destroyed(self, name: str) -> None:
        self._open.pop(name, None)

    def _group(self, name: str, spec: SandboxSpec) -> ControlGroup | None:
        group = control_group(name)
        if group is not None:
            group.make(memory=strengths.memory_bytes(spec.limits), cpus=spec.limits.cpus)
            if spec.requests is not None:
                group.promise(memory=int(spec.requests.memory_mb * 1024**2), cpus=spec.requests.cpus)
        return group

    def _start_error(self, words: str) -> SandboxStartError:
        """In the words of the doctor, where it knows the cause."""
        check = doctor.obstacle(self._root)
        if check is None:
            return SandboxStartError(words)
        return SandboxStartError(f"{check.name}: {check.detail}", remedy=check.remedy)

    def _read_versions(self, tools: tuple[str, ...]) -> Mapping[str, str]:
        userland = host_userland(shared_etc(self._place()), network=False)
        # A tool's own words, not its exit code: some know no --version and still say what they are.
        script = 'for t; do command -v "$t" >/dev/null || { echo "$t"; exit 9; }; done; cat /etc/os-release'
        script += '; for t; do printf "\\0%s" "$("$t" --version 2>&1 </dev/null | head -n 1)"; done'
        try:
            done = run_once(
                homes.program_for(self._place()),
                userland,
                homes.owner_of("probe"),
                ["/bin/sh", "-c", script, "sh", *tools],
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise self._start_error(str(error)) from error
        if done.returncode == 9:
            raise UnsupportedByBackend("this machine has no such program", where=done.stdout.decode().strip())
        if done.returncode != 0:
            raise self._start_error(done.stderr.decode(errors="replace").strip())
        release, *lines = done.stdout.split(b"\0")
        found = {tool: line.decode(errors="replace") for tool, line in zip(tools, lines, strict=True)}
        return {"os_release": hashlib.sha256(release).hexdigest(), **found}


def _for_this(found: Mapping[LimitKind, Strength], spec: SandboxSpec) -> Mapping[LimitKind, Strength]:
    """A cpu quota that nobody asked for isn't held by anything."""
    return found if spec.limits.cpus is not None else {**found, LimitKind.CPU: Strength.ABSENT}


def _copy_template(image: Path, place: Place) -> None:
    mounted = place.userland.mounted
    with descriptor(os.open(image, _FOLDER)) as source, descriptor(os.open(place.root, _FOLDER)) as target:
        # A device node or socket of an image is left out: here it could only be dead weight.
        copier = Copier(target_root=target, owner=place.owner, special=lambda *_: None)
        for name in sorted(os.listdir(image)):
            if name not in mounted:
                copier.copy(source, name, target, name)


def _unpack(base: Snapshot, place: Place, restore_system: bool) -> None:
    mounted = place.userland.mounted

    def left_out(name: str) -> bool:
        top = name.lstrip("./").partition("/")[0]
        return top in mounted or (restore_system and (belongs_to_system(name) or runs_at_start(name)))

    with descriptor(os.open(place.root, _FOLDER)) as root:
        extract(base, root, owner=place.owner, limits=_UNCAPPED, skip=left_out)


def _remove(folder: Path) -> None:
    remove_tree_but_last(folder, RECORD)


def _remove_unborn(home: Path) -> None:
    """Drafts of sandboxes whose maker was killed before they had a name."""
    for draft in home.glob(f"{_DRAFT}*"):
        if not is_running(draft.name.removeprefix(_DRAFT).partition("-")[0]):
            with suppress(OSError):  # another process does the same
                remove_tree(draft)


def _reap(folder: Path) -> None:
    record = read_record(folder)
    if record is not None:
        kill_keeper(record)
    group = control_group(folder.name)
    if group is not None:
        group.remove()
    with suppress(OSError):  # another process reaps it as well, and one of the two gets to the end
        _remove(folder)
