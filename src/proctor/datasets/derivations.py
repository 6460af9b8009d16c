"""What a version can be made into: each is a document, so that it is asked for the same way everywhere."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from proctor.datasets.queries import QUERY_CHARACTERS

__all__ = ["Dedupe", "Derivation", "Filter", "Merge", "NewVersion", "Relabel", "Sample"]

LABELS: int = 100_000
"""New labels that are given at once: they are held in memory. More come as an import, which compares by id."""

Reference = Annotated[
    str, Field(min_length=1, max_length=200, description="NAME, NAME@VERSION, or an id or its first 8 characters.")
]
_STORABLE: str = r"^[^\x00]*$"
"""No text of the database has a zero byte."""
_Word = Annotated[str, Field(min_length=1, max_length=200, pattern=_STORABLE)]


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class NewVersion(_Document):
    """What is to be made. ``version``: a label, ``timestamp``, or the next minor one without."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"dataset": "support-questions", "version": "1.2.0"}]})

    dataset: str = Field(max_length=100, description="Its name; a dataset that is not there yet begins with it.")
    version: str | None = Field(default=None, max_length=100, description="1.2.0, timestamp, or the next minor one.")
    metadata: Mapping[_Word, Annotated[str, Field(max_length=2000, pattern=_STORABLE)]] = Field(
        default={}, max_length=100, description="What its creator says of it."
    )


class Filter(_Document):
    """The examples that fit all that is named."""

    operation: Literal["filter"] = "filter"
    source: Reference
    tags: list[_Word] = Field(default=[], max_length=100, description="With all of these.")
    without_tags: list[_Word] = Field(default=[], max_length=100, description="With none of these.")
    difficulty: _Word | None = None
    from_source: str | None = Field(
        default=None, min_length=1, max_length=2000, pattern=_STORABLE, description="Whose source is this."
    )
    split: _Word | None = Field(default=None, description="One of the version's splits.")
    words: _Word | None = Field(
        default=None, description="That stand in the id, the input or the expected output, whatever their case."
    )
    query: str | None = Field(
        default=None,
        min_length=1,
        max_length=QUERY_CHARACTERS,
        pattern=_STORABLE,
        description="Words and terms that all fit: refund tag=billing -difficulty=easy segment=gift is:duplicate.",
    )


class Merge(_Document):
    """The examples of several versions, one after the other."""

    operation: Literal["merge"] = "merge"
    sources: list[Reference] = Field(min_length=2, max_length=100)
    prefer: Literal["first", "last"] | None = Field(
        default=None, description="Which stays where an id stands for different examples; without, that is refused."
    )


class Relabel(_Document):
    """The same examples with some fields of some of them replaced; a field that is null is removed."""

    operation: Literal["relabel"] = "relabel"
    source: Reference
    labels: list[dict[str, JsonValue]] = Field(
        min_length=1,
        max_length=LABELS,
        description="Each an id, and any of expected, difficulty, source, tags, metadata.",
        examples=[[{"id": "q-17", "expected": "Paris", "difficulty": "easy"}]],
    )


class Dedupe(_Document):
    """The first of the examples that say the same."""

    operation: Literal["dedupe"] = "dedupe"
    source: Reference
    by: Literal["input", "input+expected"] = "input"


class Sample(_Document):
    """Some examples, drawn by a seed, with each value of a field in proportion."""

    operation: Literal["sample"] = "sample"
    source: Reference
    size: int = Field(ge=1)
    seed: int = Field(ge=0, lt=2**63)
    by: Literal["difficulty", "source"] | None = Field(default=None, description="Whose values keep their shares.")


Derivation = Annotated[Filter | Merge | Relabel | Dedupe | Sample, Field(discriminator="operation")]
