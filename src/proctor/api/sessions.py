"""Sessions of browsers: the key in a cookie that no script reads, and when it is taken for the key of a request.

A browser sends a cookie with whatever any page has it ask, so that the cookie alone opens nothing. A request must also
carry the header ``X-Proctor-Page``: a page of another origin would have to ask first whether it may send that (CORS),
and nobody is ever told yes. A WebSocket can't carry a header of a page's, but its ``Origin`` says whose page opened it.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import Response

from proctor.kernel.errors import UsageError

__all__ = ["COOKIE", "PAGE_HEADER", "OriginRefused", "cookie_of", "is_own", "sign_in", "sign_out"]

COOKIE: str = "proctor_session"
PAGE_HEADER: str = "x-proctor-page"
LASTS_SEC: int = 30 * 86_400
"""A browser forgets the key after a month; what the key itself is good for is shorter where it says so."""


class OriginRefused(UsageError):
    """Pages of other sites may not do that."""

    code = "origin"
    remedy = "Use a page of this server's own, or a program that sends no Origin; a proxy has to pass on the Host."


def is_own(connection: HTTPConnection) -> bool:
    """Whether no browser says which page sent it, or one that shows a page of this server."""
    origin = connection.headers.get("origin")
    return origin is None or urlsplit(origin).netloc == connection.headers.get("host")


def cookie_of(connection: HTTPConnection) -> str | None:
    """The key of the cookie, where a page of ours sent it; a key in the header is always the one that counts."""
    if "authorization" in connection.headers or not _is_of_a_page(connection):
        return None
    return connection.cookies.get(COOKIE) or None


def _is_of_a_page(connection: HTTPConnection) -> bool:
    if connection.scope["type"] == "websocket":
        return "origin" in connection.headers and is_own(connection)
    return connection.headers.get(PAGE_HEADER) == "1"


def sign_in(connection: HTTPConnection, response: Response, key: str) -> None:
    """Have the browser keep a key that opens something."""
    _set(connection, response, key, LASTS_SEC)


def sign_out(connection: HTTPConnection, response: Response) -> None:
    """Have the browser forget it."""
    _set(connection, response, "", 0)


def _set(connection: HTTPConnection, response: Response, value: str, seconds: int) -> None:
    secure = _is_encrypted(connection)
    response.set_cookie(COOKIE, value, max_age=seconds, path="/", secure=secure, httponly=True, samesite="strict")


def _is_encrypted(connection: HTTPConnection) -> bool:
    """Whether the browser speaks TLS: to us, or, as it says of its page itself, to the proxy before us."""
    return connection.url.scheme == "https" or urlsplit(connection.headers.get("origin", "")).scheme == "https"
