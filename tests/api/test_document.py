"""The OpenAPI document is what the API does: asked by schemathesis as every role and as nobody.

No answer is a server error, none has a status or a type that the document does not name, and none a body of another
shape. What a role changes on the way is its tenant's own.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.failures import FailureGroup
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from proctor.identity.permissions import Role
from tests.api.conftest import Tenant

CHECKS = (not_a_server_error, status_code_conformance, content_type_conformance, response_schema_conformance)
EXAMPLES = int(os.environ.get("PROCTOR_TEST_EXAMPLES", "12"))
"""Of each operation and role; more by hand."""
ROOT = Path(__file__).resolve().parents[2]
RESUMES = ("POST /api/v1/run-sets/{run_set}/resume",)
"""Accepted, and followed where it was."""
STREAM = "/api/v1/events"
WHO: tuple[str, ...] = ("nobody", *Role)


@schemathesis.serializer("application/x-tar")
def tar(_: object, value: object) -> bytes:
    """Whatever is made up is sent as it is: it is no tar, and said to be none."""
    return value if isinstance(value, bytes) else str(value).encode()


@schemathesis.serializer("application/x-ndjson")
def lines(_: object, value: object) -> bytes:
    """Whatever is made up is sent as it is."""
    return value if isinstance(value, bytes) else str(value).encode(errors="surrogatepass")


@schemathesis.serializer("application/octet-stream")
def octets(_: object, value: object) -> bytes:
    """Whatever is made up is sent as it is."""
    return value if isinstance(value, bytes) else str(value).encode()


@pytest.mark.timeout(400)  # every operation is asked some dozen times
@pytest.mark.parametrize("who", WHO)
def test_the_api_is_what_it_says(app: FastAPI, acme: Tenant, who: str) -> None:
    key = None if who == "nobody" else acme.as_role(Role(who)).key
    said = {} if key is None else {"Authorization": f"Bearer {key}"}
    schema = schemathesis.openapi.from_dict(app.openapi())
    schema.app = app
    wrong: list[str] = []
    for found in schema.get_all_operations():
        operation = found.ok()

        @settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            suppress_health_check=list(HealthCheck),
            phases=[Phase.explicit, Phase.generate],
        )
        @given(case=operation.as_strategy())
        def ask(case: schemathesis.Case) -> None:
            if case.path == STREAM:
                case.query = {**(case.query or {}), "wait": 0}  # or it would go on for as long as somebody listens
            response = case.call(headers={**(case.headers or {}), **said})
            case.validate_response(response, checks=list(CHECKS))

        try:
            ask()
        except (FailureGroup, AssertionError) as error:
            wrong.append(f"{operation.label}: {error}")
    assert not wrong, "\n\n".join(wrong)


def operations(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield f"{method.upper()} {path}", operation


def valid(document: dict[str, Any], schema: dict[str, Any], value: object) -> bool:
    """Whether a value is of a schema of the document."""
    whole = {**schema, "components": document["components"]}
    return bool(jsonschema_rs.validator_for(whole, validate_formats=True).is_valid(value))


def test_every_operation_is_described(app: FastAPI) -> None:
    for name, operation in operations(app.openapi()):
        assert operation.get("description") or operation.get("summary"), name


def test_every_part_has_an_example_that_fits_its_schema(app: FastAPI) -> None:
    document = app.openapi()
    wrong = []
    for name, operation in operations(document):
        parts = [(f"parameter {one['name']}", one) for one in operation.get("parameters", ())]
        bodies = [("body", operation.get("requestBody", {}).get("content", {}))]
        bodies += [(status, one.get("content", {})) for status, one in operation["responses"].items()]
        parts += [(where, body["application/json"]) for where, body in bodies if "application/json" in body]
        for where, part in parts:
            if "example" not in part or not valid(document, part["schema"], part["example"]):
                wrong.append(f"{name} {where}: {json.dumps(part.get('example'))[:300]}")
    assert not wrong, "\n".join(wrong)


def test_an_example_that_does_not_fit_is_seen(app: FastAPI) -> None:
    """Or the test above would prove nothing."""
    document = app.openapi()
    user = {"$ref": "#/components/schemas/User"}
    example = document["paths"]["/api/v1/users/{user}"]["get"]["responses"]["200"]["content"]["application/json"]
    assert valid(document, user, example["example"])
    assert not valid(document, user, {**example["example"], "id": "x"})
    assert not valid(document, user, {**example["example"], "version": "1"})


def test_refusals_are_problems_with_codes_of_the_catalogue(app: FastAPI) -> None:
    document, page = app.openapi(), (ROOT / "docs" / "reference" / "errors.md").read_text()
    for name, operation in operations(document):
        for status, response in operation["responses"].items():
            if int(status) < 400 or name == "GET /readyz":
                continue
            assert list(response["content"]) == ["application/problem+json"], (name, status)
            content = response["content"]["application/problem+json"]
            assert content["schema"] == {"$ref": "#/components/schemas/Problem"}
            assert content["examples"], (name, status)
            for code, named in content["examples"].items():
                example = document["components"]["examples"][named["$ref"].rsplit("/", 1)[-1]]
                assert valid(document, content["schema"], example["value"])
                assert (example["value"]["code"], example["value"]["status"]) == (code, int(status))
                assert f"| `{code}` |" in page, code
            assert {"X-Request-Id", "X-Trace-Id"} <= set(response["headers"])
            assert ("Retry-After" in response["headers"]) is (status in ("409", "429", "503"))


def test_an_operation_lists_only_what_it_can_answer(app: FastAPI) -> None:
    statuses = {name: set(operation["responses"]) for name, operation in operations(app.openapi())}
    common = {"422", "429", "500", "503", "504"}
    assert statuses["GET /healthz"] == {"200", "304", "429", "500", "504"}
    assert statuses["GET /api/v1/me"] == {"200", "304", "401", "403", *common}
    assert statuses["GET /api/v1/users/{user}"] == {"200", "304", "401", "403", "404", *common}
    assert statuses["PATCH /api/v1/users/{user}"] == {
        *("200", "400", "401", "403", "404", "409", "412", "413"),
        *common,
    }
    assert "402" in statuses["POST /api/v1/run-sets"]
    assert [name for name, found in statuses.items() if "402" in found] == [
        "POST /api/v1/run-sets",
        "POST /api/v1/run-sets/{run_set}/resume",
    ]
    assert "504" not in statuses["POST /api/v1/suites"]
    assert "401" not in statuses["POST /api/v1/setup"]


def test_headers_that_work_are_described(app: FastAPI) -> None:
    heeding = {}
    for name, operation in operations(app.openapi()):
        heeding[name] = {one["name"] for one in operation.get("parameters", ()) if one["in"] == "header"}
        (success, *_) = operation["responses"].values()
        assert {"X-Request-Id", "X-Trace-Id"} <= set(success["headers"]), name
        tagged = name.startswith("GET ") and "application/json" in success.get("content", {})
        assert ("ETag" in success["headers"]) is tagged, name
        assert ("If-None-Match" in heeding[name]) is tagged, name
        location = success["headers"].get("Location", {}).get("$ref")
        assert (location == "#/components/headers/Location") is (
            "202" in operation["responses"] and name not in RESUMES
        )
    assert "Idempotency-Key" in heeding["POST /api/v1/users"] & heeding["POST /api/v1/pushes"]
    assert "if-match" in heeding["PATCH /api/v1/users/{user}"]
    assert "Idempotency-Key" not in heeding["PUT /api/v1/budget"] | heeding["POST /api/v1/setup"]
    creating = {name for name, operation in operations(app.openapi()) if {"201", "202"} & set(operation["responses"])}
    assert {name for name in creating if "Idempotency-Key" not in heeding[name]} == {
        "POST /api/v1/session",
        "POST /api/v1/setup",
    }


def test_the_document_is_made_once(app: FastAPI) -> None:
    assert app.openapi() is app.openapi()
