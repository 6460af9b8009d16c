"""Secrets for the attempts of a server's worker: those of each attempt's own tenant, opened as it starts.

Nothing is kept of them between attempts, so that a secret that was replaced or removed is so for the next attempt, and
no tenant's value is ever there for another's. What is kept is names alone: of a run set they never change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import UUID

import structlog

from proctor.app import Platform, Server
from proctor.engine.assignments import Assignment
from proctor.engine.errors import SecretMissing, SecretsClosed
from proctor.identity.audit_log import Action, Actor, note
from proctor.identity.vault.errors import (
    SecretBroken,
    SecretsExtraMissing,
    SecretsKeyUnknown,
    SecretsKeyUnset,
    SecretsKeyUnusable,
)
from proctor.kernel.errors import ProctorError
from proctor.sdk.secrets import kept_secrets
from proctor.telemetry.context import scope
from proctor.telemetry.places import OPERATORS

__all__ = ["AttemptSecrets"]

KNOWN: int = 1000
"""Run sets whose names are remembered: more than run at once."""
_CLOSED = (SecretsKeyUnset, SecretsKeyUnusable, SecretsKeyUnknown, SecretsExtraMissing, SecretBroken)

_log = structlog.get_logger(__name__)


class AttemptSecrets:
    """Called with an assignment, from any thread."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._names: dict[UUID, Sequence[str]] = {}
        self._told: set[tuple[UUID, str]] = set()

    def __call__(self, assignment: Assignment) -> Mapping[str, str]:
        """The secrets that its run set names. Raises ``SecretMissing``, ``SecretsClosed``."""
        platform = self._server.platform(assignment.tenant)
        names = self._of_run_set(platform, assignment.run_set)
        try:
            return kept_secrets(platform, names)
        except SecretMissing as error:
            self._refused(assignment, error)
            raise
        except _CLOSED as error:
            _log.error("secrets.closed", code=error.code)
            with scope(tenant=OPERATORS):  # the machine's own places are its operators' business
                _log.error("secrets.closed", code=error.code, error=str(error))
            self._refused(assignment, error)
            raise SecretsClosed(f"They can't be opened here: {error.code}.") from None  # places of the machine's own

    def _of_run_set(self, platform: Platform, run_set: UUID) -> Sequence[str]:
        if run_set not in self._names:
            if len(self._names) >= KNOWN:
                self._names.clear()
            self._names[run_set] = platform.engine.stored_spec(run_set).secrets.names
        return self._names[run_set]

    def _refused(self, assignment: Assignment, error: ProctorError) -> None:
        """In the tenant's audit log, once for a run set and reason: thousands of its attempts may end alike."""
        told = (assignment.run_set, error.code)
        if told in self._told:
            return
        self._told.add(told)
        self._server.database.as_tenant(
            assignment.tenant,
            lambda c: note(
                c,
                assignment.tenant,
                Actor(),
                Action.SECRET_REFUSED,
                str(assignment.run_set),
                reason=error.code,
                attempt=str(assignment.attempt),
            ),
        )
