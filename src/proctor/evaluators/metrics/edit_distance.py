"""``edit-distance``: how close two texts are letter by letter, by rapidfuzz."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from proctor.evaluators.configuration import Configuration
from proctor.evaluators.interfaces import Samples, Scores
from proctor.evaluators.statuses import Status

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LARGEST_TABLE", "EditDistance", "EditDistanceConfiguration"]

LARGEST_TABLE: int = 4_000_000_000
"""Letters of one text times those of the other: 63,000 each. 64 pairs of letters are compared at once, so in less than
a second."""


class EditDistanceConfiguration(Configuration):
    """1 less the edit distance over its greatest value for texts of these lengths. Two empty texts are equal."""

    algorithm: Literal["levenshtein", "indel", "osa", "jaro-winkler"] = Field(
        default="levenshtein",
        description="levenshtein: letters put, taken and changed; indel: put and taken; osa: also neighbours that "
        "change places; jaro-winkler: its similarity, which is no edit distance.",
    )
    ignore_case: bool = Field(default=False, description="By simple lower case: ß is not ss.")


class EditDistance:
    """Implements ``Evaluator``. All pairs of a batch go through one call."""

    def __init__(self, configuration: EditDistanceConfiguration) -> None:
        self._ignore_case = configuration.ignore_case
        self._similarity = _similarity(configuration.algorithm)

    def score(self, samples: Samples) -> Scores:
        """A row for each sample. Two texts that are too long for each other are a parse error."""
        import pyarrow as pa
        import pyarrow.compute as pc
        from rapidfuzz import process

        from proctor.evaluators.assembling import Obstacle, assembled, no_expectation

        expected, output = self._folded(samples.expected), self._folded(samples.output)
        table = pc.multiply(pc.cast(pc.utf8_length(expected), pa.int64()), pc.cast(pc.utf8_length(output), pa.int64()))
        too_large = pc.fill_null(pc.greater(table, LARGEST_TABLE), False)
        judged = pc.if_else(too_large, "", output).to_pylist()
        found = process.cpdist(expected.to_pylist(), judged, scorer=self._similarity, dtype="float64", workers=1)
        message = f"the texts have more than {LARGEST_TABLE:,} pairs of letters"
        obstacle = Obstacle(rows=too_large, status=Status.PARSE_ERROR, error=message)
        return assembled(pa.array(found, pa.float64()), no_expectation(samples), obstacle)

    def _folded(self, texts: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        return pc.utf8_lower(texts) if self._ignore_case else texts


def _similarity(algorithm: str) -> Callable[..., float]:
    from rapidfuzz import distance

    kinds: dict[str, Callable[..., float]] = {
        "levenshtein": distance.Levenshtein.normalized_similarity,
        "indel": distance.Indel.normalized_similarity,
        "osa": distance.OSA.normalized_similarity,
        "jaro-winkler": distance.JaroWinkler.normalized_similarity,
    }
    return kinds[algorithm]
