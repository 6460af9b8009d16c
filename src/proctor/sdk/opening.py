"""Where a command goes: to a server that is named or stored, else to this machine's own platform."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import TYPE_CHECKING, cast

from proctor.sdk.logins import LOCAL, Login, LoginMissing, Logins, checked_url
from proctor.settings import Settings, stored_logins

if TYPE_CHECKING:
    from proctor.sdk.client import Client
    from proctor.sdk.installed import Installed
    from proctor.sdk.remote.aio import AsyncClient
    from proctor.sdk.remote.client import RemoteClient
    from proctor.sdk.remote.pushing import PushReport

__all__ = ["chosen_login", "open_async", "open_client", "open_installed", "push_run_set"]


def chosen_login(settings: Settings, server: str | None = None) -> Login | None:
    """``server``: named by the command itself. ``None``: this machine's own. Raises ``LoginMissing``."""
    stored, named = Logins(stored_logins()), server or settings.server
    if named == LOCAL:
        return None
    if named is None:
        default = stored.default()
        if default is None or settings.api_key is None:
            return default
        named = default.server
    url = checked_url(named)
    if settings.api_key is not None:
        return Login(server=url, key=settings.api_key.get_secret_value())
    login = stored.of(url)
    if login is None:
        raise LoginMissing(where=url)
    return login


@contextmanager
def open_client(server: str | None = None) -> Iterator[Client]:
    """A client of wherever the command goes; both kinds answer the same calls."""
    settings = Settings()
    login = chosen_login(settings, server)
    if login is None:
        from proctor.sdk.client import Client

        with Client.open(settings) as client:
            yield client
        return
    from proctor.sdk.remote.client import RemoteClient

    with RemoteClient.open(login.server, login.key) as remote:
        yield cast("Client", remote)


@contextmanager
def open_installed(server: str | None = None) -> Iterator[Installed | RemoteClient]:
    """What is installed wherever the command goes."""
    settings = Settings()
    login = chosen_login(settings, server)
    if login is None:
        from proctor.sdk.installed import Installed

        yield Installed(settings)
        return
    from proctor.sdk.remote.client import RemoteClient

    with RemoteClient.open(login.server, login.key) as remote:
        yield remote


@asynccontextmanager
async def open_async(server: str | None = None) -> AsyncIterator[AsyncClient]:
    """A client of a server for asyncio. Raises ``LoginMissing``."""
    login = chosen_login(Settings(), server)
    if login is None:
        raise LoginMissing("The client for asyncio is a server's, and no server is named.")
    from proctor.sdk.remote.aio import AsyncClient

    async with AsyncClient.open(login.server, login.key) as client:
        yield client


def push_run_set(reference: str | None, server: str | None, on_more: Callable[[int], None]) -> PushReport:
    """Send a run set of this machine's own to the server that the command goes to. Raises ``LoginMissing``."""
    from proctor.app import open_platform
    from proctor.engine import reading
    from proctor.engine.errors import RunSetUnknown
    from proctor.sdk.remote.client import RemoteClient
    from proctor.sdk.remote.pushing import push

    settings = Settings()
    login = chosen_login(settings, server)
    if login is None:
        raise LoginMissing("A run set is pushed to a server, and no server is named.")
    with open_platform(settings) as platform, RemoteClient.open(login.server, login.key) as remote:
        try:
            row = platform.engine.read(lambda c: reading.find_run_set(c, platform.tenant, reference))
        except RunSetUnknown as error:
            error.remedy = "A run set of this machine's own is pushed: `proctor status --server local` lists them."
            raise
        return push(platform, row, remote, on_more)
