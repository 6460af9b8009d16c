"""Targets: what makes the outputs that a job judges, as a user writes it, and the prompt for each example.

A target is a model, a prompt and parameters, or a command; its digest is what its outputs are kept under, so that the
same target is never asked twice for the same repeat of the same example, by whichever job.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from proctor.evaluators.code.programs import CommandConfiguration
from proctor.jobs.errors import TargetInvalid
from proctor.kernel.canonical import Json, digest
from proctor.kernel.validation import words_of
from proctor.models.conversation import ChatRequest, Message, Role, Text

__all__ = ["LONGEST_PROMPT", "CommandTarget", "Target", "check_template", "read_target", "rendered"]

_FIELD = re.compile(r"\{\{\s*(?P<name>[A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}")
_FIELDS = ("id", "input")
_METADATA = "metadata."
_LARGEST = 1 << 20
"""Bytes of a file: a prompt with its examples is a hundredth of it."""


LONGEST_PROMPT: int = 1 << 18
"""Characters: a prompt with a hundred worked examples."""


class CommandTarget(CommandConfiguration):
    """A command of the user's in a sandbox without a network, once for at most 100 examples.

    It reads lines ``{"id", "input", "metadata"}`` and prints a line ``{"id", "output"}`` or ``{"id", "error"}`` for
    each, in any order. An output is text. Lines without an id that it was given count for nothing.
    """


class Target(BaseModel):
    """A model, how it is asked, and with which parameters; or a command."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    model: Annotated[str, Field(min_length=3, max_length=300, pattern=r"^[^/]+/.+$")] | None = Field(
        default=None, description="provider/name"
    )
    fallbacks: Annotated[list[str], Field(max_length=10)] = Field(default_factory=list)
    system: str = Field(default="", max_length=LONGEST_PROMPT)
    prompt: str = Field(
        default="{{input}}",
        min_length=1,
        max_length=LONGEST_PROMPT,
        description="{{input}}, {{id}} and {{metadata.NAME}} are of the example.",
    )
    prompt_version: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="NAME or NAME@VERSION of the registry, in place of prompt and system."
    )
    max_output_tokens: int | None = Field(default=None, ge=1, le=10_000_000)
    thinking: str | None = None
    parameters: dict[str, Json] = Field(default_factory=dict, description="temperature, top_p, seed and the like.")
    command: CommandTarget | None = Field(default=None, description="A program in place of a model.")

    @cached_property
    def digest(self) -> str:
        """sha256 over its RFC 8785 JSON, without what is as it is without being said, and without a prompt's name."""
        return digest(self.model_dump(mode="json", exclude_defaults=True, exclude={"prompt_version"}))

    @property
    def models(self) -> tuple[str, ...]:
        """What it asks, the first one first; none of a command."""
        return () if self.model is None else (self.model, *self.fallbacks)

    @property
    def says_prompt(self) -> bool:
        """Whether it has a prompt of its own."""
        return bool({"prompt", "system"} & self._said)

    @property
    def _said(self) -> set[str]:
        """What is not as it is without being said."""
        return set(self.model_dump(exclude_defaults=True))

    @property
    def words(self) -> str:
        """What makes the outputs, for a reader."""
        return self.model if self.model is not None else " ".join(self.command.command if self.command else ())[:100]

    def request(self, example: Mapping[str, str | None]) -> ChatRequest:
        """What is asked for an example. Raises ``TargetInvalid`` where it lacks what the prompt names."""
        messages = [Message(role=Role.USER, parts=[Text(text=rendered(self.prompt, example))])]
        if self.system:
            messages.insert(0, Message(role=Role.SYSTEM, parts=[Text(text=rendered(self.system, example))]))
        return ChatRequest(
            model=self.models[0],
            messages=messages,
            max_output_tokens=self.max_output_tokens,
            thinking=self.thinking,
            sampling=self.parameters,
        )

    def check(self) -> None:
        """Raises ``TargetInvalid`` where it is neither model nor command, or its prompt names what no example has."""
        if (self.model is None) == (self.command is None):
            raise TargetInvalid("Name a model, or a command.", where="model")
        if self.command is not None and (said := sorted(self._said - {"command"})):
            raise TargetInvalid("A command has no such key: it is asked nothing in words.", where=said[0])
        for text, where in ((self.prompt, "prompt"), (self.system, "system")):
            check_template(text, where)


def check_template(text: str, where: str) -> None:
    """Raises ``TargetInvalid`` for a text that names what no example has."""
    for name in _FIELD.findall(text):
        if name not in _FIELDS and not name.startswith(_METADATA):
            raise TargetInvalid(f"There is no {{{{{name}}}}}; there are input, id and metadata.NAME.", where=where)


def rendered(template: str, example: Mapping[str, str | None]) -> str:
    """A template with an example's fields in their places; what they hold is never read as a template itself."""
    metadata = json.loads(example.get("metadata") or "{}")

    def value(found: re.Match[str]) -> str:
        name = found["name"]
        if name in _FIELDS:
            return example[name] or ""
        told = metadata.get(name.removeprefix(_METADATA))
        if told is None:
            raise TargetInvalid(f"The example has no {name}.", where="prompt")
        return told if isinstance(told, str) else json.dumps(told, ensure_ascii=False)

    return _FIELD.sub(value, template)


def read_target(path: Path) -> Target:
    """A target from its TOML file. Raises ``TargetInvalid`` naming the field."""
    try:
        with path.open("rb") as file:
            document = tomllib.loads(file.read(_LARGEST).decode())
    except OSError as error:
        raise TargetInvalid(f"It can't be read: {error.strerror}.", where=str(path)) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise TargetInvalid(f"It is no TOML: {error}.", where=str(path)) from error
    try:
        target = Target.model_validate(document)
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        raise TargetInvalid(f"{words_of(first)}.", where=f"{path}: {field}") from error
    target.check()
    return target
