"""Examples: by hand where meaning matters (``written``), else made of the schema with plausible values."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from proctor.api.document.written import KEYS, PARAMETERS, VALUES, WRITTEN

__all__ = ["Examples"]

Schema = Mapping[str, Any]
DEEPEST: int = 6
"""Schemas below one another; what may be null is so further down."""


class Examples:
    """Examples of the schemas of one document."""

    def __init__(self, schemas: Mapping[str, Schema]) -> None:
        self._schemas = schemas

    def of_parameter(self, parameter: Mapping[str, Any]) -> Any:
        """Of a parameter of a path, a query or a header."""
        name, schema = parameter["name"], parameter["schema"]
        value = PARAMETERS.get(name)
        if isinstance(value, str) and schema.get("type") == "array":
            return [value]
        is_other = isinstance(value, str) and schema.get("type") == "integer"
        return self.of(schema, name) if value is None or is_other else value

    def of(self, schema: Schema, name: str = "", depth: int = 0) -> Any:
        """Of a schema. ``name``: of the field that it is of."""
        if "$ref" in schema:
            return self._of_named(schema["$ref"].rsplit("/", 1)[-1], name, depth)
        for given in ("const", "default"):
            if schema.get(given) is not None:
                return schema[given]
        if schema.get("examples"):
            return schema["examples"][0]
        if "enum" in schema:
            return schema["enum"][0]
        if "anyOf" in schema:
            optional = depth > DEEPEST and {"type": "null"} in schema["anyOf"]
            return None if optional else self.of(schema["anyOf"][0], name, depth + 1)
        value = VALUES.get(name)
        return value if value is not None and _fits(value, schema) else self._made(schema, name, depth)

    def _of_named(self, kind: str, name: str, depth: int) -> Any:
        if kind in WRITTEN:
            return WRITTEN[kind]
        return self.of(self._schemas[kind], name, depth + 1)

    def _made(self, schema: Schema, name: str, depth: int) -> Any:
        kind = schema.get("type")
        if kind == "object":
            return self._object(schema, name, depth)
        if kind == "array":
            return self._array(schema, name, depth)
        if kind == "string":
            return _text(schema, name)
        if kind in ("integer", "number"):
            return _number(schema)
        return False if kind == "boolean" else {}

    def _object(self, schema: Schema, name: str, depth: int) -> Any:
        fields = schema.get("properties")
        if fields:
            return {field: self.of(one, field, depth + 1) for field, one in fields.items()}
        more = schema.get("additionalProperties")
        return {KEYS.get(name, "name"): self.of(more, "", depth + 1)} if isinstance(more, Mapping) and more else {}

    def _array(self, schema: Schema, name: str, depth: int) -> Any:
        if "prefixItems" in schema:
            return [self.of(one, name, depth + 1) for one in schema["prefixItems"]]
        return [self.of(schema.get("items", {}), name.removesuffix("s"), depth + 1)]


_TYPES: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "array": (list,),
    "boolean": (bool,),
}


def _fits(value: object, schema: Schema) -> bool:
    if type(value) not in _TYPES.get(schema.get("type", ""), ()):
        return False
    if isinstance(value, str):
        return schema.get("format") is None and re.search(schema.get("pattern", ""), value) is not None
    return True


def _text(schema: Schema, name: str) -> str:
    if schema.get("format") == "uuid":
        digits = hashlib.blake2b(name.encode(), digest_size=10).hexdigest()
        return f"0198c2f0-{digits[:4]}-7{digits[4:7]}-a{digits[7:10]}-{digits[8:20]}"
    if schema.get("format") == "date-time":
        return "2026-07-01T12:00:00Z"
    digest = re.fullmatch(r"\^\[0-9a-f\]\{(\d+)\}\$", schema.get("pattern", ""))
    if digest is not None:
        return hashlib.sha256(name.encode()).hexdigest()[: int(digest[1])]
    return (name or "text").ljust(schema.get("minLength", 0), "x")


def _number(schema: Schema) -> Any:
    least = schema.get("minimum", schema.get("exclusiveMinimum", 0))
    value = min(max(1, least), schema.get("maximum", schema.get("exclusiveMaximum", 1 << 31)))
    return int(value) if schema["type"] == "integer" else value
