"""What an evaluator is set to: validated from hostile JSON, and the identity of a version.

A version is the name of a type, the number of that type's implementation and the configuration in its canonical form,
which leaves out what is as it is without being said. So an option that is added later changes no digest.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from proctor.evaluators.errors import ConfigurationInvalid
from proctor.kernel.canonical import Json, canonical_json, digest
from proctor.kernel.validation import words_of

__all__ = ["LARGEST_CONFIGURATION", "Configuration", "Definition", "canonical", "configured", "whole"]

LARGEST_CONFIGURATION: int = 1024 * 1024
"""Bytes of its canonical form: room for a JSON Schema or a program, and a row that a database reads at once."""


class Configuration(BaseModel):
    """What a type of evaluator can be told. The docstring of each says what it measures."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


C = TypeVar("C", bound=Configuration)


@dataclass(frozen=True, kw_only=True)
class Definition:
    """Everything that decides an evaluator's numbers."""

    type: str
    implementation: int
    """Of the type, in this program: raised when numbers could change."""
    configuration: Mapping[str, Json]
    """Canonical: only what is not as it is without being said."""

    @cached_property
    def digest(self) -> str:
        """sha256 over the RFC 8785 JSON of the three, 64 hex characters."""
        return digest(
            {"type": self.type, "implementation": self.implementation, "configuration": dict(self.configuration)}
        )


def configured(kind: type[C], given: Mapping[str, Json], *, where: str = "configuration") -> C:
    """A configuration from JSON. Raises ``ConfigurationInvalid`` naming the field, for an unknown one the nearest."""
    try:
        text = canonical_json(given)
    except ValueError as error:
        raise ConfigurationInvalid(f"It has no JSON form: {error}.", where=where) from error
    if len(text) > LARGEST_CONFIGURATION:
        raise ConfigurationInvalid(f"It has {len(text):,} bytes of {LARGEST_CONFIGURATION:,}.", where=where)
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join((where, *(str(part) for part in first["loc"])))
        raise ConfigurationInvalid(_words(kind, first), where=place) from error


def canonical(configuration: Configuration) -> dict[str, Json]:
    """What of it is not as it is without being said."""
    made: dict[str, Json] = configuration.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    return made


def whole(kind: type[Configuration], said: Mapping[str, Json]) -> dict[str, Json]:
    """What was said, with all that is as it is without being said."""
    fields = {field.alias or name: field for name, field in kind.model_fields.items() if not field.is_required()}
    return {**{name: field.get_default(call_default_factory=True) for name, field in fields.items()}, **said}


def _words(kind: type[Configuration], problem: ErrorDetails) -> str:
    if problem["type"] == "extra_forbidden":
        known = [field.alias or name for name, field in kind.model_fields.items()] if len(problem["loc"]) == 1 else []
        near = difflib.get_close_matches(str(problem["loc"][-1]), known, n=1, cutoff=0.5)
        told = f" Did you mean {near[0]!r}?" if near else f" There are {', '.join(known)}." if known else ""
        return f"There is no such key.{told}"
    if problem["type"] == "missing":
        return "This key is missing."
    return f"{words_of(problem)}."
