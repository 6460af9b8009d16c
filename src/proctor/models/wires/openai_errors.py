"""Refusals and keys of OpenAI's three wires: ``{"error": {"message", "type", "param", "code"}}``."""

from __future__ import annotations

from collections.abc import Mapping

from proctor.kernel.canonical import Json
from proctor.models.wires.faults import STREAMED, judged
from proctor.models.wires.fields import parsed, string
from proctor.models.wires.interfaces import Fault, ProviderError

__all__ = ["bearer", "openai_error", "read_openai_error", "streamed_error"]

_WRITTEN: Mapping[Fault, tuple[str, str]] = {
    Fault.AUTH: ("authentication_error", "invalid_api_key"),
    Fault.RATE_LIMIT: ("requests", "rate_limit_exceeded"),
    Fault.QUOTA: ("insufficient_quota", "insufficient_quota"),
    Fault.UNAVAILABLE: ("server_error", "server_error"),
    Fault.MODEL_UNKNOWN: ("invalid_request_error", "model_not_found"),
    Fault.UNSUPPORTED: ("invalid_request_error", "unsupported_parameter"),
    Fault.CONTEXT: ("invalid_request_error", "context_length_exceeded"),
    Fault.REFUSED: ("invalid_request_error", "content_filter"),
    Fault.INVALID: ("invalid_request_error", ""),
}
"""Type and code of each."""


def bearer(key: str) -> Mapping[str, str]:
    """The header by which OpenAI's wires know who asks."""
    return {"Authorization": f"Bearer {key}"}


def read_openai_error(status: int, body: bytes) -> ProviderError:
    """A refusal. Some servers that speak these wires put the fields at the top, or a text in the place of a table."""
    whole = parsed(body)
    error = whole.get("error", whole) if isinstance(whole, dict) else None
    if isinstance(error, dict):
        return _judged(status, error)
    return judged(status, error if isinstance(error, str) else body[:2_000].decode("utf-8", "replace"), ())


def streamed_error(body: Mapping[str, Json]) -> ProviderError | None:
    """What is said to have gone wrong within a reply or a chunk of one."""
    error = body.get("error")
    if isinstance(error, dict):
        return _judged(STREAMED, error)
    return judged(STREAMED, error, ()) if isinstance(error, str) and error else None


def _judged(status: int, error: Mapping[str, Json]) -> ProviderError:
    return judged(status, string(error, "message"), (string(error, "code"), string(error, "type")))


def openai_error(status: int, fault: Fault, message: str, code: str) -> dict[str, Json]:
    """A refusal as a server of these wires writes it."""
    kind, usual = _WRITTEN[fault]
    return {"error": {"message": message, "type": kind, "param": None, "code": code or usual or None}}
