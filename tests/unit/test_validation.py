"""What is wrong with a field is said in words of whoever wrote it, and never with what was written."""

from __future__ import annotations

from typing import Annotated, Any

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from proctor.kernel.validation import words_of


class Inner(BaseModel):
    name: str = ""


class Shape(BaseModel):
    model_config = ConfigDict(extra="forbid")

    number: int = 0
    share: Annotated[float, Field(ge=0, le=1)] = 0
    on: bool = False
    text: Annotated[str, Field(max_length=3)] = ""
    names: list[str] = []
    inner: Inner = Inner()
    map: dict[str, int] = {}
    needed: int

    @field_validator("names")
    @classmethod
    def _few(cls, names: list[str]) -> list[str]:
        if len(names) > 1:
            raise ValueError("There is one at the most.")
        return names


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("number", "s3cret", "It has to be a whole number"),
        ("number", 1.5, "It has to be a whole number"),
        ("share", "s3cret", "It has to be a number"),
        ("share", 2, "It should be less than or equal to 1"),
        ("on", "s3cret", "It has to be true or false"),
        ("text", 7, "It has to be a text, in quotes"),
        ("text", "s3cret", "It should have at most 3 characters"),
        ("names", "s3cret", "It has to be a list"),
        ("names", ["a", "b"], "There is one at the most"),
        ("inner", "s3cret", "It has to be a table"),
        ("map", "s3cret", "It has to be a table"),
        ("other", "s3cret", "There is no such field"),
    ],
)
def test_a_field_that_is_wrong_is_told_in_words(field: str, value: Any, words: str) -> None:
    with pytest.raises(ValidationError) as refused:
        Shape.model_validate({"needed": 1, field: value})
    (problem,) = refused.value.errors()
    assert words_of(problem) == words


def test_a_field_that_is_missing_is_told() -> None:
    with pytest.raises(ValidationError) as refused:
        Shape.model_validate({})
    assert [words_of(problem) for problem in refused.value.errors()] == ["It is missing"]
