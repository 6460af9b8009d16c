"""``json-schema``: whether an output is JSON that a JSON Schema allows, by the library jsonschema."""

from __future__ import annotations

from functools import lru_cache

from pydantic import Field, field_validator

from proctor.evaluators.configuration import Configuration
from proctor.evaluators.interfaces import Samples, Scores
from proctor.evaluators.metrics.schemas import Guarded, TooMuchWork, schema_problem
from proctor.evaluators.statuses import Status
from proctor.evaluators.values import NotJson, read_json, without_fence
from proctor.kernel.canonical import Json

__all__ = ["JsonSchema", "JsonSchemaConfiguration"]

_REMEMBERED: int = 256
"""Schemas of examples that are kept read, in one batch: datasets that have one for each example need no more."""


class JsonSchemaConfiguration(Configuration):
    """1 where the output is JSON that the schema allows, else 0. Without ``schema`` it is the expected output.

    An output that is no JSON is a parse error. ``format`` is not checked, as JSON Schema has it.
    """

    json_schema: dict[str, Json] | bool | None = Field(
        default=None, alias="schema", description="Unset: the expected output. Drafts 3 to 2020-12, by `$schema`."
    )
    fences: bool = Field(default=True, description="A Markdown code fence around the output is taken off.")

    @field_validator("json_schema")
    @classmethod
    def _can_be_used(cls, schema: dict[str, Json] | bool | None) -> dict[str, Json] | bool | None:
        if schema is not None and (problem := schema_problem(schema)) is not None:
            raise ValueError(problem)
        return schema


class JsonSchema:
    """Implements ``Evaluator``."""

    def __init__(self, configuration: JsonSchemaConfiguration) -> None:
        self._fences = configuration.fences
        self._own = None if configuration.json_schema is None else Guarded(configuration.json_schema)

    def score(self, samples: Samples) -> Scores:
        """A row for each sample; a schema that many examples expect is read once."""
        from proctor.evaluators.assembling import Row, RowFault, by_rows

        expected = lru_cache(maxsize=_REMEMBERED)(_expected)

        def judge(row: Row) -> float:
            schema = self._own or expected(row.needed())
            if isinstance(schema, str):
                raise RowFault(Status.INVALID_EXAMPLE, f"the expected output is no JSON Schema: {schema}")
            try:
                return float(schema.allows(self._read(row.output, is_json=row.output_is_json)))
            except NotJson as error:
                raise RowFault(Status.PARSE_ERROR, f"the output is no JSON: {error}") from error
            except TooMuchWork as error:
                raise RowFault(Status.PARSE_ERROR, str(error)) from error

        return by_rows(samples, judge)

    def _read(self, text: str, *, is_json: bool) -> Json:
        return read_json(text if is_json or not self._fences else without_fence(text))


def _expected(text: str) -> Guarded | str:
    """The schema that an example expects, or what is wrong with it."""
    try:
        schema = read_json(text)
    except NotJson as error:
        return str(error)
    if not isinstance(schema, dict | bool):
        return "it is neither an object nor a boolean"
    return schema_problem(schema) or Guarded(schema)
