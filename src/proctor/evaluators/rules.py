"""Which evaluators a tenant may use: what the installation's administrator says, and what is not said is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, delete, func, select
from sqlalchemy.dialects.postgresql import insert

from proctor.evaluators.configuration import Definition
from proctor.evaluators.errors import EvaluatorUnknown
from proctor.evaluators.models import evaluator_permission
from proctor.evaluators.references import parse_reference

__all__ = ["EvaluatorRule", "forget_rule", "is_allowed", "rules_of", "set_rule"]


@dataclass(frozen=True, kw_only=True)
class EvaluatorRule:
    """One rule for a tenant. ``subject``: a type, or the name of a registered evaluator in all its versions."""

    subject: str
    allowed: bool
    changed_at: datetime


def rules_of(connection: Connection, tenant: UUID) -> list[EvaluatorRule]:
    """All of a tenant's, by subject."""
    table = evaluator_permission
    rows = connection.execute(select(table).where(table.c.tenant_id == tenant).order_by(table.c.subject))
    return [EvaluatorRule(subject=row.subject, allowed=row.allowed, changed_at=row.changed_at) for row in rows]


def set_rule(connection: Connection, tenant: UUID, subject: str, *, allowed: bool) -> None:
    """Allow or forbid a type or a name. Safe to repeat. Raises ``EvaluatorUnknown`` for what can be neither."""
    name, version = parse_reference(subject)
    if version is not None:
        raise EvaluatorUnknown("A rule is for a type, or for a name in all its versions.", where=subject)
    values = {"allowed": allowed, "changed_at": func.now()}
    connection.execute(
        insert(evaluator_permission)
        .values(tenant_id=tenant, subject=name, **values)
        .on_conflict_do_update(index_elements=["tenant_id", "subject"], set_=values)
    )


def forget_rule(connection: Connection, tenant: UUID, subject: str) -> None:
    """Let it be as if nothing had been said. Safe to repeat."""
    table = evaluator_permission.c
    connection.execute(delete(evaluator_permission).where(table.tenant_id == tenant, table.subject == subject))


def is_allowed(rules: Mapping[str, bool], name: str, definition: Definition) -> bool:
    """What is said of the name counts before what is said of its type, and of the types of its checks."""
    if name in rules:
        return rules[name]
    return all(rules.get(one, True) for one in _types_in(definition))


def _types_in(definition: Definition) -> set[str]:
    checks = definition.configuration.get("checks")
    found = [one.get("type") for one in checks if isinstance(one, Mapping)] if isinstance(checks, list) else []
    return {definition.type, *(one for one in found if isinstance(one, str))}
