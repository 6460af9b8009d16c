"""Signing in and out of a browser: see ``proctor.api.sessions``."""

from __future__ import annotations

from fastapi import APIRouter, Depends, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from proctor.api.asking import only_known, principals_of
from proctor.api.routes.me import Me, me_of
from proctor.api.sessions import OriginRefused, is_own, sign_in, sign_out
from proctor.telemetry.context import note

__all__ = ["router"]

router = APIRouter(tags=["open"])


class SignIn(BaseModel):
    """Whose browser it is."""

    model_config = ConfigDict(extra="forbid", json_schema_extra={"examples": [{"key": "proctor_…"}]})

    key: str = Field(min_length=1, max_length=500, description="An API key.")


async def of_an_own_page(request: Request) -> None:
    """Nobody is signed in or out by a page of somebody else's. Raises ``OriginRefused``, ``ParameterUnknown``."""
    if not is_own(request):
        raise OriginRefused()
    await only_known(request)


@router.post("/session", status_code=201, dependencies=[Depends(of_an_own_page)])
def create_session(request: Request, response: Response, body: SignIn) -> Me:
    """Keep a key in this browser, in a cookie that no script can read; requests of pages of this server that carry the
    header `X-Proctor-Page: 1` and no `Authorization` are made with it."""
    principal = principals_of(request).look(body.key)
    note(tenant=principal.tenant, user=principal.user, key=principal.key)
    sign_in(request, response, body.key)
    return me_of(principal)


@router.delete("/session", status_code=204, response_class=Response, dependencies=[Depends(of_an_own_page)])
def delete_session(request: Request) -> Response:
    """Have this browser forget its key, if it has one. The key itself stays good until it is revoked."""
    response = Response(status_code=204)
    sign_out(request, response)
    return response
