"""What is asked of a sandbox and can't be meant, told before anything runs, for every backend alike."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.sandboxes.errors import SandboxError, TransferRefused, UnsupportedByBackend
from proctor.sandboxes.files.confined import parts_of
from proctor.sandboxes.interfaces import ExecRequest

__all__ = ["refuse_words", "workdir_parts"]


def refuse_words(request: ExecRequest, environment: Mapping[str, str]) -> None:
    """Raise ``SandboxError`` for an empty command, a name that is no variable's, or a NUL: the caller's mistake."""
    if not request.argv:
        raise SandboxError("an empty command")
    if any("=" in name or not name for name in environment):
        raise SandboxError("an environment variable's name is empty or holds `=`")
    if any("\0" in text for text in (*request.argv, *environment, *environment.values(), request.cwd or "")):
        raise SandboxError("a NUL in a command, its environment or its folder")


def workdir_parts(workdir: str) -> tuple[str, ...]:
    """The components of a working directory. Raises ``UnsupportedByBackend`` where it is no plain absolute path."""
    try:
        return parts_of(workdir)
    except TransferRefused as error:
        raise UnsupportedByBackend(error.message, where="workdir") from error
