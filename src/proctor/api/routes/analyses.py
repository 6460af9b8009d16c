"""Analyses of evaluation jobs: comparisons, segments, failures, distributions, repeats, agreement, history, power."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from fastapi import APIRouter, Query, Response

from proctor.analysis.power import Design
from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.lists import Page, Paging
from proctor.api.routes.jobs import JobReference
from proctor.api.threads import slowly
from proctor.identity.permissions import Permission
from proctor.jobs.analyses.describing import KS, LARGEST_K, RATERS
from proctor.jobs.analyses.differences import JobComparison, MovedExample
from proctor.jobs.analyses.figures import JobReport
from proctor.jobs.analyses.planning import BETWEEN, Plan
from proctor.jobs.analyses.values import Agreement, By, History, JobFailures, Repeats, Segments, Spread

__all__ = ["router"]

router = APIRouter(tags=["analyses"])
_Reads = Annotated[Asked, needs(Permission.EVALUATORS_READ)]
_Name = Annotated[str, Query(min_length=1, max_length=200)]
_Against = Annotated[str, Query(min_length=1, max_length=100, description="The job that it is compared with.")]
_One = Annotated[str | None, Query(min_length=1, max_length=200, description="By which evaluator.")]
_Many = Annotated[
    list[_Name], Query(max_length=100, description="By which evaluators, each once; without any by all of them.")
]
_Alpha = Annotated[float, Query(gt=0, lt=1, allow_inf_nan=False, description="The level of a finding.")]
_Variance = Annotated[float, Query(ge=0, le=1e12, allow_inf_nan=False)]


@router.get("/jobs/{job}/comparison", response_model=JobComparison)
@slowly
def compare_jobs(
    asked: _Reads,
    job: JobReference,
    against: _Against,
    evaluator: _Many = [],  # noqa: B006
    margin: Annotated[
        float | None,
        Query(ge=0, le=1e12, allow_inf_nan=False, description="Asks for a verdict: how much worse is no regression."),
    ] = None,
    alpha: _Alpha = 0.05,
) -> Response:
    """A job less another, example by example: difference, error, interval, test, what was left out, a verdict."""
    found = asked.client.analyses.compare(job, against, evaluators=evaluator, margin=margin, alpha=alpha)
    return answered(found)


@router.get("/jobs/{job}/moved", response_model=Page[MovedExample])
@slowly
def list_moved_examples(
    asked: _Reads, paging: Paging, job: JobReference, against: _Against, evaluator: _One = None
) -> Response:
    """Examples that two jobs score differently, the largest drops first. Several evaluators: name one."""
    (after,) = paging.place(_number) or (-1,)
    found = asked.client.analyses.moved(job, against, evaluator=evaluator, after=after, limit=paging.limit)
    return answered(paging.page(found, lambda _: [after + len(found)]))


@router.get("/jobs/{job}/segments", response_model=Page[Segments])
@slowly
def list_segments(
    asked: _Reads,
    paging: Paging,
    job: JobReference,
    by: Annotated[By, Query(description="What examples are parted by.")] = By.TAG,
    evaluator: _Many = [],  # noqa: B006
) -> Response:
    """Each evaluator's scores by label, each label against the rest, p values adjusted over the labels (Holm)."""
    return _page(paging, asked.client.analyses.segments(job, by, evaluators=evaluator))


@router.get("/jobs/{job}/failures", response_model=JobFailures)
@slowly
def show_failures(asked: _Reads, job: JobReference, evaluator: _One = None) -> Response:
    """What has no score: by status, and by what the errors say."""
    return answered(asked.client.analyses.failures(job, evaluator=evaluator))


@router.get("/jobs/{job}/distribution", response_model=Page[Spread])
@slowly
def list_distributions(asked: _Reads, paging: Paging, job: JobReference, evaluator: _Many = []) -> Response:  # noqa: B006
    """How each evaluator's scores are spread: range, quantiles, histogram."""
    return _page(paging, asked.client.analyses.distribution(job, evaluators=evaluator))


@router.get("/jobs/{job}/repeats", response_model=Page[Repeats])
@slowly
def list_repeats(
    asked: _Reads,
    paging: Paging,
    job: JobReference,
    k: Annotated[
        list[Annotated[int, Query(ge=1, le=LARGEST_K)]],
        Query(min_length=1, max_length=KS, description="How many repeats are drawn of each example."),
    ] = [1],  # noqa: B006
    evaluator: _Many = [],  # noqa: B006
) -> Response:
    """pass@k and pass^k of passes and fails over repeats."""
    return _page(paging, asked.client.analyses.repeats(job, k, evaluators=evaluator))


@router.get("/jobs/{job}/agreement", response_model=Agreement)
@slowly
def show_agreement(
    asked: _Reads,
    job: JobReference,
    evaluator: Annotated[list[_Name], Query(max_length=RATERS, description="Two or more; without any all.")] = [],  # noqa: B006
    level: Annotated[
        str | None, Query(max_length=50, description="nominal, ordinal, interval or ratio; without, by the scores.")
    ] = None,
    decimals: Annotated[int | None, Query(ge=0, le=2, description="Round scores first.")] = None,
) -> Response:
    """Krippendorff's alpha over evaluators as raters, and Cohen's kappa of each two."""
    return answered(asked.client.analyses.agreement(job, evaluators=evaluator, level=level, decimals=decimals))


@router.get("/jobs/{job}/report", response_model=JobReport)
@slowly
def show_job_report(
    asked: _Reads,
    job: JobReference,
    against: Annotated[
        str | None, Query(min_length=1, max_length=100, description="The job that it is compared with.")
    ] = None,
) -> Response:
    """All that is told of a job: sections of figures, each with the SQL over `results` that gives it."""
    return answered(asked.client.analyses.report(job, against))


@router.get("/job-history", response_model=History)
@slowly
def show_job_history(
    asked: _Reads,
    job: Annotated[
        list[Annotated[str, Query(min_length=1, max_length=100)]],
        Query(min_length=1, max_length=1000, description="Ids, or names: a name stands for all jobs that have it."),
    ],
    evaluator: _Many = [],  # noqa: B006
    alpha: Annotated[float, Query(ge=0.001, lt=1, allow_inf_nan=False, description="Of a change of level.")] = 0.01,
) -> Response:
    """Means of several jobs in the order of time, and from which job on the level is another."""
    return answered(asked.client.analyses.history(job, evaluators=evaluator, alpha=alpha))


@router.get("/power", response_model=Plan)
def show_power(
    asked: _Reads,
    difference: Annotated[
        float | None, Query(ge=-1e12, le=1e12, allow_inf_nan=False, description="The difference to be seen.")
    ] = None,
    items: Annotated[int | None, Query(ge=1, le=10**12, description="Examples there are.")] = None,
    power: Annotated[float, Query(gt=0, lt=1, allow_inf_nan=False, description="The probability to see it.")] = 0.8,
    between: _Variance = BETWEEN,
    within_a: _Variance = 0.0,
    within_b: _Variance = 0.0,
    trials_a: Annotated[int, Query(ge=1, le=LARGEST_K)] = 1,
    trials_b: Annotated[int, Query(ge=1, le=LARGEST_K)] = 1,
    alpha: _Alpha = 0.05,
) -> Response:
    """The examples that a difference takes, or the difference that so many examples show; of no job.

    `between`: the variance between examples of the true difference; `within_a`, `within_b`: that of one repeat about
    its example's mean.
    """
    design = Design(
        between=between, within_a=within_a, within_b=within_b, trials_a=trials_a, trials_b=trials_b, alpha=alpha
    )
    return answered(asked.client.analyses.power(design, difference=difference, items=items, power=power))


def _page(paging: Paging, found: Sequence[Segments | Spread | Repeats]) -> Response:
    """One entry for each evaluator."""
    return answered(paging.cut(found, lambda one: one.evaluator))


def _number(part: object) -> int:
    if not isinstance(part, int) or part < 0:
        raise ValueError(part)
    return part
