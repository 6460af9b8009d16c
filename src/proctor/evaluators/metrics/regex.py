"""``regex``: whether an output fits a pattern, by RE2.

RE2 (https://github.com/google/re2/wiki/Syntax) matches in time that grows with the text alone, so that no pattern can
hang a worker. In exchange it has no backreferences and no look-around.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field, field_validator

from proctor.evaluators.configuration import Configuration
from proctor.evaluators.interfaces import Samples, Scores
from proctor.evaluators.statuses import Status

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["LONGEST_PATTERN", "Regex", "RegexConfiguration", "fits", "pattern_problem"]

LONGEST_PATTERN: int = 10_000
"""Characters: RE2 refuses what would take more than its few megabytes, and reads this much in milliseconds."""


def pattern_problem(pattern: str) -> str | None:
    """What is wrong with a pattern, in RE2's words; ``None``: nothing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(pattern) > LONGEST_PATTERN:
        return f"a pattern has {LONGEST_PATTERN:,} characters at the most"
    try:
        pc.match_substring_regex(pa.scalar(""), pattern=pattern)
    except pa.ArrowInvalid as error:
        return f"RE2 can't read this pattern: {str(error).removeprefix('Invalid regular expression: ')}"
    return None


def fits(text: str, pattern: str) -> bool:
    """Whether a pattern that can be read is somewhere in a text."""
    import pyarrow as pa
    import pyarrow.compute as pc

    return bool(pc.match_substring_regex(pa.scalar(text), pattern=pattern).as_py())


class RegexConfiguration(Configuration):
    """1 where the output fits the pattern, which is RE2's, else 0. Without ``pattern`` it is the expected output."""

    pattern: str | None = Field(default=None, description="Unset: the expected output.")
    match: Literal["search", "full"] = Field(default="search", description="Anywhere in the output, or all of it.")
    ignore_case: bool = False

    @field_validator("pattern")
    @classmethod
    def _can_be_read(cls, pattern: str | None) -> str | None:
        if pattern is not None and (problem := pattern_problem(pattern)) is not None:
            raise ValueError(problem)
        return pattern


class Regex:
    """Implements ``Evaluator``."""

    def __init__(self, configuration: RegexConfiguration) -> None:
        self._configuration = configuration

    def score(self, samples: Samples) -> Scores:
        """A row for each sample; each pattern that is expected is run once, over all of its outputs."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from proctor.evaluators.assembling import assembled

        pattern = self._configuration.pattern
        if pattern is None:
            return self._by_expected(samples)
        return assembled(pc.cast(self._fits(samples.output, pattern), pa.float64()))

    def _by_expected(self, samples: Samples) -> Scores:
        import pyarrow as pa

        from proctor.evaluators.assembling import Obstacle, assembled, no_expectation

        found: list[float | None] = [None] * len(samples)
        errors: list[str | None] = [None] * len(samples)
        for pattern, rows in _by_pattern(samples.expected).items():
            problem = pattern_problem(pattern)
            fits = [] if problem else self._fits(samples.output.take(pa.array(rows)), pattern).to_pylist()
            for number, row in enumerate(rows):
                found[row], errors[row] = (None, problem) if problem else (float(fits[number]), None)
        wrong = pa.array(errors, pa.string())
        invalid = Obstacle(rows=wrong.is_valid(), status=Status.INVALID_EXAMPLE, error=wrong)
        return assembled(pa.array(found, pa.float64()), no_expectation(samples), invalid)

    def _fits(self, outputs: pa.Array, pattern: str) -> pa.Array:
        import pyarrow.compute as pc

        whole = rf"\A(?:{pattern})\z" if self._configuration.match == "full" else pattern
        return pc.match_substring_regex(outputs, pattern=whole, ignore_case=self._configuration.ignore_case)


def _by_pattern(expected: pa.Array) -> dict[str, list[int]]:
    """The rows of each pattern."""
    rows: dict[str, list[int]] = {}
    for number, pattern in enumerate(expected.to_pylist()):
        if pattern is not None:
            rows.setdefault(pattern, []).append(number)
    return rows
