"""The format of imported results, ``proctor-results-1``: a manifest and one JSON line an attempt.

``results.toml`` names the run set, the suite, and the profiles that were expected to sit it; ``attempts.jsonl`` holds
what happened, in the shapes of our own evidence: classes are derived from it by our policy and never taken over.
"""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proctor.engine.evidence import Phase, VerifierProblem
from proctor.kernel.errors import UsageError

__all__ = ["ATTEMPTS", "MANIFEST", "AttemptRecord", "ImportInvalid", "Manifest", "read_attempts", "read_manifest"]

MANIFEST: str = "results.toml"
ATTEMPTS: str = "attempts.jsonl"
MAX_LINE: int = 1024 * 1024
"""Bytes of one attempt's line: evidence is facts, and logs are files."""

_Name = Annotated[str, Field(min_length=1, max_length=200)]


class ImportInvalid(UsageError):
    """The results can't be imported; nothing was written."""

    code = "import-invalid"
    remedy = "docs/reference/results-format.md has every field."


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ImportedProfile(_Strict):
    """A setting as its results say it was."""

    name: _Name
    series: str | None = None
    agent: _Name
    agent_version: str = "unknown"
    model: str | None = None
    thinking: str | None = None
    variant: str | None = None


class Manifest(_Strict):
    """What was expected: every profile on every task of the suite, so many times."""

    format: Literal["proctor-results-1"]
    name: _Name
    suite: _Name
    trials: Annotated[int, Field(ge=1, le=1000)] = 1
    profiles: Annotated[list[ImportedProfile], Field(min_length=1, max_length=10_000)]


class EvidencePiece(_Strict):
    """One phase of an attempt."""

    phase: Phase
    detail: dict[str, Any] = Field(default_factory=dict)


class AttemptRecord(_Strict):
    """One attempt, by the names it was recorded under. ``rewards``: ``None`` where it was not graded."""

    suite: _Name
    profile: _Name
    task: _Name
    trial: Annotated[int, Field(ge=1)] = 1
    attempt: Annotated[int, Field(ge=1)] = 1
    started_at: datetime
    ended_at: datetime
    evidence: Annotated[list[EvidencePiece], Field(max_length=1000)] = Field(default_factory=list)
    rewards: dict[str, float] | None = None
    problem: VerifierProblem | None = None
    usage: dict[str, int | None] | None = None


def read_manifest(folder: Path) -> tuple[Manifest, str]:
    """The manifest and the digest of both files. Raises ``ImportInvalid`` naming file and field."""
    path = folder / MANIFEST
    try:
        manifest = Manifest.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        digest = hashlib.sha256(path.read_bytes())
        with (folder / ATTEMPTS).open("rb") as file:
            digest.update(hashlib.file_digest(file, "sha256").digest())
    except OSError as error:
        raise ImportInvalid(f"The file can't be read: {error.strerror}.", where=str(error.filename)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ImportInvalid(f"It is not TOML: {error}.", where=str(path)) from error
    except ValidationError as error:
        raise ImportInvalid(_first(error), where=str(path)) from error
    names = [profile.name for profile in manifest.profiles]
    if twice := next((name for name in names if names.count(name) > 1), None):
        raise ImportInvalid(f"profile {twice!r} stands twice.", where=str(path))
    return manifest, digest.hexdigest()


def read_attempts(folder: Path) -> Iterator[AttemptRecord]:
    """Every attempt, line by line. Raises ``ImportInvalid`` naming the line and the field."""
    path = folder / ATTEMPTS
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            if len(line) > MAX_LINE:
                raise ImportInvalid(f"The line is longer than {MAX_LINE} bytes.", where=f"{path}: line {number}")
            if not line.strip():
                continue
            try:
                yield AttemptRecord.model_validate_json(line)
            except ValidationError as error:
                raise ImportInvalid(_first(error), where=f"{path}: line {number}") from error


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return f"{place}: {first['msg']}." if place else f"{first['msg']}."
