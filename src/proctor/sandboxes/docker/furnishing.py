"""What a new container needs before its first command: who its users are, and the folders that tasks know.

Its first process says and does both when it is asked over its own input and output, in a few milliseconds. An engine
takes some 40 ms for each archive instead, since it starts a program of its own for it; that way is for images without
``mkdir``, and for Podman, which ends a container's input with the connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from proctor.sandboxes.docker.engine import Engine, EngineError
from proctor.sandboxes.docker.tars import folders_tar
from proctor.sandboxes.docker.transfers import ETC_BYTES, Files, etc_file
from proctor.sandboxes.docker.users import User, read_groups, read_users
from proctor.sandboxes.errors import SandboxError, UnsupportedByBackend

__all__ = ["furnish"]

_ANSWER_SEC = 30.0
_END = b"\n:\n"
"""What follows the users, and then the groups: no line of either looks like it."""
_LOOK_EVERY_SEC: float = 1.0
_BY_OTHERS: frozenset[int] = frozenset({137, 143})
"""Killed or told to stop, by the kernel or the engine."""
_Users = Mapping[str, User]
_Choose = Callable[[_Users, Mapping[str, int]], User]
"""From an image's users and groups, who its commands run as."""


async def furnish(engine: Engine, container: str, folders: Sequence[str], choose: _Choose) -> tuple[_Users, User]:
    """The users of a container that has just started and the chosen one, to whom those of ``folders`` belong that were
    missing; these are the same that its first process was given. Raises ``SandboxError``, and what ``choose`` does."""
    if not engine.is_podman and (told := await _asked(engine, container, choose)) is not None:
        return told
    users = read_users(await etc_file(engine, container, "passwd"))
    groups = read_groups(await etc_file(engine, container, "group"))
    user, files = choose(users, groups), Files(engine, container)
    missing = [name for name in folders if not await files.has(name)]
    if missing:
        with folders_tar([(name.lstrip("/"), 0o755) for name in missing], (user.uid, user.gid)) as tar:
            await files.fill(tar)
    return users, user


async def _asked(engine: Engine, container: str, choose: _Choose) -> tuple[_Users, User] | None:
    """``None`` where the first process did not say that all is done."""
    import aiohttp
    from aiodocker import DockerError

    asked, patience = False, asyncio.timeout(_ANSWER_SEC)
    watch = asyncio.create_task(_watch(engine, container, patience))
    try:
        async with (
            patience,
            engine.docker.containers.container(container).attach(stdin=True, stdout=True) as stream,
        ):
            await stream.write_in(b"\n")
            asked = True
            passwd, rest = await _until(stream, _END, b"\n")
            group, _ = await _until(stream, _END, b"\n" + rest)
            users = read_users(passwd)
            user = choose(users, read_groups(group))
            await stream.write_in(f"{user.uid}:{user.gid}\n".encode())
            done, _ = await _until(stream, b"\n")
    except (TimeoutError, DockerError, aiohttp.ClientError, OSError, AssertionError, EngineError) as error:
        await _refuse_no_shell(engine, container, hangs=asked and isinstance(error, TimeoutError))
        return None
    finally:
        watch.cancel()
    await _refuse_no_shell(engine, container, hangs=False, when=not done)
    return (users, user) if done == b"0" else None


async def _watch(engine: Engine, container: str, patience: asyncio.Timeout) -> None:
    """End the waiting for what has ended: an engine keeps the line to it open."""
    with suppress(SandboxError):
        while True:
            await asyncio.sleep(_LOOK_EVERY_SEC)
            if not (await engine.ask("GET", f"containers/{container}/json"))["State"]["Running"]:
                patience.reschedule(asyncio.get_running_loop().time())
                return


async def _refuse_no_shell(engine: Engine, container: str, *, hangs: bool, when: bool = True) -> None:
    """Raise ``UnsupportedByBackend`` where the first process has ended by itself, or was asked and says nothing."""
    if not when:
        return
    state = (await engine.ask("GET", f"containers/{container}/json"))["State"]
    ended = not state["Running"] and not state.get("OOMKilled") and state["ExitCode"] not in _BY_OTHERS
    if ended:
        raise UnsupportedByBackend(f"its /bin/sh is missing or ends at once ({state['ExitCode']})", where="image")
    if hangs and state["Running"]:
        raise UnsupportedByBackend(f"its /bin/sh does not answer within {_ANSWER_SEC:.0f} s", where="image")


async def _until(stream: Any, end: bytes, text: bytes = b"") -> tuple[bytes, bytes]:
    """``text`` and what is said before ``end``, at most as much as such a file may have; and what came after it."""
    while end not in text and len(text) < ETC_BYTES:
        message = await stream.read_out()
        if message is None:
            break
        text += message.data
    before, _, after = text.partition(end)
    return before, after
