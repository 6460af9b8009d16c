"""Requests as bad networks deliver them: twice, at once, to both APIs, or cut off; always until there is an answer."""

from __future__ import annotations

import json
import random
import socket
import time
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit
from uuid import uuid4

from httpx2 import Client, Response, TransportError

from proctor.sdk.remote.transport import API
from tests.chaos.installation import PATIENCE_SEC

__all__ = ["WAYS", "Answer", "Courier", "Request"]

WAYS: tuple[str, ...] = ("once", "again afterwards", "twice at once", "cut off")
TIMEOUT_SEC: float = 8.0
"""An API may be stopped while it is asked."""
PAUSE_SEC: float = 0.1


@dataclass(frozen=True, kw_only=True)
class Request:
    """A POST with a key of its own."""

    path: str
    body: Any = None
    key: str = field(default_factory=lambda: str(uuid4()))

    @property
    def content(self) -> bytes:
        """The same bytes each time: a key goes with one body."""
        return json.dumps(self.body).encode()


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What was answered, without what is told once."""

    status: int
    document: Any

    @property
    def good(self) -> bool:
        return self.status < 300


@dataclass
class Courier:
    """Brings one client's requests to any of the APIs."""

    urls: Sequence[str]
    api_key: str
    rng: random.Random
    ways: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)
    """Answers that are none: what was sent again after them."""
    problems: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        said = {"Authorization": f"Bearer {self.api_key}"}
        self._http = [Client(base_url=url, headers=said, timeout=TIMEOUT_SEC) for url in self.urls]

    def deliver(self, request: Request) -> Answer:
        """Its answer. What is told when it is sent again has to be the same."""
        way = self.rng.choice(WAYS)
        self.ways[way] += 1
        if way == "cut off":
            self._cut_off(request)
        if way == "twice at once":
            order = self.rng.sample(range(len(self._http)), 2)
            with ThreadPoolExecutor(2) as pool:
                answers = list(pool.map(lambda first: self._answered(request, first), order))
        else:
            answers = [self._answered(request, self._any())]
        if way in ("again afterwards", "cut off"):
            answers.append(self._answered(request, self._any()))
        if any(one != answers[0] for one in answers):
            self.problems.append(f"{request.path} {way} was answered {answers}")
        return answers[0]

    def get(self, path: str) -> Any:
        """A GET's document, asked for until there is one."""
        return self._until_answered(lambda http: http.get(f"{API}/{path}"), self._any()).json()

    def close(self) -> None:
        """Let go of the connections."""
        for one in self._http:
            one.close()

    def _any(self) -> int:
        return self.rng.randrange(len(self._http))

    def _answered(self, request: Request, first: int) -> Answer:
        said = {"Idempotency-Key": request.key, "Content-Type": "application/json"}
        response = self._until_answered(
            lambda http: http.post(f"{API}/{request.path}", content=request.content, headers=said), first
        )
        return Answer(status=response.status_code, document=_comparable(response.json()))

    def _until_answered(self, send: Any, first: int) -> Response:
        deadline, number = time.monotonic() + PATIENCE_SEC, first
        while time.monotonic() < deadline:
            try:
                response: Response = send(self._http[number])
                if not (why := _passing(response)):
                    return response
            except TransportError as error:
                why = type(error).__name__
            self.refused[why] += 1
            number = (number + 1) % len(self._http)
            time.sleep(PAUSE_SEC)
        raise AssertionError(f"no answer within {PATIENCE_SEC:.0f} s: {self.refused}")

    def _cut_off(self, request: Request) -> None:
        """Send it and hang up, before it is answered or not long after."""
        where = urlsplit(self.rng.choice(self.urls))
        body = request.content
        head = (
            f"POST {API}/{request.path} HTTP/1.1\r\nHost: {where.netloc}\r\nAuthorization: Bearer {self.api_key}\r\n"
            f"Idempotency-Key: {request.key}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        with suppress(OSError), socket.create_connection((where.hostname, where.port), timeout=1.0) as connection:
            connection.sendall(head.encode() + body[: self.rng.choice((len(body), len(body), len(body) // 2))])
            time.sleep(self.rng.uniform(0, 0.05))


def _passing(response: Response) -> str:
    """Why this is no answer yet; nothing where it is one."""
    if response.status_code == 409 and response.json().get("code") == "request-running":
        return "request-running"
    return str(response.status_code) if response.status_code >= 500 or response.status_code == 429 else ""


def _comparable(value: Any) -> Any:
    """Without what is told once, and without the id of a request that was refused before it was looked at."""
    if isinstance(value, dict):
        left = value.keys() - ({"secret", "request_id"} if "code" in value else {"secret"})
        return {name: _comparable(value[name]) for name in sorted(left)}
    return [_comparable(item) for item in value] if isinstance(value, list) else value
