"""The metrics there are: each with what it takes, and how it is made of that."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from proctor.evaluators.configuration import Configuration, configured
from proctor.evaluators.interfaces import Evaluator
from proctor.evaluators.metrics.bleu import Bleu, BleuConfiguration, Chrf, ChrfConfiguration
from proctor.evaluators.metrics.contains import Contains, ContainsConfiguration
from proctor.evaluators.metrics.edit_distance import EditDistance, EditDistanceConfiguration
from proctor.evaluators.metrics.exact import ExactMatch, ExactMatchConfiguration
from proctor.evaluators.metrics.json_distance import JsonDistance, JsonDistanceConfiguration
from proctor.evaluators.metrics.json_schema import JsonSchema, JsonSchemaConfiguration
from proctor.evaluators.metrics.numeric import Numeric, NumericConfiguration
from proctor.evaluators.metrics.regex import Regex, RegexConfiguration
from proctor.evaluators.metrics.rouge import Rouge1, Rouge2, RougeConfiguration, RougeL
from proctor.evaluators.metrics.token_f1 import TokenF1, TokenF1Configuration
from proctor.kernel.canonical import Json
from proctor.kernel.extras import data_extra

__all__ = ["METRICS", "Metric"]

C = TypeVar("C", bound=Configuration)


@dataclass(frozen=True, kw_only=True)
class Metric:
    """One metric."""

    name: str
    configuration: type[Configuration]
    make: Callable[[Mapping[str, Json], str], Evaluator]
    """Of a configuration, and where it is said. Raises ``ConfigurationInvalid``, ``DataExtraMissing``."""
    implementation: int = 1
    """Raised when numbers could change."""


def _metric(name: str, configuration: type[C], make: Callable[[C], Evaluator]) -> Metric:
    def made(given: Mapping[str, Json], where: str) -> Evaluator:
        with data_extra():
            return make(configured(configuration, given, where=where))

    return Metric(name=name, configuration=configuration, make=made)


_ALL: tuple[Metric, ...] = (
    _metric("exact-match", ExactMatchConfiguration, ExactMatch),
    _metric("contains", ContainsConfiguration, Contains),
    _metric("regex", RegexConfiguration, Regex),
    _metric("numeric", NumericConfiguration, Numeric),
    _metric("json-schema", JsonSchemaConfiguration, JsonSchema),
    _metric("json-distance", JsonDistanceConfiguration, JsonDistance),
    _metric("edit-distance", EditDistanceConfiguration, EditDistance),
    _metric("token-f1", TokenF1Configuration, TokenF1),
    _metric("bleu", BleuConfiguration, Bleu),
    _metric("chrf", ChrfConfiguration, Chrf),
    _metric("rouge-1", RougeConfiguration, Rouge1),
    _metric("rouge-2", RougeConfiguration, Rouge2),
    _metric("rouge-l", RougeConfiguration, RougeL),
)
METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _ALL}
"""By name, in the order in which they are listed."""
