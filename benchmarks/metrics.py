"""How fast metrics are, beside the libraries that they are made with, in one run.

    python -m benchmarks.metrics [--pairs 4000] [--rows 2000000] [--runs 5] [--json]

Sentences have 20 words, of which outputs share some. The targets: BLEU and ROUGE at 0.8 of the libraries' own speed,
and exact match of 5 million rows a second. One core does the work.
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import pyarrow as pa
from rouge_score.rouge_scorer import RougeScorer
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from benchmarks.timing import Spread, alternating, load_average
from proctor.evaluators.interfaces import Evaluator, Samples
from proctor.evaluators.metrics.catalogue import METRICS

__all__ = ["measure", "pairs", "samples"]

WORDS: int = 20
VOCABULARY: int = 2_000


def pairs(number: int) -> list[tuple[str, str]]:
    """Expected and output sentences; every third word of an output is another."""
    rng = random.Random(1)
    words = ["".join(rng.choice("abcdefghijklmnop") for _ in range(rng.randint(2, 9))) for _ in range(VOCABULARY)]
    made = []
    for _ in range(number):
        expected = [rng.choice(words) for _ in range(WORDS)]
        output = [rng.choice(words) if rng.random() < 1 / 3 else word for word in expected]
        made.append((" ".join(expected), " ".join(output)))
    return made


def samples(of: Sequence[tuple[str, str]]) -> Samples:
    """Pairs as columns."""
    texts = {"input": [""] * len(of), "expected": [one for one, _ in of], "output": [two for _, two in of]}
    columns = {name: pa.array(column, pa.string()) for name, column in texts.items()}
    flags = {f"{name}_is_json": pa.array([False] * len(of)) for name in texts}
    return Samples(**columns, **flags)


def measure(number: int, rows: int, runs: int) -> dict[str, dict[str, float]]:
    """Rows a second of each metric, and of its library where it has one."""
    few, many = pairs(number), samples(pairs(1_000) * (rows // 1_000))
    actions = _actions(few, samples(few))
    found = {name: Spread.of([number / one for one in taken]) for name, taken in alternating(actions, runs).items()}
    exact = _evaluator("exact-match")
    taken = alternating({"exact-match": partial(_score, exact, many)}, runs)["exact-match"]
    found["exact-match"] = Spread.of([len(many) / one for one in taken])
    return {name: spread.document() for name, spread in found.items()}


def _actions(few: Sequence[tuple[str, str]], columns: Samples) -> Mapping[str, Callable[[], None]]:
    made: dict[str, Callable[[], None]] = {}
    for name, library in _libraries().items():
        made[f"{name} of the library"] = partial(_run, library, few)
        made[name] = partial(_score, _evaluator(name), columns)
    for name in ("edit-distance", "token-f1", "contains", "numeric"):
        made[name] = partial(_score, _evaluator(name), columns)
    return made


def _libraries() -> Mapping[str, Callable[[str, str], object]]:
    """As their documentation has it: one object, asked pair by pair."""
    bleu, chrf = BLEU(effective_order=True), CHRF()
    one, two, longest = (RougeScorer([kind]) for kind in ("rouge1", "rouge2", "rougeL"))
    return {
        "bleu": lambda expected, output: bleu.sentence_score(output, [expected]).score,
        "chrf": lambda expected, output: chrf.sentence_score(output, [expected]).score,
        "rouge-1": lambda expected, output: one.score(expected, output)["rouge1"].fmeasure,
        "rouge-2": lambda expected, output: two.score(expected, output)["rouge2"].fmeasure,
        "rouge-l": lambda expected, output: longest.score(expected, output)["rougeL"].fmeasure,
    }


def _run(library: Callable[[str, str], object], few: Sequence[tuple[str, str]]) -> None:
    for expected, output in few:
        library(expected, output)


def _evaluator(name: str) -> Evaluator:
    return METRICS[name].make({}, "configuration")


def _score(evaluator: Evaluator, columns: Samples) -> None:
    evaluator.score(columns)


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=4_000)
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    pa.set_cpu_count(1)
    found = measure(options.pairs, options.rows, options.runs)
    if options.json:
        print(json.dumps({"rows_per_sec": found, "load_average": load_average()}))
        return
    for name, spread in found.items():
        beside = found.get(f"{name} of the library")
        ratio = f"   {spread['median'] / beside['median']:.2f} of the library" if beside else ""
        print(f"{name:24} {spread['median']:14,.0f} rows/s{ratio}")


if __name__ == "__main__":
    main()
