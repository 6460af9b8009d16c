"""The budget of an evaluation job, beside those that every call comes under."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.models.calls import Payer
from proctor.models.ports import Budgets, Scope, ScopeKind

__all__ = ["JobBudgets"]

_run = partial(run_query, "proctor.jobs")


class JobBudgets:
    """``Budgets``: what others say of a payer, and its job's own."""

    def __init__(self, others: Budgets) -> None:
        self._others = others

    def scopes(self, connection: Connection, payer: Payer) -> Sequence[Scope]:
        """As the port has it."""
        scopes = list(self._others.scopes(connection, payer))
        if payer.job is not None:
            limit = _run(connection, "budget_of", tenant=payer.tenant, id=payer.job).scalar_one_or_none()
            scopes.append(Scope(kind=ScopeKind.JOB, key=str(payer.job), period="", limit_nano=limit))
        return scopes
