"""The API on a socket."""

from __future__ import annotations

import gc
import resource
import socket
import sys
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from proctor.app import Server
from proctor.kernel.errors import UsageError

if TYPE_CHECKING:
    from proctor.serving.roles import Address

__all__ = ["ServerExtraMissing", "listen", "serve_http"]

_GRACE_SEC = 10
"""How long answers that are under way may take when the server stops."""
_BACKLOG = 2048
_SWITCH_SEC = 0.0005
"""A thread that its database has answered waits so long at the most for one that computes; Python's own is ten times
that, and a request waits a dozen times."""
_UNREAD_MS = 60_000
"""Connections inherit it: one whose other end takes nothing for so long is cut, with what was to be sent to it."""

_UNSENT_BYTES = 128 * 1024
"""What the kernel keeps for one that does not read; else it is up to 4 MB of each of thousands of connections."""


class ServerExtraMissing(UsageError):
    """The server extra is not installed."""

    code = "server-extra"
    remedy = "Install Proctor with it: pip install -e '.[server]' in its folder."


def serve_http(server: Server, listener: socket.socket, ready: Callable[[str], None], told: threading.Event) -> None:
    """Answer requests on a socket of ``listen`` until ``told``. Raises ``ServerExtraMissing``."""
    try:
        import uvicorn

        from proctor.api import create_app
        from proctor.api.live import HEARTBEAT_SEC
        from proctor.api.routes.socket import MESSAGE_BYTES
    except ModuleNotFoundError as error:
        raise ServerExtraMissing() from error
    sys.setswitchinterval(_SWITCH_SEC)
    app = create_app(server)
    gc.collect()
    gc.freeze()  # what is there stays: looking for garbage in it would hold every answer up for a tenth of a second
    config = uvicorn.Config(
        app,
        http=_protocol(),
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=True,
        timeout_graceful_shutdown=_GRACE_SEC,
        timeout_keep_alive=75,
        h11_max_incomplete_event_size=64 * 1024,
        ws_max_size=MESSAGE_BYTES,
        ws_max_queue=2,
        ws_ping_interval=HEARTBEAT_SEC,
        ws_ping_timeout=HEARTBEAT_SEC,
        ws_per_message_deflate=False,
        proxy_headers=False,
    )
    running = uvicorn.Server(config)
    running.install_signal_handlers = lambda: None  # type: ignore[attr-defined]  # the roles share one handler
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]}, name="http")
    thread.start()
    host, port = listener.getsockname()[:2]
    ready(f"http://{host}:{port}")
    try:
        told.wait()
    finally:
        app.state.live.feed.close()
        running.should_exit = True
        thread.join()


def _protocol() -> Any:
    """Ours; without httptools uvicorn's own, whose parser bounds heads by itself."""
    try:
        from proctor.serving.protocol import BoundedProtocol
    except ModuleNotFoundError:
        return "auto"
    return BoundedProtocol


def listen(address: Address) -> socket.socket:
    """A socket that listens. Raises ``AddressInUse``."""
    # Of the protocol by its number: asyncio turns small delays off for such sockets alone.
    from proctor.serving.roles import AddressInUse

    _many_files()
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if address.shared:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        listener.bind((address.host, address.port))
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise AddressInUse(f"{error.strerror or error}.", where=f"{address.host}:{address.port}") from error
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _UNREAD_MS)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, _UNSENT_BYTES)
    return listener


def _many_files() -> None:
    """As many open connections as the machine lets this user have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
