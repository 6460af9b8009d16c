"""Who listens to a server through everything that befalls it, and goes on after the last id each time."""

from __future__ import annotations

import json
import random
import threading
from dataclasses import dataclass, field

from websockets.exceptions import WebSocketException
from websockets.sync.client import connect

from proctor.sdk.remote.client import RemoteClient
from proctor.sdk.remote.events import FROM_THE_BEGINNING, EventsLost
from tests.chaos.installation import Installation, Tenant

__all__ = ["Listener", "SdkListener", "SocketListener"]

QUIET_SEC = 2.0
"""Then a socket is opened anew, perhaps at the other API."""


@dataclass
class Listener:
    """Hears events until the last one of all."""

    name: str
    installation: Installation
    tenant: Tenant
    rng: random.Random
    heard: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    opened: int = 0
    last: threading.Event = field(default_factory=threading.Event)
    _marker: str = ""

    def start(self) -> None:
        """In a thread of its own."""
        threading.Thread(target=self._run, name=self.name, daemon=True).start()

    def end_at(self, marker: str) -> None:
        """Hear no more after this event."""
        self._marker = marker
        if marker in self.heard:
            self.last.set()

    def take(self, identity: str) -> None:
        """One more event."""
        self.heard.append(identity)
        if identity == self._marker:
            self.last.set()

    @property
    def after(self) -> str:
        return self.heard[-1] if self.heard else FROM_THE_BEGINNING

    def _run(self) -> None:
        try:
            while not self.last.is_set():
                self.opened += 1
                self.listen(self.rng.choice(self.installation.apis).url)
        except Exception as error:  # noqa: BLE001  told at the end
            self.problems.append(f"{self.name} broke: {type(error).__name__}: {error}")
            self.last.set()

    def listen(self, url: str) -> None:
        """One connection, or as many as it makes by itself."""
        raise NotImplementedError


class SdkListener(Listener):
    """The SDK's own following of the stream, from one API to the other."""

    def listen(self, url: str) -> None:
        with RemoteClient.open(url, self.tenant.key) as client:
            for event in client.events(after=self.after):
                if isinstance(event, EventsLost):
                    self.problems.append(f"{self.name} was told of a gap after {event.after}")
                else:
                    self.take(event.id)
                if self.last.is_set() or self.rng.random() < 0.02:
                    return


class SocketListener(Listener):
    """A WebSocket, opened again wherever it ends or falls silent."""

    def listen(self, url: str) -> None:
        said = {"Authorization": f"Bearer {self.tenant.key}"}
        try:
            with connect(url.replace("http", "ws") + "/ws", additional_headers=said, open_timeout=5) as socket:
                socket.send(json.dumps({"subscribe": ["all"], "after": self.after}))
                while not self.last.is_set():
                    self._hear(json.loads(socket.recv(timeout=QUIET_SEC)))
        except (OSError, WebSocketException, TimeoutError, EOFError):
            self.last.wait(0.1)

    def _hear(self, message: dict[str, object]) -> None:
        if "event" in message:
            event = message["event"]
            assert isinstance(event, dict)
            self.take(str(event["id"]))
        elif "gap" in message:
            self.problems.append(f"{self.name} was told of a gap: {message}")
