"""Whether the server lives and whether it can work: for whoever supervises it, without a key."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel
from sqlalchemy import text

from proctor.api.asking import Asked, needs, server_of
from proctor.api.metrics import Metrics
from proctor.health import backups, objective
from proctor.health.backups import BackupsReport
from proctor.health.objective import ObjectiveReport
from proctor.health.service import HealthHistory, Range, history
from proctor.identity.permissions import Permission

__all__ = ["router", "samples"]

router = APIRouter(tags=["open"])
samples = APIRouter(tags=["installation"])
_Administrator = Annotated[Asked, needs(Permission.PLATFORM)]
_Back = Annotated[Range, Query(alias="range", description="How far back.")]


class Health(BaseModel):
    """How it is."""

    status: str


@router.get("/healthz")
def healthz() -> Health:
    """It answers."""
    return Health(status="ok")


@router.get("/readyz", responses={503: {"model": Health, "description": "It can't work now."}})
def readyz(request: Request, response: Response) -> Health:
    """It answers, and its database does."""
    try:
        with server_of(request).database.scheduler() as connection:
            connection.execute(text("SELECT 1"))
    except Exception:  # noqa: BLE001  whatever it is, requests should go elsewhere
        response.status_code = 503
        return Health(status="the database does not answer")
    return Health(status="ok")


@router.get(
    "/metrics",
    response_class=Response,
    responses={200: {"content": {"text/plain": {}}, "description": "Prometheus's text format."}},
)
def show_metrics(request: Request, _: Annotated[Asked, needs(Permission.PLATFORM)]) -> Response:
    """What the installation does, for Prometheus with an administrator's key (its scope: `platform`)."""
    metrics = request.app.state.metrics
    assert isinstance(metrics, Metrics)
    return Response(metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@samples.get("/health/samples")
def show_samples(asked: _Administrator, back: _Back = Range.HOUR) -> HealthHistory:
    """How the installation was, sampled once a minute, for its administrators: queue, sandboxes, whose failures were.

    A step without a sample is null: no server ran then.
    """
    return asked.server.database.as_scheduler(lambda c: history(c, back, datetime.now(UTC)))


@samples.get("/health/objective")
def show_objective(asked: _Administrator, back: _Back = Range.HOUR) -> ObjectiveReport:
    """How fast the installation uses up what its objective allows it to fail, and whether that is too fast.

    Attempts of all tenants count, each once, up to the last whole minute. `rate` 1 is as fast as is allowed.
    """
    wanted, now = asked.server.settings.slo_objective, datetime.now(UTC)
    return asked.server.database.as_scheduler(lambda c: objective.report(c, wanted, back, now))


@samples.get("/health/backups")
def show_backups(asked: _Administrator) -> BackupsReport:
    """The newest backup of the installation, the newest that was verified, and whether one is missed.

    `proctor backup create` and `proctor backup verify` record them, on the machine that has the folder.
    """
    settings = asked.server.settings
    own = settings.database_url is not None
    return asked.server.database.as_scheduler(
        lambda c: backups.report(c, elsewhere=settings.backups_elsewhere, own_database=own)
    )
