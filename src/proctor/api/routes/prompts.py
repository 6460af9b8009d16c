"""Versions of prompts, which targets of evaluation jobs name."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Response
from pydantic import BaseModel, ConfigDict, Field

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.idempotency import Repeatable
from proctor.api.lists import Page, Paging
from proctor.identity.audit_log import Action
from proctor.identity.permissions import Permission
from proctor.jobs.prompts import LONGEST_DESCRIPTION, NewPrompt, PromptRow, PromptVersion
from proctor.jobs.targets import LONGEST_PROMPT

__all__ = ["router"]

router = APIRouter(tags=["jobs"], route_class=Repeatable)
Reference = Annotated[str, Path(min_length=1, max_length=200, description="NAME@VERSION; NAME is the newest version.")]
_Reads = Annotated[Asked, needs(Permission.RUNS_READ)]
_Writes = Annotated[Asked, needs(Permission.RUNS_WRITE)]


class PromptWanted(BaseModel):
    """What is to be kept. ``{{input}}``, ``{{id}}`` and ``{{metadata.NAME}}`` are of the example."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"name": "capital", "prompt": "Answer in one word: {{input}}"}]},
    )

    name: str = Field(min_length=1, max_length=100)
    prompt: str = Field(min_length=1, max_length=LONGEST_PROMPT)
    system: str = Field(default="", max_length=LONGEST_PROMPT)
    description: str = Field(default="", max_length=LONGEST_DESCRIPTION)


class PromptAdded(BaseModel):
    """A version, and whether it was not there before."""

    prompt: PromptVersion
    new: bool


@router.get("/prompts", response_model=Page[PromptRow])
def list_prompts(asked: _Reads, paging: Paging) -> Response:
    """All versions by name, the newest of each first, without their texts."""
    return answered(paging.cut(asked.client.prompts.all(), lambda row: row.reference))


@router.post("/prompts", status_code=201, response_model=PromptAdded)
def add_prompt(asked: _Writes, body: PromptWanted) -> Response:
    """A new version of a name. The same texts again are the version that is there."""
    made, new = asked.client.prompts.add(NewPrompt(**body.model_dump()), creator=asked.principal.user)
    told = answered({"prompt": made, "new": new}, 201)
    return asked.noted(told, Action.PROMPT_ADDED, made.row.reference, digest=made.row.digest)


@router.get("/prompts/{prompt}", response_model=PromptVersion)
def show_prompt(asked: _Reads, prompt: Reference) -> Response:
    """A version with its texts."""
    return answered(asked.client.prompts.show(prompt))
