"""``exact-match``: whether an output is what was expected, wholly in Arrow's compute functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import Field

from proctor.evaluators.configuration import Configuration
from proctor.evaluators.interfaces import Samples, Scores
from proctor.evaluators.values import NotJson, canonical_text

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["ExactMatch", "ExactMatchConfiguration", "Folding"]

_SPACES: str = r"[\s\p{Z}\x{0B}\x{85}]+"
"""RE2's \\s is ASCII's alone; here Unicode's separators count too."""


class Folding(Configuration):
    """What makes no difference between two texts. Of JSON values everything does."""

    strip: bool = Field(default=True, description="White space at both ends makes no difference.")
    ignore_case: bool = Field(default=False, description="By simple lower case: ß is not ss.")
    collapse_spaces: bool = Field(default=False, description="Runs of white space are one space.")

    def fold(self, texts: pa.Array) -> pa.Array:
        """Texts without that."""
        import pyarrow.compute as pc

        if self.ignore_case:
            texts = pc.utf8_lower(texts)
        if self.collapse_spaces:
            texts = pc.replace_substring_regex(texts, pattern=_SPACES, replacement=" ")
        return pc.utf8_trim_whitespace(texts) if self.strip else texts


class ExactMatchConfiguration(Folding):
    """1 where the output is what was expected, else 0. JSON values are compared as values: 1.0 is 1."""


class ExactMatch:
    """Implements ``Evaluator``. A text that is compared with a JSON value is read as JSON; where it is none, it is not
    that value."""

    def __init__(self, configuration: ExactMatchConfiguration) -> None:
        self._folding = configuration

    def score(self, samples: Samples) -> Scores:
        """A row for each sample."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from proctor.evaluators.assembling import assembled, no_expectation

        same = pc.equal(
            self._comparable(samples.expected, samples.expected_is_json),
            self._comparable(samples.output, samples.output_is_json),
        )
        if samples.expected_is_json.true_count or samples.output_is_json.true_count:
            same = pc.if_else(pc.xor(samples.expected_is_json, samples.output_is_json), _mixed(samples), same)
        return assembled(pc.cast(same, pa.float64()), no_expectation(samples))

    def _comparable(self, texts: pa.Array, is_json: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        folded = self._folding.fold(texts)
        return pc.if_else(is_json, texts, folded) if is_json.true_count else folded


def _mixed(samples: Samples) -> pa.Array:
    """Whether they are the same value, in rows where one of both is JSON and the other is text; else null."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = pc.indices_nonzero(pc.xor(samples.expected_is_json, samples.output_is_json))
    found: list[bool | None] = [None] * len(samples)
    columns = (samples.expected, samples.expected_is_json, samples.output)
    for row, expected, is_json, output in zip(
        rows.to_pylist(), *(column.take(rows).to_pylist() for column in columns), strict=True
    ):
        if expected is not None:
            found[row] = _is_value(output, expected) if is_json else _is_value(expected, output)
    return pa.array(found, pa.bool_())


def _is_value(text: str, value: str) -> bool:
    try:
        return canonical_text(text) == value
    except NotJson:
        return False
