"""What may be asked of streams, as users write it."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from proctor.jobs.asking import BandName, Label

__all__ = ["StreamRequest"]

_Reference = Annotated[str, Field(min_length=1, max_length=300)]


class StreamRequest(BaseModel):
    """A stream: by which evaluators its rows are judged."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"name": "support-bot", "evaluators": ["contains"]}]}
    )

    name: Label = Field(description="A label; no other stream that is open has it.")
    evaluators: list[_Reference] = Field(min_length=1, max_length=50, description="NAME or NAME@VERSION of each.")
    band: BandName = Field(default="high", description="How urgent its rows are.")
    keep: bool = Field(
        default=False, description="Until it is deleted by name; otherwise as long as the tenant's retention says."
    )
