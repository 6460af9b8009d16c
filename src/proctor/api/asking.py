"""Who asks, and whether they may: every route declares its permission with ``needs``, and a test fails for one without.

@router.get("/run-sets")
def list_run_sets(asked: Annotated[Asked, needs(Permission.RUNS_READ)]) -> ...

A WebSocket's key may come with its first message, so that its route declares with ``opens`` what that key must allow.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar, cast
from uuid import UUID

import anyio.to_thread
from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from sqlalchemy import Connection
from starlette.requests import HTTPConnection

from proctor.api.counting import Counted
from proctor.api.repeats import Repeat
from proctor.api.sessions import cookie_of
from proctor.app import Platform, Server
from proctor.identity import audit_log
from proctor.identity.audit_log import Action, Actor
from proctor.identity.errors import Unauthenticated
from proctor.identity.known import KnownPrincipals
from proctor.identity.permissions import Permission
from proctor.identity.principals import Principal
from proctor.kernel.canonical import Json
from proctor.kernel.errors import UsageError
from proctor.sdk.client import Client
from proctor.streaming.gathering import Gatherer
from proctor.telemetry.context import note

__all__ = [
    "Asked",
    "key_of",
    "needs",
    "only_known",
    "opens",
    "permission_of",
    "principal_of",
    "principals_of",
    "server_of",
]

T = TypeVar("T")
_BEARER = HTTPBearer(auto_error=False, description="An API key.")


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One request of somebody who may make it."""

    principal: Principal
    request_id: str
    state: Any
    """What the app's requests share."""
    repeat: Repeat | None = None
    """What keeps the answer of one that came with an Idempotency-Key."""

    @property
    def server(self) -> Server:
        """The platform for all tenants."""
        return cast("Server", self.state.server)

    @property
    def counted(self) -> Counted:
        """What took long to count."""
        return cast("Counted", self.state.counted)

    @property
    def gatherer(self) -> Gatherer:
        """What adds rows to streams, for all requests together."""
        return cast("Gatherer", self.state.gatherer)

    @property
    def tenant(self) -> UUID:
        """Whose rows it is about."""
        return self.principal.tenant

    @property
    def platform(self) -> Platform:
        """The platform as this tenant sees it."""
        return self.server.platform(self.principal.tenant)

    @property
    def client(self) -> Client:
        """What can be asked of it."""
        return Client(self.platform)

    @property
    def actor(self) -> Actor:
        """Who the audit log says did it."""
        return Actor(user=self.principal.user, key=self.principal.key, request_id=self.request_id)

    def forget_principals(self) -> None:
        """Keys or users of the tenant are others now."""
        self.state.principals.forget(self.tenant)

    def once(self, work: Callable[[Connection], T]) -> T:
        """Make the request's change, and keep its answer, which is what ``work`` returns, in the same transaction.

        So it is not made again, whatever dies before the answer arrives.
        """
        if self.repeat is None:
            return self.server.database.as_tenant(self.tenant, work)
        return self.repeat.once(work)

    def noted(self, answer: T, action: Action, target: str, **detail: Json) -> T:
        """Write down what was done in transactions of its own, and keep the answer with that."""

        def work(connection: Connection) -> T:
            audit_log.note(connection, self.tenant, self.actor, action, target, **detail)
            return answer

        return self.once(work)

    def note(self, action: Action, target: str, **detail: Json) -> None:
        """Write down in the tenant's audit log what was done."""
        self.server.database.as_tenant(
            self.tenant, lambda c: audit_log.note(c, self.tenant, self.actor, action, target, **detail)
        )


class ParameterUnknown(UsageError):
    """The query has a parameter that there is not here."""

    code = "parameter-unknown"
    remedy = "Leave it out, or write it as the OpenAPI document names it."


_PARAMETERS: dict[Any, frozenset[str]] = {}
"""What a query may hold, by the function that answers it; found out at its first."""


def refuse_unknown(request: Request) -> None:
    """A mistyped filter is no wish for everything. Raises ``ParameterUnknown`` naming those there are."""
    if not request.scope["query_string"]:
        return
    known = _PARAMETERS.get(request.scope["endpoint"])
    if known is None:
        known = _PARAMETERS[request.scope["endpoint"]] = _parameters(request.scope["route"].dependant)
    unknown = request.query_params.keys() - known
    if unknown:
        there = f"there are {', '.join(sorted(known))}" if known else "there is none"
        name = min(unknown)
        raise ParameterUnknown(f"There is no parameter {name[:100]!r}; {there}.", where=name[:100])


def _parameters(dependant: Dependant) -> frozenset[str]:
    own = frozenset(field.alias for field in dependant.query_params)
    return own.union(*map(_parameters, dependant.dependencies))


async def only_known(request: Request) -> None:
    """For routes that nobody's permission is asked for. Raises ``ParameterUnknown``."""
    refuse_unknown(request)


class _Check:
    """The dependency behind ``needs``."""

    def __init__(self, permission: Permission) -> None:
        self.permission = permission

    async def __call__(
        self, request: Request, _: Annotated[HTTPAuthorizationCredentials | None, Depends(_BEARER)]
    ) -> Asked:
        """Raises ``Unauthenticated``, ``Forbidden``, ``ParameterUnknown``."""
        principal = await principal_of(request)
        principal.require(self.permission)
        refuse_unknown(request)
        repeat = getattr(request.state, "repeat", None)
        return Asked(principal=principal, request_id=request.state.request_id, state=request.app.state, repeat=repeat)


def needs(permission: Permission) -> Any:
    """A route's permission, as the annotation of who asks."""
    return Depends(_Check(permission))


class _Opening:
    """The dependency behind ``opens``."""

    def __init__(self, permission: Permission) -> None:
        self.permission = permission

    def __call__(self) -> Permission:
        return self.permission


def opens(permission: Permission) -> Any:
    """What the key of a WebSocket's caller must allow; the route looks at the key."""
    return Depends(_Opening(permission))


def permission_of(dependency: object) -> Permission | None:
    """What a route's dependency asks for, if it is one of ours."""
    return dependency.permission if isinstance(dependency, _Check | _Opening) else None


def server_of(request: HTTPConnection) -> Server:
    """The platform that an app serves."""
    server = request.app.state.server
    assert isinstance(server, Server)
    return server


def principals_of(request: HTTPConnection) -> KnownPrincipals:
    """Whose keys an app knows."""
    principals = request.app.state.principals
    assert isinstance(principals, KnownPrincipals)
    return principals


async def principal_of(request: HTTPConnection) -> Principal:
    """Whose key the request came with. Raises ``Unauthenticated``."""
    principals, key = principals_of(request), key_of(request)
    principal = principals.known(key)
    if principal is None:
        principal = await anyio.to_thread.run_sync(principals.look, key)
    request.state.principal = principal
    note(tenant=principal.tenant, user=principal.user, key=principal.key)
    return principal


def key_of(request: HTTPConnection) -> str:
    """The key that a request came with: of its header, else of the browser's session. Raises ``Unauthenticated``."""
    kept = cookie_of(request)
    if kept is not None:
        return kept
    kind, _, key = request.headers.get("authorization", "").partition(" ")
    if kind.lower() != "bearer" or not key:
        raise Unauthenticated()
    return key.strip()
