"""Evaluators: what judges outputs, registered in versions, and which of them a tenant may use."""

from __future__ import annotations

from functools import partial
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import Connection

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.idempotency import Repeatable
from proctor.api.lists import Page, Paging
from proctor.api.threads import slowly
from proctor.evaluators import rules
from proctor.evaluators.facts import DatasetFacts
from proctor.evaluators.rows import EvaluatorDetail, EvaluatorRow
from proctor.evaluators.rules import EvaluatorRule
from proctor.evaluators.samples import MISSING, Sample
from proctor.evaluators.service import DEAREST_NANO, LONGEST_DESCRIPTION, Registration
from proctor.evaluators.suggesting import Suggestion
from proctor.evaluators.trials import Trial
from proctor.identity.audit_log import Action, Actor, note
from proctor.identity.permissions import Permission
from proctor.identity.service import find_tenant
from proctor.kernel.canonical import Json
from proctor.sdk.secrets import kept_secrets

__all__ = ["router"]

router = APIRouter(tags=["evaluators"], route_class=Repeatable)
Reference = Annotated[
    str, Path(min_length=1, max_length=200, description="A type, or NAME@VERSION; NAME is the newest version.")
]
TenantName = Annotated[str, Path(min_length=1, max_length=63, description="A tenant's name.")]
_Reads = Annotated[Asked, needs(Permission.EVALUATORS_READ)]
_Writes = Annotated[Asked, needs(Permission.EVALUATORS_WRITE)]
_Administers = Annotated[Asked, needs(Permission.PLATFORM)]
_Count = Annotated[int, Field(ge=0, le=1 << 53)]


class EvaluatorWanted(BaseModel):
    """What is to be registered."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"name": "one-line", "type": "regex", "configuration": {"pattern": "^.{1,80}$"}}]
        },
    )

    name: str = Field(min_length=1, max_length=100)
    type: str = Field(min_length=1, max_length=100)
    configuration: dict[str, Json] = Field(default_factory=dict)
    cost_nano: int | None = Field(default=None, ge=0, le=DEAREST_NANO, description="Of one evaluation, nano-dollars.")
    description: str = Field(default="", max_length=LONGEST_DESCRIPTION)


class TrialWanted(BaseModel):
    """One output to be judged. Texts are strings; any other JSON value is compared as a value."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"input": "6 x 7?", "expected": 42, "output": "It is 42."}]}
    )

    input: Json = None
    expected: Json = Field(default=None, description="Left out: nothing is expected.")
    output: Json


class FactsTold(BaseModel):
    """How many examples of a dataset expect what; each is counted once."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"number": 98, "missing": 2}]})

    missing: _Count = 0
    number: _Count = 0
    json_value: _Count = Field(default=0, alias="json")
    empty: _Count = 0
    one_word: _Count = 0
    short_text: _Count = 0
    long_text: _Count = 0
    code: _Count = 0


class RuleChange(BaseModel):
    """Whether a tenant may use it."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"allowed": False}]})

    allowed: bool | None = Field(description="null: nothing is said of it any more, and what is not said is allowed.")


@router.get("/evaluators", response_model=Page[EvaluatorRow])
def list_evaluators(
    asked: _Reads,
    paging: Paging,
    type: Annotated[str | None, Query(max_length=100, description="Only those of this type.")] = None,
    name: Annotated[str | None, Query(max_length=100, description="Only those of this name.")] = None,
) -> Response:
    """Every type, then every registered version by name, the newest of each first."""
    rows = [row for row in asked.client.evaluators.all() if type in (None, row.type) and name in (None, row.name)]
    return answered(paging.cut(rows, lambda row: row.reference))


@router.post("/evaluators", status_code=201, response_model=EvaluatorDetail)
def register_evaluator(asked: _Writes, body: EvaluatorWanted) -> Response:
    """A new version of a name. A version is what decides its numbers: the same again is the version that is there."""
    made = asked.client.evaluators.register(Registration(**body.model_dump()))
    row = made.row
    return asked.noted(
        answered(made, 201), Action.EVALUATOR_REGISTERED, row.reference, type=row.type, digest=row.digest
    )


@router.post("/evaluators/suggestions", response_model=list[Suggestion])
def suggest_evaluators(asked: _Reads, body: FactsTold) -> Response:
    """Which evaluators fit a dataset, the best first: by what its examples expect, by accuracy, by cost."""
    return answered(asked.client.evaluators.suggest(DatasetFacts(**body.model_dump(by_alias=True))))


@router.get("/evaluators/{evaluator}", response_model=EvaluatorDetail)
def show_evaluator(asked: _Reads, evaluator: Reference) -> Response:
    """An evaluator with its configuration: as it was said, and whole."""
    return answered(asked.client.evaluators.show(evaluator))


@router.post("/evaluators/{evaluator}/trials", response_model=Trial)
@slowly
def try_evaluator(asked: _Writes, evaluator: Reference, body: TrialWanted) -> Response:
    """Judge one output. What runs code runs it in a sandbox of the server's machine, for 30 seconds at the most."""
    expected = body.expected if "expected" in body.model_fields_set else MISSING
    sample = Sample(input=body.input, expected=expected, output=body.output)
    keys = partial(kept_secrets, asked.platform)
    trial = asked.client.evaluators.try_out(evaluator, sample, keys=keys, user=str(asked.principal.user))
    return answered(trial)


@router.get("/tenants/{tenant}/evaluator-rules", response_model=Page[EvaluatorRule])
def list_evaluator_rules(asked: _Administers, tenant: TenantName, paging: Paging) -> Response:
    """What is said of the evaluators that a tenant may use, for administrators of the installation."""
    identity = find_tenant(asked.server.database, tenant)
    found = asked.server.database.as_tenant(identity, lambda c: rules.rules_of(c, identity))
    return answered(paging.cut(found, lambda rule: rule.subject))


@router.put("/tenants/{tenant}/evaluator-rules/{subject}")
def change_evaluator_rule(
    asked: _Administers,
    tenant: TenantName,
    subject: Annotated[str, Path(min_length=1, max_length=100, description="A type, or an evaluator's name.")],
    body: RuleChange,
) -> list[EvaluatorRule]:
    """Forbid or allow a type, or a name in all its versions, to a tenant. What is said of a name counts first."""
    database, allowed = asked.server.database, body.allowed
    identity = find_tenant(database, tenant)

    def work(connection: Connection) -> list[EvaluatorRule]:
        if allowed is None:
            rules.forget_rule(connection, identity, subject)
        else:
            rules.set_rule(connection, identity, subject, allowed=allowed)
        who = Actor(request_id=asked.request_id)
        note(connection, identity, who, Action.EVALUATOR_RULE_SET, subject, allowed=allowed)
        return rules.rules_of(connection, identity)

    changed = database.as_tenant(identity, work)
    asked.note(Action.EVALUATOR_RULE_SET, f"{tenant}: {subject}", allowed=allowed)
    return changed
