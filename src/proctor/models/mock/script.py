"""The script of the mock provider: a TOML file of rules, each with the replies that it gives turn by turn.

::

    [[rules]]
    model = "coder*"             # names of models, with * and ?; left out: any
    when = "(?i)fix the tests"   # searched for in what the user says before the first answer; left out: always

    [[rules.replies]]            # the first turn
    text = "I run them."
    calls = [{ shell = "pytest -q" }, { name = "read_file", arguments = { path = "a.py" } }]

    [[rules.replies]]            # the second
    status = 429
    retry_after = 1

The first rule that fits is taken. How many messages of the assistant a conversation has picks the reply; past the last
one it is ``Done.``. All fields are in ``docs/reference/mock.md``.
"""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator

from proctor.kernel.validation import words_of
from proctor.models.conversation import TokenUsage
from proctor.models.mock.errors import MockScriptInvalid

__all__ = ["NO_SCRIPT", "Script", "ScriptedCall", "ScriptedReply", "ScriptedRule", "parse_script", "read_script"]

_LONGEST_SEC: float = 3_600.0
"""A delay is longer than no attempt's time: an hour is enough for each."""
_SHOWN_PROBLEMS: int = 5
"""Problems named in one error."""

Count = Annotated[int, Field(ge=0, le=10**12)]


class _Table(BaseModel):
    """What all parts share: no unknown field, no change after birth, no value taken for one of another type."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class ScriptedCall(_Table):
    """A call of a tool: by name with arguments, or of whichever tool runs shell commands."""

    name: str = ""
    arguments: dict[str, JsonValue] = Field(default_factory=dict)
    shell: str | None = None

    @model_validator(mode="after")
    def _of_one_kind(self) -> Self:
        if (self.shell is None) == (not self.name):
            raise ValueError("give name or shell, and not both")
        if self.shell is not None and self.arguments:
            raise ValueError("arguments belong to a call by name; shell has its command alone")
        return self


class ScriptedUsage(_Table):
    """Tokens as they are to be told; what is left out is 0."""

    input: Count = 0
    cache_read: Count = 0
    cache_write: Count = 0
    output: Count = 0
    reasoning: Count = 0

    def tokens(self) -> TokenUsage:
        """In the words that all share."""
        return TokenUsage(
            input_tokens=self.input,
            cache_read_tokens=self.cache_read,
            cache_write_tokens=self.cache_write,
            output_tokens=self.output,
            reasoning_tokens=self.reasoning,
        )


class ScriptedReply(_Table):
    """One turn: an answer, or with ``status`` an error."""

    text: str = ""
    reasoning: str = ""
    calls: list[ScriptedCall] = Field(default_factory=list)
    finish: Literal["stop", "length", "tool_calls", "refused"] | None = None
    usage: ScriptedUsage | None = None
    model: str = ""
    delay_sec: float = Field(default=0.0, ge=0, le=_LONGEST_SEC)
    drop_after: int | None = Field(default=None, ge=0)
    status: int | None = Field(default=None, ge=400, le=599)
    code: str = ""
    retry_after: float | None = Field(default=None, ge=0)

    @model_validator(mode="after")
    def _answers_or_fails(self) -> Self:
        answers = self.reasoning or self.calls or self.finish or self.usage or self.model
        if self.status is None and (self.code or self.retry_after is not None):
            raise ValueError("code and retry_after belong to a reply with a status")
        if self.status is not None and (answers or self.drop_after is not None):
            raise ValueError("a reply with a status is an error: it can have text, code, retry_after and delay_sec")
        return self


class ScriptedRule(_Table):
    """For which requests, and what is answered to them."""

    model: str = "*"
    when: str = ""
    replies: list[ScriptedReply] = Field(default_factory=list)

    @field_validator("when")
    @classmethod
    def _can_be_searched_for(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"it is no regular expression: {error}") from error
        return value


class Script(_Table):
    """A whole script."""

    rules: list[ScriptedRule] = Field(default_factory=list)


NO_SCRIPT = Script()


def read_script(path: Path) -> Script:
    """The script in a file. Raises ``MockScriptInvalid``."""
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise MockScriptInvalid(f"The script can't be read: {error.strerror}.", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise MockScriptInvalid(f"The script is not TOML: {error}.", where=str(path)) from error
    return parse_script(text, str(path))


def parse_script(text: str, where: str) -> Script:
    """A script's text; ``where`` it is from, for a reader. Raises ``MockScriptInvalid`` naming the fields."""
    try:
        return Script.model_validate(tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise MockScriptInvalid(f"The script is not TOML: {error}.", where=where) from error
    except ValidationError as error:
        problems = error.errors(include_url=False, include_input=False, include_context=False)
        words = "; ".join(
            f"{'.'.join(str(part) for part in one['loc']) or 'the file'}: {words_of(one)}"
            for one in problems[:_SHOWN_PROBLEMS]
        )
        raise MockScriptInvalid(f"{words}.", where=where) from error
