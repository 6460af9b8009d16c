"""Null samples of Inspect AI: no sandbox, a scorer that says yes, its log on disk; without and with one model call.

The model is Inspect's own mock, told what it used, so that nothing is tokenized or looked up on the network.
Run by the Python of Inspect AI's own environment: ``python inspect_null.py SAMPLES SLOTS``.
"""

import json
import sys
import tempfile
import time

from inspect_ai import Task, eval
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import Score, accuracy, scorer
from inspect_ai.solver import solver

WARM_UP: int = 20
"""Samples before the clock starts: the first pay for imports."""


@solver
def null(calls):
    """Calls the model so many times and does nothing else."""

    async def solve(state, generate):
        for _ in range(calls):
            state = await generate(state)
        return state

    return solve


@scorer(metrics=[accuracy()])
def yes():
    """Every sample passes."""

    async def score(state, target):
        return Score(value=1.0)

    return score


def answer(*_):
    """What the mock says each time, with its usage."""
    output = ModelOutput.from_content(model="mockllm/model", content="done")
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def measure(samples, slots, calls, log_dir):
    """Seconds from the call of ``eval`` to its return."""
    dataset = MemoryDataset([Sample(input=f"Do {number}.", target="x") for number in range(samples)])
    task = Task(dataset=dataset, solver=null(calls), scorer=yes(), name="null")
    model = get_model("mockllm/model", custom_outputs=answer)
    started = time.perf_counter()
    [log] = eval(task, model=model, log_dir=log_dir, display="none", max_samples=slots)
    if log.status != "success" or log.results.completed_samples != samples:
        raise SystemExit(f"{log.status}: {log.error}")
    return time.perf_counter() - started


def main():
    """Warm up, measure both, print."""
    samples, slots = int(sys.argv[1]), int(sys.argv[2])
    found = {}
    for name, calls in (("no_call", 0), ("one_call", 1)):
        with tempfile.TemporaryDirectory() as log_dir:
            measure(WARM_UP, slots, calls, log_dir)
            seconds = measure(samples, slots, calls, log_dir)
        found[name] = {"samples": samples, "seconds": seconds, "per_sec": samples / seconds}
    print(json.dumps(found))


if __name__ == "__main__":
    main()
