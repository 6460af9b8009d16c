"""What refusals mean, in the words of each provider."""

from __future__ import annotations

import json

import pytest

from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.interfaces import Fault, WireName

CHAT, CLAUDE, GEMINI = WireName.OPENAI_CHAT, WireName.ANTHROPIC, WireName.GEMINI


def openai(message: str, kind: str | None = None, code: str | int | None = None) -> dict[str, object]:
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def claude(kind: str, message: str) -> dict[str, object]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def google(code: int, status: str, message: str, reason: str = "") -> dict[str, object]:
    details = [{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": reason}] if reason else []
    return {"error": {"code": code, "message": message, "status": status, "details": details}}


@pytest.mark.parametrize(
    ("name", "status", "body", "fault"),
    [
        (CHAT, 401, openai("Incorrect API key provided", "invalid_request_error", "invalid_api_key"), Fault.AUTH),
        (CHAT, 403, openai("Country, region, or territory not supported"), Fault.AUTH),
        (CHAT, 429, openai("Rate limit reached", "requests", "rate_limit_exceeded"), Fault.RATE_LIMIT),
        (CHAT, 429, openai("You exceeded your quota", "insufficient_quota", "insufficient_quota"), Fault.QUOTA),
        (CHAT, 402, openai("Insufficient Balance", "unknown_error"), Fault.QUOTA),
        (
            CHAT,
            404,
            openai("The model `x` does not exist", "invalid_request_error", "model_not_found"),
            Fault.MODEL_UNKNOWN,
        ),
        (CHAT, 404, openai("The model `x` does not exist.", "NotFoundError", 404), Fault.MODEL_UNKNOWN),
        (CHAT, 404, {"detail": "Not Found"}, Fault.INVALID),
        (
            CHAT,
            400,
            openai("Unsupported parameter", "invalid_request_error", "unsupported_parameter"),
            Fault.UNSUPPORTED,
        ),
        (CHAT, 400, openai("Unsupported value", "invalid_request_error", "unsupported_value"), Fault.UNSUPPORTED),
        (CHAT, 400, openai("too many", "invalid_request_error", "context_length_exceeded"), Fault.CONTEXT),
        (
            CHAT,
            400,
            openai("This model's maximum context length is 4096 tokens", "BadRequestError", 400),
            Fault.CONTEXT,
        ),
        (CHAT, 400, openai("filtered", None, "content_filter"), Fault.REFUSED),
        (CHAT, 400, openai("no", "invalid_request_error", "content_policy_violation"), Fault.REFUSED),
        (CHAT, 400, openai("'messages' is a required property", "invalid_request_error"), Fault.INVALID),
        (CHAT, 500, openai("The server had an error", "server_error"), Fault.UNAVAILABLE),
        (CHAT, 503, openai("maximum context length", "x", "content_filter"), Fault.UNAVAILABLE),
        (CHAT, 408, {}, Fault.UNAVAILABLE),
        (CHAT, 413, {}, Fault.CONTEXT),
        (CHAT, 400, {"error": "a text alone"}, Fault.INVALID),
        (CLAUDE, 401, claude("authentication_error", "invalid x-api-key"), Fault.AUTH),
        (CLAUDE, 403, claude("permission_error", "no"), Fault.AUTH),
        (CLAUDE, 404, claude("not_found_error", "model: claude-x"), Fault.MODEL_UNKNOWN),
        (CLAUDE, 413, claude("request_too_large", "Request exceeds the maximum size"), Fault.CONTEXT),
        (
            CLAUDE,
            400,
            claude("invalid_request_error", "prompt is too long: 215000 tokens > 200000 maximum"),
            Fault.CONTEXT,
        ),
        (CLAUDE, 400, claude("invalid_request_error", "Your credit balance is too low to access the API"), Fault.QUOTA),
        (CLAUDE, 400, claude("invalid_request_error", "max_tokens: Field required"), Fault.INVALID),
        (CLAUDE, 429, claude("rate_limit_error", "slow down"), Fault.RATE_LIMIT),
        (CLAUDE, 529, claude("overloaded_error", "Overloaded"), Fault.UNAVAILABLE),
        (CLAUDE, 500, claude("api_error", "Internal server error"), Fault.UNAVAILABLE),
        (GEMINI, 400, google(400, "INVALID_ARGUMENT", "API key not valid.", "API_KEY_INVALID"), Fault.AUTH),
        (
            GEMINI,
            400,
            google(400, "INVALID_ARGUMENT", "The input token count (1200000) exceeds the maximum (1048576)."),
            Fault.CONTEXT,
        ),
        (GEMINI, 400, google(400, "INVALID_ARGUMENT", "Unknown name"), Fault.INVALID),
        (GEMINI, 403, google(403, "PERMISSION_DENIED", "no"), Fault.AUTH),
        (GEMINI, 404, google(404, "NOT_FOUND", "models/x is not found for API version v1beta"), Fault.MODEL_UNKNOWN),
        (GEMINI, 429, google(429, "RESOURCE_EXHAUSTED", "Quota exceeded"), Fault.RATE_LIMIT),
        (GEMINI, 503, google(503, "UNAVAILABLE", "The model is overloaded."), Fault.UNAVAILABLE),
    ],
)
def test_what_a_refusal_means(name: WireName, status: int, body: dict[str, object], fault: Fault) -> None:
    found = WIRES[name].read_error(status, json.dumps(body).encode())
    assert found.fault is fault
    as_list = json.dumps([body]).encode() if name is GEMINI else json.dumps(body).encode()
    assert WIRES[name].read_error(status, as_list) == found


def test_a_refusal_is_told_as_it_was_put() -> None:
    found = WIRES[CHAT].read_error(429, json.dumps(openai("Too fast", "requests", "rate_limit_exceeded")).encode())
    assert (found.code, found.message) == ("rate_limit_exceeded", "Too fast")
    found = WIRES[GEMINI].read_error(
        400, json.dumps(google(400, "INVALID_ARGUMENT", "API key not valid.", "API_KEY_INVALID")).encode()
    )
    assert found.code == "API_KEY_INVALID"


@pytest.mark.parametrize("name", list(WireName))
@pytest.mark.parametrize(
    "body", [b"", b"<html>Bad gateway</html>", b"\xff\xfe", b"null", b"[]", b"[1]", b'{"error": 5}']
)
def test_bodies_that_are_no_errors_of_the_wire(name: WireName, body: bytes) -> None:
    wire = WIRES[name]
    assert wire.read_error(502, body).fault is Fault.UNAVAILABLE
    assert wire.read_error(429, body).fault is Fault.RATE_LIMIT
    assert wire.read_error(401, body).fault is Fault.AUTH
    assert len(wire.read_error(400, b"x" * 100_000).message) <= 2_000


@pytest.mark.parametrize("name", list(WireName))
@pytest.mark.parametrize(
    ("status", "fault"),
    [
        (401, Fault.AUTH),
        (429, Fault.RATE_LIMIT),
        (503, Fault.UNAVAILABLE),
        (404, Fault.MODEL_UNKNOWN),
        (400, Fault.INVALID),
        (413, Fault.CONTEXT),
    ],
)
def test_what_a_server_writes_is_read_as_that(name: WireName, status: int, fault: Fault) -> None:
    wire = WIRES[name]
    body = json.dumps(wire.write_error(status, fault, "The model is not there.")).encode()
    found = wire.read_error(status, body)
    assert (found.fault, found.message) == (fault, "The model is not there.")


def test_every_refusal_of_openais_wires_is_read_as_that() -> None:
    for fault in Fault:
        body = json.dumps(WIRES[CHAT].write_error(400, fault, "no")).encode()
        assert WIRES[CHAT].read_error(400, body).fault is fault


def test_googles_refusal_of_a_key() -> None:
    body = json.dumps(WIRES[GEMINI].write_error(400, Fault.AUTH, "no")).encode()
    assert WIRES[GEMINI].read_error(400, body).fault is Fault.AUTH


@pytest.mark.parametrize("name", [CHAT, CLAUDE, GEMINI])
def test_a_redirect_is_the_providers_failure(name: WireName) -> None:
    assert WIRES[name].read_error(302, b"<html>moved</html>").fault is Fault.UNAVAILABLE
