"""What is asked of a sandbox and can't be meant, told before anything runs, for every backend alike."""

from __future__ import annotations

import re
from collections.abc import Mapping

from proctor.sandboxes.errors import SandboxError, TransferRefused, UnsupportedByBackend
from proctor.sandboxes.files.confined import parts_of
from proctor.sandboxes.interfaces import LAYERS, ExecRequest, SandboxSpec, Service

__all__ = ["only_itself", "refuse_layers", "refuse_services", "refuse_words", "workdir_parts"]


_LAYER_NAME = re.compile(r"[a-z0-9][a-z0-9._-]*")


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


def refuse_services(spec: SandboxSpec) -> None:
    """Raise ``UnsupportedByBackend`` where services are asked for, for backends that have none."""
    if spec.services or spec.place.volumes or spec.place.files:
        raise UnsupportedByBackend("nothing can run beside a sandbox here", where="services")


def refuse_layers(spec: SandboxSpec) -> None:
    """Raise ``UnsupportedByBackend`` for a layer that is no folder, or is to be elsewhere than where layers are."""
    for path, tree in spec.layers.items():
        if workdir_parts(path)[:-1] != workdir_parts(LAYERS) or not _LAYER_NAME.fullmatch(path.rpartition("/")[2]):
            raise UnsupportedByBackend(f"{path} is not {LAYERS}/NAME", where="layers")
        if not tree.is_absolute() or not tree.is_dir():
            raise UnsupportedByBackend(f"{tree} is no folder", where="layers")


def only_itself(sandbox: Service, name: str, own: str) -> Service:
    """What a sandbox without services has of that name. Raises ``UnsupportedByBackend``."""
    if name != own:
        raise UnsupportedByBackend(f"there is no service {name!r}", where="services")
    return sandbox
