"""What no system call can carry, told before anything runs, for every backend alike."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.sandboxes.errors import SandboxError
from proctor.sandboxes.interfaces import ExecRequest

__all__ = ["refuse_words"]


def refuse_words(request: ExecRequest, environment: Mapping[str, str]) -> None:
    """Raise ``SandboxError`` for an empty command, a name that is no variable's, or a NUL: the caller's mistake."""
    if not request.argv:
        raise SandboxError("an empty command")
    if any("=" in name or not name for name in environment):
        raise SandboxError("an environment variable's name is empty or holds `=`")
    if any("\0" in text for text in (*request.argv, *environment, *environment.values(), request.cwd or "")):
        raise SandboxError("a NUL in a command, its environment or its folder")
