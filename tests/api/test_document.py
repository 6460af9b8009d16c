"""The OpenAPI document is what the API does: asked by schemathesis as every role and as nobody.

No answer is a server error, none has a status or a type that the document does not name, and none a body of another
shape. What a role changes on the way is its tenant's own.
"""

from __future__ import annotations

import json
import os

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
STREAM = "/api/v1/events"
WHO: tuple[str, ...] = ("nobody", *Role)


@schemathesis.serializer("application/x-tar")
def tar(_: object, value: object) -> bytes:
    """Whatever is made up is sent as it is: it is no tar, and said to be none."""
    return value if isinstance(value, bytes) else str(value).encode()


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


def test_every_operation_is_described(app: FastAPI) -> None:
    document = app.openapi()
    for path, item in document["paths"].items():
        for method, operation in item.items():
            name = f"{method.upper()} {path}"
            assert operation.get("description") or operation.get("summary"), name
            if path.startswith("/api/"):
                problem = operation["responses"]["422"]["content"]
                assert "application/problem+json" in problem, name
            for body in operation.get("requestBody", {}).get("content", {}).values():
                shape = body["schema"]
                named = document["components"]["schemas"].get(shape.get("$ref", "").rsplit("/", 1)[-1], shape)
                assert "examples" in named or shape.get("format") == "binary" or not named.get("required"), (
                    f"{name}: {json.dumps(named)[:200]}"
                )
