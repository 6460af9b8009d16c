"""``proctor audit``: run sets reconciled with the table of expected cells, and repaired where that is asked for."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from proctor.app import Platform
from proctor.engine import reading
from proctor.engine.auditing import (
    Cells,
    Denominator,
    Rules,
    RulesInvalid,
    Unlinked,
    compare_denominator,
    count_cells,
    find_unlinked,
    link_unlinked,
    stale_revisions,
)
from proctor.engine.imports.bringing import Names, is_imported
from proctor.engine.planning import PlannedProfile, RunSetRow
from proctor.engine.policy_book import recall
from proctor.engine.recording import link_results
from proctor.kernel.errors import UsageError
from proctor.sdk.documents import document
from proctor.sdk.imports import names_of
from proctor.sdk.leaks import leaks, remove_leaks
from proctor.suites.errors import AliasInvalid

__all__ = [
    "AuditReport",
    "AuditRequest",
    "Elsewhere",
    "Repair",
    "RunSetAudit",
    "audit",
    "mend_list",
    "read_profile_list",
]


class ProfileListInvalid(UsageError):
    """The list of profiles can't be read."""

    code = "audit-profiles"
    remedy = 'Give a JSON file: a list of names, or {"profiles": [...]} with names or objects that have a name.'


@dataclass(frozen=True, kw_only=True)
class RunSetAudit:
    """Where one run set stands. ``cells.never_attempted`` leaves out what names would recover."""

    run_set: str
    id: UUID
    profiles: int
    cells: Cells
    unlinked: Unlinked
    stale_revisions: int
    """Leaderboard revisions, the last of each profile, that expect another number of cells."""
    unfinished_import: bool
    """Its results are still coming in, or never all did: what its cells lack may yet come."""

    @property
    def repairable(self) -> int:
        """Cells that ``--apply`` would repair, and revisions that it would follow up."""
        if self.unfinished_import:
            return 0
        return self.cells.linkable + sum(one.cells for one in self.unlinked.recoverable) + self.stale_revisions

    @property
    def standing(self) -> int:
        """What only a person can mend: cells under names that nothing explains, an import that was cut off."""
        return sum(one.cells for one in self.unlinked.unexplained) + self.unfinished_import

    @property
    def findings(self) -> int:
        """What is not as it should be."""
        return self.repairable + self.standing


@dataclass(frozen=True, kw_only=True)
class Repair:
    """What was changed. ``linked``: attempts by the rule that explains them; ``verdicts``: cells that have one now."""

    run_set: str
    linked: Mapping[str, int]
    verdicts: int


@dataclass(frozen=True, kw_only=True)
class Stored:
    """Objects beside the rows that refer to them."""

    rows: int
    missing: tuple[str, ...]
    damaged: tuple[str, ...]
    unreferenced: int


@dataclass(frozen=True, kw_only=True)
class AuditReport:
    """Everything an audit found, and with ``--apply`` what it changed."""

    run_sets: tuple[RunSetAudit, ...]
    denominators: tuple[Denominator, ...]
    stored: Stored
    leaked: Mapping[str, int]
    """Sandboxes by backend whose owner is dead, or that outlived their time. ``--apply`` removes them."""
    repairs: tuple[Repair, ...] = ()
    written: str | None = None
    """The file that the report was written to, where something was changed."""

    @property
    def leaked_sandboxes(self) -> int:
        """In all."""
        return sum(self.leaked.values())

    @property
    def repairable(self) -> int:
        """What ``--apply`` would repair: cells, revisions, lists that disagree, sandboxes that nobody holds."""
        lists = sum(not one.agrees for one in self.denominators)
        return sum(one.repairable for one in self.run_sets) + lists + self.leaked_sandboxes

    @property
    def standing(self) -> int:
        """What stands until a person mends it: names without an explanation, and objects that are gone or damaged."""
        objects = len(self.stored.missing) + len(self.stored.damaged)
        return sum(one.standing for one in self.run_sets) + objects

    @property
    def findings(self) -> int:
        """What is not as it should be."""
        return self.repairable + self.standing


@dataclass(frozen=True, kw_only=True)
class Elsewhere:
    """That an audit was asked for from another machine: its files are there, and this machine is no business of it.

    ``listed``: the names in its list of profiles, which is mended there.
    """

    listed: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class AuditRequest:
    """What to audit and by which declared names. ``checksums``: every object is read and hashed."""

    run_set: str | None = None
    rules: Rules = field(default_factory=Rules)
    rules_file: str = "--rules"
    """What an error about them names."""
    profile_list: Path | None = None
    apply: bool = False
    checksums: bool = False
    elsewhere: Elsewhere | None = None

    @property
    def listed(self) -> Sequence[str]:
        """The names of the list of profiles. Raises ``ProfileListInvalid``."""
        if self.profile_list is None:
            return ()
        return read_profile_list(self.profile_list) if self.elsewhere is None else self.elsewhere.listed


def audit(
    platform: Platform, request: AuditRequest, *, on_run_set: Callable[[str], None] = lambda _: None
) -> AuditReport:
    """Audit, and repair where the request says so."""
    rows = _rows(platform, request.run_set)
    known = {name for row in rows for name in _profile_names(platform, row)} if request.rules.variants else set()
    request.rules.check_profiles(known, where=request.rules_file)
    _check_suites(platform, rows, request)
    listed = request.listed
    found = []
    for row in rows:
        on_run_set(row.name)
        found.append(_look(platform, row, request.rules))
    report = AuditReport(
        run_sets=tuple(found),
        denominators=tuple(_denominators(platform, rows, request.profile_list, listed)),
        stored=_stored(platform, checksums=request.checksums),
        leaked=leaks(platform.settings) if request.elsewhere is None else {},
    )
    return _apply(platform, rows, report, request) if request.apply else report


def _check_suites(platform: Platform, rows: Sequence[RunSetRow], request: AuditRequest) -> None:
    """Raises ``RulesInvalid`` where a name of before is the label of another suite now: it can't mean both."""
    audited = {row.suite_id for row in rows}
    for alias in platform.suites.aliases(platform.tenant) if request.rules.suites else ():
        if alias.valid_to is None and alias.name in request.rules.suites and alias.target not in audited:
            raise RulesInvalid(f"{alias.name!r} is a label of another suite.", where=f"{request.rules_file}: suites")


def _rows(platform: Platform, reference: str | None) -> list[RunSetRow]:
    if reference is not None:
        return [platform.engine.read(lambda c: reading.find_run_set(c, platform.tenant, reference))]
    return platform.engine.read(lambda c: reading.run_sets(c, platform.tenant, limit=10_000))


def _look(platform: Platform, row: RunSetRow, rules: Rules) -> RunSetAudit:
    names = _names(platform, row)
    tenant = platform.tenant
    cells = platform.engine.read(lambda c: count_cells(c, tenant, row))
    unlinked = platform.engine.read(lambda c: find_unlinked(c, tenant, row, names, rules))
    recoverable = sum(group.cells for group in unlinked.recoverable)
    return RunSetAudit(
        run_set=row.name,
        id=row.id,
        profiles=len(names.profiles),
        cells=replace(cells, never_attempted=max(0, cells.never_attempted - recoverable)),
        unlinked=unlinked,
        stale_revisions=platform.engine.read(lambda c: stale_revisions(c, tenant, row)),
        unfinished_import=row.state == "running" and is_imported(names.profiles.values()),
    )


def _profile_names(platform: Platform, row: RunSetRow) -> list[str]:
    rows = platform.engine.read(lambda c: reading.profiles_of(c, platform.tenant, row.id))
    return [one["name"] for one in rows]


def _names(platform: Platform, row: RunSetRow) -> Names:
    spec = platform.engine.stored_spec(row.id)
    rows = platform.engine.read(lambda c: reading.profiles_of(c, platform.tenant, row.id))
    profiles = [
        PlannedProfile(
            name=one["name"],
            series=one["series"],
            configuration=one["configuration"],
            document=one["document"],
            provider=one["routing"]["provider"],
        )
        for one in rows
    ]
    tasks = platform.suites.tasks(platform.tenant, row.suite_id)
    return names_of(platform, row.suite_id, spec.suite, profiles, tasks, spec.trials)


def read_profile_list(path: Path) -> list[str]:
    """The names of a list of profiles kept elsewhere. Raises ``ProfileListInvalid``."""
    entries = _entries(_read_list(path), path)
    names = [_name_of(entry) for entry in entries]
    if not all(isinstance(name, str) for name in names):
        raise ProfileListInvalid("An entry has no name.", where=str(path))
    return [str(name) for name in names]


def _read_list(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ProfileListInvalid(f"{error}.", where=str(path)) from error


def _entries(found: Any, path: Path) -> list[Any]:
    entries = found.get("profiles") if isinstance(found, dict) else found
    if not isinstance(entries, list):
        raise ProfileListInvalid("It holds no list of profiles.", where=str(path))
    return entries


def _name_of(entry: Any) -> Any:
    return entry.get("name") if isinstance(entry, dict) else entry


def _denominators(
    platform: Platform, rows: Sequence[RunSetRow], path: Path | None, listed: Sequence[str]
) -> list[Denominator]:
    if path is None:
        return []
    if len(rows) != 1:
        raise ProfileListInvalid("A list of profiles is of one run set.", where="RUN_SET", remedy="Name the run set.")
    names = _names(platform, rows[0])
    progress = platform.engine.read(lambda c: reading.progress(c, platform.tenant, rows[0]))
    return [compare_denominator(str(path), listed, list(names.profiles), progress.expected)]


def _stored(platform: Platform, *, checksums: bool) -> Stored:
    """Rows whose object is gone or, where it is read, differs; and objects that no row refers to."""
    referenced = {
        stored.key: stored for stored in platform.engine.read(lambda c: reading.stored_objects(c, platform.tenant))
    }
    there = set(platform.objects.list(f"{platform.tenant}/"))
    missing = sorted(key for key in referenced if key not in there)
    damaged = []
    if checksums:
        damaged = [key for key in sorted(referenced.keys() & there) if not platform.objects.is_whole(referenced[key])]
    states = {key for key in there if f"{platform.tenant}/states/" in key or f"{platform.tenant}/trajectories/" in key}
    return Stored(
        rows=len(referenced),
        missing=tuple(missing),
        damaged=tuple(damaged),
        unreferenced=len(states - referenced.keys()),
    )


# --- repairing --------------------------------------------------------------------------------------------------------


def _apply(platform: Platform, rows: Sequence[RunSetRow], report: AuditReport, request: AuditRequest) -> AuditReport:
    repairs = tuple(
        _repair(platform, row, found, request.rules)
        for row, found in zip(rows, report.run_sets, strict=True)
        if found.repairable
    )
    if request.elsewhere is not None:
        return replace(report, repairs=repairs)
    stale = [one for one in report.denominators if not one.agrees]
    for one in stale:
        mend_list(Path(one.source), _profile_names(platform, rows[0]))
    if report.leaked_sandboxes:
        remove_leaks(platform.settings)
    if not repairs and not stale and not report.leaked_sandboxes:
        return replace(report, repairs=repairs)
    return replace(report, repairs=repairs, written=_written(platform, replace(report, repairs=repairs)))


def _repair(platform: Platform, row: RunSetRow, found: RunSetAudit, rules: Rules) -> Repair:
    names, tenant = _names(platform, row), platform.tenant
    policy = platform.engine.read(lambda c: recall(c, tenant, row.policy_version))
    linked: Counter[str] = Counter()
    after: UUID | None = UUID(int=0)
    while after is not None:
        page = partial(link_unlinked, tenant=tenant, row=row, names=names, rules=rules, policy=policy, after=after)
        done, after = platform.engine.read(page)
        linked.update(done)
    verdicts = platform.engine.read(lambda c: link_results(c, tenant, row.id, row.policy_version))
    if found.unlinked.recoverable:
        _keep_names(platform, row, names, rules)
    platform.engine.finish(row.id)
    platform.engine.publish(row.id)
    return Repair(run_set=row.name, linked=dict(linked), verdicts=verdicts)


def _keep_names(platform: Platform, row: RunSetRow, names: Names, rules: Rules) -> None:
    """The suite's earlier names become labels of it, so that whatever else came under them resolves as well.

    One that can't be a label stays with the rules file.
    """
    for name in rules.suites:
        if name not in names.suites:
            with suppress(AliasInvalid):
                platform.suites.set_alias(platform.tenant, name, row.suite_id, source="audit")


def mend_list(path: Path, names: Sequence[str]) -> None:
    """Bring the list to the table's profiles, in the shape that it has; what was there is kept beside it."""
    found = _read_list(path)
    mended = _mended(_entries(found, path), sorted(names))
    if isinstance(found, dict):
        mended = {**found, "profiles": mended}
    path.with_name(f"{path.name}.before-audit").write_bytes(path.read_bytes())
    fresh = path.with_name(f"{path.name}.new")
    fresh.write_text(json.dumps(mended, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    os.replace(fresh, path)


def _mended(entries: Sequence[Any], names: Sequence[str]) -> Any:
    """An entry for each name: the one that there is, else one like the others."""
    known = {_name_of(entry): entry for entry in reversed(entries)}
    objects = any(isinstance(entry, dict) for entry in entries)
    return [known.get(name, {"name": name} if objects else name) for name in names]


def _written(platform: Platform, report: AuditReport) -> str:
    folder = platform.settings.home / "audits"
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{datetime.now(UTC):%Y%m%dT%H%M%S%fZ}.json"
    path.write_text(json.dumps(document(report), indent=2) + "\n", encoding="utf-8")
    return str(path)
