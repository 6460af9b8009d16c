"""For a process under libfaketime whose monotonic clock stays right: ``clock_nanosleep`` to a monotonic time, which
Python sleeps by, fails there with EINVAL (libfaketime 0.9.10), so it sleeps by ``select``."""

import select
import time


def _sleep(seconds: float) -> None:
    select.select([], [], [], max(0.0, seconds))


time.sleep = _sleep
