"""Whether the server lives and whether it can work: for whoever supervises it, without a key."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request, Response
from pydantic import BaseModel
from sqlalchemy import text

from proctor.api.asking import Asked, needs, server_of
from proctor.api.metrics import Metrics
from proctor.health.service import HealthHistory, Range, history
from proctor.identity.permissions import Permission

__all__ = ["router", "samples"]

router = APIRouter(tags=["open"])
samples = APIRouter(tags=["installation"])


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
def show_samples(
    asked: Annotated[Asked, needs(Permission.PLATFORM)],
    back: Annotated[Range, Query(alias="range", description="How far back.")] = Range.HOUR,
) -> HealthHistory:
    """How the installation was, sampled once a minute, for its administrators: queue, sandboxes, whose failures were.

    A step without a sample is null: no server ran then.
    """
    return asked.server.database.as_scheduler(lambda c: history(c, back, datetime.now(UTC)))
