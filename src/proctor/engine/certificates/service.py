"""Use cases of certificates, for one tenant."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from sqlalchemy import Connection
from sqlalchemy.dialects.postgresql import insert

from proctor.database.engine import Database
from proctor.engine.certificates import standing
from proctor.engine.certificates.certificate import Certificate, CheckVerdict, Ground
from proctor.engine.certificates.ledger import TaskKey, add_verdicts, quarantine_task, release_task
from proctor.engine.certificates.models import certificate
from proctor.engine.certificates.standing import Standing
from proctor.engine.resolving import STANDARD_TOOLS
from proctor.sandboxes.interfaces import SandboxBackend
from proctor.suites.service import StoredTask

__all__ = ["CertificateService", "ground_for"]


class CertificateService:
    """Keeps certificates and says what they are worth."""

    def __init__(self, database: Database, tenant: UUID) -> None:
        self._database = database
        self._tenant = tenant

    def keep(self, made: Certificate) -> None:
        """Store a certificate with its oracle's verdicts, and quarantine or release its task, in one transaction."""
        self._database.as_tenant(self._tenant, lambda connection: _keep(connection, self._tenant, made))

    def standings(self, suite_id: str, ground: Ground) -> list[Standing]:
        """What is known of each usable task of a suite where it would run."""
        return self._database.as_tenant(
            self._tenant, lambda connection: standing.standings(connection, self._tenant, suite_id, ground)
        )


def ground_for(backend: SandboxBackend, tasks: Iterable[StoredTask]) -> Ground:
    """Where these tasks run: the tools that they declare. Raises ``UnsupportedByBackend`` for one that is not there."""
    declared = {tool for one in tasks if one.task and one.task.userland for tool in one.task.userland.tools}
    return Ground(backend=backend.name, environment=backend.environment_identity(sorted({*STANDARD_TOOLS, *declared})))


def _keep(connection: Connection, tenant: UUID, made: Certificate) -> None:
    connection.execute(
        insert(certificate)
        .on_conflict_do_nothing()
        .values(
            tenant_id=tenant,
            id=made.id,
            agent_digest=made.agent_digest,
            verifier_digest=made.verifier_digest,
            content_digest=made.content_digest,
            backend=made.ground.backend,
            environment=dict(made.ground.environment),
            checks=made.checks,
            verdict=made.verdict.value,
            problems=list(made.problems),
            snapshot=made.snapshot,
            runs=[dict(run) for run in made.runs],
            made_by=made.made_by,
        )
    )
    key = TaskKey(agent_digest=made.agent_digest, verifier_digest=made.verifier_digest)
    add_verdicts(
        connection,
        tenant,
        key,
        content_digest=made.content_digest,
        source="certificate",
        subject=str(made.id),
        solution="oracle",
        verdicts=made.oracle,
    )
    source = f"certificate {made.id}"
    if made.verdict is CheckVerdict.REFUSED:
        quarantine_task(connection, tenant, key, reason="; ".join(made.problems), source=source)
    elif made.verdict is CheckVerdict.CERTIFIED:
        release_task(connection, tenant, key, reason="it is certified", source=source)
