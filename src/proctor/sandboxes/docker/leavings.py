"""What an agent can leave in a container so that its engine stumbles over it.

Before each command an engine reads the container's ``/etc/passwd`` and ``/etc/group`` itself, whoever the command is
to run as. A pipe in their place makes it wait for ever, holding that container: so what is there is looked at first,
which opens nothing. What slips in between is told by an engine that answers about all but this container.
"""

from __future__ import annotations

import re

from proctor.sandboxes.docker.engine import Engine, EngineError, EngineSilent
from proctor.sandboxes.docker.transfers import Files
from proctor.sandboxes.errors import LeftBroken, NothingThere, SandboxError, TransferRefused

__all__ = ["is_of_its_users", "is_wedged", "refuse_odd_users"]

_READ_BY_ENGINES = ("/etc/passwd", "/etc/group")
_SYMLINK, _IRREGULAR = 1 << 27, (1 << 31) | (1 << 27) | (1 << 26) | (1 << 25) | (1 << 24) | (1 << 21) | (1 << 19)
"""As Go numbers the kinds of files: folder, symlink, device, pipe, socket, character device, irregular."""
_MOST_BYTES: int = 16 << 20
_LOOK_SEC: float = 10.0
_OF_ITS_USERS = re.compile(
    r"^unable to find (user|group) |bufio\.Scanner: token too long|^evalSymlinksInScope: .*/etc/(passwd|group)\b"
)


async def refuse_odd_users(files: Files, where: str) -> None:
    """Raise ``LeftBroken`` where an engine would read what is no plain file, or one without end, for its users."""
    for path in _READ_BY_ENGINES:
        try:
            found = await files.stat(path)
            if int(found["mode"]) & _SYMLINK:
                found = await files.stat(str(found.get("linkTarget") or path))
        except (NothingThere, EngineError):  # links in a ring are none to an engine either
            continue
        except TransferRefused as error:
            raise LeftBroken(f"{path}: {error.message}", where=where) from error
        if int(found["mode"]) & _IRREGULAR or int(found["size"]) > _MOST_BYTES:
            raise LeftBroken(f"{path} is no file of users any more", where=where)


def is_of_its_users(error: SandboxError) -> bool:
    """Whether an engine says that it can't read who the users of a container are."""
    return isinstance(error, EngineError) and _OF_ITS_USERS.search(error.words) is not None


async def is_wedged(engine: Engine, container: str) -> bool:
    """Whether an engine that answers does not about this container."""
    try:
        await engine.ask("GET", f"containers/{container}/json", within=_LOOK_SEC)
    except EngineSilent:
        return await engine.answers(_LOOK_SEC)
    except SandboxError:
        return False
    return False
