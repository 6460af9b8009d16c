"""Reconciling what is stored with the one table that defines what was expected. Reads; ``repairing`` writes."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.imports.bringing import Names, bring
from proctor.engine.imports.records import AttemptRecord
from proctor.engine.outcomes import OutcomeClass, OutcomePolicy
from proctor.engine.planning import RunSetRow
from proctor.kernel.errors import UsageError

__all__ = [
    "Cells",
    "Rules",
    "RulesInvalid",
    "Unlinked",
    "compare_denominator",
    "count_cells",
    "find_unlinked",
    "link_unlinked",
    "read_rules",
    "stale_revisions",
]

PAGE: int = 1_000
"""Unlinked attempts read or linked in one transaction."""

_run = partial(run_query, "proctor.engine")


class RulesInvalid(UsageError):
    """The rules file of an audit is not right."""

    code = "audit-rules"
    remedy = "docs/how-to/audit.md has an example."


class _Variant(BaseModel):
    model_config = ConfigDict(extra="forbid")
    pattern: str
    profile: str


class Rules(BaseModel):
    """What people declare of names: nothing is guessed. ``suites``: names that the run set's suite had before."""

    model_config = ConfigDict(extra="forbid")
    suites: list[str] = Field(default_factory=list)
    variants: list[_Variant] = Field(default_factory=list)

    def variant(self, name: str) -> tuple[str, str] | None:
        """The profile that a name stands for by the first pattern that fits all of it, and that pattern."""
        for rule in self.variants:
            if match := re.fullmatch(rule.pattern, name):
                return match.expand(rule.profile), rule.pattern
        return None


def read_rules(path: Path | None) -> Rules:
    """A rules file, or no rules. Raises ``RulesInvalid`` naming the field."""
    if path is None:
        return Rules()
    try:
        rules = Rules.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        for rule in rules.variants:
            re.compile(rule.pattern)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, re.error) as error:
        raise RulesInvalid(f"{error}.", where=str(path)) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise RulesInvalid(f"{first['msg']}.", where=f"{path}: {'.'.join(map(str, first['loc']))}") from error
    return rules


@dataclass(frozen=True, kw_only=True)
class Cells:
    """A run set's cells as the tables have them, each in one group."""

    expected: int
    decided: int
    terminal: Mapping[str, int]
    """Cells whose agents ended and were graded with no verdict on record, by class: a repair links the verdicts, and
    those whose verifier broke stay owed."""
    owed: Mapping[str, int]
    """Cells whose attempts all ended without a verdict, by the last one's class."""
    never_attempted: int

    @property
    def linkable(self) -> int:
        """Cells with a verdict among their outcomes that nothing on record says."""
        return sum(cells for name, cells in self.terminal.items() if name != OutcomeClass.VERIFIER_ERROR)


def count_cells(connection: Connection, tenant: UUID, row: RunSetRow) -> Cells:
    """Where every expected cell of a run set stands."""
    key = {"tenant": tenant, "run_set": row.id, "policy": row.policy_version}
    progress = _run(connection, "progress", **key).one()
    terminal = {one[0]: one.cells for one in _run(connection, "terminal_not_linked", **key)}
    owed = {one[0]: one.cells for one in _run(connection, "owed_by_class", **key)}
    if broken := owed.pop(OutcomeClass.VERIFIER_ERROR, 0):
        terminal[OutcomeClass.VERIFIER_ERROR.value] = broken
    return Cells(
        expected=progress.expected,
        decided=progress.decided,
        terminal=terminal,
        owed={name: count for name, count in owed.items() if name != "never_attempted"},
        never_attempted=owed.get("never_attempted", 0),
    )


@dataclass(frozen=True, kw_only=True)
class Group:
    """Cells whose attempts came under names that do not resolve, by what would make them."""

    how: str
    cells: int
    profiles: int
    attempts: int


@dataclass(frozen=True, kw_only=True)
class Unlinked:
    """Imported attempts outside every number: what declared names would link, and what nothing explains."""

    recoverable: tuple[Group, ...]
    unexplained: tuple[Group, ...]


@dataclass
class _Tally:
    attempts: int = 0
    cells: set[tuple[str, str, int]] = field(default_factory=set)

    def add(self, profile: str, record: AttemptRecord) -> None:
        self.attempts += 1
        self.cells.add((profile, record.task, record.trial))

    def group(self, how: str) -> Group:
        profiles = len({profile for profile, _, _ in self.cells})
        return Group(how=how, cells=len(self.cells), profiles=profiles, attempts=self.attempts)


def find_unlinked(connection: Connection, tenant: UUID, row: RunSetRow, names: Names, rules: Rules) -> Unlinked:
    """What of a run set's unlinked attempts the rules would link, and how."""
    recoverable: dict[str, _Tally] = {}
    unexplained: dict[str, _Tally] = {}
    for _, record in _records(connection, tenant, row):
        resolved, how, reason = _resolve(record, names, rules)
        if reason is None:
            recoverable.setdefault(how, _Tally()).add(resolved.profile, record)
        else:
            unexplained.setdefault(f"{reason} is not known", _Tally()).add(record.profile, record)
    return Unlinked(
        recoverable=tuple(tally.group(how) for how, tally in sorted(recoverable.items())),
        unexplained=tuple(tally.group(how) for how, tally in sorted(unexplained.items())),
    )


def _resolve(record: AttemptRecord, names: Names, rules: Rules) -> tuple[AttemptRecord, str, str | None]:
    """A record under the names it stands for, by which rules, and what still does not resolve."""
    how: list[str] = []
    if record.suite not in names.suites and record.suite in rules.suites:
        how.append(f"suite name {record.suite!r}")
        record = record.model_copy(update={"suite": min(names.suites)})
    found = None if record.profile in names.profiles else rules.variant(record.profile)
    if found is not None:
        how.append(f"variant name {found[1]!r}")
        record = record.model_copy(update={"profile": found[0]})
    return record, " and ".join(how) or "its names are known now", names.unknown(record)


def _records(connection: Connection, tenant: UUID, row: RunSetRow) -> Iterator[tuple[UUID, AttemptRecord]]:
    after = UUID(int=0)
    while page := _run(connection, "unlinked_page", tenant=tenant, run_set=row.id, after=after, page=PAGE).all():
        yield from ((one.id, AttemptRecord.model_validate(one.record)) for one in page)
        after = page[-1].id


def link_unlinked(
    connection: Connection, tenant: UUID, row: RunSetRow, names: Names, rules: Rules, policy: OutcomePolicy, after: UUID
) -> tuple[Mapping[str, int], UUID | None]:
    """Link a page of what the rules explain, after an id; returns attempts by rule, and the last id (none: the end)."""
    page = _run(connection, "unlinked_page", tenant=tenant, run_set=row.id, after=after, page=PAGE).all()
    linked: Counter[str] = Counter()
    by_rule: dict[str, list[UUID]] = {}
    records: list[AttemptRecord] = []
    for one in page:
        record, how, reason = _resolve(AttemptRecord.model_validate(one.record), names, rules)
        if reason is None:
            records.append(record)
            by_rule.setdefault(how, []).append(one.id)
            linked[how] += 1
    bring(connection, tenant, row.id, names, policy, records)
    for how, ids in by_rule.items():
        _run(connection, "link", tenant=tenant, ids=ids, how=how)
    return linked, page[-1].id if page else None


def stale_revisions(connection: Connection, tenant: UUID, row: RunSetRow) -> int:
    """The last leaderboard revision of each profile that expects another number of cells than the table."""
    return int(_run(connection, "stale_revisions", tenant=tenant, run_set=row.id).scalar_one())


@dataclass(frozen=True, kw_only=True)
class Denominator:
    """A list of profiles kept elsewhere, beside the table."""

    source: str
    profiles: int
    cells: int
    expected_cells: int
    missing: tuple[str, ...]
    """Profiles of the table that the list lacks."""
    extra: tuple[str, ...]
    """Profiles of the list that are not in the table."""

    @property
    def agrees(self) -> bool:
        """Whether it says what the table says."""
        return not self.missing and not self.extra


def compare_denominator(source: str, listed: Sequence[str], profiles: Sequence[str], cells: int) -> Denominator:
    """A profile list beside the table's; ``cells`` are all the table expects, the same for each of its profiles."""
    each = cells // len(profiles) if profiles else 0
    return Denominator(
        source=source,
        profiles=len(set(listed)),
        cells=len(set(listed)) * each,
        expected_cells=cells,
        missing=tuple(sorted(set(profiles) - set(listed))),
        extra=tuple(sorted(set(listed) - set(profiles))),
    )
