"""Long work of a server by its kind: what is asked for, and how it is done over a tenant's platform.

Each kind may be done again from its beginning without harm. What it reads from disk was sent to it, and nothing in a
request names a path, an address or a secret of the server's.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

from pydantic import Field

from proctor.app import Platform
from proctor.engine.auditing import rules_of_stranger
from proctor.engine.errors import SpecInvalid
from proctor.engine.imports.records import ATTEMPTS, MANIFEST, ImportInvalid, read_manifest
from proctor.engine.planning import RunSetRow
from proctor.kernel.canonical import Json
from proctor.objects.store import StoredObject
from proctor.operations.tally import Stopped
from proctor.sandboxes.errors import TransferRefused
from proctor.sandboxes.files.archives import safe_name, unpack
from proctor.sandboxes.files.confined import descriptor
from proctor.sandboxes.interfaces import TransferLimits
from proctor.sdk.archives import pack
from proctor.sdk.dataset_work import (
    DatasetDeriveWork,
    DatasetExportWork,
    DatasetImportWork,
    derive_dataset,
    export_dataset,
    import_dataset,
)
from proctor.sdk.documents import document
from proctor.sdk.jobs import Job, Made, Upload, Work
from proctor.sdk.sample_work import SamplesImportWork, import_samples
from proctor.sdk.secrets import kept_secrets, refuse_missing
from proctor.suites.uploads import UploadInvalid

if TYPE_CHECKING:
    from proctor.sdk.regrades import RegradePlan

__all__ = [
    "DATASET_KINDS",
    "UPLOAD_BYTES",
    "AuditWork",
    "CheckWork",
    "ExportWork",
    "ImportWork",
    "Job",
    "Made",
    "ReclassifyWork",
    "RegradeWork",
    "Upload",
    "Work",
    "WorkKind",
    "do",
    "plan_regrade",
]

UPLOAD_BYTES: int = 256 << 20
"""Of results that are sent: two million attempts, each of which is held in memory by its names."""
CELLS: int = 2_000_000
"""That results from elsewhere may expect: what one run set of ours has at the most, ten times over."""


class WorkKind(StrEnum):
    """What there is."""

    EXPORT = "export"
    REGRADE = "regrade"
    RECLASSIFY = "reclassify"
    AUDIT = "audit"
    IMPORT = "import-results"
    CHECK = "check"
    DATASET_IMPORT = "import-dataset"
    DATASET_DERIVE = "derive-dataset"
    DATASET_EXPORT = "export-dataset"
    SAMPLES_IMPORT = "import-samples"


class ExportWork(Work):
    """A run set as a job directory of Harbor's. ``folder``: where it will be on the machine that asked."""

    run_set: UUID
    folder: str = Field(default="/proctor-export", max_length=4000, pattern="^/")


class RegradeWork(Work):
    """``suite``: a label or an id; without, the one that the run set's file names."""

    run_set: UUID
    suite: str | None = None
    task: str | None = None
    recheck: bool = False
    concurrency: int = 2


class ReclassifyWork(Work):
    """``policy``: a policy file's text; ``source``: what it is called where it is wrong."""

    run_set: UUID
    policy: str
    source: str = "policy"
    move_pin: bool = False


class AuditWork(Work):
    """``profile_list``: what a list of profiles kept elsewhere is called, and ``listed`` the names in it."""

    run_set: UUID | None = None
    rules: dict[str, Any] = Field(default_factory=dict)
    rules_file: str = "--rules"
    profile_list: str | None = None
    listed: tuple[str, ...] = ()
    apply: bool = False
    checksums: bool = False


class ImportWork(Work):
    """``suite``: the id of the suite that the results' manifest names; without, what it names is looked up."""

    upload: Upload
    suite: str | None = None


class CheckWork(Work):
    """Certificates for the tasks of a suite, by its whole id."""

    suite: str
    task: str | None = None
    concurrency: int = 4
    oracle_runs: int = 5
    again: bool = False


def do(kind: str, request: Mapping[str, Json], job: Job) -> Made:
    """Do it. Raises ``Stopped`` and what the work itself raises."""
    model, work = _KINDS[WorkKind(kind)]
    return work(model.model_validate(request), job)


def _export(work: ExportWork, job: Job) -> Made:
    from proctor.sdk.exports import export_into

    row = _find(job, work.run_set)
    filling, tar = job.scratch / "job", job.scratch / "export.tar.gz"
    filling.mkdir()
    job.tally.begin("trials written")
    report = export_into(job.platform, row, filling, called=Path(work.folder), on_page=job.tally.more)
    pack(filling, tar, on_file=job.tally.go_on)
    stored = job.platform.objects.put_file(f"{job.objects}/export.tar.gz", tar)
    return Made(result=document(report), download=stored)


def _regrade(work: RegradeWork, job: Job) -> Made:
    from proctor.sdk.regrades import run_regrade

    plan = plan_regrade(job.platform, work)
    job.tally.begin("cells graded", len(plan.regrade.cells))
    slots = min(work.concurrency, job.platform.settings.server_slots)
    names = job.platform.engine.stored_spec(plan.run_set.id).secrets.names
    secrets = kept_secrets(job.platform, names)
    report = run_regrade(job.platform, plan, secrets, concurrency=slots, on_done=lambda _: job.tally.more())
    return Made(result=document(report))


def plan_regrade(platform: Platform, work: RegradeWork) -> RegradePlan:
    """Which attempts qualify. Raises ``SpecInvalid``, ``SecretMissing`` for what a server can't do."""
    from proctor.sdk import regrades

    row = _row(platform, work.run_set)
    spec = platform.engine.stored_spec(row.id)
    refuse_missing(platform, spec, where=f"{row.name}: secrets.names")
    if spec.execution.sandbox != platform.settings.server_sandbox:
        what = (
            f"It ran in {spec.execution.sandbox!r}; this server's sandboxes are {platform.settings.server_sandbox!r}."
        )
        raise SpecInvalid(what, where=row.name, remedy="Grade it where it ran.")
    suite = None if work.recheck else platform.suites.resolve(platform.tenant, work.suite or spec.suite)
    return regrades.plan_regrade(platform, row, suite=suite, task=work.task, recheck=work.recheck)


def _reclassify(work: ReclassifyWork, job: Job) -> Made:
    from proctor.sdk.reclassifications import move_pin, reclassify

    job.tally.begin("cells classified")
    row = _find(job, work.run_set)
    done = reclassify(job.platform, row, work.policy, where=work.source, on_page=job.tally.more)
    owed = move_pin(job.platform, done) if work.move_pin else None
    return Made(result={"reclassification": document(done), "owed": owed})


def _audit(work: AuditWork, job: Job) -> Made:
    from proctor.sdk.audits import AuditRequest, Elsewhere, audit

    request = AuditRequest(
        run_set=None if work.run_set is None else str(work.run_set),
        rules=rules_of_stranger(work.rules, where=work.rules_file),
        rules_file=work.rules_file,
        profile_list=None if work.profile_list is None else Path(work.profile_list),
        apply=work.apply,
        checksums=work.checksums,
        elsewhere=Elsewhere(listed=work.listed),
    )
    job.tally.begin("run sets audited")
    report = audit(job.platform, request, on_run_set=lambda _: job.tally.more())
    return Made(result=document(report))


def _import(work: ImportWork, job: Job) -> Made:
    from proctor.sdk.imports import import_results

    folder, platform = job.scratch / "results", job.platform
    _unpacked(work.upload, folder, job)
    job.tally.begin("attempts read")
    with _told_without(folder):
        manifest, _ = read_manifest(folder)
        suite_id = platform.suites.resolve(platform.tenant, work.suite or manifest.suite)
        expected = len(platform.suites.tasks(platform.tenant, suite_id)) * len(manifest.profiles) * manifest.trials
        if expected > CELLS:
            raise ImportInvalid(f"It expects {expected:,} cells; {CELLS:,} may be.", where=MANIFEST)
        report = import_results(platform, folder, suite_id=suite_id, on_page=job.tally.more)
    return Made(result=document(report))


def _check(work: CheckWork, job: Job) -> Made:
    from proctor.sdk.checking import CheckRequest, CheckSession

    slots = min(work.concurrency, job.platform.settings.server_slots)
    asked = CheckRequest(task=work.task, concurrency=slots, oracle_runs=work.oracle_runs, again=work.again)
    session = CheckSession(job.platform, work.suite, asked)
    job.tally.begin("tasks checked", session.todo)

    def told(count: Callable[[], None]) -> Callable[..., None]:
        """What is counted in the midst of a check ends it in good order: what is complete is kept."""

        def tell(*_: object) -> None:
            try:
                count()
            except Stopped:
                session.stop()

        return tell

    report = session.run(on_run=told(job.tally.go_on), on_task=told(job.tally.more))
    job.tally.go_on()
    return Made(result=document(report))


def _unpacked(upload: Upload, folder: Path, job: Job) -> None:
    """The two files of results, out of a tar that somebody sent; nothing else in it is looked at."""
    tar = job.scratch / "upload.tar"
    job.platform.objects.fetch(StoredObject(**upload.model_dump()), tar)
    folder.mkdir()
    limits = TransferLimits(total_bytes=UPLOAD_BYTES, entries=10)
    try:
        with tar.open("rb") as file, descriptor(os.open(folder, os.O_PATH | os.O_DIRECTORY)) as root:
            unpack(file, root, owner=None, limits=limits, skip=lambda name: safe_name(name) not in (MANIFEST, ATTEMPTS))
    except TransferRefused as error:
        raise UploadInvalid(error.message, where=error.where, remedy=_FILES) from error
    for name in (MANIFEST, ATTEMPTS):
        if not (folder / name).is_file() or (folder / name).is_symlink():
            raise UploadInvalid("It is not in the tar as a file.", where=name, remedy=_FILES)


_FILES = f"Send a tar with {MANIFEST} and {ATTEMPTS} in it, as `proctor import FOLDER --server URL` does."


@contextmanager
def _told_without(folder: Path) -> Iterator[None]:
    """A server's own paths are nobody's business: places are told as they are in what was sent."""
    try:
        yield
    except ImportInvalid as error:
        if error.where is not None:
            error.where = error.where.removeprefix(str(folder)).lstrip("/") or None
        raise


def _find(job: Job, identity: UUID) -> RunSetRow:
    return _row(job.platform, identity)


def _row(platform: Platform, identity: UUID) -> RunSetRow:
    from proctor.engine import reading

    return platform.engine.read(lambda c: reading.find_run_set(c, platform.tenant, str(identity)))


DATASET_KINDS: frozenset[str] = frozenset(
    {
        WorkKind.DATASET_IMPORT.value,
        WorkKind.DATASET_DERIVE.value,
        WorkKind.DATASET_EXPORT.value,
        WorkKind.SAMPLES_IMPORT.value,
    }
)
"""Work on datasets, whose requests name one."""
_KINDS: Mapping[WorkKind, tuple[type[Work], Callable[[Any, Job], Made]]] = {
    WorkKind.EXPORT: (ExportWork, _export),
    WorkKind.REGRADE: (RegradeWork, _regrade),
    WorkKind.RECLASSIFY: (ReclassifyWork, _reclassify),
    WorkKind.AUDIT: (AuditWork, _audit),
    WorkKind.CHECK: (CheckWork, _check),
    WorkKind.IMPORT: (ImportWork, _import),
    WorkKind.DATASET_IMPORT: (DatasetImportWork, import_dataset),
    WorkKind.DATASET_DERIVE: (DatasetDeriveWork, derive_dataset),
    WorkKind.DATASET_EXPORT: (DatasetExportWork, export_dataset),
    WorkKind.SAMPLES_IMPORT: (SamplesImportWork, import_samples),
}
