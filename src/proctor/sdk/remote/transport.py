"""Requests to a server: tried again where that is harmless, its problems raised as errors of ours.

A request is tried again when nothing answered, or with 429, 502, 503 and 504, after what ``Retry-After`` says. A POST
carries an ``Idempotency-Key``, so that the one whose answer was lost is not done twice; where the server says that the
first is still at work, its answer is waited for.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Any
from uuid import uuid4

from proctor.kernel.errors import UsageError
from proctor.sdk.remote.errors import ServerFault, ServerRefused, ServerUnreachable

if TYPE_CHECKING:
    from httpx2 import Client, Response

__all__ = ["API", "Transport", "checked", "given", "transport_errors"]

API = "/api/v1"
TRIES: int = 4
_PASSING = frozenset({429, 502, 503, 504})
_FIRST_WAIT_SEC: float = 0.5
_LONGEST_WAIT_SEC: float = 20.0
_TIMEOUT_SEC: float = 90.0
"""Longer than a server lets a request take."""
_AT_WORK_SEC: float = 150.0
"""Longer than a server holds a request for a process that died with it."""


class KeyMalformed(UsageError):
    """An API key is letters, digits, hyphens and underscores; this is none."""

    code = "api-key"
    remedy = "Copy it again: into PROCTOR_API_KEY, or through `proctor login URL`."


class Transport:
    """The way to one server with one key."""

    def __init__(self, server: str, key: str, *, http: Client | None = None) -> None:
        """``http``: a client of one's own, such as a test's; else one is made."""
        if not key.isascii() or not key.isprintable():
            raise KeyMalformed()
        self._http = http or _client(server)
        self.headers = {"Authorization": f"Bearer {key}"} if key else {}
        self.server = server

    def close(self) -> None:
        """Let go of the connections."""
        self._http.close()

    def get(self, path: str, **params: Any) -> Any:
        """A GET's JSON. Raises ``ServerRefused``, ``ServerFault``, ``ServerUnreachable``."""
        return self.send("GET", path, params=params).json()

    def post(self, path: str, body: Any = None) -> Any:
        """A POST's JSON; its key makes it harmless to send again."""
        return self.send("POST", path, body=body, headers={"Idempotency-Key": str(uuid4())}).json()

    def put(self, path: str, body: Any) -> Any:
        """A PUT's JSON."""
        return self.send("PUT", path, body=body).json()

    def patch(self, path: str, body: Any) -> Any:
        """A PATCH's JSON."""
        return self.send("PATCH", path, body=body).json()

    def delete(self, path: str) -> Any:
        """A DELETE's JSON."""
        return self.send("DELETE", path).json()

    def pages(self, path: str, **params: Any) -> Iterator[Any]:
        """Every item of a list, page by page."""
        cursor: str | None = None
        while True:
            page = self.get(path, **params, cursor=cursor)
            yield from page["items"]
            cursor = page["next"]
            if cursor is None:
                return

    def send(
        self,
        method: str,
        path: str,
        *,
        params: Mapping[str, Any] | None = None,
        body: Any = None,
        content: IO[bytes] | None = None,
        headers: Mapping[str, str] | None = None,
        again: bool = True,
    ) -> Response:
        """One request, tried again where that is harmless."""
        wait, left, until = _FIRST_WAIT_SEC, TRIES if again else 1, time.monotonic() + _AT_WORK_SEC
        while True:
            left -= 1
            if content is not None:
                content.seek(0)
            try:
                response = self._http.request(
                    method,
                    f"{API}/{path}",
                    params=given(params),
                    json=body,
                    content=content,
                    headers={**self.headers, **(headers or {})},
                )
            except transport_errors() as error:
                if not left:
                    raise ServerUnreachable(f"{type(error).__name__}: {error}", where=self.server) from error
            else:
                told = _seconds(response.headers.get("Retry-After"))
                if again and _is_at_work(response) and time.monotonic() < until:
                    left, wait = TRIES, _FIRST_WAIT_SEC
                elif response.status_code not in _PASSING or not left:
                    return checked(response, self.server)
                wait = max(wait, told)
            time.sleep(min(wait, _LONGEST_WAIT_SEC))
            wait *= 2

    @contextmanager
    def stream(self, path: str, *, quiet_sec: float = _TIMEOUT_SEC, **params: Any) -> Iterator[Response]:
        """A GET whose body is read piece by piece. ``quiet_sec``: how long nothing may come."""
        try:
            with self._http.stream(
                "GET", f"{API}/{path}", params=given(params), headers=self.headers, timeout=quiet_sec
            ) as response:
                if response.status_code >= 400:
                    response.read()
                yield checked(response, self.server)
        except transport_errors() as error:
            raise ServerUnreachable(f"{type(error).__name__}: {error}", where=self.server) from error


def _client(server: str) -> Client:
    from httpx2 import Client

    return Client(base_url=server, timeout=_TIMEOUT_SEC, follow_redirects=False)


def transport_errors() -> type[Exception]:
    """What the HTTP library raises where nothing answered."""
    from httpx2 import TransportError

    return TransportError


def given(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """Those parameters of a query that say something."""
    return {name: value for name, value in (params or {}).items() if value is not None}


def _is_at_work(response: Response) -> bool:
    """Whether an earlier try of the same request is still being worked on."""
    if response.status_code != 409:
        return False
    try:
        return bool(response.json()["code"] == "request-running")
    except (ValueError, KeyError, TypeError):
        return False


def _seconds(header: str | None) -> float:
    return float(header) if header is not None and header.isdigit() else 0.0


def checked(response: Response, server: str) -> Response:
    """An answer that is one. Raises ``ServerRefused``, ``ServerFault``."""
    if response.status_code < 400:
        return response
    try:
        problem = response.json()
        code, detail = str(problem["code"]), str(problem["detail"])
    except (ValueError, KeyError, TypeError) as error:
        words = f"It answered {response.status_code}, and not as a Proctor server does."
        raise ServerFault(words, where=server) from error
    if response.status_code >= 500:
        raise ServerFault(f"{detail} Request {problem.get('request_id')}.", where=server)
    raise ServerRefused(code, detail, where=problem.get("where"), remedy=problem.get("remedy"))
