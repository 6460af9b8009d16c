"""``proctor import``: a folder of results that others made, as a run set of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from sqlalchemy import Connection

from proctor.app import Platform
from proctor.engine import planning
from proctor.engine.identity import ConfigurationParts, configuration_document
from proctor.engine.imports.bringing import BACKEND, UNDER_WAY, Names, bring, store_unlinked
from proctor.engine.imports.records import (
    AttemptNames,
    AttemptRecord,
    ImportedProfile,
    ImportInvalid,
    Manifest,
    read_attempts,
    read_manifest,
)
from proctor.engine.outcomes import CURRENT_POLICY, OutcomePolicy
from proctor.engine.planning import Plan, PlannedProfile, PlannedTask, RunSetRow
from proctor.engine.policy_book import recall
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
    platform: Platform,
    folder: Path,
    *,
    suite_id: str | None = None,
    on_page: Callable[[int], None] = lambda _: None,
) -> ImportReport:
    """Import a folder in the format ``proctor-results-1``; the same folder twice is one run set.

    ``suite_id``: the suite that its manifest names, where that is found out already.

    Raises ``ImportInvalid`` naming file, line and field, before anything of the attempts is written.
    """
    manifest, digest = read_manifest(folder)
    places = _checked(folder)
    suite_id = suite_id or resolve_suite(manifest.suite, platform.tenant, folder, platform.suites)
    tasks = platform.suites.tasks(platform.tenant, suite_id)
    plan = _plan(platform, manifest, digest, suite_id, tasks)
    names = names_of(platform, suite_id, manifest.suite, plan.profiles, tasks, manifest.trials)
    _refuse_twins(names, places)
    row, policy = platform.engine.read(lambda connection: _run_set(connection, plan))
    unlinked = 0
    for page in _pages(record for _, record in read_attempts(folder)):
        write = partial(_page, platform=platform, row=row, policy=policy, names=names, page=page)
        unlinked += platform.engine.read(write)
        on_page(len(page))
    platform.engine.read(lambda connection: link_results(connection, platform.tenant, row.id, row.policy_version))
    platform.engine.finish(row.id)
    expected = len(plan.profiles) * len(tasks) * manifest.trials
    attempts = len(places)
    return ImportReport(
        run_set=row.name, expected=expected, attempts=attempts, linked=attempts - unlinked, unlinked=unlinked
    )


def names_of(
    platform: Platform,
    suite_id: str,
    suite: str,
    profiles: Iterable[PlannedProfile],
    tasks: Iterable[StoredTask],
    trials: int,
) -> Names:
    """The names that a run set's results may come under: what its manifest said, and every label of its suite."""
    labels = {alias.name for alias in platform.suites.aliases(platform.tenant) if alias.target == suite_id}
    return Names(
        suites=frozenset({suite, suite_id, *labels}),
        profiles={profile.name: profile for profile in profiles},
        tasks={task.name: task for task in tasks},
        trials=trials,
    )


def _checked(folder: Path) -> dict[AttemptNames, str]:
    """Read every line before one is written; returns the place of each attempt."""
    seen: dict[AttemptNames, str] = {}
    for place, record in read_attempts(folder):
        _refuse_twin(seen, record.names, place)
    return seen


def _refuse_twins(names: Names, places: Mapping[AttemptNames, str]) -> None:
    """Names that differ may mean the same: a suite by its id and by its label."""
    seen: dict[AttemptNames, str] = {}
    for one, place in places.items():
        profile = names.profile(one)
        if profile is not None and names.unknown(one) is None:
            _refuse_twin(seen, one._replace(suite="", profile=profile.name), place)


def _refuse_twin(seen: dict[AttemptNames, str], one: AttemptNames, place: str) -> None:
    if one in seen:
        raise ImportInvalid(f"attempt: it has the names and numbers of {seen[one].rpartition(': ')[2]}.", where=place)
    seen[one] = place


def _pages(records: Iterator[AttemptRecord]) -> Iterator[list[AttemptRecord]]:
    while page := list(islice(records, PAGE)):
        yield page


def _page(
    connection: Connection,
    platform: Platform,
    row: RunSetRow,
    policy: OutcomePolicy,
    names: Names,
    page: list[AttemptRecord],
) -> int:
    reasons = [(record, names.unknown(record.names)) for record in page]
    known = [record for record, reason in reasons if reason is None]
    bring(connection, platform.tenant, row.id, names, policy, known)
    rest = [(record, reason) for record, reason in reasons if reason is not None]
    store_unlinked(connection, platform.tenant, row.id, rest)
    return len(rest)


def _run_set(connection: Connection, plan: Plan) -> tuple[RunSetRow, OutcomePolicy]:
    """The folder's run set, which says until the end that its import is under way, and what it counts by by now."""
    planning.lock(connection, plan.tenant)
    found = planning.find(connection, plan)
    if found is None:
        identity = planning.create(connection, plan)
        planning.set_state(connection, plan.tenant, identity, "running", UNDER_WAY)
        found = planning.find(connection, plan)
    assert found is not None
    return found, recall(connection, plan.tenant, found.policy_version)


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
