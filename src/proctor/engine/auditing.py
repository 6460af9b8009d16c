"""Reconciling what is stored with the one table that defines what was expected. Reads; ``repairing`` writes."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator
from sqlalchemy import Connection

from proctor.database.queries import run_query
from proctor.engine.imports.bringing import Content, Names, attempt_of, bring, content_of
from proctor.engine.imports.records import AttemptRecord
from proctor.engine.outcomes import OutcomeClass, OutcomePolicy
from proctor.engine.patterns import costly
from proctor.engine.planning import RunSetRow
from proctor.kernel.errors import UsageError
from proctor.kernel.validation import words_of

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


PATTERN: int = 1000
"""Characters of a pattern."""
VARIANTS: int = 100
"""Patterns that a server is sent: each is held against every name that nothing else explains."""

_Name = Annotated[str, Field(min_length=1, max_length=200)]


class _Variant(BaseModel):
    model_config = ConfigDict(extra="forbid")
    pattern: Annotated[str, Field(min_length=1, max_length=PATTERN)]
    profile: _Name

    @field_validator("pattern")
    @classmethod
    def _compiles(cls, pattern: str) -> str:
        try:
            re.compile(pattern)
        except (re.error, OverflowError, RecursionError) as error:
            raise ValueError(f"it is no regular expression: {error}") from error
        return pattern

    @model_validator(mode="after")
    def _expands(self) -> _Variant:
        try:
            re.sub(self.pattern, self.profile, "")  # reads all of the template, whether or not anything fits
        except (re.error, IndexError, OverflowError) as error:
            raise ValueError(f"profile: {error}") from error
        return self

    def profile_of(self, name: str) -> str | None:
        """The profile that a name stands for, if the pattern fits all of it."""
        match = re.fullmatch(self.pattern, name)
        return match.expand(self.profile) if match else None

    @property
    def is_one_profile(self) -> bool:
        """Whether it names one profile, whatever fits."""
        return "\\" not in self.profile


class Rules(BaseModel):
    """What people declare of names: nothing is guessed. ``suites``: names that the run set's suite had before."""

    model_config = ConfigDict(extra="forbid")
    suites: list[_Name] = Field(default_factory=list)
    variants: list[_Variant] = Field(default_factory=list)

    def variants_of(self, name: str) -> dict[str, str]:
        """The profiles that a name stands for, each with the first pattern that says so: one, if the rules agree."""
        found: dict[str, str] = {}
        for rule in self.variants:
            profile = rule.profile_of(name)
            if profile is not None:
                found.setdefault(profile, rule.pattern)
        return found

    def check_profiles(self, known: Collection[str], *, where: str) -> None:
        """Raises ``RulesInvalid`` where a rule names a profile that no run set has."""
        for place, rule in enumerate(self.variants):
            if rule.is_one_profile and rule.profile not in known:
                near = difflib.get_close_matches(rule.profile, known, n=1)
                hint = f" Did you mean {near[0]!r}?" if near else ""
                message = f"No run set that is audited has a profile {rule.profile!r}.{hint}"
                raise RulesInvalid(message, where=f"{where}: variants.{place}.profile")


def read_rules(path: Path | None) -> Rules:
    """A rules file, or no rules. Raises ``RulesInvalid`` naming the field."""
    if path is None:
        return Rules()
    try:
        document = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise RulesInvalid(f"{error}.", where=str(path)) from error
    rules = _rules_of(document, str(path))
    if not rules.suites and not rules.variants:
        raise RulesInvalid("It declares nothing: neither suites nor [[variants]].", where=str(path))
    return rules


def rules_of_stranger(document: Mapping[str, Any], *, where: str) -> Rules:
    """Rules that a server is sent. Raises ``RulesInvalid`` for a pattern that could stop it, before it is tried."""
    variants = document.get("variants")
    if isinstance(variants, list) and len(variants) > VARIANTS:
        raise RulesInvalid(f"A server tries {VARIANTS} at the most.", where=f"{where}: variants")
    for place, one in enumerate(variants if isinstance(variants, list) else ()):
        pattern = one.get("pattern") if isinstance(one, dict) else None
        if isinstance(pattern, str) and len(pattern) <= PATTERN and (why := costly(pattern)):
            raise RulesInvalid(f"A server does not try it: {why}.", where=f"{where}: variants.{place}.pattern")
    return _rules_of(document, where)


def _rules_of(document: Mapping[str, Any], where: str) -> Rules:
    try:
        return Rules.model_validate(document)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        message = words_of(first)
        raise RulesInvalid(f"{message}.", where=f"{where}: {'.'.join(map(str, first['loc']))}") from error


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
    taken: _Taken = {}
    after: UUID | None = UUID(int=0)
    while after is not None:
        page, after = _read_page(connection, tenant, row, names, rules, after, taken)
        for one in page:
            if one.reason is None:
                recoverable.setdefault(one.how, _Tally()).add(one.record.profile, one.record)
            else:
                unexplained.setdefault(one.reason, _Tally()).add(one.came_as, one.record)
    return Unlinked(
        recoverable=tuple(tally.group(how) for how, tally in sorted(recoverable.items())),
        unexplained=tuple(tally.group(how) for how, tally in sorted(unexplained.items())),
    )


_Taken = dict[UUID, Content]
"""Attempts that are on record or about to be, with what they hold."""


class _Resolved(NamedTuple):
    """An unlinked attempt under the names it stands for, by which rules, or why it can't be linked."""

    id: UUID
    came_as: str
    record: AttemptRecord
    how: str
    reason: str | None


def _read_page(
    connection: Connection, tenant: UUID, row: RunSetRow, names: Names, rules: Rules, after: UUID, taken: _Taken
) -> tuple[list[_Resolved], UUID | None]:
    """The unlinked attempts after an id, and the last id (none: the end). What they would be is added to ``taken``."""
    rows = _run(connection, "unlinked_page", tenant=tenant, run_set=row.id, after=after, page=PAGE).all()
    records = [AttemptRecord.model_validate(one.record) for one in rows]
    found = [
        _Resolved(one.id, record.profile, *_resolve(record, names, rules))
        for one, record in zip(rows, records, strict=True)
    ]
    ids = {one.id: attempt_of(tenant, names, one.record) for one in found if one.reason is None}
    there = _run(connection, "attempts_at", tenant=tenant, ids=list(ids.values()))
    taken.update({one.id: Content._make(one[1:]) for one in there})
    settled = [_settled(one, ids[one.id], names, taken) if one.id in ids else one for one in found]
    return settled, rows[-1].id if rows else None


def _settled(one: _Resolved, attempt: UUID, names: Names, taken: _Taken) -> _Resolved:
    """Two attempts can't be one: what resolves to another's cell and number is not linked over it."""
    content = content_of(names, one.record)
    if taken.setdefault(attempt, content) == content:
        return one
    message = f"attempt {one.record.attempt} of its cell is another one already (by {one.how})"
    return one._replace(reason=message)


def _resolve(record: AttemptRecord, names: Names, rules: Rules) -> tuple[AttemptRecord, str, str | None]:
    """A record under the names it stands for, by which rules, and what still does not resolve."""
    how: list[str] = []
    if record.suite not in names.suites and record.suite in rules.suites:
        how.append(f"suite name {record.suite!r}")
        record = record.model_copy(update={"suite": min(names.suites)})
    found = {} if record.profile in names.profiles else rules.variants_of(record.profile)
    if len(found) > 1:
        stands_for = " and for ".join(repr(profile) for profile in sorted(found))
        return record, "", f"profile {record.profile!r} stands for {stands_for} by the rules"
    for profile, pattern in found.items():
        how.append(f"variant name {pattern!r}")
        record = record.model_copy(update={"profile": profile})
    reason = names.unknown(record.names)
    told = " and ".join(how)
    return record, told or "its names are known now", reason and f"{reason} is not known{told and f' (by {told})'}"


def link_unlinked(
    connection: Connection, tenant: UUID, row: RunSetRow, names: Names, rules: Rules, policy: OutcomePolicy, after: UUID
) -> tuple[Mapping[str, int], UUID | None]:
    """Link a page of what the rules explain, after an id; returns attempts by rule, and the last id (none: the end)."""
    page, last = _read_page(connection, tenant, row, names, rules, after, {})
    by_rule: dict[str, list[UUID]] = {}
    for one in page:
        if one.reason is None:
            by_rule.setdefault(one.how, []).append(one.id)
    bring(connection, tenant, row.id, names, policy, [one.record for one in page if one.reason is None])
    for how, ids in by_rule.items():
        _run(connection, "link", tenant=tenant, ids=ids, how=how)
    return {how: len(ids) for how, ids in by_rule.items()}, last


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
