"""``numeric``: whether the number in an output is the expected one, within a tolerance; numbers are found by RE2."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from proctor.evaluators.configuration import Configuration
from proctor.evaluators.interfaces import Samples, Scores
from proctor.evaluators.statuses import Status

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Numeric", "NumericConfiguration"]

_FIRST: str = (
    r"(?P<before>[A-Za-z_)]?)(?P<sign>[-+−]?)"
    r"(?P<digits>(?:(?:\d{1,3}(?:,\d{3})+\b|\d+)(?:\.\d+)?|\.\d+)(?:[eE][-+]?\d+)?)"
)
_LAST: str = (
    r"(?P<digits>(?:\d+[-+]?[eE])?(?:(?:\d+\.)?(?:(?:\d{3},)+\d{1,3}\b|\d+)|\d+\.))"
    r"(?P<sign>[-+−]?)(?P<before>[A-Za-z0-9_)]?)"
)
"""The same backwards, for texts that are turned around: RE2 finds the leftmost match alone."""


class NumericConfiguration(Configuration):
    """1 where ``|output - expected| <= max(absolute, relative * |expected|)``, else 0.

    A number is decimal, with ``1,000`` and ``1e3`` read as they are meant. A sign right behind a letter, a digit or a
    bracket is a hyphen or an operator, and no part of the number.
    """

    number: Literal["first", "last"] = Field(default="last", description="Which number of a text it is about.")
    absolute: float = Field(default=1e-9, ge=0, allow_inf_nan=False, description="What it may be off by.")
    relative: float = Field(default=1e-6, ge=0, allow_inf_nan=False, description="The same, as a part of expected.")


class Numeric:
    """Implements ``Evaluator``."""

    def __init__(self, configuration: NumericConfiguration) -> None:
        self._configuration = configuration

    def score(self, samples: Samples) -> Scores:
        """A row for each sample: expecting no number is an invalid example, an output without one a parse error."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from proctor.evaluators.assembling import Obstacle, assembled, no_expectation

        expected, output = self._numbers(samples.expected), self._numbers(samples.output)
        within = pc.less_equal(
            pc.abs(pc.subtract(output, expected)),
            pc.max_element_wise(
                pc.multiply(pc.abs(expected), self._configuration.relative), self._configuration.absolute
            ),
        )
        return assembled(
            pc.cast(within, pa.float64()),
            no_expectation(samples),
            Obstacle(rows=expected.is_null(), status=Status.INVALID_EXAMPLE, error="the expected output has no number"),
            Obstacle(rows=output.is_null(), status=Status.PARSE_ERROR, error="the output has no number"),
        )

    def _numbers(self, texts: pa.Array) -> pa.Array:
        """The number of each text as float64; null where there is none, or none that a float64 holds."""
        import pyarrow as pa
        import pyarrow.compute as pc

        is_last = self._configuration.number == "last"
        found = pc.extract_regex(pc.utf8_reverse(texts) if is_last else texts, pattern=_LAST if is_last else _FIRST)
        digits, sign, before = (pc.struct_field(found, name) for name in ("digits", "sign", "before"))
        digits = pc.replace_substring(pc.utf8_reverse(digits) if is_last else digits, pattern=",", replacement="")
        number = pa.array([None if one is None else float(one) for one in digits.to_pylist()], pa.float64())
        minus = pc.and_(pc.is_in(sign, value_set=pa.array(["-", "−"])), pc.equal(before, ""))
        number = pc.if_else(minus, pc.negate(number), number)
        return pc.if_else(pc.is_finite(number), number, pa.scalar(None, pa.float64()))
