"""Names of the Gemini API's fields: JSON of protocol buffers, in which each field has two spellings."""

from __future__ import annotations

import re
from collections.abc import Mapping

from proctor.kernel.canonical import Json
from proctor.models.errors import RequestInvalid

__all__ = ["camel", "camel_name", "snake_name"]

_FREE: frozenset[str] = frozenset(
    {"args", "response", "parametersJsonSchema", "parameters", "responseSchema", "responseJsonSchema", "labels"}
)
"""Fields whose tables have names of the caller's own."""
_UNDERSCORE = re.compile(r"_([a-z0-9])")
_CAPITAL = re.compile(r"[A-Z]")


def camel_name(name: str) -> str:
    """``max_output_tokens`` as ``maxOutputTokens``."""
    return _UNDERSCORE.sub(lambda found: found.group(1).upper(), name)


def snake_name(name: str) -> str:
    """The reverse."""
    return _CAPITAL.sub(lambda found: f"_{found.group().lower()}", name)


def camel(body: Mapping[str, Json]) -> dict[str, Json]:
    """A body with all its fields in camel case. It calls itself no deeper than the body is, which has been checked.

    Raises ``RequestInvalid`` for a field in both spellings: it could say one thing here and another to the provider.
    """
    plain = {
        camel_name(name): value if camel_name(name) in _FREE else _camel_value(value) for name, value in body.items()
    }
    if len(plain) != len(body):
        twice = next(name for name in body if name != camel_name(name) and camel_name(name) in body)
        raise RequestInvalid("It is said twice, in both spellings.", where=camel_name(twice))
    return plain


def _camel_value(value: Json) -> Json:
    if isinstance(value, dict):
        return camel(value)
    return [_camel_value(one) for one in value] if isinstance(value, list) else value
