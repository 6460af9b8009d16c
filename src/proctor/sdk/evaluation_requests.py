"""What is asked of an evaluation job, with every reference resolved and everything checked before it is submitted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.analysis.extras import need_stats_extra
from proctor.app import Platform
from proctor.jobs.asking import EvaluationRequest, RouteRequest
from proctor.jobs.chunks import FEWEST, Cut, chunk_rows
from proctor.jobs.errors import JobInvalid
from proctor.jobs.orders import Judge
from proctor.jobs.prompts import PromptService
from proctor.jobs.routing import Route
from proctor.jobs.service import JobService
from proctor.jobs.values import NewJob, SampleSet
from proctor.kernel.money import parse_usd
from proctor.queue.service import Band
from proctor.telemetry.context import trace_id_of_here

if TYPE_CHECKING:
    from proctor.datasets.versions import DatasetVersion
    from proctor.evaluators.service import EvaluatorDetail
    from proctor.jobs.targets import Target

__all__ = ["evaluators_of", "resolved"]


def resolved(platform: Platform, request: EvaluationRequest, creator: UUID | None) -> NewJob:
    """The job that is asked for.

    Raises ``JobInvalid``, ``DatasetUnknown``, ``SamplesUnknown``, ``TargetInvalid``, ``EvaluatorUnknown``,
    ``EvaluatorForbidden``, ``PriceUnknown``, and ``StatsExtraMissing`` where its numbers could not be told."""
    need_stats_extra()
    version = platform.datasets.find(platform.tenant, request.dataset)
    samples, target = _source(platform, request, version)
    found = [platform.evaluators.judging(platform.tenant, reference) for reference in request.evaluators]
    judges = _judges(found, request.evaluators, request.routes)
    _check_models(platform, judges, target, has_budget=request.budget is not None)
    repeats = request.repeats if samples is None else samples.repeats
    return NewJob(
        name=request.name or (samples.name if samples is not None else f"{version.dataset} by {_maker(target)}"),
        dataset=version.reference,
        version=version.id,
        samples=samples,
        target=target,
        budget_nano=None if request.budget is None else _budget(request.budget),
        judges=judges,
        cut=Cut(rows=version.rows, repeats=repeats, size=_chunk_rows(found, judges, target)),
        band=Band[request.band.upper()],
        creator=creator,
        trace_id=trace_id_of_here(),
        kept=request.keep,
    )


def evaluators_of(platform: Platform, references: Sequence[str]) -> tuple[Judge, ...]:
    """Evaluators that judge everything, looked at as ``resolved`` does.

    Raises ``JobInvalid``, ``EvaluatorUnknown``, ``EvaluatorForbidden``."""
    found = [platform.evaluators.judging(platform.tenant, reference) for reference in references]
    judges = _judges(found, references, [])
    _check_models(platform, judges, None, has_budget=False)
    return judges


def _source(
    platform: Platform, request: EvaluationRequest, version: DatasetVersion
) -> tuple[SampleSet | None, Target | None]:
    """The outputs to judge, or what is to make them."""
    if (request.samples is None) == (request.target is None):
        raise JobInvalid("Name outputs that are kept, or a target that makes them.", where="samples")
    if request.target is not None:
        request.target.check()
        return None, PromptService(platform.database, platform.tenant).told(request.target)
    if request.repeats != 1:
        raise JobInvalid("Outputs that are kept are not repeated.", where="repeats")
    samples = JobService(platform.database, platform.tenant).samples(request.samples or "")
    if samples.dataset_version != version.id:
        raise JobInvalid(
            f"{samples.name} holds outputs of another dataset version than {version.reference}.", where="samples"
        )
    return samples, None


def _judges(
    found: Sequence[EvaluatorDetail], references: Sequence[str], wanted: Sequence[RouteRequest]
) -> tuple[Judge, ...]:
    names = {reference: one.row.reference for reference, one in zip(references, found, strict=True)}
    if len(set(names.values())) < len(found):
        raise JobInvalid("An evaluator is named twice.", where="evaluators")
    routes = _routes(wanted, names)
    return tuple(_judge(one, routes.get(one.row.reference)) for one in found)


def _judge(found: EvaluatorDetail, route: Route | None) -> Judge:
    row = found.row
    assert row.digest is not None  # it is usable
    return Judge(
        name=row.reference,
        digest=row.digest,
        type=row.type,
        implementation=row.implementation,
        configuration=found.said,
        route=route,
    )


def _routes(requests: Sequence[RouteRequest], names: dict[str, str]) -> dict[str, Route]:
    """By evaluator, both as the job names them."""
    known = {**names, **{name: name for name in names.values()}}
    found: dict[str, Route] = {}
    for number, request in enumerate(requests):
        where = f"routes.{number}"
        for field, reference in (("evaluator", request.evaluator), ("after", request.after)):
            if reference not in known:
                there = ", ".join(names.values())
                raise JobInvalid(f"{reference} is none of the job's evaluators, {there}.", where=f"{where}.{field}")
        evaluator, after = known[request.evaluator], known[request.after]
        if evaluator in found:
            raise JobInvalid(f"{evaluator} is routed twice.", where=f"{where}.evaluator")
        if request.low > request.high:
            raise JobInvalid(f"{request.low:g} is above {request.high:g}.", where=f"{where}.low")
        found[evaluator] = Route(after=after, low=request.low, high=request.high, otherwise=request.otherwise)
    for number, request in enumerate(requests):
        if known[request.after] in found:
            told = f"{request.after} is routed itself; what others are routed by judges everything."
            raise JobInvalid(told, where=f"routes.{number}.after")
    return found


def _check_models(platform: Platform, judges: Sequence[Judge], target: Target | None, *, has_budget: bool) -> None:
    """Every model that is asked is known, and where there is a budget, what it costs."""
    from proctor.evaluators.catalogue import asks_model
    from proctor.models.errors import PriceUnknown

    asked = [(model, "target.model") for model in (() if target is None else target.models)]
    asked += [(str(one.configuration["model"]), one.name) for one in judges if asks_model(one.definition)]
    if has_budget and not asked:
        raise JobInvalid("Nothing of it costs money: no model is asked.", where="budget")
    known = platform.known_models
    for model, where in asked:
        known.catalogue.of(model)
        if has_budget and known.prices.of(model) is None:
            raise PriceUnknown(f"{model} has no known price.", where=where)


def _chunk_rows(found: Sequence[EvaluatorDetail], judges: Sequence[Judge], target: Target | None) -> int:
    """What others have to be waited for is a small chunk: it is all that a worker's death begins anew."""
    if target is not None or any(judge.waits for judge in judges):
        return FEWEST
    return chunk_rows(sum(one.row.latency_sec or 0.0 for one in found))


def _maker(target: Target | None) -> str:
    assert target is not None  # there is one where there are no outputs
    return target.words


def _budget(text: str) -> int:
    try:
        return parse_usd(text)
    except ValueError as error:
        raise JobInvalid(f"{text!r} is no amount such as '5 USD'.", where="budget") from error
