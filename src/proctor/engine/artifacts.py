"""The paths a task declares: taken out of its sandbox, kept beside the final state, given to a ``separate`` verifier.

As Harbor 0.26 reads them (``trial/artifact_handler.py``): the folder ``/logs/artifacts`` is always among them; a path
that is not there is no fault, the verifier says what it misses; ``exclude`` holds tar's unanchored patterns for what is
below a folder; ``destination`` names a place among the kept files, and a verifier finds everything where it was. What
was in a service beside the sandbox comes into the verifier's sandbox at the same path.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import shutil
import tarfile
from collections.abc import Sequence
from fnmatch import fnmatchcase
from pathlib import Path

from proctor.sandboxes.errors import NothingThere
from proctor.sandboxes.interfaces import Sandbox, Snapshot
from proctor.suites.tasks import Artifact

__all__ = ["MAIN", "give", "is_of_service", "pack", "take"]

MAIN: str = "main"
"""The field's name for the service that the agent is in."""

_PUBLISHED = Artifact(source="/logs/artifacts")


async def take(sandbox: Sandbox, artifacts: Sequence[Artifact], folder: Path) -> list[str]:
    """Copy what is there into the new ``folder``, by place in the list; the paths that are missing.

    Raises ``TransferRefused`` for what is hostile or beyond the caps.
    """
    folder.mkdir()
    missing = []
    for number, artifact in enumerate(_all(artifacts)):
        try:
            box = sandbox if artifact.service is None else sandbox.service(artifact.service)
            await box.get(artifact.source, folder / str(number))
        except NothingThere:
            missing.extend([artifact.source] if artifact in artifacts else [])
            continue
        await asyncio.to_thread(_leave_out, folder / str(number), artifact.exclude)
    return missing


async def give(
    sandbox: Sandbox, artifacts: Sequence[Artifact], folder: Path, *, only_of_services: bool = False
) -> None:
    """Put what ``take`` found where it was; a state holds what is of no service."""
    for number, artifact in enumerate(_all(artifacts)):
        if only_of_services and not is_of_service(artifact):
            continue
        if os.path.lexists(folder / str(number)):
            await sandbox.put(folder / str(number), artifact.source)


def pack(artifacts: Sequence[Artifact], folder: Path, archive: Path) -> Snapshot:
    """What ``take`` found as one tar, by destination or else by where it was."""
    with tarfile.open(archive, "w") as tar:
        for number, artifact in enumerate(_all(artifacts)):
            if os.path.lexists(folder / str(number)):
                own = f"{artifact.service}/" if is_of_service(artifact) else ""
                name = artifact.destination or f"{own}{artifact.source.strip('/')}"
                tar.add(folder / str(number), arcname=name.strip("/"), filter=_nobodys)
    with archive.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return Snapshot(path=archive, sha256=digest, size=archive.stat().st_size)


def is_of_service(artifact: Artifact) -> bool:
    """Whether it is in a service beside the sandbox, and so in no state of it."""
    return artifact.service not in (None, MAIN)


def _all(artifacts: Sequence[Artifact]) -> Sequence[Artifact]:
    declared = any(one.source.rstrip("/") == _PUBLISHED.source and not is_of_service(one) for one in artifacts)
    return artifacts if declared else (*artifacts, _PUBLISHED)


def _nobodys(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


def _leave_out(root: Path, patterns: Sequence[str]) -> None:
    if not patterns:
        return
    for path in sorted(root.rglob("*"), reverse=True):
        parts = path.relative_to(root).parts
        ends = ["/".join(parts[start:]) for start in range(len(parts))]
        if any(fnmatchcase(end, pattern.strip("/")) for end in ends for pattern in patterns):
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
