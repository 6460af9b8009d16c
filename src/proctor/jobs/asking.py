"""What may be asked of evaluation jobs, as users write it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from proctor.jobs.chunks import REPEATS
from proctor.jobs.targets import Target

__all__ = ["LONGEST_REASON", "BandName", "EvaluationRequest", "HoldRequest", "Label", "ResultChoice", "RouteRequest"]

BandName = Literal["critical", "high", "normal", "low"]
LONGEST_REASON: int = 500
"""Characters of why a job is held: a case number and a sentence."""
Label = Annotated[str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f\x7f-\x9f\u2028\u2029]+$")]
"""What people call a job: on one line."""
_Reference = Annotated[str, Field(min_length=1, max_length=300)]


class RouteRequest(BaseModel):
    """An evaluator that judges only what a cheap one is not certain of, and a sample of the rest."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"evaluator": "meaning", "after": "token-f1", "low": 0.2, "high": 0.8, "otherwise": 0.05}]
        },
    )

    evaluator: _Reference = Field(description="Which, as it stands among the evaluators.")
    after: _Reference = Field(description="The cheap one, which judges everything; also among the evaluators.")
    low: float = Field(ge=0, le=1, description="From this score of the cheap one on it is not certain,")
    high: float = Field(ge=0, le=1, description="up to this one; nor where it gave no score.")
    otherwise: float = Field(
        default=0, ge=0, le=1, description="With which probability it judges what the cheap one is certain of."
    )


class EvaluationRequest(BaseModel):
    """A job: outputs of a dataset version's examples, judged by evaluators."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"dataset": "capitals@1.0.0", "samples": "gpt-baseline", "evaluators": ["exact-match"]}]
        },
    )

    dataset: _Reference = Field(description="NAME, NAME@VERSION, an id or its beginning.")
    samples: _Reference | None = Field(
        default=None, description="Outputs that are kept: their name, an id or its beginning; or else a target."
    )
    target: Target | None = Field(default=None, description="What is to make the outputs.")
    repeats: int = Field(default=1, ge=1, le=REPEATS, description="Outputs that a target makes of each example.")
    budget: Annotated[str, Field(max_length=50)] | None = Field(
        default=None, description="What models may cost it at the most, as in '5 USD'."
    )
    evaluators: list[_Reference] = Field(min_length=1, max_length=50, description="NAME or NAME@VERSION of each.")
    routes: list[RouteRequest] = Field(
        default_factory=list, max_length=50, description="Which of them judge only a part, and which part."
    )
    name: Label | None = Field(default=None, description="A label; without one that of the outputs.")
    band: BandName = Field(default="normal", description="How urgent it is.")
    keep: bool = Field(
        default=True, description="Until it is deleted by name; otherwise as long as the tenant's retention says."
    )


class HoldRequest(BaseModel):
    """A legal hold."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"reason": "case 12/2026"}]})

    reason: str = Field(min_length=1, max_length=LONGEST_REASON, description="Why nothing of it may be removed.")


@dataclass(frozen=True, kw_only=True)
class ResultChoice:
    """Which of a job's results: those that fit all that is said."""

    status: str | None = None
    evaluator: str | None = None
    """By its name in the results."""
    at_least: float | None = None
    """A score from here on."""
    below: float | None = None
    """A score under this one."""
