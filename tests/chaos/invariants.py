"""What holds in the database and the object store whatever was killed when, and at every moment."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, text

from proctor.objects.store import ObjectStore

__all__ = [
    "RULES",
    "Facts",
    "History",
    "broken",
    "broken_objects",
    "class_counts",
    "facts",
    "queued_for_nothing",
    "unended",
]

CLASSES: frozenset[str] = frozenset(
    {"passed", "failed", "task_invalid", "lease_lost", "sandbox_error", "agent_setup_error", "cancelled"}
)
"""What attempts of the rig's run set may end as; anything else blames somebody wrongly or is a fault of ours."""

_QUERIES: dict[str, str] = {
    "an attempt that ended has no outcome, or one that did not has one": """SELECT a.id FROM proctor.attempt a
        WHERE (a.ended_at IS NOT NULL) <> EXISTS (SELECT FROM proctor.outcome o WHERE o.attempt_id = a.id)""",
    "an attempt that ended has no evidence": """SELECT a.id FROM proctor.attempt a WHERE a.ended_at IS NOT NULL
        AND NOT EXISTS (SELECT FROM proctor.evidence e WHERE e.attempt_id = a.id)""",
    "an attempt that has not ended has no live claim": """SELECT a.id FROM proctor.attempt a
        WHERE a.ended_at IS NULL AND NOT EXISTS (SELECT FROM proctor.queue_item q
            WHERE q.id = a.cell_id AND q.token = a.token AND q.state = 'claimed')""",
    "a claim has not exactly one attempt that has not ended": """SELECT q.id FROM proctor.queue_item q
        WHERE q.state = 'claimed' AND (SELECT count(*) FROM proctor.attempt a
            WHERE a.cell_id = q.id AND a.token = q.token AND a.ended_at IS NULL) <> 1""",
    "a cell has two attempts that have not ended": """SELECT cell_id FROM proctor.attempt WHERE ended_at IS NULL
        GROUP BY cell_id HAVING count(*) > 1""",
    "a token is of two attempts": """SELECT min(id::text) FROM proctor.attempt
        WHERE token IS NOT NULL GROUP BY token HAVING count(*) > 1""",
    "evidence has a hole": """SELECT attempt_id FROM proctor.evidence GROUP BY attempt_id
        HAVING (min(seq), max(seq)) <> (1, count(*))""",
    "attempt numbers have a hole": """SELECT cell_id FROM proctor.attempt GROUP BY cell_id
        HAVING (min(number), max(number)) <> (1, count(*))""",
    "an attempt started after the verdict": """SELECT a.id FROM proctor.attempt a
        JOIN proctor.result r ON r.cell_id = a.cell_id JOIN proctor.attempt first ON first.id = r.attempt_id
        WHERE a.number > first.number""",
    "a result is not the cell's first verdict": """SELECT f.cell_id FROM (
            SELECT DISTINCT ON (a.cell_id) a.cell_id, a.id AS attempt_id, o.grading, o.class, o.verdict
            FROM proctor.attempt a JOIN proctor.outcome o ON o.attempt_id = a.id
            WHERE o.verdict IS NOT NULL ORDER BY a.cell_id, a.number, o.grading) f
        FULL JOIN proctor.result r ON r.cell_id = f.cell_id
        WHERE (r.attempt_id, r.grading, r.class, r.verdict)
              IS DISTINCT FROM (f.attempt_id, f.grading, f.class, f.verdict)""",
    "a decided cell is still worked on": """SELECT q.id FROM proctor.queue_item q
        JOIN proctor.result r ON r.cell_id = q.id WHERE q.state <> 'pending'""",
    "an undecided cell that is not at its end has not exactly one queue row": """SELECT e.cell_id
        FROM proctor.expected_cell e JOIN proctor.run_set s ON s.id = e.run_set_id AND s.name NOT LIKE '%.pushed'
        LEFT JOIN proctor.result r ON r.cell_id = e.cell_id
        WHERE r.cell_id IS NULL AND (SELECT count(*) FROM proctor.queue_item q WHERE q.id = e.cell_id) <> 1
            AND (SELECT o.class FROM proctor.attempt a
            JOIN proctor.outcome o ON o.attempt_id = a.id WHERE a.cell_id = e.cell_id
            ORDER BY a.number DESC, o.grading DESC LIMIT 1) IS DISTINCT FROM 'task_invalid'""",
    "a start or an end has not exactly one event": """SELECT a.id FROM proctor.attempt a WHERE
        (SELECT array_agg(name ORDER BY seq) FROM proctor.event v
            WHERE v.subject = a.id AND v.name <> 'attempt.reached') IS DISTINCT FROM
        CASE WHEN a.ended_at IS NULL THEN ARRAY['attempt.started']
             ELSE ARRAY['attempt.started', 'attempt.ended'] END""",
    "the ledger is not what attempts cost": """SELECT a.id FROM proctor.attempt a
        LEFT JOIN (SELECT attempt_id, sum(nano) AS nano FROM proctor.ledger GROUP BY 1) l ON l.attempt_id = a.id
        WHERE coalesce(l.nano, 0) <> coalesce((a.usage->>'cost_nano')::bigint, 0)""",
    "the ledger's sum is not the attempts'": """SELECT l.nano FROM
        (SELECT coalesce(sum(nano), 0) AS nano FROM proctor.ledger) l,
        (SELECT coalesce(sum((usage->>'cost_nano')::bigint), 0) AS nano FROM proctor.attempt) a
        WHERE l.nano <> a.nano""",
}
"""Each finds what must not be, at any moment. Row-level security leaves them the rows of one tenant."""

RULES: int = len(_QUERIES) + 6
"""What a look checks: these, the classes and verdicts that may be, and four that only grow (``History``)."""


@dataclass(frozen=True)
class Facts:
    """Rows that may be added to and never changed, as text by their keys."""

    expected: Mapping[UUID, frozenset[UUID]]
    """Cells by run set: what is expected of one never changes; there may be new ones."""
    results: Mapping[UUID, str]
    evidence: Mapping[tuple[UUID, int], str]
    ended: Mapping[UUID, str]

    @property
    def decided(self) -> int:
        return len(self.results)


def facts(connection: Connection) -> Facts:
    """What is on record now."""

    def rows(query: str) -> Sequence[Any]:
        return connection.execute(text(query)).all()

    return Facts(
        expected={
            row.run_set_id: frozenset(row.cells)
            for row in rows("SELECT run_set_id, array_agg(cell_id) AS cells FROM proctor.expected_cell GROUP BY 1")
        },
        results={row.cell_id: row.said for row in rows("SELECT cell_id, r::text AS said FROM proctor.result r")},
        evidence={
            (row.attempt_id, row.seq): row.said
            for row in rows("SELECT attempt_id, seq, e::text AS said FROM proctor.evidence e")
        },
        ended={
            row.id: row.said
            for row in rows("SELECT id, a::text AS said FROM proctor.attempt a WHERE ended_at IS NOT NULL")
        },
    )


@dataclass
class History:
    """The facts seen so far; what was seen once has to stay."""

    seen: Facts | None = None
    problems: list[str] = field(default_factory=list)

    def add(self, now: Facts) -> None:
        """Compare with what was seen before."""
        before, self.seen = self.seen, now
        if before is None:
            return
        changed = [run_set for run_set, cells in before.expected.items() if now.expected.get(run_set) != cells]
        if changed:
            self.problems.append(f"the expected cells changed of {changed}")
        for name in ("results", "evidence", "ended"):
            old, new = getattr(before, name), getattr(now, name)
            self.problems += [
                f"{name} {key}: was {said}, is {new.get(key)}" for key, said in old.items() if new.get(key) != said
            ]


def unended(connection: Connection) -> list[str]:
    """Attempts without an end, and decided cells in the queue: none where nothing runs."""
    rows = connection.execute(text("SELECT id FROM proctor.attempt WHERE ended_at IS NULL"))
    return [*(f"attempt {row.id} has no end" for row in rows), *queued_for_nothing(connection)]


def queued_for_nothing(connection: Connection) -> list[str]:
    """Decided cells in the queue. A run that is planned while a cell's verdict is being written may queue the cell
    once more; the next claim finds it decided, starts nothing and takes it away."""
    rows = connection.execute(text("""
        SELECT q.id FROM proctor.queue_item q JOIN proctor.result r ON r.cell_id = q.id"""))  # fmt: skip
    return [f"cell {row.id} is decided and queued" for row in rows]


def broken(connection: Connection) -> list[str]:
    """Every rule that the tenant's rows break now, with what breaks it."""
    found = []
    for rule, query in _QUERIES.items():
        if rows := connection.execute(text(query)).all():
            found.append(f"{rule}: {[str(row[0]) for row in rows[:5]]}")
    return found + _wrong_classes(connection) + _wrong_verdicts(connection)


def _wrong_classes(connection: Connection) -> list[str]:
    rows = connection.execute(text("""
        SELECT o.class, count(*) AS rows, min(e.detail::text) AS said FROM proctor.outcome o
        LEFT JOIN proctor.evidence e ON e.attempt_id = o.attempt_id AND e.detail ? 'failed'
        WHERE NOT o.class = ANY(:known) GROUP BY 1"""), {"known": sorted(CLASSES)})  # fmt: skip
    return [f"{row[0]} of {row.rows} attempts: {row.said}" for row in rows]


def _wrong_verdicts(connection: Connection) -> list[str]:
    """The rig's agents are of known strength: a kill must not make a pass a fail, or a fail a pass."""
    rows = connection.execute(text("""
        SELECT p.name, r.class, count(*) AS rows FROM proctor.result r
        JOIN proctor.expected_cell e ON e.cell_id = r.cell_id
        JOIN proctor.run_set_profile p ON p.run_set_id = e.run_set_id AND p.position = e.profile
        WHERE r.verdict <> (p.name <> 'wrong') GROUP BY 1, 2"""))  # fmt: skip
    return [f"{row.rows} cells of {row.name} are {row[1]}" for row in rows]


def broken_objects(connection: Connection, objects: ObjectStore) -> list[str]:
    """Artifacts on record that the object store doesn't hold as recorded."""
    found = []
    rows = connection.execute(text("SELECT id, artifacts FROM proctor.attempt")).all()
    kept: dict[str, str] = {}
    for artifact in [one for row in rows for one in row.artifacts]:
        key = artifact["key"]
        if key not in kept:
            kept[key] = hashlib.sha256(objects.get(key)).hexdigest() if objects.exists(key) else "nothing"
        if kept[key] != artifact["sha256"]:
            found.append(f"{key}: {kept[key]}, not {artifact['sha256']}")
    return found


def class_counts(connection: Connection) -> dict[str, int]:
    """How attempts ended."""
    rows = connection.execute(text("SELECT class, count(*) AS rows FROM proctor.outcome GROUP BY 1 ORDER BY 1"))
    return {row[0]: row.rows for row in rows}
