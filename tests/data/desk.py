"""A tenant with a dataset, and what it may ask: what tests of jobs work with."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sqlalchemy import text

from proctor.app import Platform
from proctor.datasets.derivations import NewVersion
from proctor.datasets.service import ImportAsked
from proctor.engine.worker import recover
from proctor.jobs.asking import EvaluationRequest, ResultChoice
from proctor.jobs.service import JobService
from proctor.jobs.summaries import JobStanding
from proctor.jobs.values import Job
from proctor.jobs.worker import ChunkWorker, ChunkWorkerSettings
from proctor.sdk.datasets import Datasets
from proctor.sdk.evaluations import Evaluations, OutputsTold
from proctor.sdk.judging import resources_of

__all__ = ["LEASE_SEC", "Desk"]

LEASE_SEC = 2.0


class Desk:
    """A tenant with a dataset, and what it may ask."""

    def __init__(self, platform: Platform, folder: Path) -> None:
        self.platform, self.folder = platform, folder
        self.evaluations = Evaluations(platform)
        self.service = JobService(platform.database, platform.tenant)

    def dataset(self, examples: Sequence[dict[str, Any]], name: str = "capitals") -> None:
        file = self.folder / f"{name}.jsonl"
        file.write_text("".join(json.dumps(example) + "\n" for example in examples))
        Datasets(self.platform).import_file(file, ImportAsked(), NewVersion(dataset=name))

    def outputs(self, rows: Sequence[dict[str, Any]], name: str = "outputs", dataset: str = "capitals") -> None:
        file = self.folder / f"{name}.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        self.evaluations.add_outputs(file, OutputsTold(dataset=dataset, name=name))

    def numbers(self, count: int, *, right: Callable[[int], bool] = lambda n: n % 2 == 0) -> None:
        """So many examples, with outputs that are right where ``right`` says so."""
        self.dataset([{"id": f"e{n}", "input": f"{n}?", "expected": str(n)} for n in range(count)])
        self.outputs([{"id": f"e{n}", "output": str(n) if right(n) else "?"} for n in range(count)])

    def submit(self, *evaluators: str, samples: str = "outputs", dataset: str = "capitals", **more: Any) -> Job:
        asked = {"dataset": dataset, "samples": samples, "evaluators": list(evaluators or ("exact-match",))}
        return self.evaluations.submit(EvaluationRequest.model_validate({**asked, **more}))

    def worker(self, job: Job, *, processes: int = 2) -> ChunkWorker:
        settings = ChunkWorkerSettings(processes=processes, scope=job.id, lease_sec=LEASE_SEC)
        resources = resources_of(self.platform, lambda _tenant: lambda _names: {})
        database, objects = self.platform.database, self.platform.objects
        return ChunkWorker(database, objects, settings, recover=recover, resources=resources)

    def work(self, job: Job, *, processes: int = 2) -> JobStanding:
        self.worker(job, processes=processes).run(lambda: not self.service.job(str(job.id)).state.has_ended)
        return self.evaluations.standing(str(job.id))

    def rows(self, job: Job, **wanted: Any) -> list[dict[str, Any]]:
        return self.evaluations.results(str(job.id), ResultChoice(**wanted), limit=100_000)

    def events(self, job: Job) -> list[str]:
        """What was told of it, by name; not that chunks were done, which depends on the time they took."""
        with self.platform.database.tenant(self.platform.tenant) as connection:
            query = text("SELECT name FROM proctor.event WHERE subject = :job AND name <> 'job.advanced' ORDER BY name")
            return list(connection.execute(query, {"job": job.id}).scalars())
