"""Evaluation jobs of a tenant on a server: what ``proctor.sdk.evaluations.Evaluations`` answers, answered by it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.datasets.formats.rows import opened
from proctor.jobs.asking import EvaluationRequest, ResultChoice
from proctor.jobs.outputs_files import OutputFields
from proctor.jobs.summaries import JobStanding
from proctor.jobs.values import Job, JobState, SampleSet
from proctor.kernel.extras import need_data_extra
from proctor.results.retention import Retention
from proctor.sdk.cursors import Listing
from proctor.sdk.evaluations import OutputsTold
from proctor.sdk.remote.answers import part, read
from proctor.sdk.remote.transport import API, Transport
from proctor.sdk.remote.work import RemoteWork

if TYPE_CHECKING:
    from proctor.results.sql import Answer

__all__ = ["RemoteEvaluations", "RemoteJobSession"]

_LARGEST_PAGE = 1000


class RemoteEvaluations:
    """What a server answers of evaluation jobs."""

    def __init__(self, transport: Transport, work: RemoteWork) -> None:
        self._transport, self._work = transport, work

    def add_outputs(
        self,
        path: Path,
        told: OutputsTold,
        fields: OutputFields | None = None,
        *,
        on_rows: Callable[[int], None] = lambda _: None,
    ) -> tuple[SampleSet, bool]:
        """Send a file of outputs to be kept; what is kept, and whether it was not there before."""
        fields = fields or OutputFields()
        params = {
            "dataset": told.dataset,
            "name": told.name,
            "model": told.model,
            "file": path.name,
            "id_field": fields.id,
            "output_field": fields.output,
            "skip_malformed": told.skip_malformed,
        }
        with opened(path) as content:
            headers = {"Content-Type": "application/octet-stream"}
            sent = self._transport.send("POST", "samples", params=params, content=content, headers=headers)
        result = self._work.ended(sent.json(), on_rows).result
        return read(SampleSet, result["samples"]), bool(result["new"])

    def sample_sets(self, *, before: UUID | None = None, limit: int = 100) -> list[SampleSet]:
        """A page of outputs, the newest first."""
        cursor = None if before is None else Listing(f"{API}/samples", ()).cursor([before])
        return read(list[SampleSet], self._transport.get("samples", cursor=cursor, limit=limit)["items"])

    def samples(self, reference: str) -> SampleSet:
        """Outputs by id, the beginning of one, or name."""
        return read(SampleSet, self._transport.get(f"samples/{part(reference)}"))

    def submit(self, request: EvaluationRequest) -> Job:
        """Ask for a job; it is durable when this returns."""
        return read(Job, self._transport.post("jobs", request.model_dump(mode="json")))

    def jobs(
        self,
        *,
        state: JobState | None = None,
        words: str | None = None,
        before: UUID | None = None,
        limit: int = 100,
    ) -> list[Job]:
        """A page, the newest first. ``words``: that stand in the name, whatever the case of a to z."""
        said = {"state": state and state.value, "words": words}
        asked = {name: value for name, value in said.items() if value is not None}
        cursor = None if before is None else Listing(f"{API}/jobs", tuple(asked.items())).cursor([before])
        return read(list[Job], self._transport.get("jobs", **asked, cursor=cursor, limit=limit)["items"])

    def job(self, reference: str) -> Job:
        """A job by id, the beginning of one, or name."""
        return self.standing(reference).job

    def standing(self, reference: str) -> JobStanding:
        """A job with its numbers so far."""
        return read(JobStanding, self._transport.get(f"jobs/{part(reference)}"))

    def results(
        self, reference: str, choice: ResultChoice | None = None, *, after: int = -1, limit: int = 100
    ) -> list[dict[str, object]]:
        """A page of a job's results in the order of evaluator, repeat and row: those after the ``after``-th of them."""
        asked = {name: value for name, value in vars(choice or ResultChoice()).items() if value is not None}
        told = tuple((name, str(value)) for name, value in asked.items())
        listing = Listing(f"{API}/jobs/{reference}/results", told)
        cursor, found = (None if after < 0 else listing.cursor([after])), list[dict[str, object]]()
        while True:
            size = min(_LARGEST_PAGE, limit - len(found))
            page = self._transport.get(f"jobs/{part(reference)}/results", **asked, limit=size, cursor=cursor)
            found += [{**row, "time": datetime.fromisoformat(row["time"])} for row in page["items"]]
            cursor = page["next"]
            if cursor is None or len(found) >= limit:
                return found

    @contextmanager
    def sql(self, query: str, jobs: Sequence[str] = ()) -> Iterator[Answer]:
        """The answer of one SELECT over the tenant's results, of those jobs or of all."""
        need_data_extra()
        import pyarrow as pa

        from proctor.results.sql import Answer

        sent = self._transport.send("POST", "sql", body={"sql": query, "jobs": list(jobs)})
        with pa.ipc.open_stream(sent.content) as stream:
            yield Answer(schema=stream.schema, batches=iter(stream))

    def pause(self, reference: str) -> Job:
        """No new chunks; running ones finish."""
        return read(Job, self._transport.post(f"jobs/{part(reference)}/pause"))

    def resume(self, reference: str) -> Job:
        """Queue what has no results yet."""
        return read(Job, self._transport.post(f"jobs/{part(reference)}/resume"))

    def cancel(self, reference: str) -> Job:
        """End it; what is there stays."""
        return read(Job, self._transport.post(f"jobs/{part(reference)}/cancel"))

    def delete(self, reference: str) -> Job:
        """Delete a job's results for good; what it was stays on record."""
        return read(Job, self._transport.delete(f"jobs/{part(reference)}"))

    def delete_samples(self, reference: str) -> SampleSet:
        """Delete outputs for good."""
        return read(SampleSet, self._transport.delete(f"samples/{part(reference)}"))

    def hold(self, reference: str, reason: str) -> Job:
        """Put a job under a legal hold."""
        return read(Job, self._transport.put(f"jobs/{part(reference)}/hold", {"reason": reason}))

    def release(self, reference: str) -> Job:
        """End a job's legal hold; nothing is removed by that."""
        return read(Job, self._transport.delete(f"jobs/{part(reference)}/hold"))

    def retention(self) -> Retention:
        """For how many days results of jobs that are not kept stay, and their rollups."""
        return read(Retention, self._transport.get("retention"))

    def set_retention(self, wanted: Retention) -> Retention:
        """Set it for the tenant."""
        return read(Retention, self._transport.put("retention", asdict(wanted)))

    def session(self, job: Job) -> RemoteJobSession:
        """A look at a job that the server's evaluators work on."""
        return RemoteJobSession(self, job)


class RemoteJobSession:
    """Follows a job on a server, as ``proctor.sdk.evaluations.JobSession`` does one here."""

    def __init__(self, evaluations: RemoteEvaluations, job: Job) -> None:
        self.job, self.done = job, job.done
        self._evaluations, self._stopped = evaluations, False

    def start(self) -> None:
        """The server works already."""

    def wait(self, timeout: float) -> bool:
        """Wait so many seconds and look; whether it ended, or nobody wants to wait any more."""
        if self._stopped:
            return True
        time.sleep(timeout)
        standing = self._evaluations.standing(str(self.job.id))
        self.done = standing.done
        return standing.job.state.has_ended

    def stop(self) -> None:
        """Wait no more; the server goes on."""
        self._stopped = True
