"""Named, described SQL blocks, kept in ``queries.sql`` beside the service that runs them."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files
from typing import Any

from sqlalchemy import Connection, CursorResult, TextClause, text

__all__ = ["query_text", "run_query"]

_INCLUDED = re.compile(r"^-- include: (?P<name>\w+)$", re.MULTILINE)
_HEAD = re.compile(r"^-- name: (?P<name>\w+)$", re.MULTILINE)


@cache
def _texts(package: str) -> dict[str, str]:
    """Every block of the package's ``queries.sql`` by name, each begun by ``-- name: NAME``.

    A line ``-- include: NAME`` stands for a block above it, such as the beginning that several statements have.
    """
    source = files(package).joinpath("queries.sql").read_text(encoding="utf-8")
    parts = _HEAD.split(source)[1:]
    found: dict[str, str] = {}
    for name, body in zip(parts[::2], parts[1::2], strict=True):
        found[name] = _INCLUDED.sub(lambda include: found[include["name"]], body).strip()
    return found


@cache
def _load(package: str) -> dict[str, TextClause]:
    return {name: text(body) for name, body in _texts(package).items()}


def query_text(package: str, name: str) -> str:
    """One of a package's blocks as it is written, for an engine of its own."""
    return _texts(package)[name]


def run_query(package: str, connection: Connection, name: str, /, **parameters: object) -> CursorResult[Any]:
    """Execute one of a package's blocks."""
    return connection.execute(_load(package)[name], parameters)
