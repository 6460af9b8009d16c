"""The types of evaluators there are, what each takes, and how one is made of its configuration."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from proctor.evaluators.checks import Checks, ChecksConfiguration, ConfiguredCheck
from proctor.evaluators.code.programs import (
    CommandConfiguration,
    Program,
    PythonConfiguration,
    command_program,
    python_program,
)
from proctor.evaluators.code.rooms import Rooms
from proctor.evaluators.configuration import Configuration, Definition, canonical, configured
from proctor.evaluators.embeddings.similarity import HASHING, EmbeddingSimilarity, EmbeddingSimilarityConfiguration
from proctor.evaluators.errors import (
    ConfigurationInvalid,
    EvaluatorNotHere,
    EvaluatorOutdated,
    TypeUnknown,
)
from proctor.evaluators.interfaces import Embedder, Evaluator, Samples, Scores, WaitingEvaluator
from proctor.evaluators.metrics.catalogue import METRICS, Metric
from proctor.kernel.canonical import Json
from proctor.kernel.extras import data_extra

__all__ = [
    "TYPES",
    "AnyEvaluator",
    "EvaluatorType",
    "Kind",
    "Means",
    "asks_model",
    "built",
    "current",
    "defined",
    "is_local",
    "judged",
    "nearest",
    "usual_cost",
]

C = TypeVar("C", bound=Configuration)
AnyEvaluator = Evaluator | WaitingEvaluator


class Kind(StrEnum):
    """What it takes to judge."""

    METRIC = "metric"
    """This machine alone."""
    EMBEDDING = "embedding"
    """An embedder, which may be a model."""
    CODE = "code"
    """A sandbox."""


@dataclass(frozen=True, kw_only=True)
class Means:
    """What evaluators may use in this process."""

    rooms: Callable[[], Rooms] | None = None
    """``None``: no code runs here."""
    embedder: Callable[[str], Embedder] | None = None
    """By ``provider/name``; ``None``: no model is asked here."""


@dataclass(frozen=True, kw_only=True)
class EvaluatorType:
    """One type of evaluator."""

    name: str
    kind: Kind
    configuration: type[Configuration]
    make: Callable[[Mapping[str, Json], Means], AnyEvaluator]
    """Of a configuration. Raises ``ConfigurationInvalid``, ``EvaluatorNotHere``, ``DataExtraMissing``."""
    implementation: int = 1
    """Raised when numbers could change."""

    @property
    def works_unconfigured(self) -> bool:
        """Whether nothing has to be said."""
        return not any(one.is_required() for one in self.configuration.model_fields.values())

    @property
    def summary(self) -> str:
        """What it measures, in a sentence or two."""
        return " ".join((self.configuration.__doc__ or "").split("\n\n")[0].split())


def _of_metric(metric: Metric) -> EvaluatorType:
    return EvaluatorType(
        name=metric.name,
        kind=Kind.METRIC,
        configuration=metric.configuration,
        make=lambda given, means: metric.make(given, "configuration"),
        implementation=metric.implementation,
    )


def _of_code(name: str, configuration: type[C], program: Callable[[C], Program]) -> EvaluatorType:
    def make(given: Mapping[str, Json], means: Means) -> WaitingEvaluator:
        from proctor.evaluators.code.sandboxed import SandboxedCode

        said = configured(configuration, given)
        if means.rooms is None:
            raise EvaluatorNotHere("It runs code in a sandbox, and there is none here.", where=name)
        return SandboxedCode(program(said), means.rooms())

    return EvaluatorType(name=name, kind=Kind.CODE, configuration=configuration, make=make)


def _embedding(given: Mapping[str, Json], means: Means) -> WaitingEvaluator:
    said = configured(EmbeddingSimilarityConfiguration, given)
    if said.model == HASHING:
        from proctor.evaluators.embeddings.hashing import HashingEmbedder

        return EmbeddingSimilarity(HashingEmbedder())
    if means.embedder is None:
        raise EvaluatorNotHere("It asks a model, and no model is asked here.", where=said.model)
    return EmbeddingSimilarity(means.embedder(said.model))


def _checks(given: Mapping[str, Json], means: Means) -> Evaluator:
    said = configured(ChecksConfiguration, given)
    checks = []
    for number, check in enumerate(said.checks):
        where = f"configuration.checks.{number}"
        metric = METRICS.get(check.type)
        if metric is None:
            raise ConfigurationInvalid(f"There is no metric {check.type!r}.{nearest(check.type, METRICS)}", where=where)
        evaluator = metric.make(check.configuration, f"{where}.configuration")
        checks.append(ConfiguredCheck(check=check, evaluator=evaluator))
    return Checks(checks)


_ALL: tuple[EvaluatorType, ...] = (
    *map(_of_metric, METRICS.values()),
    EvaluatorType(name="checks", kind=Kind.METRIC, configuration=ChecksConfiguration, make=_checks),
    EvaluatorType(
        name="embedding-similarity",
        kind=Kind.EMBEDDING,
        configuration=EmbeddingSimilarityConfiguration,
        make=_embedding,
    ),
    _of_code("python", PythonConfiguration, python_program),
    _of_code("command", CommandConfiguration, command_program),
)
TYPES: Mapping[str, EvaluatorType] = {one.name: one for one in _ALL}
"""By name, in the order in which they are listed."""


def defined(type_name: str, given: Mapping[str, Json]) -> Definition:
    """The identity of a type in a configuration. Raises ``TypeUnknown``, ``ConfigurationInvalid``."""
    kind = TYPES.get(type_name)
    if kind is None:
        raise TypeUnknown(f"There is no type {type_name[:100]!r}.{nearest(type_name, TYPES)}", where="type")
    with data_extra():
        said = configured(kind.configuration, given)
        if kind.kind is Kind.METRIC:
            kind.make(given, Means())  # what a configuration holds of others' is looked at too
    return Definition(type=type_name, implementation=kind.implementation, configuration=canonical(said))


def usual_cost(definition: Definition) -> int | None:
    """What one evaluation costs in nano-dollars where nobody says it: nothing on this machine; ``None``: not known."""
    return None if asks_model(definition) else 0


def is_local(definition: Definition) -> bool:
    """Whether it judges by itself, in the process that has the samples; else it waits for a sandbox or a model."""
    kind = TYPES[definition.type].kind
    return kind is Kind.METRIC or (kind is Kind.EMBEDDING and not asks_model(definition))


def asks_model(definition: Definition) -> bool:
    """Whether it asks a model through the gateway, which costs money: what it said is kept as it arrives."""
    return TYPES[definition.type].kind is Kind.EMBEDDING and "model" in definition.configuration


def built(definition: Definition, means: Means) -> AnyEvaluator:
    """What judges by a definition.

    Raises ``EvaluatorOutdated``, ``EvaluatorNotHere``, ``ConfigurationInvalid``, ``DataExtraMissing``.
    """
    with data_extra():
        return current(definition).make(definition.configuration, means)


def current(definition: Definition) -> EvaluatorType:
    """The type of a definition. Raises ``EvaluatorOutdated`` where this program would give other numbers."""
    kind = TYPES.get(definition.type)
    if kind is None or kind.implementation != definition.implementation:
        has = "none" if kind is None else f"implementation {kind.implementation}"
        told = f"It is of implementation {definition.implementation} of {definition.type}; this program has {has}."
        raise EvaluatorOutdated(told)
    return kind


async def judged(evaluator: AnyEvaluator, samples: Samples) -> Scores:
    """The scores of samples, whether the evaluator answers at once or is waited for."""
    found = evaluator.score(samples)
    return found if isinstance(found, Scores) else await found


def nearest(name: str, known: Iterable[str]) -> str:
    """A sentence with the known name that is nearest to another; empty where none is near."""
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f" Did you mean {near[0]!r}?" if near else ""
