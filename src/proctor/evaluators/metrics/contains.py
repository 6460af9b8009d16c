"""``contains``: whether an output holds what was expected, or texts of the configuration."""

from __future__ import annotations

from functools import reduce
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from proctor.evaluators.configuration import Configuration
from proctor.evaluators.interfaces import Samples, Scores

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Contains", "ContainsConfiguration"]

_Text = Annotated[str, Field(min_length=1, max_length=10_000)]


class ContainsConfiguration(Configuration):
    """1 where the output holds the text, else 0. Without ``texts`` it is the expected one; of JSON, its RFC 8785."""

    texts: list[_Text] = Field(default_factory=list, max_length=1000, description="What to look for; empty: expected.")
    require: Literal["all", "any"] = Field(default="all", description="Of several texts.")
    ignore_case: bool = Field(default=False, description="By simple lower case: ß is not ss.")


class Contains:
    """Implements ``Evaluator``."""

    def __init__(self, configuration: ContainsConfiguration) -> None:
        self._configuration = configuration

    def score(self, samples: Samples) -> Scores:
        """A row for each sample."""
        import pyarrow as pa
        import pyarrow.compute as pc

        from proctor.evaluators.assembling import assembled, by_pairs

        if self._configuration.texts:
            return assembled(pc.cast(self._found(samples.output), pa.float64()))
        if self._configuration.ignore_case:
            return by_pairs(samples, lambda expected, output: float(expected.lower() in output.lower()))
        return by_pairs(samples, lambda expected, output: float(expected in output))

    def _found(self, outputs: pa.Array) -> pa.Array:
        import pyarrow.compute as pc

        ignore_case = self._configuration.ignore_case
        each = [
            pc.match_substring(outputs, pattern=text, ignore_case=ignore_case) for text in self._configuration.texts
        ]
        return reduce(pc.and_ if self._configuration.require == "all" else pc.or_, each)
