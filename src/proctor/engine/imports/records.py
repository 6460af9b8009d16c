"""The format of imported results, ``proctor-results-1``: a manifest and one JSON line an attempt.

``results.toml`` names the run set, the suite, and the profiles that were expected to sit it; ``attempts.jsonl`` holds
what happened, in the shapes of our own evidence: classes are derived from it by our policy and never taken over.
"""

from __future__ import annotations

import hashlib
import math
import re
import tomllib
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator

from proctor.engine.evidence import Phase, VerifierProblem
from proctor.kernel.errors import UsageError
from proctor.kernel.validation import words_of

__all__ = [
    "ATTEMPTS",
    "MANIFEST",
    "AttemptNames",
    "AttemptRecord",
    "ImportInvalid",
    "Manifest",
    "read_attempts",
    "read_manifest",
    "storable",
]

MANIFEST: str = "results.toml"
ATTEMPTS: str = "attempts.jsonl"
MAX_LINE: int = 1024 * 1024
"""Bytes of one attempt's line: evidence is facts, and logs are files."""

MAX_NUMBER: int = 1_000_000
"""Of a trial or an attempt: nobody tries one cell a million times, and a larger one is a mistake."""

MAX_AMOUNT: int = 2**53
"""Of tokens, and of nano-dollars (nine million dollars an attempt): what every JSON reader keeps whole."""

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", re.ASCII)
_CONTROL = re.compile("[\x00-\x1f\x7f]")


def _one_line(text: str) -> str:
    if _CONTROL.search(text):
        raise ValueError("it has control characters")
    return text


def _instant(value: object) -> object:
    if not isinstance(value, str) or _RFC_3339.fullmatch(value) is None:
        raise ValueError("it is not a time as RFC 3339 has it, with its zone: 2026-06-01T12:00:00Z")
    return value


def _in_utc(moment: datetime) -> datetime:
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        raise ValueError("it is outside the years 1 to 9999 in UTC") from None


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("it is not a number")
    return value


def storable(value: Any) -> Any:
    """Raises ``ValueError`` for what JSON, or the database's JSON, has no word for."""
    left: list[Any] = [value]
    while left:
        one = left.pop()
        if isinstance(one, float) and not math.isfinite(one):
            raise ValueError(f"it holds {one}, which is not a number of JSON")
        if isinstance(one, str) and not _is_text(one):
            raise ValueError("it holds a character that can't be stored")
        if isinstance(one, dict):
            left.extend([*one, *one.values()])
        elif isinstance(one, list):
            left.extend(one)
    return value


def _is_text(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a character
        return False
    return "\x00" not in text


_Text = Annotated[str, Field(max_length=200), AfterValidator(_one_line)]
_Name = Annotated[str, Field(min_length=1, max_length=200), AfterValidator(_one_line)]
_Count = Annotated[int, BeforeValidator(_number), Field(ge=1, le=MAX_NUMBER)]
_Amount = Annotated[int, BeforeValidator(_number), Field(ge=0, le=MAX_AMOUNT)]
_Reward = Annotated[float, BeforeValidator(_number), Field(allow_inf_nan=False)]
_Instant = Annotated[datetime, BeforeValidator(_instant), AfterValidator(_in_utc)]


class ImportInvalid(UsageError):
    """The results can't be imported; nothing was written."""

    code = "import-invalid"
    remedy = "docs/reference/results-format.md has every field."


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class ImportedProfile(_Strict):
    """A setting as its results say it was."""

    name: _Name
    series: _Name | None = None
    agent: _Name
    agent_version: _Text = "unknown"
    model: _Text | None = None
    thinking: _Text | None = None
    variant: _Text | None = None


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
    detail: Annotated[dict[str, Any], AfterValidator(storable)] = Field(default_factory=dict)


class UsageRecord(_Strict):
    """What an attempt says it used; what is left out or ``None`` is unknown."""

    input_tokens: _Amount | None = None
    cache_read_tokens: _Amount | None = None
    cache_write_tokens: _Amount | None = None
    output_tokens: _Amount | None = None
    cost_nano: _Amount | None = None


class AttemptNames(NamedTuple):
    """The names and numbers that an attempt was recorded under."""

    suite: str
    profile: str
    task: str
    trial: int
    attempt: int


class AttemptRecord(_Strict):
    """One attempt, by the names it was recorded under. ``rewards``: ``None`` where it was not graded."""

    suite: _Name
    profile: _Name
    task: _Name
    trial: _Count = 1
    attempt: _Count = 1
    started_at: _Instant
    ended_at: _Instant
    evidence: Annotated[list[EvidencePiece], Field(max_length=1000)] = Field(default_factory=list)
    rewards: Annotated[dict[_Name, _Reward], Field(min_length=1)] | None = None
    problem: VerifierProblem | None = None
    usage: UsageRecord | None = None

    @property
    def names(self) -> AttemptNames:
        """What tells it from other attempts."""
        return AttemptNames(self.suite, self.profile, self.task, self.trial, self.attempt)

    @model_validator(mode="after")
    def _agrees(self) -> AttemptRecord:
        if self.ended_at < self.started_at:
            raise ValueError("ended_at: it is before started_at")
        if self.rewards is not None and self.problem is not None:
            raise ValueError("problem: it stands in the place of rewards, and there are rewards")
        return self


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
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ImportInvalid(f"It is not TOML: {error}.", where=str(path)) from error
    except ValidationError as error:
        raise ImportInvalid(_first(error), where=str(path)) from error
    names = Counter(profile.name for profile in manifest.profiles)
    if twice := next((name for name, count in names.items() if count > 1), None):
        raise ImportInvalid(f"profiles: {twice!r} stands twice.", where=str(path))
    return manifest, digest.hexdigest()


def read_attempts(folder: Path) -> Iterator[tuple[str, AttemptRecord]]:
    """Every attempt with its place, line by line. Raises ``ImportInvalid`` naming the line and the field."""
    path = folder / ATTEMPTS
    with path.open("rb") as file:
        number = 0
        while line := file.readline(MAX_LINE + 1):
            number += 1
            place = f"{path}: line {number}"
            if len(line) > MAX_LINE:
                raise ImportInvalid(f"The line is longer than {MAX_LINE} bytes.", where=place)
            if not line.strip():
                continue
            try:
                yield place, AttemptRecord.model_validate_json(line)
            except ValidationError as error:
                raise ImportInvalid(_first(error), where=place) from error


def _first(error: ValidationError) -> str:
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    told = words_of(first)
    return f"{place}: {told}." if place else f"{told}."
