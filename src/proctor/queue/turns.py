"""Turns: what all workers of all tenants together may do only so often; kept beside the lanes, in rows of no queue."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query

__all__ = ["PULLS", "Pace", "take_turn"]

_run = partial(run_query, "proctor.queue")

PULLS: str = "pulls/"
"""What the names of turns at registries begin with; the registry's own gate begins with ``registry/``."""


@dataclass(frozen=True, kw_only=True)
class Pace:
    """No minute has more than ``per_minute`` turns: ``at_once`` together, and the others spread over the minute."""

    per_minute: int
    at_once: int

    @property
    def every_sec(self) -> float:
        """Between two turns, once those that come together are used up."""
        return 60.0 / (self.per_minute - self.at_once)


def take_turn(connection: Connection, tenant_id: UUID, kind: str, name: str, pace: Pace) -> float:
    """Count a turn if it is due, and return 0; else the seconds to wait. For the scheduler, who sees all tenants."""
    _run(connection, "lock_turns", kind=kind, name=name)
    paced = {"per_minute": pace.per_minute, "at_once": pace.at_once, "every": pace.every_sec}
    return float(_run(connection, "take_turn", tenant=tenant_id, kind=kind, name=name, **paced).scalar_one())
