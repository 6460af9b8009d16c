"""What holds at the end, by name: what was answered is there once, was heard, is decided, and nothing is left."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, text

from proctor.notifications.topics import SHOWN
from tests.chaos import invariants
from tests.chaos.installation import SLOTS, Installation, Tenant
from tests.chaos.server_clients import Worker
from tests.chaos.server_listeners import Listener

__all__ = ["Evidence", "verdicts"]


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """What is compared with what the database says."""

    installation: Installation
    tenant: Tenant
    workers: Sequence[Worker]
    listeners: Sequence[Listener]
    disturbed_worker: int
    controlled: int
    """Run sets that were told to go on at the end."""

    def rows(self, query: str, **values: Any) -> list[Any]:
        """As the tenant, whose rows alone are seen."""
        found: list[Any] = self.read(lambda c: list(c.execute(text(query), values).all()))
        return found

    def read(self, work: Callable[[Connection], Any]) -> Any:
        return self.installation.database.as_tenant(self.tenant.id, work)

    def told(self, kind: str) -> list[tuple[str, Any]]:
        """Names and answers of what was done of a kind."""
        return [
            (name, a.document) for worker in self.workers for what, name, a in worker.told if what == kind and a.good
        ]


def verdicts(evidence: Evidence) -> Mapping[str, list[str]]:
    """Every invariant with what breaks it."""
    return {
        "what was answered is there once, and nothing else": _there_once(evidence),
        "a repeat gets the same answer": [p for worker in evidence.workers for p in worker.courier.problems],
        "the audit log has one entry for each request": _noted_once(evidence),
        "labels stand for what the server said": _labels(evidence),
        "every event was published": _published(evidence),
        "every listener heard every event, in order": _heard(evidence),
        "every run set ended": _ended(evidence),
        "every cell has one verdict": _decided(evidence),
        "no attempt was paid twice but for kills": _paid(evidence),
        "runs are whole": evidence.read(lambda c: invariants.broken(c) + invariants.unended(c)),
        "no operation is stuck": _operations(evidence),
        "no request is still at work": _requests(evidence),
    }


MADE: dict[str, tuple[str, str]] = {
    "user": ("SELECT name FROM proctor.tenant_user WHERE kind = 'service'", "name"),
    "key": ("SELECT name FROM proctor.api_key WHERE name LIKE 'key-%'", "name"),
    "run set": ("SELECT name FROM proctor.run_set WHERE name NOT LIKE '%.pushed'", "name"),
    "push": ("SELECT name FROM proctor.run_set WHERE name LIKE '%.pushed'", "name"),
    "export": ("SELECT id::text FROM proctor.operation", "id"),
}


def _there_once(evidence: Evidence) -> list[str]:
    found: list[str] = []
    for kind, (query, by) in MADE.items():
        asked = Counter(str(document["id"]) if by == "id" else name for name, document in evidence.told(kind))
        there = Counter(row[0] for row in evidence.rows(query))
        found += [
            f"{kind} {name}: told {asked[name]}, there {there[name]}"
            for name in (asked | there)
            if asked[name] != there[name]
        ]
    return found


def _noted_once(evidence: Evidence) -> list[str]:
    noted = Counter(
        {
            row.action: row.rows
            for row in evidence.rows("SELECT action, count(*) AS rows FROM proctor.security_event GROUP BY 1")
        }
    )
    wanted = {
        "user.created": len(evidence.told("user")) + 1,
        "key.created": len(evidence.told("key")) + 1,
        "run-set.started": len(evidence.told("run set")),
        "run-set.controlled": len(evidence.told("control")) + evidence.controlled,
        "data.exported": len(evidence.told("export")),
        "data.imported": len(evidence.told("push complete")) + 1,
    }  # fmt: skip
    return [
        f"{action}: {noted[action]} entries of {count} requests"
        for action, count in wanted.items()
        if noted[action] != count
    ]


def _labels(evidence: Evidence) -> list[str]:
    rows = evidence.rows("""
        SELECT name, target, lag(target) OVER (PARTITION BY name ORDER BY valid_from) AS before
        FROM proctor.alias WHERE kind = 'run_set' ORDER BY name, valid_from""")
    there = {row.name: row.target for row in rows}
    told = {label: target for worker in evidence.workers for label, target in worker.labelled.items()}
    wrong = [f"{name}: told {told[name]}, is {there.get(name)}" for name in told if there.get(name) != told[name]]
    return wrong + [f"{row.name} was moved to where it stood" for row in rows if row.target == row.before]


def _published(evidence: Evidence) -> list[str]:
    return [f"event {row.id}" for row in evidence.rows("SELECT id FROM proctor.event WHERE position IS NULL")]


def _heard(evidence: Evidence) -> list[str]:
    rows = evidence.rows("SELECT id::text, name FROM proctor.event WHERE position IS NOT NULL ORDER BY position")
    sent = [row.id for row in rows if row.name.partition(".")[0] in SHOWN]
    found = []
    for one in evidence.listeners:
        heard = list(dict.fromkeys(one.heard))
        found += one.problems
        if heard != sent:
            missed, strange = len(set(sent) - set(heard)), len(set(heard) - set(sent))
            found.append(f"{one.name}: missed {missed} of {len(sent)}, heard {strange} others, or in another order")
    return found


def _ended(evidence: Evidence) -> list[str]:
    rows = evidence.rows("SELECT name, state FROM proctor.run_set WHERE NOT state LIKE 'complete%'")
    return [f"{row.name} is {row.state}" for row in rows if not row.name.endswith(".pushed")]


def _decided(evidence: Evidence) -> list[str]:
    rows = evidence.rows("""
        SELECT s.name, e.cell_id, count(DISTINCT r.cell_id) AS results, count(o.attempt_id) AS verdicts
        FROM proctor.run_set s JOIN proctor.expected_cell e ON e.run_set_id = s.id
        LEFT JOIN proctor.result r ON r.cell_id = e.cell_id
        LEFT JOIN proctor.attempt a ON a.cell_id = e.cell_id
        LEFT JOIN proctor.outcome o ON o.attempt_id = a.id AND o.verdict IS NOT NULL
        WHERE s.name NOT LIKE '%.pushed' GROUP BY 1, 2
        HAVING count(DISTINCT r.cell_id) <> 1 OR count(o.attempt_id) <> 1""")
    return [f"{row.name} {row.cell_id}: {row.results} results, {row.verdicts} verdicts" for row in rows]


def _paid(evidence: Evidence) -> list[str]:
    """A worker that is killed, or asleep past its lease, loses as many attempts as it has slots at the most."""
    counts, excused = evidence.read(invariants.class_counts), evidence.disturbed_worker * SLOTS
    more = sum(count for name, count in counts.items() if name not in ("passed", "failed"))
    return [f"{more} attempts more than verdicts, {excused} excused: {counts}"] if more > excused else []


def _operations(evidence: Evidence) -> list[str]:
    rows = evidence.rows("SELECT id, kind, state, error::text AS said FROM proctor.operation WHERE state <> 'done'")
    return [f"{row.kind} {row.id} is {row.state}: {row.said}" for row in rows]


def _requests(evidence: Evidence) -> list[str]:
    rows = evidence.rows("SELECT began_at FROM proctor.idempotent_request WHERE status IS NULL")
    return [f"one that began at {row.began_at}" for row in rows]
