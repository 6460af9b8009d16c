"""``create_app``: every route behind one guard."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version
from pathlib import Path

import anyio.to_thread
from fastapi import APIRouter, FastAPI

from proctor.api import problems
from proctor.api.counting import Counted
from proctor.api.dashboard import Dashboard, built
from proctor.api.document import Described
from proctor.api.etags import ETags
from proctor.api.idempotency import Repeatable
from proctor.api.live import Live
from proctor.api.metrics import Metrics
from proctor.api.middleware import Exempt, Limits, RequestGuard
from proctor.api.routes import (
    alerts,
    analyses,
    attempts,
    audit_log,
    comparisons,
    datasets,
    evaluators,
    events,
    health,
    installed,
    jobs,
    keys,
    logs,
    me,
    operations,
    prompts,
    pushes,
    run_sets,
    secrets,
    session,
    setup,
    socket,
    spending,
    sql,
    streams,
    suites,
    tenants,
    usage,
    users,
    work,
)
from proctor.api.threads import QUICK_THREADS
from proctor.app import Server
from proctor.identity.known import KnownPrincipals
from proctor.sdk.streams import appender_of
from proctor.streaming.gathering import Gatherer

__all__ = ["PREFIX", "ROUTERS", "create_app"]

PREFIX = "/api/v1"
ROUTERS: tuple[tuple[str, APIRouter], ...] = (
    ("", health.router),
    ("", socket.router),
    *((PREFIX, part.router) for part in (setup, session, me, users, keys, secrets, tenants, audit_log)),
    *((PREFIX, part.router) for part in (usage, spending)),
    *(
        (PREFIX, part.router)
        for part in (
            suites,
            datasets,
            evaluators,
            prompts,
            jobs,
            streams,
            analyses,
            sql,
            run_sets,
            comparisons,
            attempts,
            installed,
            events,
            logs,
            work,
            pushes,
            operations,
        )
    ),
    (PREFIX, health.samples),
    (PREFIX, alerts.router),
    (PREFIX, operations.links),
    (PREFIX, streams.rows),
)
"""Every route, and below which path; what is no route's is the dashboard's."""
EXEMPT = Exempt(
    streams=frozenset({f"GET {PREFIX}/events"}),
    uploads=(f"POST {PREFIX}/suites", f"POST {PREFIX}/imports", f"PUT {PREFIX}/pushes/objects/"),
    datasets=frozenset({f"POST {PREFIX}/datasets/imports", f"POST {PREFIX}/samples"}),
    guesses=frozenset({f"POST {PREFIX}/session"}),
    pages=(
        *(f"POST {PREFIX}/pushes", f"POST {PREFIX}/pushes/"),
        *(f"POST {PREFIX}/run-sets", f"POST {PREFIX}/run-sets/rehearsal"),  # with script files
        f"POST {PREFIX}/datasets/derivations",  # with labels
        f"POST {PREFIX}/streams/",  # rows
    ),
)
_DESCRIPTION = """Evaluates AI coding agents: every cell accounted for, every failure with a cause.

Every request but those under *open* carries an API key as `Authorization: Bearer KEY`; pages of the server's own may
have the browser keep it (`POST /api/v1/session`) and send the header `X-Proctor-Page: 1` instead. Errors are
`application/problem+json` with a stable `code`. Lists come in pages: send `next` of one as `cursor` of the next,
with the same filters; `fields` chooses what each item has. A parameter that there is not is refused.
A POST that creates something may carry an `Idempotency-Key`; sent again with it, the same request changes nothing.
"""


def create_app(server: Server, limits: Limits | None = None, dashboard: Path | None = None) -> FastAPI:
    """The app over a platform. ``dashboard``: the folder of its pages, else the one that this installation has."""
    app = Described(
        repeatable=_repeatable(),
        lasting=EXEMPT.is_lasting,
        title="Proctor",
        version=version("proctor"),
        description=_DESCRIPTION,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,  # a redirect would be made of what the caller says the host is
        lifespan=_lifespan,
    )
    app.state.server, app.state.metrics, app.state.live = server, Metrics(server), Live(server)
    app.state.counted, app.state.principals = Counted(), KnownPrincipals(server.database, server.secret)
    app.state.gatherer = Gatherer(lambda tenant: appender_of(server.platform(tenant)))
    problems.install(app)
    for prefix, router in ROUTERS:
        app.include_router(router, prefix=prefix)
    app.router.default = Dashboard(dashboard or built())
    app.add_middleware(ETags)
    answered = app.state.metrics.answered
    app.add_middleware(RequestGuard, limits=limits or Limits(), exempt=EXEMPT, answered=answered)
    return app


def _repeatable() -> frozenset[str]:
    """The POSTs that heed an Idempotency-Key."""
    return frozenset(
        f"POST {prefix}{route.path_format}"
        for prefix, router in ROUTERS
        for route in router.routes
        if isinstance(route, Repeatable) and "POST" in (route.methods or ())
    )


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Few quick requests work at once; the others wait for their turn here."""
    anyio.to_thread.current_default_thread_limiter().total_tokens = QUICK_THREADS
    yield
    await app.state.live.feed.closed()
