"""``proctor import``: a folder of results that others made, as a run set of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from sqlalchemy import Connection

from proctor.app import Platform
from proctor.engine import planning
from proctor.engine.identity import ConfigurationParts, configuration_document
from proctor.engine.imports.bringing import BACKEND, Names, bring, store_unlinked
from proctor.engine.imports.records import (
    AttemptRecord,
    ImportedProfile,
    ImportInvalid,
    Manifest,
    read_attempts,
    read_manifest,
)
from proctor.engine.outcomes import CURRENT_POLICY, load_policy
from proctor.engine.planning import Plan, PlannedProfile, PlannedTask, RunSetRow
from proctor.engine.recording import link_results
from proctor.engine.resolving import resolve_suite
from proctor.engine.spec import Policy, check_spec, spec_document
from proctor.queue.service import Band
from proctor.suites.service import StoredTask

__all__ = ["ImportReport", "import_results", "names_of"]

PAGE: int = 1_000
"""Attempts in one transaction."""


@dataclass(frozen=True, kw_only=True)
class ImportReport:
    """What came in. ``unlinked`` attempts are kept outside every number; ``proctor audit`` says why."""

    run_set: str
    expected: int
    attempts: int
    linked: int
    unlinked: int


def import_results(
    platform: Platform, folder: Path, *, on_page: Callable[[int], None] = lambda _: None
) -> ImportReport:
    """Import a folder in the format ``proctor-results-1``; the same folder twice is one run set.

    Raises ``ImportInvalid`` naming file, line and field, before anything of the attempts is written.
    """
    manifest, digest = read_manifest(folder)
    attempts = _checked(folder)
    suite_id = resolve_suite(manifest.suite, platform.tenant, folder, platform.suites)
    tasks = platform.suites.tasks(platform.tenant, suite_id)
    plan = _plan(platform, manifest, digest, suite_id, tasks)
    row = platform.engine.read(lambda connection: _run_set(connection, plan))
    names = names_of(platform, row, manifest.suite, plan.profiles, tasks, manifest.trials)
    unlinked = 0
    for page in _pages(read_attempts(folder)):
        unlinked += platform.engine.read(partial(_page, platform=platform, row=row, names=names, page=page))
        on_page(len(page))
    platform.engine.read(lambda connection: link_results(connection, platform.tenant, row.id, row.policy_version))
    platform.engine.finish(row.id)
    expected = len(plan.profiles) * len(tasks) * manifest.trials
    return ImportReport(
        run_set=row.name, expected=expected, attempts=attempts, linked=attempts - unlinked, unlinked=unlinked
    )


def names_of(
    platform: Platform,
    row: RunSetRow,
    suite: str,
    profiles: Iterable[PlannedProfile],
    tasks: Iterable[StoredTask],
    trials: int,
) -> Names:
    """The names that a run set's results may come under: what its manifest said, and every label of its suite."""
    labels = {alias.name for alias in platform.suites.aliases(platform.tenant) if alias.target == row.suite_id}
    return Names(
        suites=frozenset({suite, row.suite_id, *labels}),
        profiles={profile.name: profile for profile in profiles},
        tasks={task.name: task for task in tasks},
        trials=trials,
    )


def _checked(folder: Path) -> int:
    """Read every line before one is written; returns how many."""
    seen: set[tuple[str, str, str, int, int]] = set()
    for number, one in enumerate(read_attempts(folder), start=1):
        key = (one.suite, one.profile, one.task, one.trial, one.attempt)
        if key in seen:
            raise ImportInvalid(f"attempt {number} has the names and numbers of an earlier one.", where=str(folder))
        seen.add(key)
    return len(seen)


def _pages(records: Iterator[AttemptRecord]) -> Iterator[list[AttemptRecord]]:
    while page := list(islice(records, PAGE)):
        yield page


def _page(connection: Connection, platform: Platform, row: RunSetRow, names: Names, page: list[AttemptRecord]) -> int:
    reasons = [(record, names.unknown(record)) for record in page]
    known = [record for record, reason in reasons if reason is None]
    bring(connection, platform.tenant, row.id, names, load_policy(row.policy_version), known)
    rest = [(record, reason) for record, reason in reasons if reason is not None]
    store_unlinked(connection, platform.tenant, row.id, rest)
    return len(rest)


def _run_set(connection: Connection, plan: Plan) -> RunSetRow:
    planning.lock(connection, plan.tenant)
    found = planning.find(connection, plan)
    if found is None:
        planning.create(connection, plan)
        found = planning.find(connection, plan)
    assert found is not None
    return found


def _plan(platform: Platform, manifest: Manifest, digest: str, suite_id: str, tasks: list[StoredTask]) -> Plan:
    profiles = [_profile(profile, f"import:{digest}") for profile in manifest.profiles]
    document = {
        "name": manifest.name,
        "suite": manifest.suite,
        "trials": manifest.trials,
        "reuse": "off",
        "profiles": [{"name": one.name, "agent": one.agent, "model": one.model} for one in manifest.profiles],
    }
    return Plan(
        tenant=platform.tenant,
        name=manifest.name,
        spec_digest=digest,
        suite_id=suite_id,
        spec=spec_document(check_spec(document, where="results.toml")),
        policy_version=CURRENT_POLICY,
        reuse_sec=None,
        trials=manifest.trials,
        band=Band.LOW,
        profiles=profiles,
        tasks=[_task(task) for task in tasks],
    )


def _profile(profile: ImportedProfile, origin: str) -> PlannedProfile:
    parts = ConfigurationParts(
        agent=profile.agent,
        agent_version=profile.agent_version,
        layer_digest=None,
        model=profile.model,
        thinking=profile.thinking,
        variant=profile.variant,
        options={"profile": profile.name},
        policies=Policy().model_dump(mode="json"),
        backend=BACKEND,
        environment={},
        origin=origin,
    )
    configuration, document = configuration_document(parts)
    return PlannedProfile(
        name=profile.name,
        series=profile.series or profile.name,
        configuration=configuration,
        document=document,
        provider="",
    )


def _task(task: StoredTask) -> PlannedTask:
    return PlannedTask(
        content_digest=task.content_digest,
        agent_digest=task.agent_digest,
        verifier_digest=task.verifier_digest,
        expected_sec=0.0,
    )
