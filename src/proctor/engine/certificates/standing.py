"""Whether tasks may count: what certificates and quarantine say of a suite's tasks on one ground."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.certificates.certificate import CheckVerdict, Ground
from proctor.kernel.canonical import Json

__all__ = ["Standing", "baseline_reasons", "grounds_of", "standings"]

_run = partial(run_query, "proctor.engine.certificates")

NAMED: int = 3
"""Tasks named in a reason; the rest is counted, so that a leaderboard's line stays a line."""


@dataclass(frozen=True, kw_only=True)
class Standing:
    """What is known of one task on a ground. ``verdict``: of the last certificate there, ``None`` without one."""

    content_digest: str
    name: str
    verdict: CheckVerdict | None
    valid: bool
    """Whether it counts: the last certificate that decided anything certified it, and it is not quarantined."""
    checks: str | None
    """What the last certificate rests on."""
    problems: tuple[str, ...]
    snapshot: bool | None
    runs: tuple[Mapping[str, Json], ...]
    made_at: datetime | None
    made_by: str | None
    quarantined: str | None
    """Why it is, ``None`` where it is not."""


def standings(connection: Connection, tenant: UUID, suite_id: str, ground: Ground) -> list[Standing]:
    """The usable tasks of a suite, in its order."""
    rows = _run(connection, "standings", tenant=tenant, suite_id=suite_id, **_on(ground))
    return [_standing(row) for row in rows]


def _standing(row: Any) -> Standing:
    return Standing(
        content_digest=row.content_digest,
        name=row.name,
        verdict=CheckVerdict(row.last_verdict) if row.last_verdict else None,
        valid=row.verdict == CheckVerdict.CERTIFIED.value and not row.quarantined,
        checks=row.checks,
        problems=tuple(row.problems or ()),
        snapshot=row.snapshot,
        runs=tuple(row.runs or ()),
        made_at=row.made_at,
        made_by=row.made_by,
        quarantined=row.quarantine_reason if row.quarantined else None,
    )


def baseline_reasons(connection: Connection, tenant: UUID, suite_id: str, grounds: Iterable[Ground]) -> list[str]:
    """Why a run over this suite on these grounds can't be compared with others; nothing where it can."""
    lines: list[str] = []
    for ground in grounds:
        rows = _run(connection, "baseline", tenant=tenant, suite_id=suite_id, **_on(ground)).all()
        lines.extend(line for line in _lines(rows) if line not in lines)
    return lines


def _lines(rows: Sequence[Any]) -> Iterator[str]:
    missing = [row.name for row in rows if not row.quarantined]
    quarantined = [row.name for row in rows if row.quarantined]
    if missing:
        yield f"no baseline certificate: {_counted(missing)}; run proctor suite check"
    if quarantined:
        yield f"quarantined: {_counted(quarantined)}; proctor suite show says why"


def _counted(names: Sequence[str]) -> str:
    more = f", and {len(names) - NAMED} more" if len(names) > NAMED else ""
    word = "task" if len(names) == 1 else "tasks"
    return f"{len(names)} {word} ({', '.join(names[:NAMED])}{more})"


def grounds_of(connection: Connection, tenant: UUID, run_set: UUID) -> list[Ground]:
    """Where a run set's profiles run."""
    rows = _run(connection, "grounds", tenant=tenant, run_set=run_set)
    return [Ground(backend=row.backend, environment=row.environment) for row in rows]


def _on(ground: Ground) -> dict[str, str]:
    return {"backend": ground.backend, "environment": json.dumps(dict(ground.environment))}
