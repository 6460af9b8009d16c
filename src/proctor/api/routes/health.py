"""Whether the server lives and whether it can work: for whoever supervises it, without a key."""

from __future__ import annotations

from fastapi import APIRouter, Request, Response
from pydantic import BaseModel
from sqlalchemy import text

from proctor.api.asking import server_of

__all__ = ["router"]

router = APIRouter(tags=["open"])


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
