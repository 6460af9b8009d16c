"""A process that scores chunks: an order a line on standard input, what became of it a line on standard output.

Both are JSON, so that texts which somebody else wrote can't make the process that asks do anything but read numbers,
whatever they do to the one that judges them.
"""

from __future__ import annotations

import os
import sys
from typing import Literal

from pydantic import TypeAdapter

from proctor.jobs.orders import Order
from proctor.jobs.scoring import Choice, choose, score
from proctor.results.batches import Batch

__all__ = ["ANSWER", "ORDER", "Task", "main"]

Task = Literal["score", "choose"]
ORDER: TypeAdapter[tuple[Task, Order]] = TypeAdapter(tuple[Task, Order])
ANSWER: TypeAdapter[Batch | Choice | str] = TypeAdapter(Batch | Choice | str)
"""What was asked for, or why there is none."""


def main() -> None:
    """Score until standard input ends."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    for line in sys.stdin.buffer:
        task, order = ORDER.validate_json(line)
        answers.write(ANSWER.dump_json(_done(task, order)) + b"\n")
        answers.flush()


def _done(task: Task, order: Order) -> Batch | Choice | str:
    try:
        return score(order) if task == "score" else choose(order)
    except MemoryError:
        return "It takes more memory than there is."
    except Exception as error:  # noqa: BLE001  whatever it was, it is told with the chunk
        return f"{type(error).__name__}: {error}"


if __name__ == "__main__":
    main()
