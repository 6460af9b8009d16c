"""What of each benchmark's report goes into the table, and what it is a ratio of."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

__all__ = ["Figure", "figures_of"]

Report = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One line of the table. ``ratio``: of the value to what ``of`` names, in the same run."""

    what: str
    value: str
    ratio: float | None = None
    of: str = ""


def figures_of(name: str, report: Report) -> list[Figure]:
    """The figures of a benchmark's report; of one that nobody described, every number at its top."""
    return list(_BY_NAME.get(name, _numbers)(report))


def _null_cells(report: Report) -> Iterator[Figure]:
    for place in ("disk", "memory"):
        if (found := report.get(place)) is None:
            continue
        rate = found["cells_per_sec"]["median"]
        what = f"cells/s, temporary files on {place}" if place == "disk" else "cells/s, temporary files in memory"
        yield Figure(what=what, value=f"{rate:,.0f}", ratio=rate / 500, of="the target of 500/s")
        for peer, per_sec in found["peers_per_sec"].items():
            median = per_sec["median"]
            yield Figure(what=f"  {peer}", value=f"{median:,.0f}", ratio=rate / median, of="ours over theirs")
    memory = report["memory_of_the_worker"]
    value = f"{memory['large_mib']:,.0f} MiB"
    yield Figure(what="peak memory of the worker", value=value, ratio=memory["ratio"], of="its peak at 2,000 cells")


def _sandbox_start(report: Report) -> Iterator[Figure]:
    bare, start = (report[step]["p50_ms"] for step in ("bare_bubblewrap", "create_to_first_exec"))
    yield Figure(what="create to first exec, p50", value=f"{start:,.1f} ms", ratio=start / bare, of="bare bubblewrap")


def _queue_claims(report: Report) -> Iterator[Figure]:
    for key, rate in report.items():
        if key.startswith("workers_") and key.endswith("_rows_per_sec"):
            workers = key.removeprefix("workers_").removesuffix("_rows_per_sec")
            ratio = report[f"workers_{workers}_ratio_to_bare"]
            what = f"claims and completions/s, workers: {workers}"
            yield Figure(what=what, value=f"{rate:,.0f}", ratio=ratio, of="bare SKIP LOCKED batches")


def _planner_grants(report: Report) -> Iterator[Figure]:
    for key, rate in report.items():
        if key.endswith("_grants_per_sec"):
            workers = key.removeprefix("workers_").removesuffix("_grants_per_sec")
            ratio = report[f"workers_{workers}_ratio_to_plain"]
            yield Figure(what=f"grants/s, workers: {workers}", value=f"{rate:,.0f}", ratio=ratio, of="no admission")


def _straggler_mix(report: Report) -> Iterator[Figure]:
    words = {"longest_expected": "longest expected first", "by_limits": "by time limits", "first_come": "first come"}
    for order, what in words.items():
        worst = f"worst {report[f'{order}_worst']:.2f}"
        ratio = report[f"{order}_mean"]
        yield Figure(what=f"makespan, {what}", value=worst, ratio=ratio, of="the lower bound, mean over seeds")


def _rerun(report: Report) -> Iterator[Figure]:
    bare = report["bare_python"]["median"]
    for step, words in (("until_nothing_to_do", 'to "nothing to do"'), ("until_end", "to its end")):
        took = report[step]["median"]
        what = f"{report['cells']:,} finished cells, {words}"
        yield Figure(what=what, value=f"{took:,.0f} ms", ratio=took / bare, of="python -c pass")


def _stored(report: Report) -> Iterator[Figure]:
    bare = report["bare_count"]["median"]
    for step in ("leaderboard", "page_of_cells", "reclassify"):
        what, took = f"{report['attempts']:,} attempts, {step.replace('_', ' ')}", report[step]["median"]
        yield Figure(what=what, value=f"{took:,.0f} ms", ratio=took / bare, of="counting the same rows")


def _startup(report: Report) -> Iterator[Figure]:
    bare, took = report["bare_python"]["median"], report["help"]["median"]
    yield Figure(what="proctor --help", value=f"{took:,.0f} ms", ratio=took / bare, of="python -c pass")


def _live(report: Report) -> Iterator[Figure]:
    outbox = report["outbox"]
    rate, bare = outbox["inserted_and_published_per_sec"], outbox["bare_insert_per_sec"]
    yield Figure(
        what="events/s, inserted and published", value=f"{rate:,.0f}", ratio=rate / bare, of="the insert alone"
    )
    for spread, words in (("spread", "1 in 20"), ("crowd", "all")):
        found = report[spread]
        what = f"p99 of an event to {words} of {found['connections']:,} connections"
        yield Figure(
            what=what, value=f"{found['p99_ms']:,.0f} ms", ratio=found["p99_ms"] / 250, of="the target, 250 ms"
        )


def _gateway(report: Report) -> Iterator[Figure]:
    for kind, found in report.items():
        if not isinstance(found, Mapping):
            continue
        for name, target in (("p50", 5), ("p99", 20)):
            added = found[f"{name}_added_ms"]
            yield Figure(
                what=f"{kind}, {name} added",
                value=f"{added:,.1f} ms",
                ratio=added / target,
                of=f"the target of {target} ms",
            )
        if (first := found.get("first_byte_p99_ms")) is not None:
            yield Figure(
                what=f"{kind}, first byte, p99", value=f"{first:,.1f} ms", ratio=first / 5, of="the target of 5 ms"
            )
        spent = found["gateway_processor_ms"]
        ratio = found["gateway_processor_ratio_to_bare_proxy"]
        yield Figure(what=f"{kind}, processor a call", value=f"{spent:,.2f} ms", ratio=ratio, of="a bare proxy's")


def _numbers(report: Report) -> Iterator[Figure]:
    for what, value in report.items():
        if isinstance(value, int | float) and not isinstance(value, bool):
            yield Figure(what=what, value=f"{value:,.6g}")


def _telling(report: Report) -> Iterator[Figure]:
    for what in ("attempt", "request"):
        for way in ("lines", "lines and spans"):
            found = report[what][way]
            yield Figure(
                what=f"a null {what} with {way}",
                value=f"{found['least']:,.0f} µs",
                ratio=found["ratio"],
                of="the same, saying nothing",
            )


def _result_store(report: Report) -> Iterator[Figure]:
    for name in ("one_key_mean", "three_keys", "percentiles_by_model", "one_day"):
        found, what = report[name], name.replace("_", " ")
        for way, ratio in (("warm", found["ratio"]), ("cold", found["cold_ratio"])):
            took = found["warm_ms"]["median"] if way == "warm" else found["cold_ms"]
            yield Figure(what=f"{what}, {way}", value=f"{took:,.0f} ms", ratio=ratio, of="DuckDB over the same files")
    for found in report["appends"]:
        what = f"append of {found['rows_each']:,} rows, 12 processes, p99"
        yield Figure(
            what=what, value=f"{found['p99_ms']:,.0f} ms", ratio=found["p99_ms"] / 100, of="the target, 100 ms"
        )


def _metrics(report: Report) -> Iterator[Figure]:
    found = report["rows_per_sec"]
    for name, spread in found.items():
        library, rate = found.get(f"{name} of the library"), spread["median"]
        if library is not None:
            ratio, of = rate / library["median"], "the library's own; the target is 0.8"
            yield Figure(what=f"{name}, rows/s", value=f"{rate:,.0f}", ratio=ratio, of=of)
    rate = found["exact-match"]["median"]
    yield Figure(what="exact-match, rows/s", value=f"{rate:,.0f}", ratio=rate / 5e6, of="the target of 5 million/s")


def _evaluation_peers(report: Report) -> Iterator[Figure]:
    ours = report["ours"]
    words = f"{ours['per_processor_sec']:,.0f} a processor second, {ours['bytes']:,} bytes"
    yield Figure(what=f"exact match/s, {ours['examples']:,} examples", value=f"{ours['per_sec']:,.0f}", of=words)
    for name, found in report["peers"].items():
        what = f"  {name} {found['version']}"
        if (missing := found.get("missing")) is not None:
            yield Figure(what=what, value="none", of=missing.splitlines()[-1])
            continue
        spent = f"{found['per_processor_sec']:,.0f} a processor second, {found['bytes']:,} bytes"
        yield Figure(
            what=f"{what}, {found['examples']:,} examples",
            value=f"{found['per_sec']:,.0f}",
            ratio=ours["per_sec"] / found["per_sec"],
            of=f"ours over theirs; {spent}: {found['keeps']}",
        )


_BY_NAME: Mapping[str, Callable[[Report], Iterator[Figure]]] = {
    "null_cells": _null_cells,
    "sandbox_start": _sandbox_start,
    "queue_claims": _queue_claims,
    "planner_grants": _planner_grants,
    "straggler_mix": _straggler_mix,
    "rerun": _rerun,
    "live": _live,
    "gateway": _gateway,
    "metrics": _metrics,
    "evaluation_peers": _evaluation_peers,
    "startup": _startup,
    "stored": _stored,
    "result_store": _result_store,
    "telling": _telling,
}
