"""Long work is accepted: 202, its receipt, and where to follow it."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from fastapi import Response
from sqlalchemy import Connection

from proctor.api.answers import answered
from proctor.api.asking import Asked
from proctor.operations import service as operations
from proctor.operations.service import NewOperation, Operation
from proctor.sdk.work import Work, WorkKind

__all__ = ["ACCEPTED", "accepted"]

ACCEPTED: dict[int | str, dict[str, Any]] = {
    202: {
        "model": Operation,
        "description": "Its receipt.",
        "headers": {"Location": {}},
    }
}
"""How such a route answers."""


def accepted(asked: Asked, kind: WorkKind, work: Work, identity: UUID | None = None) -> Response:
    """Have it done: 202, the receipt, and where to follow it."""
    new = NewOperation(
        id=identity,
        kind=kind.value,
        request=work.model_dump(mode="json"),
        actor=asked.principal.user,
        key=asked.principal.key,
        request_id=asked.request_id,
    )

    def create(connection: Connection) -> Response:
        made = operations.create(connection, asked.tenant, new)
        return answered(made, 202, {"Location": f"/api/v1/operations/{made.id}"})

    return asked.once(create)
