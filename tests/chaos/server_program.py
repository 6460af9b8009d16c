"""``proctor`` whose API can be killed where it hurts: inside a request's transaction, or between commit and answer.

A file of that name in the control folder says so. A request that died is let go after seconds, not after two minutes.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from sqlalchemy import Connection

import proctor.api.repeats
from proctor.api.repeats import Repeat
from proctor.cli.main import main

CONTROL = Path(os.environ["PROCTOR_CHAOS_CONTROL"])
REQUEST_LEASE_SEC = 4
once = Repeat.once


def die_if_asked(place: str) -> None:
    """By kill -9; of several processes one is the first."""
    with suppress(FileNotFoundError):
        (CONTROL / place).rename(CONTROL / f"{place}-{os.getpid()}")
        os.kill(os.getpid(), signal.SIGKILL)


def dying(self: Repeat, work: Callable[[Connection], Any]) -> Any:
    """``Repeat.once``, with two places to die."""

    def inside(connection: Connection) -> Any:
        made = work(connection)
        die_if_asked("before-commit")
        return made

    made = once(self, inside)
    die_if_asked("after-commit")
    return made


if __name__ == "__main__":
    proctor.api.repeats.LEASE_SEC = REQUEST_LEASE_SEC
    Repeat.once = dying  # type: ignore[method-assign]
    del sys.argv[1]  # the command that it stands for
    sys.path.pop(0)  # this folder's modules are no top-level ones
    main()
