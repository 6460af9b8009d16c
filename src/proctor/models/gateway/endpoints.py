"""What agents in a sandbox see of the gateway: HTTP on every wire, at their attempt's socket, with their token.

Everything that comes is hostile. A request is read up to a size and within a time; who has not the attempt's own token
is told nothing; a model that the profile does not declare does not exist, nor does anything else of a provider's API
(files, batches, evals, juries); and a request that would have the provider act for the agent outside of the attempt
(its web search, its code interpreter, what it stored before) is refused, since the task's network policy would mean
nothing else.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from aiohttp import web

from proctor.kernel.canonical import Json
from proctor.kernel.errors import ProctorError
from proctor.models.calls import End
from proctor.models.codec import read_json
from proctor.models.errors import BudgetExhausted, LimitReached, ModelUndeclared, PriceUnknown, RequestInvalid
from proctor.models.gateway.counting import counted
from proctor.models.gateway.permitted import refuse_unpermitted
from proctor.models.gateway.preparing import Passing
from proctor.models.gateway.sessions import SOCKET, Session
from proctor.models.gateway.tries import Answer
from proctor.models.gateway.upstreams import Broken
from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.interfaces import Fault, RequestFacts, WireName

if TYPE_CHECKING:
    from proctor.models.gateway.gateway import Gateway

__all__ = ["Endpoints"]

LARGEST_REQUEST: int = 32 * 1024 * 1024
"""Bytes: a context of a million tokens with its images is a fifth of it."""
LARGE_REQUEST: int = 4 * 1024 * 1024
"""A request of more waits for its turn among those of all attempts."""
CONNECTIONS: int = 64
"""Of one sandbox; more are broken off at once."""
REQUEST_SEC: float = 60.0
"""In which a body has to come: it comes through a socket of this machine's."""
TOLD_SEC: float = 60.0
"""Between lines of the log about requests of one sandbox that can't be read."""
AT_ONCE: int = 32
"""Calls of one attempt: an agent with all its helpers makes fewer."""

_WIRES: Mapping[str, WireName] = {
    "/v1/chat/completions": WireName.OPENAI_CHAT,
    "/v1/responses": WireName.OPENAI_RESPONSES,
    "/v1/embeddings": WireName.OPENAI_EMBEDDINGS,
    "/v1/messages": WireName.ANTHROPIC,
}
_COUNT: str = "/v1/messages/count_tokens"
_GEMINI: tuple[str, ...] = ("/v1beta/models/", "/v1/models/")
_GEMINI_VERBS: Mapping[str, bool] = {"generateContent": False, "streamGenerateContent": True}
_PASSED_BACK = frozenset({"content-type", "retry-after", "retry-after-ms", "request-id", "x-request-id"})
_PASSED_BACK_PREFIXES: tuple[str, ...] = ("x-ratelimit-", "anthropic-ratelimit-")
_STATUSES: tuple[tuple[type[ProctorError], int, Fault, str], ...] = (
    (ModelUndeclared, 404, Fault.MODEL_UNKNOWN, "model_not_found"),
    (RequestInvalid, 400, Fault.INVALID, ""),
    (BudgetExhausted, 402, Fault.QUOTA, "budget_exhausted"),
    (PriceUnknown, 402, Fault.QUOTA, "price_unknown"),
    (LimitReached, 402, Fault.QUOTA, "attempt_limit"),
)
"""How a caller is told; clients try again after none of the 4xx but 408, 409 and 429."""


class Endpoints:
    """Serves one session at one socket, in the gateway's loop."""

    def __init__(self, gateway: Gateway, session: Session) -> None:
        self._gateway, self._session = gateway, session
        self._server: asyncio.Server | None = None
        self._web = _Server(
            self._handle, access_log=None, logger=_callers(), keepalive_timeout=300.0, handler_cancellation=True
        )
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def open(self, folder: Path) -> Path:
        """Serve at a socket in ``folder``, which every user of the sandbox may connect to; its path."""
        path = folder / SOCKET
        self._server = await asyncio.get_running_loop().create_unix_server(self._web, str(path))
        path.chmod(0o666)
        return path

    async def close(self) -> None:
        """Accept nothing more and break off what is under way."""
        if self._server is not None:
            self._server.close()
        await self._web.shutdown(0.1)

    # --- a request -------------------------------------------------------------------------------------------------

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        try:
            path = unquote(request.path)
            wire, model, stream = _meant(path)
            if not self._session.admits(_token(request)):
                return _told(wire, 401, Fault.AUTH, "This is not the token of a running attempt.")
            if request.method == "GET":
                return self._listed(path)
            if request.method != "POST" or wire is None:
                return _told(wire, 404, Fault.INVALID, f"There is no {request.method} {path[:200]}.")
            async with self._turns:
                turn = _Turn(self._gateway.large)
                try:
                    return await self._answered(request, path, wire, model, stream=stream, turn=turn)
                finally:
                    turn.give_back()
        except (ConnectionError, asyncio.IncompleteReadError):
            return web.Response(status=400)  # nobody is there to read it

    async def _answered(
        self, request: web.BaseRequest, path: str, wire: WireName, model: str, *, stream: bool, turn: _Turn
    ) -> web.StreamResponse:
        try:
            raw = await _body(request, turn)
            body = _object(raw)
            priced = {"max_tokens": 1, **body} if path == _COUNT else body  # what is only counted has no limit
            facts = _facts(wire, raw, priced, model, stream=stream)
            passing = Passing(wire=wire, raw=raw, body=body, facts=facts, headers=request.headers)
            if path == _COUNT:
                return web.json_response(await counted(self._gateway.parts, self._session, passing))
            answer = await self._gateway.passed(self._session, passing)
        except ProctorError as error:
            return _refusal(wire, error)
        return await _given(request, answer)

    def _listed(self, path: str) -> web.Response:
        """The models that there are for this attempt, as OpenAI lists them, or one of them."""
        declared = self._session.declared
        names = [one for model in (declared.model, *declared.fallbacks) for one in (model.partition("/")[2], model)]
        models = [{"id": name, "object": "model", "created": 0, "owned_by": "proctor"} for name in names]
        if path == "/v1/models":
            return web.json_response({"object": "list", "data": models, "has_more": False})
        if path == "/v1beta/models":
            return web.json_response({"models": [{"name": f"models/{name}"} for name in names]})
        found = next((one for one in models if path == f"/v1/models/{one['id']}"), None)
        return web.json_response(found) if found else _told(None, 404, Fault.MODEL_UNKNOWN, "There is no such model.")


class _Seldom(logging.Filter):
    """Lets one line through in so many seconds: a caller's rubbish is told of, and fills no log."""

    def __init__(self) -> None:
        super().__init__()
        self._next = 0.0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether it is time for one."""
        now = time.monotonic()
        if now < self._next:
            return False
        self._next = now + TOLD_SEC
        return True


def _callers() -> logging.Logger:
    """What aiohttp tells of requests that it can't read, for one sandbox."""
    logger = logging.Logger("proctor.models.callers")
    logger.parent = logging.getLogger()
    logger.addFilter(_Seldom())
    return logger


class _Server(web.Server):
    """Of one sandbox: with so many connections and no more."""

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """One more; broken off if it is too many."""
        super().connection_made(handler, transport)
        if len(self.connections) > CONNECTIONS:
            transport.close()


def _meant(path: str) -> tuple[WireName | None, str, bool]:
    """The wire of a path, and the model and whether to stream where the path says so."""
    if path == _COUNT:
        return WireName.ANTHROPIC, "", False
    if path in _WIRES:
        return _WIRES[path], "", False
    for prefix in _GEMINI:
        name, colon, verb = path.removeprefix(prefix).rpartition(":")
        if path.startswith(prefix) and colon and verb in _GEMINI_VERBS:
            return WireName.GEMINI, name, _GEMINI_VERBS[verb]
    return None, "", False


def _token(request: web.BaseRequest) -> str:
    """The token, wherever its wire puts it."""
    headers = request.headers
    bearer = headers.get("Authorization", "")
    if bearer.lower().startswith("bearer "):
        return bearer[7:].strip()
    return headers.get("x-api-key") or headers.get("x-goog-api-key") or request.query.get("key", "")


class _Turn:
    """A large request's turn among those of all attempts."""

    def __init__(self, large: asyncio.Semaphore) -> None:
        self._large, self._taken = large, False

    async def take(self) -> None:
        """Wait for it, the first time."""
        if not self._taken:
            await self._large.acquire()
            self._taken = True

    def give_back(self) -> None:
        """Where it was taken."""
        if self._taken:
            self._large.release()


async def _body(request: web.BaseRequest, turn: _Turn) -> bytes:
    """A request's body. One that is large waits for its ``turn``. Raises ``RequestInvalid``."""
    body = bytearray()
    try:
        if request.content.is_eof():  # all of it came with its head, as most do: it is in the reader's short buffer
            return request.content.read_nowait()
        async with asyncio.timeout(REQUEST_SEC):
            async for piece in request.content.iter_any():
                body += piece
                if len(body) > LARGE_REQUEST:
                    await turn.take()
                if len(body) > LARGEST_REQUEST:
                    raise RequestInvalid(f"A request has at most {LARGEST_REQUEST:,} bytes.", where="body")
    except TimeoutError as error:
        raise RequestInvalid("The request did not come in time.", where="body") from error
    except (web.RequestPayloadError, ValueError) as error:
        raise RequestInvalid("The body can't be read.", where="body") from error
    return bytes(body)


def _object(raw: bytes) -> Mapping[str, Json]:
    try:
        document = read_json(raw)
    except (ValueError, RecursionError) as error:
        raise RequestInvalid("It is no JSON.", where="body") from error
    if not isinstance(document, dict):
        raise RequestInvalid("It is no JSON object.", where="body")
    return document


def _facts(wire: WireName, raw: bytes, body: Mapping[str, Json], model: str, *, stream: bool) -> RequestFacts:
    """What a request asks. Raises ``RequestInvalid``, also where the provider would act outside of the attempt."""
    facts = WIRES[wire].facts(raw, body, model=model, stream=stream)
    if facts.stateful:
        told = "Tools that the provider runs itself, and what it keeps from before, are not for agents under test"
        raise RequestInvalid(f"{told}.", where="tools")
    if facts.fetches:
        raise RequestInvalid("The provider would fetch a picture or a document; send its bytes.", where="messages")
    refuse_unpermitted(wire, body)
    return facts


def _refusal(wire: WireName, error: ProctorError) -> web.Response:
    for kind, status, fault, code in _STATUSES:
        if isinstance(error, kind):
            return _told(wire, status, fault, str(error), code=code)
    raise error


def _told(wire: WireName | None, status: int, fault: Fault, message: str, *, code: str = "") -> web.Response:
    body = WIRES[wire or WireName.OPENAI_CHAT].write_error(status, fault, message, code=code)
    return web.json_response(body, status=status, headers={"x-should-retry": "false"})


class _Streamed(web.StreamResponse):
    """Its head goes with its first piece, which is there already, as the head of a whole response does in aiohttp."""

    _send_headers_immediately = False


async def _given(request: web.BaseRequest, answer: Answer) -> web.StreamResponse:
    headers = _headers(answer)
    if answer.pieces is None:
        return web.Response(body=answer.body, status=answer.status, headers=headers)
    response = _Streamed(status=answer.status, headers=headers)
    pieces = answer.pieces
    try:
        await response.prepare(request)
        async for piece in pieces:
            if piece:
                await response.write(piece)
        await response.write_eof()
    except Broken:  # the caller sees that it broke off, as it did
        if request.transport is not None:
            request.transport.abort()
    finally:
        await pieces.aclose()
    return response


def _headers(answer: Answer) -> dict[str, str]:
    """What of a provider's headers is passed back, and which model answered."""
    kept = {"content-type": "application/json"}
    for name, value in answer.headers.items():
        lowered = name.lower()
        if lowered in _PASSED_BACK or lowered.startswith(_PASSED_BACK_PREFIXES):
            kept[lowered] = value
    if answer.model:
        kept["x-proctor-model"] = answer.model
    if answer.end is not End.DONE:  # it was tried again here already
        kept["x-should-retry"] = "false"
    return kept
