"""Suites as one tar: how a client sends a folder of tasks, and how a server takes it from a stranger."""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from proctor.kernel.errors import UsageError
from proctor.sandboxes.errors import TransferRefused
from proctor.sandboxes.files.archives import unpack
from proctor.sandboxes.files.confined import descriptor
from proctor.sandboxes.interfaces import TransferLimits
from proctor.suites.loaded import LoadedSuite
from proctor.suites.loading import is_task_folder, load_suite

__all__ = ["UploadInvalid", "loaded_upload", "packed"]

LIMITS = TransferLimits(total_bytes=2 << 30, entries=500_000)
"""Of one suite; the largest public ones have some hundred megabytes."""


class UploadInvalid(UsageError):
    """What was sent is no tar of a folder of tasks."""

    code = "suite-upload"
    remedy = "`proctor suite import FOLDER --server URL` makes and sends one."


@contextmanager
def packed(folders: Sequence[tuple[Path, str]]) -> Iterator[IO[bytes]]:
    """Folders as a tar, each under the name that is given; ``.``: its own name is not in it.

    A suite's links to tasks that lie elsewhere are followed, as they are where it is read: what they lead to is sent.
    """
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for folder, name in folders:
                _add(tar, folder, name)
        file.seek(0)
        yield file


def _add(tar: tarfile.TarFile, folder: Path, name: str) -> None:
    links = {} if is_task_folder(folder) else _links(folder, name)
    tar.add(folder.resolve(), arcname=name, filter=lambda one: None if one.name in links else _anonymous(one))
    for place, target in links.items():
        if is_task_folder(target):
            tar.add(target, arcname=place, filter=_anonymous)


def _links(folder: Path, name: str) -> dict[str, Path]:
    """The links directly below a folder: their places in the tar, and what they lead to."""
    return {f"{name}/{one.name}": one.resolve() for one in folder.iterdir() if one.is_symlink()}


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


@contextmanager
def loaded_upload(file: IO[bytes]) -> Iterator[LoadedSuite]:
    """The suite in a tar that somebody sent, unpacked without trust for as long. Raises ``UploadInvalid``."""
    with tempfile.TemporaryDirectory(prefix="proctor-upload-") as name:
        folder = Path(name) / "suite"
        folder.mkdir()
        try:
            with descriptor(os.open(folder, os.O_PATH | os.O_DIRECTORY)) as root:
                unpack(file, root, owner=None, limits=LIMITS)
        except TransferRefused as error:
            raise UploadInvalid(error.message, where=error.where) from error
        yield _loaded(folder)


def _loaded(folder: Path) -> LoadedSuite:
    """A server's own paths are nobody's business: places are told as they are in what was sent."""
    try:
        return load_suite(folder)
    except UsageError as error:
        if error.where is not None:
            error.where = error.where.removeprefix(str(folder)).lstrip("/") or None
        raise
