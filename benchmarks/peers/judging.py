"""What the programs of the peers share: examples in, the clock, and one line of JSON out.

Each is run by the Python of its peer's own environment, in a folder of its own that is empty:
``python NAME.py EXAMPLES.jsonl COUNT``. An example has ``id``, ``input``, ``expected`` and ``output``.
"""

import json
import os
import sys
import time
from itertools import islice
from pathlib import Path

__all__ = ["judged"]

WARM_UP: int = 20
"""Examples before the clock starts: the first pay for imports that were put off."""


def judged(prepare, judge):
    """Print what judging took.

    ``prepare(examples, folder)`` makes of them what the peer itself begins with, before the clock starts;
    ``judge(prepared, folder)`` keeps its results in the same folder and returns the ids of those that scored 1.
    """
    with open(sys.argv[1]) as lines:
        examples = [json.loads(line) for line in islice(lines, int(sys.argv[2]))]
    _timed(prepare, judge, examples[:WARM_UP], "warm")
    print("\n" + json.dumps(_timed(prepare, judge, examples, "kept")), flush=True)


def _timed(prepare, judge, examples, name):
    folder = Path(name).absolute()
    folder.mkdir()
    prepared, before = prepare(examples, folder), _bytes(folder)
    spent, began = _processor_sec(), time.perf_counter()
    right = judge(prepared, folder)
    seconds = time.perf_counter() - began
    spent = _processor_sec() - spent
    return {"seconds": seconds, "processor_sec": spent, "right": right, "bytes": _bytes(folder) - before}


def _bytes(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _processor_sec():
    """Of this process and of its children that ended."""
    return sum(os.times()[:4])
