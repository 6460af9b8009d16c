"""``${NAME}`` and ``${NAME:-default}`` in the values that a task gives to its environment.

A value is a reference only as a whole; inside a longer text it is literal, as Harbor takes it. Names are
resolved when an attempt starts, from the secrets of the run-set file, and never stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from proctor.suites.errors import VariableMissing

__all__ = ["every_name", "malformed_reference", "resolve_variables", "variable_names", "variable_reference"]

_WHOLE = re.compile(r"\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>.*))?\}", re.DOTALL)
_PART = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*(?::-[^}]*)?\}")

_NOT_GIVEN: str = "which enters no sandbox: it is no secret of the run set, or a provider's key"


def variable_names(*tables: Mapping[str, str]) -> frozenset[str]:
    """The names without a default that these tables refer to."""
    found = (_WHOLE.fullmatch(value) for table in tables for value in table.values())
    return frozenset(match["name"] for match in found if match and match["default"] is None)


def every_name(table: Mapping[str, str]) -> frozenset[str]:
    """All names that a table refers to, those with a default too."""
    return frozenset(name for value in table.values() if (name := variable_reference(value)) is not None)


def resolve_variables(table: Mapping[str, str], known: Mapping[str, str]) -> dict[str, str]:
    """The table with its references replaced. Raises ``VariableMissing`` for a name that is not known."""
    return {key: _resolved(key, value, known) for key, value in table.items()}


def variable_reference(value: str) -> str | None:
    """The name that a value refers to as a whole, or ``None``."""
    match = _WHOLE.fullmatch(value)
    return None if match is None else match["name"]


def malformed_reference(values: Iterable[str]) -> str | None:
    """The first value whose ``${`` begins no reference, or ``None``."""
    return next((value for value in values if not _WHOLE.fullmatch(value) and "${" in _PART.sub("", value)), None)


def _resolved(key: str, value: str, known: Mapping[str, str]) -> str:
    match = _WHOLE.fullmatch(value)
    if match is None:
        return value
    found = known.get(match["name"], match["default"])
    if found is None:
        raise VariableMissing(f"{key} refers to ${{{match['name']}}}, {_NOT_GIVEN}.")
    return found
