"""``kill -9`` at random moments over a run of short cells, the database included, then the same command again.

The seed is printed; ``--seed N`` repeats a run's choices, ``--rounds N`` makes it longer.
"""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

from tests.chaos.invariants import History, broken, broken_objects, class_counts, facts
from tests.chaos.rig import RUN_SET, Home, Run, exit_codes, fresh_home, wait_for

ROUNDS: int = 20
VICTIMS: tuple[str, ...] = ("run", "startup", "sandbox", "postmaster", "backend", "keeper", "run", "bubblewrap")
TASKS, MALFORMED = 7, 1
PROFILES: int = 3
AT_ONCE: int = 2
"""Runs beside each other at most; a third adds nothing but load."""
STARTUP_SEC: float = 1.5
PATIENCE_SEC: float = 90.0


class Chaos:
    """The rounds: one living run at least, one victim each, and a look at what is on record in between."""

    def __init__(self, home: Home, seed: int, rounds: int) -> None:
        self.home, self.rounds = home, rounds
        self.rng = random.Random(seed)
        self.trials = max(3, rounds // 5)
        self.kills: Counter[str] = Counter()
        self.history = History()
        self.began = time.monotonic()

    @property
    def cells(self) -> int:
        """Cells that can have a verdict."""
        return TASKS * PROFILES * self.trials

    def order(self) -> Iterator[str]:
        """Every kind of victim in turn, shuffled."""
        kinds = [VICTIMS[number % len(VICTIMS)] for number in range(self.rounds)]
        self.rng.shuffle(kinds)
        return iter(kinds)

    def run(self) -> None:
        """All rounds, then to the end."""
        self.home.write(tasks=TASKS, malformed=MALFORMED, trials=self.trials)
        for number, victim in enumerate(self.order()):
            if victim == "startup":
                self.kill_while_starting()
            else:
                self.kill_while_working(victim, left=self.rounds - number)
            self.kills[victim] += 1
        for run in self.home.living:
            run.wait(PATIENCE_SEC)
        self.finish()

    def kill_while_starting(self) -> None:
        run = self.home.start()
        moment = time.monotonic() + self.rng.uniform(0, STARTUP_SEC)
        wait_for(lambda: time.monotonic() >= moment or not run.alive, PATIENCE_SEC, "the moment of a kill")
        self.tell(f"kill starting run {run.process.pid}")
        run.kill()

    def tell(self, what: str) -> None:
        """Printed when the test fails: what was done when."""
        print(f"{time.monotonic() - self.began:7.3f} {what}")

    def kill_while_working(self, victim: str, *, left: int) -> None:
        if len(self.home.living) < AT_ONCE:
            self.home.start()
        wait_for(lambda: self.home.open_sandboxes() or not self.home.living, PATIENCE_SEC, "a sandbox")
        self.look()
        assert self.history.seen is not None
        pace = (self.cells - self.history.seen.decided) / max(1, left)  # few cells left a round: kill sooner
        moment = time.monotonic() + self.rng.uniform(0, min(1.5, 0.15 * pace))
        wait_for(lambda: time.monotonic() >= moment, PATIENCE_SEC, "the moment of a kill")
        wait_for(lambda: self.kill(victim) or not self.home.living, PATIENCE_SEC, f"a {victim} to kill")

    def look(self) -> None:
        self.history.add(self.home.read(facts))
        assert not self.history.problems, self.history.problems

    def kill(self, victim: str) -> bool:
        """Kill one such process; False while there is none."""
        self.home.open_sandboxes()
        if victim == "run":
            return self.kill_run()
        choose = {
            "sandbox": self.first_processes,
            "bubblewrap": self.bubblewraps,
            "postmaster": self.postmasters,
            "backend": self.backends,
            "keeper": self.keepers,
        }[victim]
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            if found := choose():
                chosen = self.rng.choice(found)
                self.tell(f"kill {victim} {chosen.pid}")
                os.kill(chosen.pid, signal.SIGKILL)
                return True
        return False

    def kill_run(self) -> bool:
        living = self.home.living
        if living:
            chosen = self.rng.choice(living)
            self.tell(f"kill run {chosen.process.pid}")
            chosen.kill()
        return bool(living)

    def bubblewraps(self) -> list[psutil.Process]:
        return [child for run in self.home.living for child in _children(run) if child.name() == "bwrap"]

    def first_processes(self) -> list[psutil.Process]:
        return [inner for outer in self.bubblewraps() for inner in outer.children()]

    def keepers(self) -> list[psutil.Process]:
        return [process.parent() for process in self.postmasters()]  # type: ignore[misc]

    def postmasters(self) -> list[psutil.Process]:
        pid = self.home.server.status().pid
        return [psutil.Process(pid)] if pid else []

    def backends(self) -> list[psutil.Process]:
        return [child for process in self.postmasters() for child in process.children()]

    def finish(self) -> None:
        """Run until nothing but the malformed task is owed; what chaos put among the dead letters comes back."""
        for words in ((), ("resume", "chaos"), ("resume", "chaos")):
            assert self.home.start(*words).wait(PATIENCE_SEC) == 3
            self.look()
            assert self.history.seen is not None
            if self.history.seen.decided == self.cells:
                return


def _children(run: Run) -> list[psutil.Process]:
    try:
        return psutil.Process(run.process.pid).children()
    except psutil.NoSuchProcess:
        return []


@pytest.fixture
def home() -> Iterator[Home]:
    with fresh_home() as made:
        yield made


@pytest.mark.parametrize("victim", ["sandbox", "bubblewrap"])
def test_a_killed_sandbox_is_the_infrastructures_fault_and_tried_again(home: Home, victim: str) -> None:
    home.write(tasks=1, source=RUN_SET.replace("sleep 0.5", "sleep 2"))
    run, chaos = home.start(), Chaos(home, seed=1, rounds=1)
    wait_for(lambda: any(child.name() == "sleep" for child in _below(run)), PATIENCE_SEC, "an agent at work")
    assert chaos.kill(victim)
    assert run.wait(PATIENCE_SEC) == 0
    ended = home.read(class_counts)
    assert (ended["passed"], ended["failed"], ended["sandbox_error"]) == (2, 1, 1)
    assert home.read(broken) == []


def _below(run: Run) -> list[psutil.Process]:
    try:
        return [one for child in _children(run) for one in child.children(recursive=True) if one.is_running()]
    except psutil.NoSuchProcess:
        return []


@pytest.mark.timeout(1800)
def test_kills_at_random_moments_lose_double_and_leave_nothing(home: Home, request: pytest.FixtureRequest) -> None:
    seed = request.config.getoption("--seed")
    seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    rounds = request.config.getoption("--rounds") or ROUNDS
    print(f"seed {seed}, {rounds} rounds")
    chaos, began = Chaos(home, seed, rounds), time.monotonic()
    chaos.run()
    print(
        f"kills: {dict(chaos.kills)} in {time.monotonic() - began:.0f} s; exit codes {Counter(exit_codes(home.runs))}"
    )
    print(f"attempts: {home.read(class_counts)}")

    assert chaos.history.seen is not None
    assert len(chaos.history.seen.expected) == (TASKS + MALFORMED) * PROFILES * chaos.trials
    assert chaos.history.seen.decided == chaos.cells
    found = home.read(broken)
    assert not found, "\n".join(found)
    assert home.read(lambda connection: broken_objects(connection, home.objects)) == []
    assert home.known_workers() == 0
    assert "complete_with_gaps" in home.start("status", "chaos", "--json").printed_at_end(0)
    wait_for(lambda: not home.left_running(), 10, f"the end of {home.left_running()}")
    assert home.left_behind() == []
    assert set(exit_codes(home.runs)) <= {3, 5, 0, -signal.SIGKILL}
