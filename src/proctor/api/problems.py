"""Errors as ``application/problem+json`` (RFC 9457), with the codes of the catalogue.

An error says what a caller can use: its code, the field or place, what to do. Of a fault of ours it says the code and
the request's id, and nothing of how it came about; that is in the log.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy.exc import DataError
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection
from starlette.responses import JSONResponse, Response

from proctor.database.errors import DatabaseUnavailable
from proctor.kernel.errors import FAULT_WORDS, ProctorError, UsageError, catalogue

__all__ = ["RETRY_SEC", "Problem", "answer", "example_of_code", "install", "status_of_code"]

_log = structlog.get_logger(__name__)

_NOT_FOUND = (
    *("run-set-unknown", "attempt-unknown", "suite-unknown", "series-unknown", "label-unknown", "task-unknown"),
    *("user-unknown", "key-unknown", "state-missing", "artifact-unknown", "not-blocked", "tenant-unknown"),
    *("event-forgotten", "operation-unknown", "download-unknown", "secret-unknown", "dataset-unknown"),
    *("evaluator-unknown", "job-unknown", "samples-unknown", "dashboard-missing", "cell-unknown"),
    *("step-unknown", "acknowledgement-unknown"),
)
_CONFLICT = (
    *("name-taken", "last-owner", "request-running"),
    *("run-set-moved", "run-set-ended", "run-set-runs", "run-set-stopped", "run-set-imported"),
    *("operation-ended", "dataset-version-taken", "job-ended", "stream-closed", "stream-taken"),
)
_STATUS: Mapping[str, int] = {
    **dict.fromkeys(_NOT_FOUND, 404),
    **dict.fromkeys(_CONFLICT, 409),
    "unauthenticated": 401,
    "budget-used": 402,
    "forbidden": 403,
    "evaluator-forbidden": 403,
    "origin": 403,
    "link": 403,
    "setup-done": 403,
    "user-changed": 412,
    "too-large": 413,
    "rate-limited": 429,
    "too-many-streams": 429,
    "operations-full": 429,
    "database-unavailable": 503,
    "stream-busy": 503,
    "timeout": 504,
}
"""By code; any other usage error is 422, any other fault 500."""
_BUSY = "The server can't do that now."
RETRY_SEC: Mapping[int, int] = {409: 1, 429: 1, 503: 5}


class RequestInvalid(UsageError):
    """The request is not as its description says."""

    code = "request-invalid"
    remedy = "`errors` names each place that is wrong; /api/v1/openapi.json describes every request with an example."


class PathUnknown(UsageError):
    """There is nothing at this path."""

    code = "not-found"
    remedy = "/api/v1/openapi.json lists every path."


class MethodNotAllowed(UsageError):
    """This path does not take this method."""

    code = "method-not-allowed"
    remedy = "The header Allow names those that it takes; /api/v1/openapi.json describes them."


class Problem(BaseModel):
    """What went wrong."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Not Found",
                    "status": 404,
                    "code": "run-set-unknown",
                    "detail": "There is no run set 'nightly'.",
                    "where": None,
                    "remedy": "`proctor status` lists them.",
                    "request_id": "0198c2f0c0de7000a1b2c3d4e5f60718",
                    "trace_id": "4bf92f3577b34da6a3ce929d0e0e4736",
                    "errors": [],
                }
            ]
        }
    )

    type: str = "about:blank"
    title: str = Field(description="The HTTP status in words.")
    status: int
    code: str = Field(description="Stable; docs/reference/errors.md lists all.")
    detail: str = Field(description="What happened, for a reader.")
    where: str | None = Field(default=None, description="The field or file it is about.")
    remedy: str | None = Field(default=None, description="What to do.")
    request_id: str = Field(description="Also in the header X-Request-Id, and in the server's log.")
    trace_id: str = Field(description="Also in the header X-Trace-Id; `proctor logs --trace` finds its lines.")
    errors: list[dict[str, str]] = Field(default=[], description="Each field that is wrong, where several may be.")


def status_of_code(code: str) -> int:
    """Which status an error of that code is answered with."""
    kind = catalogue()[code]
    return _STATUS.get(code, 422 if issubclass(kind, UsageError) else 500)


def example_of_code(code: str, status: int) -> dict[str, Any]:
    """A problem as it is answered where nothing more is known than its code."""
    kind = catalogue()[code]
    fault = status >= 500
    told = FAULT_WORDS if status == 500 else _BUSY
    return Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        code=code,
        detail=told if fault else kind().message,
        remedy=None if fault else kind.remedy or None,
        request_id="0198c2f0c0de7000a1b2c3d4e5f60718",
        trace_id="4bf92f3577b34da6a3ce929d0e0e4736",
    ).model_dump()


def install(app: FastAPI) -> None:
    """Have an app tell its errors so."""
    app.add_exception_handler(ProctorError, _of_ours)
    app.add_exception_handler(RequestValidationError, _of_validation)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(DataError, _of_data)
    app.add_exception_handler(UnicodeEncodeError, _of_data)


def answer(request: HTTPConnection, error: ProctorError) -> Response:
    """An error of ours as a response."""
    status = _STATUS.get(error.code, 422 if isinstance(error, UsageError) else 500)
    if isinstance(error, DatabaseUnavailable):
        status = 503
    if status >= 500:
        _log.error("request.failed", code=error.code, exc_info=error)
        return _problem(request, status, code=error.code, detail=FAULT_WORDS if status == 500 else _BUSY)
    if status in (401, 403):
        _log.warning("access.refused", code=error.code)
    return _problem(
        request, status, code=error.code, detail=error.message, where=error.where, remedy=error.remedy or None
    )


def fault(request: HTTPConnection) -> Response:
    """What nobody foresaw; the log has it."""
    return _problem(request, 500, code="own-fault", detail=FAULT_WORDS)


def _of_ours(request: Request, error: Exception) -> Response:
    assert isinstance(error, ProctorError)
    return answer(request, error)


def _of_validation(request: Request, error: Exception) -> Response:
    """What is wrong with each field, without its value: it may be a secret."""
    assert isinstance(error, RequestValidationError)
    errors = [{"where": _place(one["loc"]), "detail": str(one["msg"])} for one in error.errors()]
    first = errors[0] if errors else {"where": "", "detail": "The request can't be read."}
    return _problem(
        request,
        422,
        code=RequestInvalid.code,
        detail=first["detail"],
        where=first["where"] or None,
        remedy=RequestInvalid.remedy,
        errors=errors,
    )


def _of_data(request: Request, error: Exception) -> Response:
    """A value that no text of the database can be: with a zero byte, half a character, or out of all range."""
    _log.warning("request.unstorable", error=type(error).__name__)
    detail = "A value of the request can't be stored."
    return _problem(request, 422, code=RequestInvalid.code, detail=detail, remedy=RequestInvalid.remedy)


def _place(location: Sequence[int | str]) -> str:
    return ".".join(str(part) for part in location)


def _of_http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    kind = {404: PathUnknown, 405: MethodNotAllowed}.get(error.status_code, RequestInvalid)
    return _problem(
        request, error.status_code, code=kind.code, detail=kind().message, remedy=kind.remedy, headers=error.headers
    )


def _problem(
    request: HTTPConnection,
    status: int,
    *,
    code: str,
    detail: str,
    where: str | None = None,
    remedy: str | None = None,
    errors: Sequence[dict[str, str]] = (),
    headers: Mapping[str, str] | None = None,
) -> Response:
    body = Problem(
        title=HTTPStatus(status).phrase,
        status=status,
        code=code,
        detail=detail,
        where=where,
        remedy=remedy,
        request_id=getattr(request.state, "request_id", ""),
        trace_id=getattr(request.state, "trace_id", ""),
        errors=list(errors),
    )
    more = {"Retry-After": str(RETRY_SEC[status])} if status in RETRY_SEC else {}
    if status == 401:
        more["WWW-Authenticate"] = 'Bearer realm="proctor"'
    return JSONResponse(body.model_dump(), status, {**(headers or {}), **more}, media_type="application/problem+json")
