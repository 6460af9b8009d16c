"""Evaluators of a tenant's platform: listed, shown, registered, suggested, tried."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from proctor.app import Platform
from proctor.kernel.canonical import Json

if TYPE_CHECKING:
    from proctor.datasets.versions import DatasetVersion
    from proctor.evaluators.facts import DatasetFacts
    from proctor.evaluators.rows import EvaluatorDetail, EvaluatorRow
    from proctor.evaluators.samples import Missing, Sample
    from proctor.evaluators.service import Registration
    from proctor.evaluators.suggesting import Suggestion
    from proctor.evaluators.trials import Trial
    from proctor.objects.store import ObjectStore
    from proctor.sdk.judging import Keys

__all__ = ["Evaluators"]


class Evaluators:
    """What the client answers of evaluators."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def all(self) -> list[EvaluatorRow]:
        """Every type, then every registered version by name, the newest of each first."""
        return self._platform.evaluators.list_evaluators(self._platform.tenant)

    def show(self, reference: str) -> EvaluatorDetail:
        """A type by its name, or a version by ``name@version``; ``name`` is the newest. Raises ``EvaluatorUnknown``."""
        return self._platform.evaluators.find(self._platform.tenant, reference)

    def register(self, wanted: Registration) -> EvaluatorDetail:
        """A new version of a name, or the one that says the same. Raises what is wrong with it, naming the field."""
        return self._platform.evaluators.register(self._platform.tenant, wanted)

    def facts(self, dataset: str) -> DatasetFacts:
        """What the examples of a dataset version expect. Raises ``DatasetUnknown``, ``DataExtraMissing``."""
        from proctor.evaluators.facts import facts_of

        platform = self._platform
        version = platform.datasets.find(platform.tenant, dataset)
        return facts_of(_expected(platform.objects, version))

    def suggest(self, facts: DatasetFacts) -> list[Suggestion]:
        """The evaluators that fit a dataset, the best first."""
        return self._platform.evaluators.suggest(self._platform.tenant, facts)

    def try_out(self, reference: str, sample: Sample, *, keys: Keys | None = None, user: str = "") -> Trial:
        """Judge one output. ``keys``: of models' providers, ``None``: those of this machine's environment; ``user``:
        whose budget pays. Raises ``EvaluatorUnknown``, ``EvaluatorForbidden``, ``EvaluatorNotHere``."""
        from proctor.evaluators.trials import try_out
        from proctor.sdk.judging import environment_keys, means_of

        platform = self._platform
        with means_of(platform, keys or environment_keys, user=user) as means:
            detail, evaluator = platform.evaluators.usable(platform.tenant, reference, means)
            return try_out(detail, evaluator, sample)


def _expected(objects: ObjectStore, version: DatasetVersion) -> Iterator[Json | Missing]:
    from proctor.datasets.examples import value_of
    from proctor.datasets.reading import tables
    from proctor.evaluators.samples import MISSING

    for table in tables(objects, version, ["expected", "expected_is_json"]):
        for text, is_json in zip(*(column.to_pylist() for column in table.columns), strict=True):
            yield MISSING if text is None else value_of(text, is_json)
