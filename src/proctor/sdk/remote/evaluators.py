"""Evaluators of a tenant on a server, and for its administrators which of them a tenant may use."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from proctor.evaluators.facts import DatasetFacts
from proctor.evaluators.rows import EvaluatorDetail, EvaluatorRow
from proctor.evaluators.rules import EvaluatorRule
from proctor.evaluators.samples import Missing, Sample
from proctor.evaluators.service import Registration
from proctor.evaluators.suggesting import Suggestion
from proctor.evaluators.trials import Trial
from proctor.sdk.remote.answers import part, read
from proctor.sdk.remote.transport import Transport

__all__ = ["RemoteEvaluators"]


class RemoteEvaluators:
    """What ``proctor.sdk.evaluators.Evaluators`` answers, answered by a server; and what only a server keeps."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def all(self) -> list[EvaluatorRow]:
        """Every type, then every registered version by name, the newest of each first."""
        return read(list[EvaluatorRow], list(self._transport.pages("evaluators")))

    def show(self, reference: str) -> EvaluatorDetail:
        """A type by its name, or a version by ``name@version``; ``name`` is the newest."""
        return read(EvaluatorDetail, self._transport.get(f"evaluators/{part(reference)}"))

    def register(self, wanted: Registration) -> EvaluatorDetail:
        """A new version of a name, or the one that says the same."""
        return read(EvaluatorDetail, self._transport.post("evaluators", asdict(wanted)))

    def facts(self, dataset: str) -> DatasetFacts:
        """What the examples of a dataset version expect."""
        return read(DatasetFacts, self._transport.get(f"datasets/{part(dataset)}/facts"))

    def suggest(self, facts: DatasetFacts) -> list[Suggestion]:
        """The evaluators that fit a dataset, the best first."""
        return read(list[Suggestion], self._transport.post("evaluators/suggestions", asdict(facts)))

    def try_out(self, reference: str, sample: Sample) -> Trial:
        """Judge one output, on the server's machine."""
        body: dict[str, Any] = {"input": sample.input, "output": sample.output}
        if not isinstance(sample.expected, Missing):
            body["expected"] = sample.expected
        return read(Trial, self._transport.post(f"evaluators/{part(reference)}/trials", body))

    def rules(self, tenant: str) -> list[EvaluatorRule]:
        """What is said of the evaluators that a tenant may use, as an administrator of the installation."""
        return read(list[EvaluatorRule], list(self._transport.pages(f"tenants/{part(tenant)}/evaluator-rules")))

    def allow(self, tenant: str, subject: str, *, allowed: bool | None) -> list[EvaluatorRule]:
        """Allow or forbid a type or a name to a tenant; ``None``: say nothing of it any more. All that is said then."""
        path = f"tenants/{part(tenant)}/evaluator-rules/{part(subject)}"
        return read(list[EvaluatorRule], self._transport.put(path, {"allowed": allowed}))
