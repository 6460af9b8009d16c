"""The client for asyncio has every call of the plain one, so that whoever adds a call cannot forget it there."""

from __future__ import annotations

import asyncio
import inspect

from proctor.sdk.remote.aio import AsyncClient
from proctor.sdk.remote.client import RemoteClient

OF_THE_COMMAND_LINE = {"how_to_go_on", "tasks_further_down", "session", "check"}
WITHOUT_A_SERVER = "http://127.0.0.1:9"


def calls(of: object) -> set[str]:
    return {name for name, _ in inspect.getmembers(of, callable) if not name.startswith("_")}


def test_every_call_of_the_client_can_be_awaited() -> None:
    async def missing() -> dict[str, set[str]]:
        with RemoteClient.open(WITHOUT_A_SERVER, "key") as plain:
            async with AsyncClient.open(WITHOUT_A_SERVER, "key") as client:
                found = {"": calls(plain) - calls(client) - OF_THE_COMMAND_LINE}
                for name, part in vars(client).items():
                    if not name.startswith("_") and not callable(part):
                        found[name] = calls(getattr(plain, name)) - calls(part) - OF_THE_COMMAND_LINE
                return found

    found = asyncio.run(missing())
    assert set(found) > {"", "datasets", "evaluations", "analyses"}
    assert not any(found.values()), found
