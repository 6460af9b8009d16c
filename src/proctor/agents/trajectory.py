"""Trajectories in the ATIF format (Agent Trajectory Interchange Format): versions 1.0 to 1.8 read, 1.7 written.

What a trajectory says is checked when it is made, so a value of these types is always a valid document:
steps are numbered 1..n, an observation answers a call of its own step, only agent steps carry model
fields, and the count in ``final_metrics`` agrees with the steps there are.

A trajectory is written by the agent under test, so nothing in it is evidence of what ended an attempt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    TypeAdapter,
    ValidationError,
    field_validator,
    model_validator,
)

from proctor.kernel.errors import UsageError
from proctor.kernel.validation import words_of

__all__ = [
    "ATIF_VERSION",
    "Agent",
    "AudioSource",
    "ContentPart",
    "FinalMetrics",
    "ImageSource",
    "Metrics",
    "Observation",
    "ObservationResult",
    "Step",
    "SubagentTrajectoryRef",
    "ToolCall",
    "Trajectory",
    "TrajectoryInvalid",
    "dump",
    "parse",
]

SchemaVersion = Literal[
    "ATIF-v1.0",
    "ATIF-v1.1",
    "ATIF-v1.2",
    "ATIF-v1.3",
    "ATIF-v1.4",
    "ATIF-v1.5",
    "ATIF-v1.6",
    "ATIF-v1.7",
    "ATIF-v1.8",
]
ATIF_VERSION: SchemaVersion = "ATIF-v1.7"
"""What we write: most validators in use stop at 1.7, and 1.8 adds audio only."""

AudioMedia = Literal[
    "audio/wav",
    "audio/mpeg",
    "audio/mp4",
    "audio/aac",
    "audio/ogg",
    "audio/flac",
    "audio/webm",
    "audio/aiff",
]
_AUDIO_SPELLINGS: dict[str, str] = {
    "audio/mp3": "audio/mpeg",
    "audio/mpga": "audio/mpeg",
    "audio/x-mpeg": "audio/mpeg",
    "audio/wave": "audio/wav",
    "audio/x-wav": "audio/wav",
    "audio/vnd.wave": "audio/wav",
    "audio/m4a": "audio/mp4",
    "audio/x-m4a": "audio/mp4",
    "audio/x-aac": "audio/aac",
    "audio/x-flac": "audio/flac",
    "audio/x-aiff": "audio/aiff",
}
"""Names that providers send for registered media types; stored under the registered one."""

_AGENT_ONLY: tuple[str, ...] = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")
_NO_MODEL_CALL: tuple[str, ...] = ("metrics", "reasoning_content")

_UNION_ARM = re.compile(r"(str|float|ImageSource|AudioSource)$|list\[|function-")
_SHOWN_PROBLEMS: int = 5
"""Problems named in one error; a wrong file repeats the same one for every step."""


class TrajectoryInvalid(UsageError):
    """The document is not a valid ATIF trajectory."""

    code = "trajectory-invalid"
    remedy = "Check it against ATIF 1.0 to 1.8; unknown fields belong in `extra`."


class _Atif(BaseModel):
    """What all parts share: no unknown field, no NaN, no change after birth."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


class ImageSource(_Atif):
    """Where an image is."""

    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]
    path: str


class AudioSource(_Atif):
    """Where a sound is."""

    media_type: AudioMedia
    path: str
    duration_sec: float | None = Field(default=None, ge=0)

    @field_validator("media_type", mode="before")
    @classmethod
    def _registered_name(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        plain = value.strip().lower()
        return _AUDIO_SPELLINGS.get(plain, plain)


class ContentPart(_Atif):
    """One part of a message: text, an image or a sound."""

    type: Literal["text", "image", "audio"]
    text: str | None = None
    source: ImageSource | AudioSource | None = None

    @model_validator(mode="after")
    def _carries_what_its_type_says(self) -> Self:
        kind = "text" if self.source is None else "image" if isinstance(self.source, ImageSource) else "audio"
        if kind != self.type:
            raise ValueError(f"a part of type {self.type!r} has the source of one of type {kind!r}")
        if (self.text is not None) != (self.type == "text"):
            raise ValueError("text belongs to parts of type 'text', and to them alone")
        return self


class SubagentTrajectoryRef(_Atif):
    """Points to a subagent's trajectory: embedded (``trajectory_id``) or in a file (``trajectory_path``)."""

    trajectory_id: str | None = None
    session_id: str | None = None
    trajectory_path: str | None = None
    extra: dict[str, JsonValue] | None = None

    @model_validator(mode="after")
    def _leads_somewhere(self) -> Self:
        if self.trajectory_id is None and self.trajectory_path is None:
            raise ValueError("give trajectory_id or trajectory_path; session_id alone finds nothing")
        return self


class ToolCall(_Atif):
    """One call that the agent made."""

    tool_call_id: str
    function_name: str
    arguments: dict[str, JsonValue]
    extra: dict[str, JsonValue] | None = None


class ObservationResult(_Atif):
    """What one call, or the environment by itself, gave back."""

    source_call_id: str | None = None
    content: str | list[ContentPart] | None = None
    subagent_trajectory_ref: list[SubagentTrajectoryRef] | None = None
    extra: dict[str, JsonValue] | None = None


class Observation(_Atif):
    """What the environment answered in one step."""

    results: list[ObservationResult]


class Metrics(_Atif):
    """Tokens and money of one step; prompt tokens include cached ones, unknown is absent."""

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost_usd: float | None = None
    prompt_token_ids: list[int] | None = None
    completion_token_ids: list[int] | None = None
    logprobs: list[float] | None = None
    extra: dict[str, JsonValue] | None = None


class FinalMetrics(_Atif):
    """Sums over a trajectory; the cost includes subagents."""

    total_prompt_tokens: int | None = None
    total_completion_tokens: int | None = None
    total_cached_tokens: int | None = None
    total_cost_usd: float | None = None
    total_steps: int | None = Field(default=None, ge=0)
    extra: dict[str, JsonValue] | None = None


class Agent(_Atif):
    """Who acted."""

    name: str
    version: str
    model_name: str | None = None
    tool_definitions: list[dict[str, JsonValue]] | None = None
    extra: dict[str, JsonValue] | None = None


class Step(_Atif):
    """One turn of the system, the user or the agent."""

    step_id: int = Field(ge=1)
    timestamp: str | None = None
    source: Literal["system", "user", "agent"]
    model_name: str | None = None
    reasoning_effort: str | float | None = None
    message: str | list[ContentPart]
    reasoning_content: str | None = None
    tool_calls: list[ToolCall] | None = None
    observation: Observation | None = None
    metrics: Metrics | None = None
    is_copied_context: bool | None = None
    """Copied from an earlier trajectory: out of training and out of usage sums."""
    llm_call_count: int | None = Field(default=None, ge=0)
    extra: dict[str, JsonValue] | None = None

    @field_validator("timestamp")
    @classmethod
    def _is_a_time(cls, value: str | None) -> str | None:
        try:
            if value is not None:
                datetime.fromisoformat(value)
        except ValueError as error:
            raise ValueError(f"{value!r} is no ISO 8601 time") from error
        return value

    @model_validator(mode="after")
    def _fields_fit_the_source(self) -> Self:
        if self.source != "agent":
            self._refuse(_AGENT_ONLY, f"not allowed on a step of source {self.source!r}")
        elif self.llm_call_count == 0:
            self._refuse(_NO_MODEL_CALL, "not allowed where llm_call_count is 0")
        return self

    @model_validator(mode="after")
    def _results_answer_calls_of_this_step(self) -> Self:
        if self.observation is None:
            return self
        calls = {call.tool_call_id for call in self.tool_calls or ()}
        for result in self.observation.results:
            if result.source_call_id is not None and result.source_call_id not in calls:
                raise ValueError(f"source_call_id {result.source_call_id!r} names no tool call of this step")
        return self

    def _refuse(self, names: Sequence[str], why: str) -> None:
        for name in names:
            if getattr(self, name) is not None:
                raise ValueError(f"{name} is {why}")


class Trajectory(_Atif):
    """One run of an agent, step by step."""

    schema_version: SchemaVersion = ATIF_VERSION
    session_id: str | None = None
    trajectory_id: str | None = None
    agent: Agent
    steps: list[Step] = Field(min_length=1)
    notes: str | None = None
    final_metrics: FinalMetrics | None = None
    continued_trajectory_ref: str | None = None
    extra: dict[str, JsonValue] | None = None
    subagent_trajectories: list[Trajectory] | None = None

    @model_validator(mode="after")
    def _steps_are_numbered_from_one(self) -> Self:
        for number, step in enumerate(self.steps, start=1):
            if step.step_id != number:
                raise ValueError(f"steps[{number - 1}].step_id is {step.step_id}, expected {number}")
        return self

    @model_validator(mode="after")
    def _total_steps_agrees(self) -> Self:
        """The format lets the two differ when the notes say why; silence is a mistake."""
        total = None if self.final_metrics is None else self.final_metrics.total_steps
        if total is not None and total != len(self.steps) and not self.notes:
            raise ValueError(f"final_metrics.total_steps is {total} of {len(self.steps)} steps, and no notes say why")
        return self

    @model_validator(mode="after")
    def _subagents_can_be_told_apart(self) -> Self:
        seen: set[str] = set()
        for position, child in enumerate(self.subagent_trajectories or ()):
            if child.trajectory_id is None or child.trajectory_id in seen:
                raise ValueError(f"subagent_trajectories[{position}] needs a trajectory_id of its own")
            seen.add(child.trajectory_id)
        return self


_DOCUMENT: TypeAdapter[Trajectory] = TypeAdapter(Trajectory)


def dump(trajectory: Trajectory) -> bytes:
    """The document as UTF-8 JSON without absent fields."""
    return _DOCUMENT.dump_json(trajectory, exclude_none=True)


def parse(document: bytes) -> Trajectory:
    """The trajectory in a JSON document. Raises ``TrajectoryInvalid`` naming the first places that are wrong."""
    try:
        return _DOCUMENT.validate_json(document)
    except ValidationError as error:
        raise _invalid(error) from error


def _invalid(error: ValidationError) -> TrajectoryInvalid:
    problems = error.errors(include_url=False, include_input=False, include_context=False)
    lines = [f"{_place(problem['loc'])}: {words_of(problem)}" for problem in problems[:_SHOWN_PROBLEMS]]
    if len(problems) > _SHOWN_PROBLEMS:
        lines.append(f"and {len(problems) - _SHOWN_PROBLEMS} more")
    return TrajectoryInvalid("; ".join(lines) + ".")


def _place(location: tuple[int | str, ...]) -> str:
    """``steps[0].message[1].text``, without the names that pydantic gives to the arms of a union."""
    parts = [part for part in location if isinstance(part, int) or not _UNION_ARM.match(part)]
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in parts)
    return text.removeprefix(".") or "document"
