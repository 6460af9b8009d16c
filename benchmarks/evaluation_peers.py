"""Exact match over the same 10,000 examples and outputs: ours as a durable job, and seven others beside it.

Each peer is run in an environment of its own (``tests/foreign/environments.py``) by a program in ``benchmarks/peers``,
with its telemetry off, one after the other. What is timed begins when examples and outputs lie in the peer's own form
and ends when its results are kept; starting, importing and twenty examples to warm up come before. A slow peer judges
only the first of the examples. The ids of those that scored 1 must be ours, or the run fails.

    python -m benchmarks.evaluation_peers [--rows 10000] [--peers NAME ...] [--json]

A peer that can't be installed in five minutes, or doesn't run, is reported with the reason.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from tests.foreign.environments import (
    DEEPEVAL,
    INSPECT,
    LM_EVAL,
    MLFLOW,
    OPIK,
    PHOENIX_EVALS,
    PROMPTFOO,
    Foreign,
    NotMade,
)

from benchmarks.evaluations import pieces, prepare
from benchmarks.grounds import fresh_platform
from benchmarks.timing import load_average
from proctor.app import Platform
from proctor.jobs.asking import EvaluationRequest
from proctor.results.views import Which
from proctor.sdk.evaluations import Evaluations

__all__ = ["PEERS", "Disagreement", "Peer", "measure"]

RUN_SEC: float = 300
"""For one peer's whole program: the slowest needs three minutes on two cores that are busy with other work."""
FEW: int = 500
SOME: int = 1_000
"""Examples for peers under 500/s, so that all together take some minutes; their rates hardly grow with more."""


class Disagreement(Exception):
    """A peer scored other examples than we did."""


@dataclass(frozen=True, kw_only=True)
class Peer:
    """One way to judge. ``program``: in ``benchmarks/peers``; ``keeps``: what is left; ``most``: of the examples."""

    foreign: Foreign
    program: str
    way: str
    keeps: str
    most: int | None = None


PEERS: Mapping[str, Peer] = {
    "phoenix": Peer(
        foreign=PHOENIX_EVALS,
        program="phoenix_judging.py",
        way="evaluate_dataframe",
        keeps="nothing itself; its data frame, written as JSONL",
    ),
    "opik": Peer(
        foreign=OPIK,
        program="opik_judging.py",
        way="evaluate_on_dict_items, without a server",
        keeps="nothing itself; its scores, written as JSONL",
    ),
    "lm-eval": Peer(
        foreign=LM_EVAL,
        program="lm_eval_judging.py",
        way="simple_evaluate with a model that says the outputs",
        keeps="results as JSON, samples as JSONL",
    ),
    "deepeval": Peer(
        foreign=DEEPEVAL,
        program="deepeval_judging.py",
        way="evaluate",
        keeps="the test run as JSON",
    ),
    "promptfoo": Peer(
        foreign=PROMPTFOO,
        program="promptfoo_judging.cjs",
        way="evaluate with the echo provider",
        keeps="rows in SQLite, and the evaluation as JSON",
        most=SOME,
    ),
    "inspect (score)": Peer(
        foreign=INSPECT,
        program="inspect_judging.py",
        way="score of a log",
        keeps="the log with scores",
        most=SOME,
    ),
    "inspect (generate)": Peer(
        foreign=INSPECT,
        program="inspect_generating.py",
        way="eval with its mock model",
        keeps="the log with scores and events",
        most=FEW,
    ),
    "mlflow": Peer(
        foreign=MLFLOW,
        program="mlflow_judging.py",
        way="genai.evaluate",
        keeps="a trace with its score for each example, rows in SQLite",
        most=FEW,
    ),
}
_SILENT: Mapping[str, str] = {
    "ANONYMIZED_TELEMETRY": "false",
    "DEEPEVAL_TELEMETRY_OPT_OUT": "1",
    "DO_NOT_TRACK": "1",
    "HF_DATASETS_OFFLINE": "1",
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "HF_HUB_OFFLINE": "1",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    "OPIK_ANALYTICS_ENABLE": "false",
    "OPIK_SENTRY_ENABLE": "false",
    "OPIK_TRACK_DISABLE": "true",
    "OPIK_URL_OVERRIDE": "http://127.0.0.1:9/",  # the port where nobody listens
    "PROMPTFOO_DISABLE_REMOTE_GENERATION": "1",
    "PROMPTFOO_DISABLE_TELEMETRY": "1",
    "PROMPTFOO_DISABLE_UPDATE": "1",
    # SQLite takes one writer: with ten, MLflow's connections time out and traces are lost.
    "MLFLOW_ENABLE_ASYNC_TRACE_LOGGING": "false",
    "MLFLOW_GENAI_EVAL_MAX_WORKERS": "1",
}
"""Switches of the peers: nothing is sent to anybody, nothing is looked for on the network."""


def measure(rows: int, names: list[str]) -> dict[str, Any]:
    """Ours and each named peer. Raises ``Disagreement``."""
    with fresh_platform() as (platform, _):
        _ours(platform, 1_000)  # warms what a server has warm
        ours, right = _ours(platform, rows)
    report: dict[str, Any] = {"ours": ours, "peers": {}}
    with tempfile.TemporaryDirectory(prefix="proctor-bench-") as folder:
        order = _written(Path(folder) / "examples.jsonl", rows)
        for peer in names:
            found = _peer(PEERS[peer], Path(folder), peer, rows)
            if (theirs := found.pop("right", None)) is not None:
                _agreed(peer, set(theirs), right & set(order[: found["examples"]]))
                found["times_slower"] = round(ours["per_sec"] / found["per_sec"], 1)
            report["peers"][peer] = found
    return report


def _written(path: Path, rows: int) -> list[str]:
    """The examples with their outputs as JSON lines; their ids in order."""
    ids: list[str] = []
    with path.open("w") as file:
        for piece in pieces(rows):
            examples = piece.examples.select(["id", "input", "expected"]).to_pylist()
            for example, output in zip(examples, piece.outputs["output"].to_pylist(), strict=True):
                ids.append(example["id"])
                file.write(json.dumps({**example, "output": output}) + "\n")
    return ids


def _ours(platform: Platform, rows: int) -> tuple[dict[str, Any], set[str]]:
    """A job from its submission until its mean is read; and the ids that scored 1."""
    name = prepare(platform, rows)
    evaluations = Evaluations(platform)
    request = EvaluationRequest(dataset=name, samples=name, evaluators=["exact-match"])
    spent, begun = _spent(platform), time.perf_counter()
    job = evaluations.submit(request)
    session = evaluations.session(job)
    session.start()
    while not session.wait(0.02):
        pass
    (summary,) = evaluations.standing(str(job.id)).evaluators
    seconds = time.perf_counter() - begun
    processor = _spent(platform) - spent
    assert summary.scored == rows, summary
    which = Which(jobs=(job.id,))
    with evaluations.reader.opened(which) as connection:
        right = {one for (one,) in connection.execute("SELECT example FROM results WHERE score = 1").fetchall()}
    found = {
        "way": "a durable job",
        "keeps": "results as Parquet, rows in PostgreSQL that say so",
        "bytes": sum(batch.bytes for batch in evaluations.reader.batches(which)),
        **_rates(rows, seconds, processor, len(right)),
    }
    return found, right


def _rates(rows: int, seconds: float, processor_sec: float, right: int) -> dict[str, Any]:
    return {
        "examples": rows,
        "seconds": round(seconds, 3),
        "per_sec": round(rows / seconds, 1),
        "per_processor_sec": round(rows / processor_sec, 1),
        "scored_one": right,
    }


def _spent(platform: Platform) -> float:
    """Processor seconds of this process, the database server, and the children of both, also those that ended."""
    servers = [int(one.read_text().split()[0]) for one in platform.settings.home.rglob("postmaster.pid")]
    roots = [psutil.Process(), *(psutil.Process(pid) for pid in servers)]
    living = {one for root in roots for one in [root, *root.children(recursive=True)]}
    found = 0.0
    for one in living:
        try:
            times = one.cpu_times()
        except psutil.NoSuchProcess:
            continue
        found += times.user + times.system + times.children_user + times.children_system
    return found


def _peer(peer: Peer, folder: Path, name: str, rows: int) -> dict[str, Any]:
    """What its program reports, or why there is no report."""
    found: dict[str, Any] = {
        "version": peer.foreign.version,
        "way": peer.way,
        "keeps": peer.keeps,
    }
    own = folder / name
    own.mkdir()
    count = min(rows, peer.most or rows)
    try:
        command = peer.foreign.command(Path(__file__).parent / "peers" / peer.program)
        report = _said([*command, str(folder / "examples.jsonl"), str(count)], own)
    except NotMade as error:
        return {**found, "missing": str(error)}
    right = report["right"]
    rates = _rates(count, report["seconds"], report["processor_sec"], len(right))
    return {**found, **rates, "bytes": report["bytes"], "right": right}


def _said(command: list[str], folder: Path) -> dict[str, Any]:
    """The last line of a program's output. Raises ``NotMade`` for one that failed or took too long."""
    environment = {**os.environ, **_SILENT, "HOME": str(folder), "PROMPTFOO_CONFIG_DIR": str(folder / "promptfoo")}
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=RUN_SEC, check=False
        )
    except subprocess.TimeoutExpired:
        raise NotMade(f"did not end in {RUN_SEC:,.0f} s") from None
    if done.returncode:
        raise NotMade(f"ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _agreed(name: str, theirs: set[str], ours: set[str]) -> None:
    if theirs != ours:
        other = sorted(theirs ^ ours)
        raise Disagreement(f"{name} scored {len(other):,} examples otherwise than we do, of them {other[:3]}")


def main() -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10_000)
    parser.add_argument("--peers", nargs="+", choices=list(PEERS), default=list(PEERS), metavar="NAME")
    parser.add_argument("--json", action="store_true", help="the report in one line")
    options = parser.parse_args()
    before = load_average()
    report = measure(options.rows, options.peers)
    report["load_average"] = {"before": before, "after": load_average()}
    print(json.dumps(report, indent=None if options.json else 2))


if __name__ == "__main__":
    try:
        main()
    except Disagreement as error:
        sys.exit(str(error))
