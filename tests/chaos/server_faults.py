"""What befalls a server's processes: each strikes once at a moment of chance, and says whether it hit."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.chaos.installation import PATIENCE_SEC, Installation, Process
from tests.chaos.rig import wait_for

__all__ = ["SHARES", "Storm", "dealt"]

SHARES: dict[str, int] = {
    "kill api": 3,
    "kill api after its commit": 4,
    "kill api before its commit": 2,
    "kill relay": 2,
    "kill planner": 2,
    "kill worker": 2,
    "kill operations": 2,
    "stop and continue": 4,
    "cut connections": 4,
}
"""Out of 25."""
ASLEEP_SEC: tuple[float, float] = (0.3, 4.5)
"""Shorter and longer than the leases of cells, operations and requests."""


def dealt(count: int, rng: random.Random) -> list[str]:
    """So many kinds in an order of chance: every kind once before any comes more often than its share."""
    kinds = list(SHARES)
    rng.shuffle(kinds)
    more = rng.choices(list(SHARES), weights=list(SHARES.values()), k=max(0, count - len(kinds)))
    return (kinds + more)[:count]


@dataclass
class Storm:
    """Strikes the faults of a list, each once there was work since the last."""

    installation: Installation
    rng: random.Random
    tell: Callable[[str], None]
    check: Callable[[], None]
    """Raises where nobody works on: nothing would come to pass any more."""
    struck: Counter[str] = field(default_factory=Counter)
    missed: Counter[str] = field(default_factory=Counter)
    disturbed_worker: int = 0
    """How often a worker may have lost all its leases."""

    def strike(self, kind: str) -> None:
        """Until it hits somebody."""
        wait_for(lambda: self._hit(kind), PATIENCE_SEC, kind, every=0.1)
        self.struck[kind] += 1

    def _hit(self, kind: str) -> bool:
        word, _, rest = kind.partition(" ")
        if kind == "stop and continue":
            hit = self._stop_one()
        elif kind == "cut connections":
            hit = self._cut()
        elif "commit" in rest:
            hit = self._kill_at(f"{rest.split()[1]}-commit")
        else:
            assert word == "kill"
            hit = self._kill(self.rng.choice([one for one in self.installation.processes if one.role == rest]))
        self.missed[kind] += not hit
        return hit

    def _kill(self, process: Process) -> bool:
        """Anywhere, on its way up too."""
        time.sleep(self.rng.uniform(0, 0.3))
        self.tell(f"kill {process.name}")
        self.disturbed_worker += process.role == "worker"
        return self.installation.kill(process)

    def _kill_at(self, place: str) -> bool:
        """The API that next comes to that place in a request."""
        control = self.installation.home.control
        before = len(list(control.glob(f"{place}-*")))
        self.tell(f"kill an api at {place}")
        (control / place).touch()

        def died() -> bool:
            self.check()
            return len(list(control.glob(f"{place}-*"))) > before

        return wait_for(died, PATIENCE_SEC, place, every=0.02)

    def _stop_one(self) -> bool:
        process = self.rng.choice(self.installation.processes)
        run, seconds = process.run, self.rng.uniform(*ASLEEP_SEC)
        if run is None or not run.alive:
            return False
        self.tell(f"stop {process.name} for {seconds:.1f} s")
        self.disturbed_worker += process.role == "worker"
        run.signal(signal.SIGSTOP)
        try:
            time.sleep(seconds)
        finally:
            run.signal(signal.SIGCONT)
        return True

    def _cut(self) -> bool:
        count = self.installation.cut_connections(self.rng.choice((0.2, 0.6, 1.0)))
        self.tell(f"cut {count} connections")
        return count > 0
