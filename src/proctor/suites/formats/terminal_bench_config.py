"""The shape of Terminal-Bench 1's task.yaml and solution.yaml, as its release 0.2.18 reads them.

Unknown keys are kept aside and reported as notes, since Terminal-Bench ignores them; only Proctor's own table,
``proctor``, refuses what it does not know.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, field_validator

from proctor.suites.formats.harbor_config import LocalTable
from proctor.suites.formats.harbor_values import no_boolean
from proctor.suites.tasks import VerificationMode

__all__ = ["ProctorKey", "SolutionCommand", "TaskYaml"]

PYTEST: str = "pytest"
"""The one parser whose verdict is read here; the others judge by files and services of their own benchmarks."""
Seconds = Annotated[float, BeforeValidator(no_boolean), Field(gt=0)]
Pause = Annotated[float, BeforeValidator(no_boolean), Field(ge=0, le=3600)]
Estimate = Annotated[float, BeforeValidator(no_boolean), Field(ge=0)]


class _Table(BaseModel):
    """A table of a YAML file. Unknown keys are kept, so that a note can name them."""

    model_config = ConfigDict(extra="allow", frozen=True, allow_inf_nan=False)


class ProctorKey(_Table):
    """``proctor``: what Terminal-Bench has no word for."""

    model_config = ConfigDict(extra="forbid")

    verification: Literal[VerificationMode.LIVE, VerificationMode.SNAPSHOT] = VerificationMode.LIVE
    changes_system: bool = False
    local: LocalTable | None = None


class TaskYaml(_Table):
    """A whole task.yaml."""

    instruction: str
    difficulty: Literal["easy", "medium", "hard", "unknown"]
    author_name: str = "unknown"
    author_email: str = "unknown"
    category: str = "software_engineering"
    tags: list[str] = []
    parser_name: str = PYTEST
    max_agent_timeout_sec: Seconds = 360.0
    max_test_timeout_sec: Seconds = 60.0
    run_tests_in_same_shell: bool = False
    disable_asciinema: bool = False
    estimated_duration_sec: Estimate | None = None
    expert_time_estimate_min: Estimate | None = None
    junior_time_estimate_min: Estimate | None = None
    proctor: JsonValue = None

    @field_validator("parser_name")
    @classmethod
    def _is_read_here(cls, name: str) -> str:
        if name != PYTEST:
            raise ValueError(f"{name!r} is a parser that Proctor has not; only {PYTEST!r} is read")
        return name

    @field_validator("run_tests_in_same_shell")
    @classmethod
    def _has_a_shell_of_its_own(cls, wanted: bool) -> bool:
        if wanted:
            raise ValueError("is true, but no agent's shell is left here when tests are run")
        return wanted

    @property
    def described(self) -> dict[str, JsonValue]:
        """What people want to know of a task; kept as its metadata."""
        kept = self.model_dump(
            include={
                "difficulty",
                "category",
                "tags",
                "author_name",
                "author_email",
                "estimated_duration_sec",
                "expert_time_estimate_min",
                "junior_time_estimate_min",
            },
            exclude_none=True,
        )
        return {"format": "terminal-bench-1", **kept}


class SolutionCommand(_Table):
    """One entry of solution.yaml: what is typed, and how long is waited for it."""

    command: str
    min_timeout_sec: Pause = 0.0
    max_timeout_sec: Seconds = 180.0
    block: bool = False
    append_enter: bool = True
