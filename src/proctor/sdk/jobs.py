"""What every kind of long work is made of."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from proctor.app import Platform
from proctor.kernel.canonical import Json
from proctor.objects.store import StoredObject
from proctor.operations.tally import Tally

__all__ = ["Job", "Made", "Upload", "Work"]


class Work(BaseModel):
    """What is asked for."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Upload(Work):
    """Where what was sent is."""

    key: str
    sha256: str
    size: int


@dataclass(frozen=True, kw_only=True)
class Job:
    """What work may use. ``objects``: the prefix of its own objects; ``scratch``: a folder that goes with it."""

    platform: Platform
    objects: str
    scratch: Path
    tally: Tally


@dataclass(frozen=True, kw_only=True)
class Made:
    """What came of it. ``download``: an object to be fetched."""

    result: Json
    download: StoredObject | None = None
