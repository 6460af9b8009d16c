"""Faults at random moments over runs of short cells, then the same command again, or ``resume``.

``--seed N`` repeats a run's choices, ``--faults N`` says how many. The figures go to ``build/chaos``.
"""

from __future__ import annotations

import random
import time
import traceback
from collections.abc import Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from pathlib import Path

import psutil
import pytest

from tests.chaos.faults import SHARES, deck, impossible
from tests.chaos.invariants import broken, class_counts, unended
from tests.chaos.report import document, markdown, write
from tests.chaos.rig import RUN_SET, Home, Run, fresh_home, wait_for
from tests.chaos.runs import Batch, BatchReport

FAULTS: int = 100
BATCH: int = 25
"""Faults over one data folder: a look compares everything that was ever recorded there."""
BESIDE: int = 4
"""Batches at once: most of a fault's time is waiting for a lease, a process or a disk."""
PATIENCE_SEC: float = 90.0
RESULTS: Path = Path(__file__).parents[2] / "build" / "chaos"


@pytest.fixture
def home() -> Iterator[Home]:
    with fresh_home() as made:
        yield made


@pytest.mark.parametrize("victim", ["sandbox", "bwrap"])
def test_a_killed_sandbox_is_the_infrastructures_fault_and_tried_again(home: Home, victim: str) -> None:
    home.write(tasks=1, source=RUN_SET.replace("sleep 0.5", "sleep 2"))
    run = home.start()
    wait_for(lambda: _named(run, "sleep"), PATIENCE_SEC, "an agent at work")
    (outer, *_) = _named(run, "bwrap")
    (outer if victim == "bwrap" else outer.children()[0]).kill()
    assert run.wait(PATIENCE_SEC) == 0
    ended = home.read(class_counts)
    assert (ended["passed"], ended["failed"], ended["sandbox_error"]) == (2, 1, 1)
    assert home.read(broken) + home.read(unended) == []


def _named(run: Run, name: str) -> list[psutil.Process]:
    try:
        below = psutil.Process(run.process.pid).children(recursive=True)
        return [one for one in below if one.is_running() and one.name() == name]
    except psutil.NoSuchProcess:
        return []


def test_every_kind_of_fault_is_dealt() -> None:
    assert set(deck(len(SHARES), random.Random(1), {})) == set(SHARES)
    hundred = deck(100, random.Random(1), {})
    assert {kind: hundred.count(kind) for kind in SHARES} == SHARES
    assert "clock" not in deck(100, random.Random(1), {"clock": "absent"})


@pytest.mark.timeout(4 * 3600)
def test_faults_at_random_moments_lose_double_and_leave_nothing(request: pytest.FixtureRequest) -> None:
    seed = request.config.getoption("--seed")
    seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    faults = request.config.getoption("--faults") or FAULTS
    left_out = impossible()
    print(f"\nseed {seed}, {faults} faults", flush=True)
    for kind, reason in left_out.items():
        print(f"left out: {kind}: {reason}")
    began = time.monotonic()
    kinds = deck(faults, random.Random(seed), left_out)
    batches = [kinds[start : start + BATCH] for start in range(0, faults, BATCH)]
    with ThreadPoolExecutor(BESIDE) as pool:
        done = [pool.submit(_batch, number, f"{seed}/{number}", dealt) for number, dealt in enumerate(batches)]
        if wait(done, return_when=FIRST_EXCEPTION).not_done:
            pool.shutdown(wait=False, cancel_futures=True)
        reports = [one.result() for one in done if not one.cancelled()]
    figures = document(seed, reports, left_out, time.monotonic() - began)
    print(markdown(figures), write(figures, RESULTS), sep="\n")
    assert figures["faults"] == faults
    assert faults < len(SHARES) or set(figures["by_kind"]) == set(SHARES) - set(left_out)


def _batch(number: int, seed: str, kinds: list[str]) -> BatchReport:
    try:
        with fresh_home(disks=True) as home:
            return Batch(home, number, seed, kinds).run()
    except BaseException:
        print(f"[{number}] broken:\n{traceback.format_exc()[-4000:]}", flush=True)  # now, not when all have ended
        raise
