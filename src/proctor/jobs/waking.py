"""Waking a worker that rests: what comes through a stream is to be judged at once, and not at its next look."""

from __future__ import annotations

import threading
from collections.abc import Callable

import structlog

from proctor.database.engine import Database
from proctor.database.listening import listen, notified
from proctor.kernel.errors import ProctorError

__all__ = ["CHANNEL", "Ear"]

CHANNEL: str = "proctor_chunks"
"""Where a stream says that it grew after a rest. Senders say so rarely: a NOTIFY makes commits wait for one another."""
POLL_SEC: float = 0.5
"""How long the thread may take to end."""
RETRY_SEC: float = 5.0
"""After a connection broke: a worker looks for work by itself meanwhile, only less often."""

_log = structlog.get_logger(__name__)


class Ear:
    """Listens in a thread of its own, and tells ``woken`` of it."""

    def __init__(self, database: Database, woken: Callable[[], None]) -> None:
        self._database, self._woken = database, woken
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chunk-ear", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """End; what never began may end too."""
        self._over.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        while not self._over.is_set():
            try:
                self._listen()
            except ProctorError as error:
                _log.info("worker.deaf", error=str(error))
                self._over.wait(RETRY_SEC)

    def _listen(self) -> None:
        with self._database.apart() as connection:
            listen(connection, CHANNEL)
            self._woken()  # what was said before this
            while not self._over.is_set():
                if notified(connection, POLL_SEC):
                    self._woken()
