"""Labels: names that people give to what has an id. A label moves by a new row; what it stood for before is kept."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import Connection, func, select
from sqlalchemy.dialects.postgresql import distinct_on

from proctor.suites.models import alias
from proctor.suites.references import check_label

__all__ = ["RUN_SET", "SUITE", "Alias", "current", "history", "point"]

SUITE: str = "suite"
RUN_SET: str = "run_set"


@dataclass(frozen=True, kw_only=True)
class Alias:
    """One interval of a label's history; ``valid_to`` is ``None`` for the present one."""

    name: str
    target: str
    source: str
    valid_from: datetime
    valid_to: datetime | None


def current(connection: Connection, tenant: UUID, kind: str) -> dict[str, str]:
    """What each label of a kind stands for at this moment."""
    chosen = (alias.c.tenant_id == tenant) & (alias.c.kind == kind)
    latest = select(alias.c.name, alias.c.target).ext(distinct_on(alias.c.name)).where(chosen)
    rows = connection.execute(latest.order_by(alias.c.name, alias.c.valid_from.desc()))
    return {row.name: row.target for row in rows}


def point(connection: Connection, tenant: UUID, kind: str, name: str, target: str, *, source: str) -> None:
    """Let a label stand for something from now on; nothing is written where it does. Raises ``AliasInvalid``."""
    check_label(name)
    if current(connection, tenant, kind).get(name) != target:
        row = {"tenant_id": tenant, "kind": kind, "name": name, "target": target, "source": source}
        connection.execute(alias.insert().values(row))


def history(connection: Connection, tenant: UUID, kind: str) -> list[Alias]:
    """Every label of a kind with its whole history, by name and time."""
    until = func.lead(alias.c.valid_from).over(partition_by=alias.c.name, order_by=alias.c.valid_from)
    chosen = (alias.c.tenant_id == tenant) & (alias.c.kind == kind)
    statement = select(alias, until.label("valid_to")).where(chosen).order_by(alias.c.name, alias.c.valid_from)
    return [
        Alias(name=row.name, target=row.target, source=row.source, valid_from=row.valid_from, valid_to=row.valid_to)
        for row in connection.execute(statement)
    ]
