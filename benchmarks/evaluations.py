"""Exact match end to end: a durable submission, chunks on the queue, results as Parquet, and the mean that is visible.

Examples and their outputs are kept before, as a user's are; what is timed begins with ``submit`` and ends when the mean
over all results has been read. Sizes are run one after the other on one platform of its own: a fresh PostgreSQL, a
store of files. Beside it, in the same run, DuckDB alone from Parquet to Parquet: the same comparison written with the
ids, without a queue, a manifest or anything that survives a death.

    python -m benchmarks.evaluations [--rows 1000 1000000 10000000] [--evaluator exact-match] [--json]

The targets, on two cores: 500,000 evaluations/s at ten million, 200,000 at one million, a job of 1,000 visible in under
a second, memory that does not grow with the rows.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import psutil
import pyarrow as pa

from benchmarks.grounds import fresh_platform
from benchmarks.timing import load_average
from proctor.app import Platform
from proctor.datasets.derivations import NewVersion
from proctor.datasets.making import Draft, Maker
from proctor.datasets.schema import schema
from proctor.datasets.versions import DatasetVersion, Lineage
from proctor.datasets.writing import VersionWriter
from proctor.jobs.asking import EvaluationRequest
from proctor.jobs.samples_schema import sample_digest, sample_schema
from proctor.jobs.service import JobService
from proctor.jobs.values import SampleSet
from proctor.kernel.ids import derived_id, new_id
from proctor.objects.parquet import GROUP_ROWS, PartWriter
from proctor.results.views import Which
from proctor.sdk.evaluations import Evaluations

RIGHT: int = 3
"""Each so many-th output is another than what is expected."""


@dataclass(frozen=True)
class Piece:
    """Examples and their outputs."""

    examples: pa.Table
    outputs: pa.Table


def pieces(rows: int) -> Iterator[Piece]:
    """So many examples and their outputs, the same each time."""
    for first in range(0, rows, GROUP_ROWS):
        numbers = range(first, min(first + GROUP_ROWS, rows))
        digests = [hashlib.sha256(b"%d" % number).digest()[:16] for number in numbers]
        expected = [f"the answer to question number {number} is {number * 7919 % 1000}" for number in numbers]
        outputs = [text if number % RIGHT else f"not {text}" for number, text in zip(numbers, expected, strict=True)]
        yield Piece(_examples(numbers, expected, digests), _outputs(outputs, digests))


def _examples(numbers: range, expected: list[str], digests: list[bytes]) -> pa.Table:
    count = len(numbers)
    columns = {
        "id": [f"example-{number}" for number in numbers],
        "input": [f"What is the answer to question number {number}?" for number in numbers],
        "input_is_json": [False] * count,
        "expected": expected,
        "expected_is_json": [False] * count,
        "difficulty": ["easy" if number % 2 else "hard" for number in numbers],
        "source": ["made"] * count,
        "tags": [["even"] if number % 2 == 0 else [] for number in numbers],
        "embedding": [None] * count,
        "metadata": [None] * count,
        "digest": digests,
    }
    return pa.table([pa.array(columns[field.name], field.type) for field in schema()], schema=schema())


def _outputs(outputs: list[str], digests: list[bytes]) -> pa.Table:
    count = len(outputs)
    columns: dict[str, list[Any]] = {
        "output": outputs,
        "output_is_json": [False] * count,
        "digest": [
            sample_digest(digest, output, is_json=False) for digest, output in zip(digests, outputs, strict=True)
        ],
    }
    fields = sample_schema()
    return pa.table([pa.array(columns.get(one.name, [None] * count), one.type) for one in fields], schema=fields)


def prepare(platform: Platform, rows: int) -> str:
    """Keep so many examples and outputs; the name of both."""
    name = f"bench-{rows}"
    with tempfile.TemporaryDirectory(dir=platform.settings.home) as folder:
        version_id, prefix = new_id(), f"{platform.tenant}/samples/bench/{rows}"
        with (
            VersionWriter(Path(folder)) as examples,
            PartWriter(platform.objects, prefix, sample_schema(), folder=Path(folder)) as outputs,
        ):
            for piece in pieces(rows):
                examples.add(piece.examples)
                outputs.write(piece.outputs)
            version = _kept(platform, name, examples)
            parts = outputs.finish()
    made = SampleSet(
        id=derived_id("bench", version_id),
        name=name,
        dataset_version=version.id,
        rows=rows,
        repeats=1,
        outputs=rows,
        parts=tuple(parts),
        content_hash="",
        model=None,
        source="benchmark",
        creator=None,
        created_at=datetime.now(UTC),
    )
    JobService(platform.database, platform.tenant).add_samples(made)
    return name


def _kept(platform: Platform, name: str, written: VersionWriter) -> DatasetVersion:
    draft = Draft(
        tenant=platform.tenant,
        written=written.finish(),
        lineage=Lineage(operation="import", parameters={}),
        new=NewVersion(dataset=name),
        creator="bench",
        now=datetime.now(UTC),
    )
    version = Maker(platform.database, platform.objects).make(draft).version
    assert version is not None
    return version


def _memory_mb(process: psutil.Process) -> float:
    """Of the process and those that score, without what they share."""
    total = 0
    for one in [process, *process.children(recursive=True)]:
        try:
            if one.name().startswith("python"):
                total += one.memory_full_info().uss
        except psutil.NoSuchProcess:
            continue
    return total / 2**20


def _processor_sec(process: psutil.Process) -> float:
    found = 0.0
    for one in [process, *process.children(recursive=True)]:
        try:
            spent = one.cpu_times()
        except psutil.NoSuchProcess:
            continue
        found += spent.user + spent.system
    return found


def measure(platform: Platform, rows: int, evaluator: str, folder: Path) -> dict[str, Any]:
    """One size: evaluations a second from the submission to the mean, and DuckDB alone over the same files."""
    name = prepare(platform, rows)
    evaluations, this = Evaluations(platform), psutil.Process()
    request = EvaluationRequest(dataset=name, samples=name, evaluators=[evaluator])
    before, begun = _processor_sec(this), time.perf_counter()
    job = evaluations.submit(request)
    session = evaluations.session(job)
    session.start()
    most = 0.0
    while not session.wait(0.02 if rows < 100_000 else 0.5):
        most = max(most, _memory_mb(this))
    done = time.perf_counter()
    (summary,) = evaluations.standing(str(job.id)).evaluators
    seconds = time.perf_counter() - begun
    assert summary.scored == rows, summary
    version = platform.datasets.find(platform.tenant, name)
    examples = [str(platform.objects.path_of(part.key)) for part in version.parts]
    outputs = [str(platform.objects.path_of(part.key)) for part in evaluations.samples(name).parts]
    alone = _duckdb_alone(examples, outputs, folder / f"{rows}.parquet")
    batches = evaluations.reader.batches(Which(jobs=(job.id,)))
    return {
        "rows": rows,
        "chunks": job.cut.chunks,
        "seconds": round(seconds, 3),
        "of_it_the_mean_sec": round(time.perf_counter() - done - alone, 3),
        "evaluations_per_second": round(rows / seconds),
        "processor_sec": round(_processor_sec(this) - before, 2),
        "memory_mb": round(most),
        "bytes_per_result": round(sum(batch.bytes for batch in batches) / rows, 1),
        "duckdb_alone_per_second": round(rows / alone),
        "ratio_to_duckdb_alone": round(alone / seconds, 3),
        "mean": round(summary.mean or 0.0, 6),
    }


def _duckdb_alone(examples: list[str], outputs: list[str], target: Path) -> float:
    begun = time.perf_counter()
    with duckdb.connect(config={"threads": 2}) as connection:
        connection.execute(
            "COPY (SELECT e.id, (trim(e.expected) = trim(o.output))::DOUBLE AS score"
            f" FROM read_parquet({examples}) e POSITIONAL JOIN read_parquet({outputs}) o)"
            f" TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
        )
        connection.execute(f"SELECT avg(score) FROM read_parquet('{target}')").fetchone()
    return time.perf_counter() - begun


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluations", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1000, 1_000_000, 10_000_000])
    parser.add_argument("--evaluator", default="exact-match")
    parser.add_argument("--json", action="store_true", help="print nothing but the report")
    options = parser.parse_args()
    report: dict[str, Any] = {"evaluator": options.evaluator, "sizes": []}
    with fresh_platform() as (platform, folder):
        for rows in (1000, *options.rows):  # the first warms what a server has warm
            found = measure(platform, rows, options.evaluator, folder) if rows else {}
            report["sizes"].append(found)
            if not options.json:
                print(json.dumps(found), file=sys.stderr, flush=True)
    report["sizes"] = report["sizes"][1:]
    report["load_average"] = load_average()
    print(json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
