"""A server in separate processes, killed, stopped and cut off at random moments while clients work and listen.

``--seed N`` repeats a run's choices, ``--faults N`` says how many. The figures go to ``build/chaos``.
"""

from __future__ import annotations

import json
import os
import random
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from sqlalchemy import Connection

from proctor.kernel.ids import new_id
from proctor.sdk.remote.client import RemoteClient
from tests.api.listening import INSERT, row
from tests.chaos.installation import PATIENCE_SEC, Installation, installed
from tests.chaos.rig import wait_for, write_suite
from tests.chaos.server_clients import Worker
from tests.chaos.server_faults import SHARES, Storm, dealt
from tests.chaos.server_invariants import Evidence, verdicts
from tests.chaos.server_listeners import Listener, SdkListener, SocketListener
from tests.chaos.test_faults import RESULTS

pytestmark = [pytest.mark.server, pytest.mark.timeout(3600)]

FAULTS: int = 25
SHARE: int = 4
"""One in so many of what ``--faults`` says, or of 100: each takes a server's restart."""
WORKERS: int = 3
TRIES: int = 4
"""A run set is resumed so often at the most, for what is among its dead letters."""
LAST_SEC: float = 90.0
"""Longer than the SDK takes a silent connection for a living one."""
ANSWERS_BETWEEN: int = 3
"""Faults go on only once so many more requests were answered: the server lives through each."""


def test_every_kind_of_fault_is_dealt() -> None:
    assert set(dealt(len(SHARES), random.Random(1))) == set(SHARES)
    assert dealt(FAULTS, random.Random(1)) == dealt(FAULTS, random.Random(1))


def test_a_server_that_is_killed_anywhere_loses_and_doubles_nothing(request: pytest.FixtureRequest) -> None:
    seed = request.config.getoption("--seed")
    seed = random.SystemRandom().randrange(10**6) if seed is None else seed
    faults = max(1, (request.config.getoption("--faults") or FAULTS * SHARE) // SHARE)
    print(f"\nserver: seed {seed}, {faults} faults", flush=True)
    began = time.monotonic()
    with installed(("acme", "rival")) as installation:
        story = _Story(installation, seed)
        story.play(dealt(faults, random.Random(f"{seed}/kinds")))
        found = story.verdicts()
    figures = story.figures(seed, found, time.monotonic() - began)
    print(json.dumps(figures, indent=2))
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / f"chaos-server-{seed}.json").write_text(json.dumps(figures, indent=2) + "\n")
    broken = {name: problems for name, problems in found.items() if problems}
    assert not broken, json.dumps(broken, indent=2)[:6000]


class _Story:
    """What happens, from the first client to the last look."""

    def __init__(self, installation: Installation, seed: int) -> None:
        self.installation, self._began = installation, time.monotonic()
        self.acme, self.rival = installation.tenants
        self.workers = [Worker(f"c{n}", installation, self.acme, random.Random(f"{seed}/{n}")) for n in range(WORKERS)]
        kinds: Sequence[tuple[str, type[Listener]]] = (("sse", SdkListener), ("ws", SocketListener))
        self.listeners = [kind(name, installation, self.acme, random.Random(f"{seed}/{name}")) for name, kind in kinds]
        self.strangers = [
            kind(f"rival's {name}", installation, self.rival, random.Random(name)) for name, kind in kinds
        ]
        self.storm = Storm(installation, random.Random(f"{seed}/storm"), self.tell, self.check)
        self.exits: Mapping[str, int] = {}
        self.resumed = 0

    def tell(self, words: str) -> None:
        """One line of what happens, with its second."""
        print(f"{time.monotonic() - self._began:7.1f}  {words}", flush=True)

    def check(self) -> None:
        """Raises what a client broke by."""
        broken = [told for one in self.workers for told in one.broken]
        assert not broken, broken

    def play(self, kinds: Sequence[str]) -> None:
        """Work through the faults, then to the end without any."""
        self._send_suite()
        for listener in (*self.listeners, *self.strangers):
            listener.start()
        for worker in self.workers:
            worker.start()
        for kind in kinds:
            self.storm.strike(kind)
            self._wait_for_answers(ANSWERS_BETWEEN)
        self.tell("no more faults")
        self._end_clients()
        self._end_run_sets()
        self._end_operations()
        self._end_listeners()
        self._end_processes()

    def _send_suite(self) -> None:
        folder = self.installation.home.folder / "suite"
        write_suite(folder, tasks=1)
        with RemoteClient.open(self.installation.apis[0].url, self.acme.key) as client:
            client.import_suite(folder, label="tasks")

    def _answers(self) -> int:
        return sum(len(one.told) for one in self.workers)

    def _wait_for_answers(self, more: int) -> None:
        until = self._answers() + more

        def there() -> bool:
            self.check()
            return self._answers() >= until

        wait_for(there, PATIENCE_SEC, "more answers")

    def _end_clients(self) -> None:
        for one in self.workers:
            one.stop()
        wait_for(lambda: all(one.ended.is_set() for one in self.workers), PATIENCE_SEC, "the clients' end")
        self.check()
        self.tell(f"{self._answers()} requests answered")

    def _end_run_sets(self) -> None:
        """Once whoever paused them lets them go on; what is among the dead letters is asked for again."""
        with RemoteClient.open(self.installation.apis[0].url, self.acme.key) as client:
            for name in self._started():
                tries = 0
                while tries < TRIES and not self._rests(client, name).startswith("complete"):
                    client.resume(name)
                    tries += 1
                self.resumed += tries
                self._rests(client, name)
        self.tell("every run set ended")

    @staticmethod
    def _rests(client: RemoteClient, name: str) -> str:
        """A run set's state once it does not run."""

        def state() -> str:
            found = client.status(name).run_set.state
            return "" if found == "running" else found

        return wait_for(state, PATIENCE_SEC, f"the end of {name}", every=0.2)

    def _started(self) -> list[str]:
        return [name for one in self.workers for kind, name, answer in one.told if kind == "run set" and answer.good]

    def _end_operations(self) -> None:
        left = "SELECT id FROM proctor.operation WHERE ended_at IS NULL"
        wait_for(lambda: not self._evidence().rows(left), PATIENCE_SEC, "the end of operations", every=0.2)

    def _end_listeners(self) -> None:
        """Each has heard everything once it heard the last event of all."""
        for tenant, listeners in ((self.acme, self.listeners), (self.rival, self.strangers)):
            marker = new_id()
            values = row(tenant.id, marker, new_id(), "run_set.marker", {})
            self.installation.database.as_tenant(tenant.id, partial(_write, values=values))
            for one in listeners:
                one.end_at(str(marker))
        everyone = [*self.listeners, *self.strangers]
        with suppress(AssertionError):  # who never hears it is told of by the name of what that breaks
            wait_for(lambda: all(one.last.is_set() for one in everyone), LAST_SEC, "the last event", every=0.1)
        self.tell(f"heard {[(one.name, len(one.heard)) for one in everyone]}")

    def _end_processes(self) -> None:
        self.exits = self.installation.stop()
        self.tell(f"ended: {dict(self.exits)}")

    def _evidence(self) -> Evidence:
        return Evidence(
            installation=self.installation,
            tenant=self.acme,
            workers=self.workers,
            listeners=self.listeners,
            disturbed_worker=self.storm.disturbed_worker,
            controlled=self.resumed,
        )

    def verdicts(self) -> Mapping[str, list[str]]:
        """Every invariant by name, with what breaks it."""
        home = self.installation.home
        home.open_sandboxes()
        strange = [f"{one.name} heard {len(one.heard)} events" for one in self.strangers if len(one.heard) != 1]
        return {
            **verdicts(self._evidence()),
            "nobody else's events are heard": strange + [p for one in self.strangers for p in one.problems],
            "no process ended by itself": self.installation.unexpected,
            "what is told to end ends well": [f"{name}: {code}" for name, code in self.exits.items() if code],
            "nothing is left": home.left_behind(),
        }

    def figures(self, seed: int, found: Mapping[str, list[str]], took: float) -> dict[str, Any]:
        """For a reader."""
        done = sum((one.counts() for one in self.workers), Counter[str]())
        return {
            "seed": seed,
            "faults": sum(self.storm.struck.values()),
            "by_kind": dict(sorted(self.storm.struck.items())),
            "repeated_as_nobody_was_hit": dict(+self.storm.missed),
            "starts": dict(self.installation.starts()),
            "requests_answered": self._answers(),
            "done": dict(sorted(done.items())),
            "refused": dict(sum((one.refusals() for one in self.workers), Counter[str]())),
            "ways": dict(sum((one.courier.ways for one in self.workers), Counter[str]())),
            "sent_again_after": dict(sum((one.courier.refused for one in self.workers), Counter[str]())),
            "heard": {one.name: [len(set(one.heard)), len(one.heard), one.opened] for one in self.listeners},
            "invariants": {name: "broken" if problems else "holds" for name, problems in found.items()},
            "seconds": round(took, 1),
            "load_average": [round(load, 2) for load in os.getloadavg()],
        }


def _write(connection: Connection, values: Mapping[str, Any]) -> None:
    connection.execute(INSERT, values)
