"""``create_app``: every route behind one guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

import anyio.to_thread
from fastapi import APIRouter, FastAPI

from proctor.api import problems
from proctor.api.etags import ETags
from proctor.api.middleware import Limits, RequestGuard
from proctor.api.routes import (
    attempts,
    audit_log,
    health,
    keys,
    me,
    operations,
    pushes,
    run_sets,
    setup,
    suites,
    tenants,
    users,
    work,
)
from proctor.app import Server
from proctor.database.engine import POOL_OVERFLOW, POOL_SIZE

__all__ = ["PREFIX", "ROUTERS", "create_app"]

PREFIX = "/api/v1"
ROUTERS: tuple[tuple[str, APIRouter], ...] = (
    ("", health.router),
    *((PREFIX, part.router) for part in (setup, me, users, keys, tenants, audit_log, suites, run_sets, attempts)),
    *((PREFIX, router) for router in (work.router, pushes.router, operations.router, operations.links)),
)
"""Everything that is served, and below which path."""
_DESCRIPTION = """Evaluates AI coding agents: every cell accounted for, every failure with a cause.

Every request but those under *open* carries an API key as `Authorization: Bearer KEY`. Errors are
`application/problem+json` with a stable `code`. Lists come in pages: send `next` of one as `cursor` of the next.
A POST that creates something may carry an `Idempotency-Key`; sent again with it, the same request changes nothing.
"""


def create_app(server: Server, limits: Limits | None = None) -> FastAPI:
    """The app over a platform."""
    app = FastAPI(
        title="Proctor",
        version=version("proctor"),
        description=_DESCRIPTION,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    app.state.server = server
    problems.install(app)
    for prefix, router in ROUTERS:
        app.include_router(router, prefix=prefix, responses=problems.PROBLEMS)
    app.add_middleware(ETags)
    app.add_middleware(RequestGuard, limits=limits or Limits())
    return app


@asynccontextmanager
async def _lifespan(_: FastAPI) -> AsyncIterator[None]:
    """As many requests work at once as there are connections for them; the others wait for their turn here."""
    anyio.to_thread.current_default_thread_limiter().total_tokens = POOL_SIZE + POOL_OVERFLOW
    yield
