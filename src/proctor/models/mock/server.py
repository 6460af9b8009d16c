"""The mock provider over HTTP: speaks all wires as their providers do, for tests of clients and of the gateway."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Self

from aiohttp import web

from proctor.kernel.canonical import Json
from proctor.models.errors import RequestInvalid
from proctor.models.mock.answers import BUILT_IN, MockError, counted_input
from proctor.models.mock.responses import Response, refusal, respond
from proctor.models.mock.script import NO_SCRIPT, Script
from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.fields import encoded, parsed
from proctor.models.wires.interfaces import Fault, Wire, WireName

__all__ = ["MockServer", "application"]

_BODY_BYTES: int = 64 << 20
"""Of a request: pictures in base64 come in requests of tens of MiB."""

Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class MockServer:
    """A server on a port of this machine, while it is entered."""

    def __init__(
        self, script: Script = NO_SCRIPT, *, key: str | None = None, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        """``key``: which callers must have; ``None``: any or none. ``port`` 0: one that is free."""
        self._runner = web.AppRunner(application(script, key=key))
        self._host, self._port = host, port

    @property
    def address(self) -> str:
        """Where it is, without a path."""
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}"

    async def __aenter__(self) -> Self:
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port).start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()


def application(script: Script = NO_SCRIPT, *, key: str | None = None) -> web.Application:
    """The server's routes, with OpenAI's below ``/v1`` and each other provider's where it has them."""
    provider = _Provider(script, key)
    app = web.Application(client_max_size=_BODY_BYTES)
    for path, name in (
        ("/v1/chat/completions", WireName.OPENAI_CHAT),
        ("/v1/responses", WireName.OPENAI_RESPONSES),
        ("/v1/messages", WireName.ANTHROPIC),
        ("/{version:v1(?:beta)?}/models/{model}:{method:(?:stream)?[gG]enerateContent}", WireName.GEMINI),
    ):
        app.router.add_post(path, provider.checked(name, provider.answer))
    app.router.add_post("/v1/embeddings", provider.checked(WireName.OPENAI_EMBEDDINGS, provider.answer))
    app.router.add_post("/v1/messages/count_tokens", provider.checked(WireName.ANTHROPIC, provider.count))
    app.router.add_post(
        "/{version:v1(?:beta)?}/models/{model}:countTokens", provider.checked(WireName.GEMINI, provider.count)
    )
    app.router.add_get("/v1/models", provider.checked(WireName.OPENAI_CHAT, provider.models))
    app.router.add_get("/v1/models/{model}", provider.checked(WireName.OPENAI_CHAT, provider.model))
    return app


class _Provider:
    """Answers each request by the script."""

    def __init__(self, script: Script, key: str | None) -> None:
        self._script, self._key = script, key

    def checked(self, name: WireName, handler: Callable[[Wire, web.Request], Awaitable[web.StreamResponse]]) -> Handler:
        """A handler of requests on one wire that have the key; what they ask wrongly is refused as the wire does."""
        wire = WIRES[name]

        async def handle(request: web.Request) -> web.StreamResponse:
            if self._key is not None and self._key not in _keys(request):
                error = MockError(status=401, fault=Fault.AUTH, message="The API key is not valid.")
                return await _sent(request, refusal(wire, error))
            try:
                return await handler(wire, request)
            except RequestInvalid as invalid:
                error = MockError(status=400, fault=Fault.INVALID, message=str(invalid))
                return await _sent(request, refusal(wire, error))

        return handle

    async def answer(self, wire: Wire, request: web.Request) -> web.StreamResponse:
        """A conversation's next turn, or vectors of texts."""
        path = request.match_info
        streams = path.get("method", "").startswith("s")
        response = await respond(wire, await _body(request), self._script, model=path.get("model", ""), stream=streams)
        return await _sent(request, response)

    async def count(self, wire: Wire, request: web.Request) -> web.StreamResponse:
        """Tokens of a request that is not answered; Anthropic's has no limit, which a request needs."""
        body = await _body(request)
        inner = body.get("generateContentRequest")
        whole = inner if isinstance(inner, dict) else {"max_tokens": 1, **body}
        asked = wire.read_request(whole, model=request.match_info.get("model", ""))
        return _json({"input_tokens" if wire.name is WireName.ANTHROPIC else "totalTokens": counted_input(asked)})

    async def models(self, wire: Wire, request: web.Request) -> web.StreamResponse:
        """All that have a name of their own."""
        return _json({"object": "list", "data": [_model(name) for name in self._names()]})

    async def model(self, wire: Wire, request: web.Request) -> web.StreamResponse:
        """One of them."""
        name = request.match_info["model"]
        if name not in self._names():
            words = f"The model {name!r} does not exist."
            error = MockError(status=404, fault=Fault.MODEL_UNKNOWN, message=words)
            return await _sent(request, refusal(wire, error))
        return _json(_model(name))

    def _names(self) -> list[str]:
        scripted = [rule.model for rule in self._script.rules if not set(rule.model) & set("*?[")]
        return sorted({"echo", *BUILT_IN, *scripted})


def _model(name: str) -> dict[str, Json]:
    return {"id": name, "object": "model", "created": 0, "owned_by": "mock"}


def _keys(request: web.Request) -> set[str]:
    """The key as each provider's clients send it."""
    bearer = request.headers.get("Authorization", "").removeprefix("Bearer ")
    named = [request.headers.get(name, "") for name in ("x-api-key", "x-goog-api-key")]
    return {bearer, *named, request.query.get("key", "")}


async def _body(request: web.Request) -> Mapping[str, Json]:
    body = parsed(await request.read())
    if not isinstance(body, dict):
        raise RequestInvalid("It has to be a JSON object.", where="body")
    return body


def _json(body: Json) -> web.Response:
    return web.Response(body=encoded(body), content_type="application/json")


async def _sent(request: web.Request, answer: Response) -> web.StreamResponse:
    """The pieces one by one, up to where the connection is to be dropped."""
    response = web.StreamResponse(status=answer.status, headers=answer.headers)
    await response.prepare(request)
    left = answer.drop_after
    for piece in answer.pieces:
        await response.write(piece if left is None else piece[:left])
        if left is not None:
            left -= len(piece)
            if left <= 0:
                return _dropped(request, response)
    await response.write_eof()
    return response


def _dropped(request: web.Request, response: web.StreamResponse) -> web.StreamResponse:
    """What was written goes out, and nothing after it: no chunk that ends the body."""
    if request.transport is not None:
        request.transport.close()
    return response
