"""Answers as JSON, written by pydantic's core: dataclasses, ids and times as the document says, in a tenth of the time
that it takes in Python."""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import Response
from pydantic_core import to_json

__all__ = ["answered"]


def answered(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """A value as a JSON answer; a number that is none is null."""
    return Response(to_json(value, inf_nan_mode="null"), status, headers, media_type="application/json")
