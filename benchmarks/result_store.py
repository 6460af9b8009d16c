"""The result store at size: reading it beside DuckDB over the same files, and appending to it from many processes.

Results are real batches: made from one chunk of 10,000 rows, written as workers write theirs, recorded in the manifest
and merged as a server merges. A job a day for thirty days, each of a model in turn, judged by five evaluators. Then
each question is asked through ``ResultReader``, manifest and all, and beside it of DuckDB alone over the files that the
manifest names. Cold: the files were dropped from the system's cache before; warm: they were read just now.

    python -m benchmarks.result_store [--rows 100000000] [--runs 5] [--json]

The targets, on two cores at 100 million: a mean by one key in 0.5 s (of the sums that are kept; beside it that of
scanning every score), a count and mean by three keys in 2.5 s, percentiles by model in 5 s, one tenant's day in 0.1 s,
each at most 1.2 times DuckDB alone; of 12 processes that append 25 batches each, none lost, none doubled, and p99 under
100 ms.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import numpy as np
import pyarrow as pa

from benchmarks.grounds import fresh_platform
from benchmarks.timing import Spread, load_average
from proctor.app import Platform, data_folder, open_platform
from proctor.kernel.ids import derived_id, new_id
from proctor.objects.store import ObjectStore
from proctor.results.batches import Batch, Place, stored
from proctor.results.merging import Merger, MergeRule
from proctor.results.reading import ResultReader
from proctor.results.schema import COLUMNS, result_schema
from proctor.results.service import live, record
from proctor.results.views import Which
from proctor.settings import Settings

CHUNK: int = 10_000
EVALUATORS: int = 5
MODELS: int = 8
DAYS: int = 30
FIRST_DAY = datetime(2026, 10, 1, tzinfo=UTC)
RECORDED: int = 50
"""Batches to a transaction: a worker settles what ended together."""
WRITERS: int = 12
APPENDS: int = 25
SMALL: int = 200
"""Rows of a batch that stays in the manifest."""


@dataclass(frozen=True, kw_only=True)
class Question:
    """SQL over ``results``, asked of which results, and how soon it is to be answered; ``None``: it is a comparison.

    ``daily``: how it is asked of ours, where sums that are kept answer it.
    """

    sql: str
    which: Which
    target_sec: float | None
    daily: str | None = None


DAY = Which(since=FIRST_DAY + timedelta(days=7), until=FIRST_DAY + timedelta(days=8))
MEAN: str = "SELECT evaluator, avg(score) FROM results GROUP BY evaluator ORDER BY 1"
QUESTIONS: Mapping[str, Question] = {
    "one_key_mean": Question(
        sql=MEAN,
        daily="SELECT evaluator, sum(score_sum) / sum(scored) FROM daily GROUP BY evaluator ORDER BY 1",
        which=Which(),
        target_sec=0.5,
    ),
    "one_key_mean_scanned": Question(sql=MEAN, which=Which(), target_sec=None),
    "three_keys": Question(
        sql="SELECT evaluator, model, status, count(*), avg(score) FROM results GROUP BY ALL ORDER BY ALL",
        which=Which(),
        target_sec=2.5,
    ),
    "percentiles_by_model": Question(
        sql="SELECT model, quantile_cont(score, [0.5, 0.9, 0.99]) FROM results GROUP BY model ORDER BY 1",
        which=Which(),
        target_sec=5.0,
    ),
    "one_day": Question(
        sql="SELECT evaluator, status, count(*), avg(score) FROM results GROUP BY ALL ORDER BY ALL",
        which=DAY,
        target_sec=0.1,
    ),
}


# --- making results ---------------------------------------------------------------------------------------------------


def _word(values: Sequence[str], codes: Any) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int32()), pa.array(values))


@cache
def _varied() -> tuple[Any, Any, pa.Array]:
    """Of a chunk's rows: the evaluator's code, which one was scored, and the scores: yes and no, and shares."""
    random = np.random.default_rng(7)
    evaluator = np.arange(CHUNK) // (CHUNK // EVALUATORS)
    scored = random.random(CHUNK) > 0.02
    shares = random.beta(4, 2, CHUNK).round(3)
    score = np.where(evaluator % 2 == 0, (random.random(CHUNK) > 0.3).astype(float), shares)
    return evaluator, scored, pa.array(score, pa.float64(), mask=~scored)


def _chunk(job: int, place: Place, rows: int = CHUNK) -> pa.Table:
    """A chunk's rows: all evaluators over the next examples."""
    evaluator, scored, score = _varied()
    each = CHUNK // EVALUATORS
    row = place.chunk * each + np.arange(CHUNK) % each
    errors = np.where(scored, None, "the output is no number")
    same = np.zeros(CHUNK, dtype=np.int32)
    at = FIRST_DAY + timedelta(days=job % DAYS, seconds=place.chunk % 80_000)
    columns = {
        "job": _word([str(place.job)], same),
        "dataset_version": _word([str(derived_id("bench-version", job % 3))], same),
        "row": row,
        "example": [f"example-{number}" for number in row],
        "sample": pa.FixedSizeBinaryArray.from_buffers(
            pa.binary(16), CHUNK, [None, pa.py_buffer(os.urandom(16 * CHUNK))]
        ),
        "target": pa.nulls(CHUNK, result_schema().field("target").type),
        "model": _word([f"model-{job % MODELS}"], same),
        "evaluator": _word([f"evaluator-{number}@1.0.0" for number in range(EVALUATORS)], evaluator),
        "evaluator_version": _word([f"{number:064x}" for number in range(EVALUATORS)], evaluator),
        "repeat": same,
        "score": score,
        "label": pa.nulls(CHUNK, result_schema().field("label").type),
        "status": pa.array(np.where(scored, "scored", "parse_error")).dictionary_encode(),
        "error": pa.array(errors, pa.string()),
        "seconds": np.full(CHUNK, 1e-5, dtype=np.float32),
        "cost_nano": np.zeros(CHUNK, dtype=np.int64),
        "probability": np.ones(CHUNK, dtype=np.float32),
        "trace_id": _word(["0" * 32], same),
        "time": pa.array([at] * CHUNK, pa.timestamp("us", tz="UTC")),
    }
    schema = result_schema()
    arrays = [_as(columns[name], schema.field(name).type) for name in COLUMNS]
    return pa.table(arrays, schema=schema).slice(0, rows)


def _as(column: Any, kind: pa.DataType) -> pa.Array:
    return column.cast(kind) if isinstance(column, pa.Array) else pa.array(column, kind)


def _job(number: int) -> UUID:
    return derived_id("bench-job", number)


def _place(tenant: UUID, job: int, chunk: int) -> Place:
    return Place(tenant=tenant, job=_job(job), chunk=chunk, claim=new_id(), token=1)


def _store_chunk(store: str, tenant: UUID, job: int, chunk: int) -> Batch:
    place = _place(tenant, job, chunk)
    return stored(ObjectStore(store), place, _chunk(job, place))


def build(platform: Platform, rows: int) -> dict[str, Any]:
    """Write, record and merge so many results."""
    begun, tenant = time.perf_counter(), platform.tenant
    chunks = [(number % DAYS, number // DAYS) for number in range(-(-rows // CHUNK))]
    with ProcessPoolExecutor(2, multiprocessing.get_context("spawn")) as pool:
        made = pool.map(_store_chunk, *_arguments(platform, chunks), chunksize=20)
        while group := list(islice(made, RECORDED)):
            platform.database.as_tenant(tenant, lambda c, group=group: record(c, tenant, group))
    written, merged = time.perf_counter() - begun, 0
    rule = MergeRule(rested_sec=0.0)
    merger = Merger(platform.database, platform.objects, tenant, data_folder(platform.settings, "tmp"), rule)
    while found := merger.merge():
        merged += found
        merger.remove(after_sec=0)
    batches = platform.database.as_tenant(tenant, lambda c: live(c, tenant))
    return {
        "rows": sum(batch.rows for batch in batches),
        "bytes_per_result": round(sum(batch.bytes for batch in batches) / rows, 2),
        "objects": len(batches),
        "written_per_second": round(rows / written),
        "merged_per_second": round(rows / (time.perf_counter() - begun - written)),
    }


def _arguments(platform: Platform, chunks: Sequence[tuple[int, int]]) -> Iterator[Sequence[Any]]:
    yield [platform.objects.root] * len(chunks)
    yield [platform.tenant] * len(chunks)
    yield from zip(*chunks, strict=True)


# --- reading them -----------------------------------------------------------------------------------------------------


def _forget(files: Sequence[Path]) -> None:
    """Drop files from the system's cache."""
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def _ours(reader: ResultReader, question: Question) -> tuple[float, list[tuple[Any, ...]]]:
    begun = time.perf_counter()
    with reader.opened(question.which) as results:
        rows = results.execute(question.daily or question.sql).fetchall()
    return time.perf_counter() - begun, rows


def _raw(files: Sequence[Path], question: Question) -> tuple[float, list[tuple[Any, ...]]]:
    listed = ", ".join(f"'{file}'" for file in files)
    begun = time.perf_counter()
    with duckdb.connect(":memory:") as connection:
        source = f"read_parquet([{listed}])"
        rows = connection.execute(question.sql.replace("results", source)).fetchall()
    return time.perf_counter() - begun, rows


def ask(platform: Platform, question: Question, runs: int) -> dict[str, Any]:
    """A question of ours and of DuckDB alone, in turns, cold once and warm ``runs`` times."""
    reader = ResultReader(platform.database, platform.objects, platform.tenant, platform.settings.home / "cache")
    files = reader.files(reader.batches(question.which))
    _forget(files)
    cold, answer = _ours(reader, question)
    _forget(files)
    cold_raw, raw_answer = _raw(files, question)
    assert answer == raw_answer or _near(answer, raw_answer), "DuckDB alone says something else"
    ours, raw = [], []
    for _ in range(runs):
        ours.append(_ours(reader, question)[0])
        raw.append(_raw(files, question)[0])
    return {
        "target_sec": question.target_sec,
        "warm_ms": Spread.of_ms(ours).document(),
        "duckdb_warm_ms": Spread.of_ms(raw).document(),
        "ratio": round(statistics.median(ours) / statistics.median(raw), 3),
        "cold_ms": round(cold * 1000, 1),
        "duckdb_cold_ms": round(cold_raw * 1000, 1),
        "cold_ratio": round(cold / cold_raw, 3),
    }


def _near(ours: Sequence[tuple[Any, ...]], theirs: Sequence[tuple[Any, ...]]) -> bool:
    """Equal but for the order in which doubles were summed."""
    pairs = [(a, b) for one, other in zip(ours, theirs, strict=True) for a, b in zip(one, other, strict=True)]
    return all(abs(a - b) < 1e-9 if isinstance(a, float) else a == b for a, b in pairs)


# --- appending from many processes ------------------------------------------------------------------------------------


def _append(home: Path, writer: int, rows: int, gate: Any) -> list[float]:
    """One process: so many appends, each timed from the table to the commit; one before them, for its connections."""
    job = 1000 + writer * 2 + (rows == CHUNK)
    with open_platform(Settings(home=home, tenant="bench")) as platform:
        places = [_place(platform.tenant, job, chunk) for chunk in range(1 + APPENDS)]
        tables = [(place, _chunk(job, place, rows)) for place in places]
        platform.database.as_tenant(platform.tenant, lambda c: live(c, platform.tenant, jobs=[_job(job)]))
        taken = []
        for number, (place, table) in enumerate(tables):
            if number == 1:  # a worker has imported what writes, and opened what it writes to, long before
                gate.wait()
            begun = time.perf_counter()
            batch = stored(platform.objects, place, table)
            platform.database.as_tenant(platform.tenant, lambda c, batch=batch: record(c, platform.tenant, [batch]))
            taken.append(time.perf_counter() - begun)
    return taken[1:]


def append(platform: Platform, rows: int) -> dict[str, Any]:
    """Appends of 12 processes at once; what is there afterwards is exactly what they appended."""
    context = multiprocessing.get_context("spawn")
    with context.Manager() as manager, ProcessPoolExecutor(WRITERS, context) as pool:
        gate = manager.Barrier(WRITERS)
        waiting = [pool.submit(_append, platform.settings.home, writer, rows, gate) for writer in range(WRITERS)]
        taken = sorted(seconds for one in waiting for seconds in one.result())
    jobs = [_job(1000 + writer * 2 + (rows == CHUNK)) for writer in range(WRITERS)]
    reader = ResultReader(platform.database, platform.objects, platform.tenant, platform.settings.home / "cache")
    with reader.opened(Which(jobs=tuple(jobs))) as results:
        seen, distinct = results.execute(
            "SELECT count(*), count(DISTINCT (job, evaluator, row)) FROM results"
        ).fetchall()[0]
    expected = WRITERS * (1 + APPENDS) * rows
    return {
        "rows_each": rows,
        "appends": len(taken),
        "lost": expected - distinct,
        "doubled": seen - distinct,
        "p50_ms": round(statistics.median(taken) * 1000, 1),
        "p99_ms": round(statistics.quantiles(taken, n=100)[98] * 1000, 1),
        "most_ms": round(taken[-1] * 1000, 1),
    }


def main() -> None:
    """Build, ask, append."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.result_store", description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print nothing but the report")
    options = parser.parse_args()
    with fresh_platform() as (platform, _):
        report = {"appends": [append(platform, rows) for rows in (SMALL, CHUNK)]}
        _say(report, quiet=options.json)
        report |= {"store": build(platform, options.rows)}
        _say(report["store"], quiet=options.json)
        for name, question in QUESTIONS.items():
            report[name] = ask(platform, question, options.runs)
            _say({name: report[name]}, quiet=options.json)
    report["load_average"] = load_average()
    print(json.dumps(report, indent=2))


def _say(report: Any, *, quiet: bool) -> None:
    if not quiet:
        print(json.dumps(report), file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
