"""What of the user's runs, and how it is called: a Python function, or a command."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Annotated

from pydantic import Field, field_validator

from proctor.evaluators.configuration import Configuration

__all__ = ["FOLDER", "CommandConfiguration", "Program", "PythonConfiguration", "command_program", "python_program"]

FOLDER: str = "/evaluator"
"""Where a program's files are in its sandbox."""
_FILE_NAME = r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$"


class _CodeConfiguration(Configuration):
    time_limit_sec: float = Field(default=60, gt=0, le=3600, description="Wall seconds for a batch.")
    memory_mb: int = Field(default=512, ge=32, le=65_536, description="Of the whole sandbox.")


class PythonConfiguration(_CodeConfiguration):
    """A Python function of the user's, ``evaluate(input, expected, output)``, in a sandbox without a network.

    It answers with a number from 0 to 1, a boolean, or ``{"score": ..., "label": ...}``. Where an example expects
    nothing, ``expected`` is ``None``. The source is part of the version's digest.
    """

    source: str = Field(min_length=1, max_length=262_144)
    function: str = Field(default="evaluate", pattern=r"^[A-Za-z_][A-Za-z0-9_]{0,99}$")


class CommandConfiguration(_CodeConfiguration):
    """A command of the user's in a sandbox without a network, once for a batch.

    It reads lines ``{"id", "input", "expected"?, "output"}`` and prints a line ``{"id", "score", "label"?}`` or
    ``{"id", "error"}`` for each, in any order. Lines without an id that it was given count for nothing.
    """

    command: list[Annotated[str, Field(max_length=4096)]] = Field(min_length=1, max_length=64)
    files: dict[str, Annotated[str, Field(max_length=262_144)]] = Field(
        default_factory=dict, max_length=20, description="Text by file name; they are in the folder it starts in."
    )

    @field_validator("command")
    @classmethod
    def _can_be_called(cls, command: list[str]) -> list[str]:
        if not command[0] or any("\0" in word for word in command):
            raise ValueError("a command begins with a program and holds no NUL")
        return command

    @field_validator("files")
    @classmethod
    def _names_are_plain(cls, given: dict[str, str]) -> dict[str, str]:
        import re

        for name in given:
            if re.fullmatch(_FILE_NAME, name) is None:
                raise ValueError(f"{name[:100]!r} can't name a file")
        return given


@dataclass(frozen=True, kw_only=True)
class Program:
    """What is started in a sandbox."""

    argv: tuple[str, ...]
    files: Mapping[str, str]
    """Text by name, all in ``FOLDER``, where it starts."""
    time_limit_sec: float
    memory_mb: int


def python_program(configuration: PythonConfiguration) -> Program:
    """The harness around a function."""
    harness = files("proctor.evaluators.code").joinpath("harness.py").read_text(encoding="utf-8")
    return Program(
        argv=("python3", "-B", f"{FOLDER}/harness.py", f"{FOLDER}/evaluator.py", configuration.function),
        files={"harness.py": harness, "evaluator.py": configuration.source},
        time_limit_sec=configuration.time_limit_sec,
        memory_mb=configuration.memory_mb,
    )


def command_program(configuration: CommandConfiguration) -> Program:
    """The command as it is."""
    return Program(
        argv=tuple(configuration.command),
        files=configuration.files,
        time_limit_sec=configuration.time_limit_sec,
        memory_mb=configuration.memory_mb,
    )
