"""Long work on outputs: a file that was sent is kept, to be judged."""

from __future__ import annotations

from uuid import UUID

from pydantic import Field

from proctor.objects.store import StoredObject
from proctor.sdk.documents import document
from proctor.sdk.jobs import Job, Made, Upload, Work

__all__ = ["SamplesImportWork", "import_samples"]

_SUFFIXES: tuple[str, ...] = (".jsonl", ".json", ".csv", ".parquet")


class SamplesImportWork(Work):
    """Outputs of a dataset version's examples. ``file``: what it is called, whose ending says what it is."""

    dataset: str = Field(max_length=200)
    name: str = Field(min_length=1, max_length=100)
    model: str | None = Field(default=None, max_length=300)
    creator: UUID | None
    upload: Upload
    file: str = Field(max_length=200, pattern=r"^[^/\x00-\x1f]+$")
    id_field: str = "id"
    output_field: str = "output"
    skip_malformed: bool = False


def import_samples(work: SamplesImportWork, job: Job) -> Made:
    """Keep what was sent. Raises ``SamplesInvalid``, ``DatasetUnknown``."""
    from proctor.jobs.outputs_files import OutputFields
    from proctor.sdk.evaluations import Evaluations, OutputsTold

    suffix = next((one for one in _SUFFIXES if work.file.lower().endswith(one)), "")
    path = job.scratch / f"outputs{suffix}"
    job.platform.objects.fetch(StoredObject(**work.upload.model_dump()), path)
    job.tally.begin("outputs read")
    told = OutputsTold(
        dataset=work.dataset,
        name=work.name,
        model=work.model,
        source=work.file,
        skip_malformed=work.skip_malformed,
    )
    fields = OutputFields(id=work.id_field, output=work.output_field)
    kept, fresh = Evaluations(job.platform).add_outputs(
        path, told, fields, creator=work.creator, on_rows=job.tally.more
    )
    return Made(result={"samples": document(kept), "new": fresh})
