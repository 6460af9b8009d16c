"""One output judged once, to see what an evaluator does."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass

from proctor.evaluators.catalogue import AnyEvaluator, judged
from proctor.evaluators.errors import ConfigurationInvalid
from proctor.evaluators.rows import EvaluatorDetail
from proctor.evaluators.samples import Sample, Score, rows_of, samples_of
from proctor.evaluators.statuses import Status
from proctor.evaluators.values import NotJson

__all__ = ["TRIAL_SEC", "Trial", "try_out"]

TRIAL_SEC: float = 30.0
"""What waits for others is given up then: somebody waits for the answer, and a server's requests have a limit."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """What became of it."""

    evaluator: str
    """By its reference, with the version that judged."""
    digest: str | None
    score: float | None
    status: Status
    label: str | None
    error: str | None
    seconds: float
    """With making what judges, such as a sandbox; in a batch a single evaluation takes less."""


def try_out(detail: EvaluatorDetail, evaluator: AnyEvaluator, sample: Sample) -> Trial:
    """Judge one output. Raises ``ConfigurationInvalid`` for a value that has no JSON form."""
    try:
        samples = samples_of([sample])
    except (NotJson, UnicodeEncodeError) as error:
        raise ConfigurationInvalid(f"It has no JSON form: {error}.", where="sample") from error
    began = time.perf_counter()
    try:
        (found,) = rows_of(asyncio.run(asyncio.wait_for(judged(evaluator, samples), TRIAL_SEC)))
    except TimeoutError:
        found = Score(score=None, status=Status.TIMEOUT, error=f"it took more than {TRIAL_SEC:g} seconds")
    return Trial(
        evaluator=detail.row.reference,
        digest=detail.row.digest,
        score=found.score,
        status=found.status,
        label=found.label,
        error=found.error,
        seconds=time.perf_counter() - began,
    )
