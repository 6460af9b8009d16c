"""``checks``: several metrics as one, each passed or not: a small test suite for outputs, with its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pydantic import Field, field_validator

from proctor.evaluators.configuration import Configuration
from proctor.evaluators.interfaces import Evaluator, Samples, Scores
from proctor.evaluators.samples import Score, rows_of, scores_of
from proctor.evaluators.statuses import Status
from proctor.evaluators.values import column_text
from proctor.kernel.canonical import Json

__all__ = ["PASSED", "Check", "Checks", "ChecksConfiguration", "ConfiguredCheck"]

PASSED: str = "passed"
"""The label of an output that passes all."""
_LONGEST_LABEL: int = 1000


class Check(Configuration):
    """One check: an output passes where a metric gives it ``threshold`` or more."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$")
    type: str = Field(max_length=100, description="A metric by its name.")
    configuration: dict[str, Json] = Field(default_factory=dict)
    expected: Json = Field(default=None, description="Instead of what the example expects; null: what that expects.")
    weight: float = Field(default=1, gt=0, le=1_000_000, allow_inf_nan=False)
    threshold: float = Field(default=1, ge=0, le=1)


class ChecksConfiguration(Configuration):
    """The weighted share of checks that an output passes. Its label names those that it doesn't.

    An output that a check can't parse does not pass it. Any other status of a check is the row's.
    """

    checks: list[Check] = Field(min_length=1, max_length=100)

    @field_validator("checks")
    @classmethod
    def _names_differ(cls, checks: list[Check]) -> list[Check]:
        names = [check.name for check in checks]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"there are two checks {name!r}")
        return checks


@dataclass(frozen=True, kw_only=True)
class ConfiguredCheck:
    """A check with its metric."""

    check: Check
    evaluator: Evaluator


class Checks:
    """Implements ``Evaluator``."""

    def __init__(self, checks: Sequence[ConfiguredCheck]) -> None:
        self._checks = checks

    def score(self, samples: Samples) -> Scores:
        """A row for each sample."""
        found = [rows_of(one.evaluator.score(_about(samples, one.check))) for one in self._checks]
        return scores_of([self._judged(row) for row in zip(*found, strict=True)])

    def _judged(self, row: Sequence[Score]) -> Score:
        total, failed = 0.0, []
        for one, found in zip(self._checks, row, strict=True):
            if found.status not in (Status.SCORED, Status.PARSE_ERROR):
                return replace(found, label=None, error=f"check {one.check.name}: {found.error}")
            if found.score is not None and found.score >= one.check.threshold:
                total += one.check.weight
            else:
                failed.append(one.check.name)
        share = total / sum(one.check.weight for one in self._checks)
        return Score(score=share if failed else 1.0, label=", ".join(failed)[:_LONGEST_LABEL] or PASSED)


def _about(samples: Samples, check: Check) -> Samples:
    """The samples as a check sees them."""
    if check.expected is None:
        return samples
    import pyarrow as pa

    text, is_json = column_text(check.expected)
    expected = pa.repeat(pa.scalar(text), len(samples))
    return replace(samples, expected=expected, expected_is_json=pa.repeat(pa.scalar(is_json), len(samples)))
