"""Answers of a server as the values that they were made of."""

from __future__ import annotations

from typing import Any, TypeVar
from urllib.parse import quote

from pydantic import TypeAdapter

__all__ = ["NEWEST", "part", "read", "run_set_path"]

T = TypeVar("T")
NEWEST = "~newest"
"""Stands for the newest run set on a server; no name looks like it."""


def read(kind: type[T], value: Any) -> T:
    """A JSON document as what it is of."""
    found: T = TypeAdapter(kind).validate_python(value)
    return found


def part(text: str) -> str:
    """One part of a path, whatever it holds."""
    return quote(text, safe="")


def run_set_path(reference: str | None) -> str:
    """A run set's, the newest's without a reference."""
    return f"run-sets/{part(reference or NEWEST)}"
