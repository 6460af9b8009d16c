"""Long work on datasets: what is asked for, and how it is done over a tenant's platform."""

from __future__ import annotations

import os
import tarfile
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from pydantic import Field

from proctor.datasets.derivations import Derivation, NewVersion
from proctor.datasets.errors import SourceInvalid
from proctor.datasets.exporting import ExportFormat
from proctor.datasets.fields import Fields
from proctor.datasets.formats.catalogue import Format
from proctor.objects.store import StoredObject
from proctor.sandboxes.errors import TransferRefused
from proctor.sandboxes.files.archives import unpack
from proctor.sandboxes.files.confined import descriptor
from proctor.sandboxes.interfaces import TransferLimits
from proctor.sdk.archives import pack
from proctor.sdk.documents import document
from proctor.sdk.jobs import Job, Made, Upload, Work

__all__ = [
    "DATASET_BYTES",
    "DatasetDeriveWork",
    "DatasetExportWork",
    "DatasetImportWork",
    "derive_dataset",
    "export_dataset",
    "import_dataset",
    "packed_folder",
]

DATASET_BYTES: int = 10 << 30
"""Of a file or folder that is sent; a server that has less than three times as much room takes a third of that."""
_FOLDER_ENTRIES: int = 100_000
"""Files of a folder that is sent: a part of a dataset has some hundred megabytes."""


class DatasetImportWork(Work):
    """A file that was sent, or a folder as a tar, becomes a version. ``file``: what it is called.

    ``id_field``, ``input_field``, ``expected_field``: as ``Fields`` has them.
    """

    dataset: str
    new: NewVersion
    creator: str
    upload: Upload
    is_folder: bool
    file: str
    format: Format
    id_field: str | None = None
    input_field: str = "input"
    expected_field: str = "expected"
    skip_malformed: bool = False
    dry_run: bool = False

    @property
    def fields(self) -> Fields:
        """What the file calls the fields of an example."""
        return Fields(id=self.id_field, input=self.input_field, expected=self.expected_field)


class DatasetDeriveWork(Work):
    """Versions become another."""

    dataset: str
    new: NewVersion
    creator: str
    derivation: Derivation


class DatasetExportWork(Work):
    """A version, by its whole id, becomes a file. ``file``: its name."""

    dataset: str
    version: str
    format: ExportFormat
    file: str = Field(max_length=200, pattern=r"^[^/\x00]+$")


def import_dataset(work: DatasetImportWork, job: Job) -> Made:
    """Make a version of what was sent."""
    from proctor.datasets.service import ImportAsked

    path = _received(work, job)
    asked = ImportAsked(
        format=work.format,
        fields=work.fields,
        skip_malformed=work.skip_malformed,
        dry_run=work.dry_run,
        called=work.file,
    )
    job.tally.begin("examples read")
    done = job.platform.datasets.import_file(
        job.platform.tenant, path, asked, work.new, creator=work.creator, on_rows=job.tally.more
    )
    return Made(result=document(done))


def derive_dataset(work: DatasetDeriveWork, job: Job) -> Made:
    """Make a version of others."""
    job.tally.begin("examples written")
    done = job.platform.datasets.derive(
        job.platform.tenant, work.derivation, work.new, creator=work.creator, on_rows=job.tally.more
    )
    return Made(result=document(done))


def export_dataset(work: DatasetExportWork, job: Job) -> Made:
    """Write a version to a file, packed as every download is."""
    datasets = job.platform.datasets
    version = datasets.find(job.platform.tenant, work.version)
    folder, tar = job.scratch / "export", job.scratch / "export.tar.gz"
    folder.mkdir()
    job.tally.begin("examples written", version.rows)
    datasets.export(version, folder / work.file, work.format, on_rows=job.tally.more)
    pack(folder, tar, on_file=job.tally.go_on)
    stored = job.platform.objects.put_file(f"{job.objects}/export.tar.gz", tar)
    return Made(result={"version": document(version), "rows": version.rows, "file": work.file}, download=stored)


def _received(work: DatasetImportWork, job: Job) -> Path:
    """What was sent, as a file or folder here."""
    sent = job.scratch / f"upload{_suffix(work)}"
    job.platform.objects.fetch(StoredObject(**work.upload.model_dump()), sent)
    if not work.is_folder:
        return sent
    folder = job.scratch / "folder"
    folder.mkdir()
    limits = TransferLimits(total_bytes=DATASET_BYTES, entries=_FOLDER_ENTRIES)
    try:
        with sent.open("rb") as file, descriptor(os.open(folder, os.O_PATH | os.O_DIRECTORY)) as root:
            unpack(file, root, owner=None, limits=limits)
    except TransferRefused as error:
        raise SourceInvalid(error.message, where=error.where, remedy="Send a tar of the folder.") from error
    sent.unlink()
    return folder


def _suffix(work: DatasetImportWork) -> str:
    """The ending of its name: some formats are CSV or JSON by that."""
    return ".csv" if work.file.lower().endswith(".csv") else ""


@contextmanager
def packed_folder(folder: Path) -> Iterator[IO[bytes]]:
    """A folder as a tar, to be sent."""
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
            for path in sorted(folder.rglob("*")):
                tar.add(path.resolve(), arcname=str(path.relative_to(folder)), recursive=False)
        file.seek(0)
        yield file
