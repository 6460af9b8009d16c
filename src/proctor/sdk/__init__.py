"""The typed client that the CLI and scripts use.

from proctor.sdk import connect

with connect("https://proctor.example.org") as client:  # the key of `proctor login`, or PROCTOR_API_KEY
    for row in client.leaderboard("nightly").rows:
        print(row.profile, row.rates.strict)
"""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from proctor.sdk.client import Client
    from proctor.sdk.remote.aio import AsyncClient

__all__ = ["connect", "connect_async"]


def connect(server: str | None = None) -> AbstractContextManager[Client]:
    """A client of a server, by default of the one that commands go to; ``"local"``: this machine's own platform.

    Raises ``LoginMissing`` where there is no key for it.
    """
    from proctor.sdk.opening import open_client

    return open_client(server)


def connect_async(server: str | None = None) -> AbstractAsyncContextManager[AsyncClient]:
    """The same for asyncio; of servers only. Raises ``LoginMissing``."""
    from proctor.sdk.opening import open_async

    return open_async(server)
