"""Who we are to a registry: what ``docker login`` left for this user, or what his credential helper says.

The file is that of the docker command line (docs.docker.com/reference/cli/docker/login): ``auths``, ``credHelpers``
and ``credsStore``. What is found goes to the engine with the one request that needs it, and nowhere else.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from proctor.sandboxes.errors import ImagePullFailed
from proctor.sandboxes.registries import HUB

__all__ = ["Credentials"]

_HUBS_KEY = "https://index.docker.io/v1/"
_HELPER_SECONDS = 30.0
_NOT_FOUND = "credentials not found"
"""What every helper says, in these words, of a registry it knows nothing of."""


class Credentials:
    """The credentials of one file, read anew each time, since a login may come at any time."""

    def __init__(self, file: Path) -> None:
        self._file = file

    async def header(self, registry: str) -> Mapping[str, str]:
        """``X-Registry-Auth`` for a pull from a registry; nothing where there are none. Raises ``ImagePullFailed``."""
        found = await self._of(self._read(), _HUBS_KEY if registry == HUB else registry)
        return {"X-Registry-Auth": _encoded(found)} if found else {}

    async def headers_of_all(self) -> Mapping[str, str]:
        """``X-Registry-Config`` for a build, which may begin from an image of any of the registries in the file."""
        config = self._read()
        names = dict.fromkeys((*config.get("auths", {}), *config.get("credHelpers", {})))
        found = {}
        for name in names:
            with suppress(ImagePullFailed):  # a build that needs it is refused by the registry
                found[name] = await self._of(config, name)
        found = {name: one for name, one in found.items() if one}
        return {"X-Registry-Config": _encoded(found)} if found else {}

    def _read(self) -> Mapping[str, Any]:
        try:
            config = json.loads(self._file.read_bytes())
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise ImagePullFailed(f"credentials that can't be read: {error}", where=str(self._file)) from error
        sections = [config.get(name, {}) for name in ("auths", "credHelpers")] if isinstance(config, dict) else [None]
        if not all(isinstance(section, dict) for section in sections):
            raise ImagePullFailed("credentials that can't be read: no such file of docker's", where=str(self._file))
        known: Mapping[str, Any] = config
        return known

    async def _of(self, config: Mapping[str, Any], name: str) -> Mapping[str, str]:
        helper = config.get("credHelpers", {}).get(name) or config.get("credsStore")
        if helper:
            return await self._helped(str(helper), name)
        entry = config.get("auths", {}).get(name)
        if not isinstance(entry, dict):
            return {}
        if entry.get("identitytoken"):
            return {"identitytoken": str(entry["identitytoken"]), "serveraddress": name}
        try:
            user, colon, password = base64.b64decode(entry.get("auth", ""), validate=True).decode().partition(":")
        except (ValueError, TypeError) as error:
            raise ImagePullFailed(f"the credentials of {name} can't be read", where=str(self._file)) from error
        return {"username": user, "password": password, "serveraddress": name} if colon else {}

    async def _helped(self, helper: str, name: str) -> Mapping[str, str]:
        """Ask a program of the user's; its name is his, so it is run, but by no shell."""
        if os.sep in helper:
            raise ImagePullFailed(f"{helper!r} names no credential helper", where=str(self._file))
        try:
            async with asyncio.timeout(_HELPER_SECONDS):
                said, code = await _asked(f"docker-credential-{helper}", name)
            if code and _NOT_FOUND in said:
                return {}
            found = json.loads(said)
            user, secret = str(found["Username"]), str(found["Secret"])
        except (OSError, ValueError, KeyError, TypeError, TimeoutError) as error:
            why = f"docker-credential-{helper} gives no credentials for {name}"
            raise ImagePullFailed(why, where=str(self._file)) from error
        if user == "<token>":
            return {"identitytoken": secret, "serveraddress": name}
        return {"username": user, "password": secret, "serveraddress": name}


async def _asked(program: str, name: str) -> tuple[str, int]:
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        program, "get", stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
    )
    try:
        said, _ = await process.communicate(name.encode())
    except BaseException:
        process.kill()
        await process.wait()
        raise
    return said.decode(), int(process.returncode or 0)


def _encoded(found: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(found).encode()).decode()
