"""The document as FastAPI makes it, completed once: refusals, headers and examples."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI

from proctor.api.document.examples import Examples
from proctor.api.document.refusals import Operation, codes_of
from proctor.api.problems import RETRY_SEC, Problem, example_of_code, status_of_code

__all__ = ["Described", "completed"]

Document = dict[str, Any]
PROBLEM = "application/problem+json"
_BAD_JSON = "request-invalid"
_TEXT: Mapping[str, str] = {"type": "string"}
_HEADERS: Mapping[str, Any] = {
    "X-Request-Id": {
        "description": "The request's id: the caller's own if it was a plain word. The server's log has it.",
        "schema": _TEXT,
        "example": "0198c2f0c0de7000a1b2c3d4e5f60718",
    },
    "X-Trace-Id": {
        "description": "The trace's id: of the caller's `traceparent`, else a new one.",
        "schema": _TEXT,
        "example": "4bf92f3577b34da6a3ce929d0e0e4736",
    },
    "ETag": {
        "description": "Of this answer: sent as If-None-Match, it is answered again only where it is another.",
        "schema": _TEXT,
        "example": '"9b2cf535f27731c974343645a3985328"',
    },
    "Retry-After": {"description": "Seconds to wait.", "schema": {"type": "integer"}, "example": 1},
    "WWW-Authenticate": {"description": "How to say who one is.", "schema": _TEXT, "example": 'Bearer realm="proctor"'},
    "Location": {
        "description": "Where to follow it.",
        "schema": _TEXT,
        "example": "/api/v1/operations/0198c2f0-7a11-7c0d-8e1f-2a3b4c5d6e7f",
    },
    "Idempotency-Replayed": {
        "description": "`true` where the same request was answered before, and nothing was done now.",
        "schema": _TEXT,
        "example": "true",
    },
}
_KEY: Mapping[str, Any] = {
    "name": "Idempotency-Key",
    "in": "header",
    "required": False,
    "description": "A random word of one's own; the same request sent again with it is answered as the first was.",
    "schema": {"type": "string", "pattern": "^[!-~]{1,255}$"},
    "example": "5f0c1b9e-6f0e-4b8e-9a55-0d6c2f1f8a3b",
}
_KNOWN: Mapping[str, Any] = {
    "name": "If-None-Match",
    "in": "header",
    "required": False,
    "description": "The ETag of the answer that one has: 304 where it still is that.",
    "schema": {"type": "string", "maxLength": 200},
    "example": '"9b2cf535f27731c974343645a3985328"',
}


class Described(FastAPI):
    """An app whose document is completed when it is first asked for."""

    def __init__(self, *, repeatable: frozenset[str], lasting: Callable[[str, str], bool], **words: Any) -> None:
        """``repeatable``: operations that heed an Idempotency-Key, as ``POST /path``; ``lasting``: without a limit of
        time, by method and path; ``words``: FastAPI's own."""
        self._repeatable, self._lasting = repeatable, lasting
        super().__init__(**words)

    def openapi(self) -> Document:
        """The document."""
        if self.openapi_schema is None:
            self.openapi_schema = completed(super().openapi(), self._repeatable, self._lasting)
        return self.openapi_schema


def completed(document: Document, repeatable: frozenset[str], lasting: Callable[[str, str], bool]) -> Document:
    """The same document with what ``Described`` says of its operations."""
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    schemas["Problem"] = Problem.model_json_schema()
    components["headers"], components["examples"] = dict(_HEADERS), {}
    examples = Examples(schemas)
    for path, item in document["paths"].items():
        for method, described in item.items():
            name = f"{method.upper()} {path}"
            operation = Operation(
                method=method.upper(),
                path=path.removeprefix("/api/v1"),
                described=described,
                repeatable=name in repeatable,
                lasting=lasting(method.upper(), path),
            )
            _complete(described, operation, examples)
            for status, codes in _refused(operation).items():
                described["responses"].setdefault(str(status), _problem(status, codes, components["examples"]))
    return document


def _complete(described: Document, operation: Operation, examples: Examples) -> None:
    described["responses"].pop("422", None)
    for status, response in described["responses"].items():
        _answer(response, status, operation, examples)
    for parameter in described.get("parameters", ()):
        parameter["example"] = examples.of_parameter(parameter)
    for kind, body in described.get("requestBody", {}).get("content", {}).items():
        if kind == "application/json":
            body["example"] = examples.of(body["schema"])
    if operation.repeatable:
        described.setdefault("parameters", []).append(dict(_KEY))
    if operation.method == "GET" and "application/json" in described["responses"]["200"].get("content", {}):
        described.setdefault("parameters", []).append(dict(_KNOWN))
        described["responses"]["304"] = {
            "description": "It still is what the caller has.",
            "headers": _headers("ETag"),
        }


def _answer(response: Document, status: str, operation: Operation, examples: Examples) -> None:
    content = response.get("content", {}).get("application/json")
    names = []
    if content is not None:
        content["example"] = examples.of(content["schema"])
        names = ["ETag"] if operation.method == "GET" and status == "200" else []
    if operation.repeatable:
        names.append("Idempotency-Replayed")
    response["headers"] = {**response.get("headers", {}), **_headers(*names)}
    if "Location" in response["headers"]:  # a route says that it has one, and no more
        response["headers"] |= _headers("Location")


def _headers(*names: str) -> Document:
    return {name: {"$ref": f"#/components/headers/{name}"} for name in ("X-Request-Id", "X-Trace-Id", *names)}


def _refused(operation: Operation) -> Mapping[int, Sequence[str]]:
    """Each status that is a refusal or a fault, with its codes."""
    codes: dict[int, list[str]] = {}
    for code in dict.fromkeys(codes_of(operation)):
        codes.setdefault(status_of_code(code), []).append(code)
    if "application/json" in operation.described.get("requestBody", {}).get("content", {}):
        codes[400] = [_BAD_JSON]
    return dict(sorted(codes.items()))


def _problem(status: int, codes: Sequence[str], known: Document) -> Document:
    """A refusal with an example of each of its codes. ``known``: examples that operations share, and get more here."""
    examples = {}
    for code in codes:
        name = f"{code}-{status}"
        known[name] = {"value": example_of_code(code, status)}
        examples[code] = {"$ref": f"#/components/examples/{name}"}
    retry = ["Retry-After"] if status in RETRY_SEC else ["WWW-Authenticate"] if status == 401 else []
    return {
        "description": HTTPStatus(status).phrase,
        "headers": _headers(*retry),
        "content": {PROBLEM: {"schema": {"$ref": "#/components/schemas/Problem"}, "examples": examples}},
    }
