"""What pydantic finds wrong with a field, in words for whoever wrote the file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

__all__ = ["words_of"]

_KINDS: Mapping[str, str] = {
    "missing": "It is missing",
    "extra_forbidden": "There is no such field",
    "bool_type": "It has to be true or false",
    "bool_parsing": "It has to be true or false",
    "int_type": "It has to be a whole number",
    "int_parsing": "It has to be a whole number",
    "int_from_float": "It has to be a whole number",
    "float_type": "It has to be a number",
    "float_parsing": "It has to be a number",
    "string_type": "It has to be a text, in quotes",
    "list_type": "It has to be a list",
    "dict_type": "It has to be a table",
    "model_type": "It has to be a table",
    "model_attributes_type": "It has to be a table",
}
"""By the type of an error, as https://docs.pydantic.dev/latest/errors/validation_errors/ lists them: its own words for
these are of a validator's input, which no writer of a file knows of."""


def words_of(problem: ErrorDetails) -> str:
    """What is wrong with a field: a sentence without its end, and without what was written there."""
    said = _KINDS.get(problem["type"]) or problem["msg"].removeprefix("Value error, ").rstrip(".")
    return re.sub("^(Input|String|List|Dictionary|Value) should", "It should", said)
