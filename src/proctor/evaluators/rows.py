"""Evaluators as they are listed and shown, made of what the registry knows of them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from sqlalchemy import Row

from proctor.evaluators.catalogue import TYPES, Kind, usual_cost
from proctor.evaluators.configuration import Definition, whole
from proctor.evaluators.measures import UNMEASURED, Measure
from proctor.evaluators.rules import is_allowed
from proctor.kernel.canonical import Json

__all__ = ["EvaluatorDetail", "EvaluatorRow", "Known", "detail_of", "detail_of_type", "row_of", "row_of_type"]


@dataclass(frozen=True, kw_only=True)
class EvaluatorRow:
    """An evaluator in a list: a type as it is without being configured, or a registered version."""

    reference: str
    name: str
    version: int | None
    """``None``: a type."""
    type: str
    kind: Kind
    implementation: int
    digest: str | None
    """``None``: a type that can't be used before it is configured."""
    description: str
    allowed: bool
    cost_nano: int | None
    """Of one evaluation, in nano-dollars; ``None``: not known."""
    latency_sec: float | None
    """The mean of one evaluation; ``None``: not measured."""
    evaluations: int
    """That the latency was measured on."""
    accuracy: float | None
    """The share that it judges as people do; ``None``: not measured."""
    accuracy_source: str | None
    created_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class EvaluatorDetail:
    """An evaluator with its configuration: as it was said, and whole."""

    row: EvaluatorRow
    said: Mapping[str, Json]
    """What of it is not as it is without being said: with type and implementation, what the digest is of."""
    configuration: Mapping[str, Json]


@dataclass(frozen=True, kw_only=True)
class Known:
    """What a tenant's rows are made with."""

    rules: Mapping[str, bool]
    measures: Mapping[str, Measure]


def detail_of(row: Row[tuple[object, ...]], known: Known) -> EvaluatorDetail:
    """A version with its configuration."""
    said = json.loads(row.configuration)
    return EvaluatorDetail(row=row_of(row, known), said=said, configuration=whole(TYPES[row.type].configuration, said))


def row_of(row: Row[tuple[object, ...]], known: Known) -> EvaluatorRow:
    """A version in a list."""
    said = json.loads(row.configuration)
    definition = Definition(type=row.type, implementation=row.implementation, configuration=said)
    reference = f"{row.name}@{row.version}"
    made = _made(reference, row.name, definition, row.digest, known)
    return replace(
        made, version=row.version, description=row.description, cost_nano=row.cost_nano, created_at=row.created_at
    )


def detail_of_type(name: str, known: Known) -> EvaluatorDetail:
    """A type as it is without being configured."""
    return EvaluatorDetail(row=row_of_type(name, known), said={}, configuration=whole(TYPES[name].configuration, {}))


def row_of_type(name: str, known: Known) -> EvaluatorRow:
    """A type in a list."""
    kind = TYPES[name]
    definition = Definition(type=name, implementation=kind.implementation, configuration={})
    return _made(name, name, definition, definition.digest if kind.works_unconfigured else None, known)


def _made(reference: str, name: str, definition: Definition, digest: str | None, known: Known) -> EvaluatorRow:
    measure = UNMEASURED if digest is None else known.measures.get(digest, UNMEASURED)
    kind = TYPES[definition.type]
    return EvaluatorRow(
        reference=reference,
        name=name,
        version=None,
        type=definition.type,
        kind=kind.kind,
        implementation=definition.implementation,
        digest=digest,
        description=kind.summary,
        allowed=is_allowed(known.rules, name, definition),
        cost_nano=usual_cost(definition),
        latency_sec=measure.latency_sec,
        evaluations=measure.evaluations,
        accuracy=measure.accuracy,
        accuracy_source=measure.accuracy_source,
        created_at=None,
    )
