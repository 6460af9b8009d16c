"""The flake ledger and quarantine: repeated verdicts of one task, and what follows from them.

The rule: a task is quarantined when its oracle's repetitions disagree, a certificate refuses it, its verifier says both
pass and fail of one final state, or its verifier breaks over the reference solution. A certificate that certifies it
later releases it. Nothing else does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from sqlalchemy import Connection, insert
from sqlalchemy.dialects.postgresql import insert as upsert

from proctor.database.queries import run_query
from proctor.engine.certificates.models import flake, quarantine
from proctor.kernel.ids import derived_id

__all__ = ["TaskKey", "add_verdicts", "judge_repeats", "quarantine_task", "release_task"]

_run = partial(run_query, "proctor.engine.certificates")


@dataclass(frozen=True, kw_only=True)
class TaskKey:
    """A task by what agent and verifier see of it: other files of it make it no other exam."""

    agent_digest: str
    verifier_digest: str


def add_verdicts(
    connection: Connection,
    tenant: UUID,
    key: TaskKey,
    *,
    content_digest: str,
    source: str,
    subject: str,
    solution: str,
    verdicts: Sequence[bool | None],
    first: int = 1,
) -> None:
    """Write down how often one thing was graded and what came of it; safe to repeat.

    ``subject`` is what was graded again; ``first`` the number of the first of these verdicts on it.
    """
    rows = [
        {
            "tenant_id": tenant,
            "id": derived_id("flake", tenant, source, subject, solution, number),
            "agent_digest": key.agent_digest,
            "verifier_digest": key.verifier_digest,
            "content_digest": content_digest,
            "source": source,
            "subject": subject,
            "solution": solution,
            "verdict": verdict,
        }
        for number, verdict in enumerate(verdicts, start=first)
    ]
    if rows:
        connection.execute(upsert(flake).on_conflict_do_nothing(), rows)


def judge_repeats(
    connection: Connection,
    tenant: UUID,
    key: TaskKey,
    *,
    content_digest: str,
    attempt: UUID,
    verdicts: Mapping[int, bool | None],
) -> None:
    """Write down what a verifier said of one final state, by the gradings' numbers; who says both is quarantined."""
    for number, verdict in verdicts.items():
        add_verdicts(
            connection,
            tenant,
            key,
            content_digest=content_digest,
            source="grading",
            subject=str(attempt),
            solution="",
            verdicts=[verdict],
            first=number,
        )
    if {True, False} <= set(verdicts.values()):
        reason = "its verifier said both pass and fail of one final state"
        quarantine_task(connection, tenant, key, reason=reason, source=f"attempt {attempt}")


def quarantine_task(connection: Connection, tenant: UUID, key: TaskKey, *, reason: str, source: str) -> None:
    """Say that a task's verdicts can't be believed. Saying the same again adds nothing."""
    if _state(connection, tenant, key) != ("quarantined", reason):
        _append(connection, tenant, key, "quarantined", reason, source)


def release_task(connection: Connection, tenant: UUID, key: TaskKey, *, reason: str, source: str) -> None:
    """Say that they can again; nothing where it is not quarantined."""
    state = _state(connection, tenant, key)
    if state is not None and state[0] == "quarantined":
        _append(connection, tenant, key, "released", reason, source)


def _state(connection: Connection, tenant: UUID, key: TaskKey) -> tuple[str, str] | None:
    digests = {"agent_digest": key.agent_digest, "verifier_digest": key.verifier_digest}
    _run(connection, "lock_task", tenant=tenant, **digests)
    row = _run(connection, "quarantine_state", tenant=tenant, **digests).one_or_none()
    return None if row is None else (row.state, row.reason)


def _append(connection: Connection, tenant: UUID, key: TaskKey, state: str, reason: str, source: str) -> None:
    connection.execute(
        insert(quarantine).values(
            tenant_id=tenant,
            agent_digest=key.agent_digest,
            verifier_digest=key.verifier_digest,
            state=state,
            reason=reason,
            source=source,
        )
    )
