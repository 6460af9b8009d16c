"""Canonical JSON (RFC 8785) and the digests taken over it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import rfc8785
from typing_extensions import TypeAliasType

__all__ = ["Json", "canonical_json", "digest", "sha256_hex"]

if TYPE_CHECKING:
    Json = None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"]
else:
    Json = TypeAliasType("Json", None | bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"])  # noqa: RUF036
"""Named, so that a schema can be made of what holds it; to mypy a plain union, which may refer to itself."""


def canonical_json(value: Json) -> bytes:
    """The one byte form of a JSON value, by RFC 8785. Raises ValueError for NaN, infinity and ints over 2**53."""
    try:
        return rfc8785.dumps(value)
    except rfc8785.CanonicalizationError as error:
        raise ValueError(str(error)) from error


def sha256_hex(data: bytes) -> str:
    """The sha256 of bytes, 64 lower-case hex characters."""
    return hashlib.sha256(data).hexdigest()


def digest(value: Json) -> str:
    """sha256 of the canonical JSON of a value, 64 hex characters."""
    return sha256_hex(canonical_json(value))
