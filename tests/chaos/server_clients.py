"""Clients at work on a server: each makes things, remembers what it was told, and never gives a request up."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from proctor.sdk.remote.client import RemoteClient
from proctor.sdk.remote.errors import ServerFault, ServerUnreachable
from tests.chaos.deliveries import Answer, Courier, Request
from tests.chaos.installation import Installation, Tenant

__all__ = ["PROFILES", "Worker", "spec_of"]

RUN_SETS: int = 4
"""Of one client: more would only make the end later."""
PROFILES: list[dict[str, str]] = [
    {"name": "quick", "agent": "command", "command": "sleep 0.05; echo 42 > answer"},
    {"name": "wrong", "agent": "command", "command": "sleep 0.3; echo 41 > answer"},
]


def spec_of(name: str) -> dict[str, Any]:
    """A run set of two cells; what others decided is not taken over."""
    resources = {"request_storage_mb": 1}
    return {
        "name": name,
        "suite": "tasks",
        "reuse": "off",
        "policy": {"resources": resources},
        "execution": {"sandbox": "local"},
        "profiles": PROFILES,
    }


@dataclass
class Worker:
    """One client in a thread of its own."""

    name: str
    installation: Installation
    tenant: Tenant
    rng: random.Random
    told: list[tuple[str, str, Answer]] = field(default_factory=list)
    """What was asked for, its name or id, and the answer."""
    labelled: dict[str, str] = field(default_factory=dict)
    """Run sets by label, as the server last said."""
    broken: list[str] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    _stopping: threading.Event = field(default_factory=threading.Event)
    _run_sets: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        urls = [one.url for one in self.installation.apis]
        self.courier = Courier(urls, self.tenant.key, self.rng)
        self._made = 0

    def start(self) -> None:
        """Work until it is stopped."""
        threading.Thread(target=self._run, name=self.name, daemon=True).start()

    def stop(self) -> None:
        """After what is under way."""
        self._stopping.set()

    def counts(self) -> Counter[str]:
        """What was done, by kind."""
        return Counter(kind for kind, _, answer in self.told if answer.good)

    def refusals(self) -> Counter[str]:
        """What was refused, by kind and why."""
        return Counter(f"{kind}: {answer.document['code']}" for kind, _, answer in self.told if not answer.good)

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                self.rng.choice(self._can_do())()
        except Exception as error:  # noqa: BLE001  told at the end
            self.broken.append(f"{self.name} broke: {type(error).__name__}: {error}")
        finally:
            self.courier.close()
            self.ended.set()

    def _can_do(self) -> list[Callable[[], None]]:
        always = [self._user, self._key, self._key]
        more = [self._start] if len(self._run_sets) < RUN_SETS else []
        known = [self._pause, self._resume, self._export, self._label, self._push] if self._run_sets else []
        return [*always, *more, *known]

    def _ask(self, kind: str, name: str, path: str, body: Any = None) -> Answer:
        answer = self.courier.deliver(Request(path=path, body=body))
        self.told.append((kind, name, answer))
        return answer

    def _new_name(self, kind: str) -> str:
        self._made += 1
        return f"{kind}-{self.name}-{self._made}"

    def _user(self) -> None:
        name = self._new_name("user")
        self._ask("user", name, "users", {"name": name, "kind": "service", "role": "viewer"})

    def _key(self) -> None:
        name = self._new_name("key")
        self._ask("key", name, "keys", {"name": name, "scopes": ["runs:read"]})

    def _start(self) -> None:
        name = self._new_name("set")
        body = {"spec": spec_of(name), "spec_digest": uuid4().hex * 2, "fresh": True}
        answer = self._ask("run set", name, "run-sets", body)
        if answer.good:
            self._run_sets.append(answer.document["run_set"])

    def _pause(self) -> None:
        self._control("pause")

    def _resume(self) -> None:
        self._control("resume")

    def _control(self, how: str) -> None:
        name = self.rng.choice(self._run_sets)["name"]
        self._ask("control", f"{how} {name}", f"run-sets/{name}/{how}")

    def _export(self) -> None:
        name = self.rng.choice(self._run_sets)["name"]
        self._ask("export", name, f"run-sets/{name}/exports", {})

    def _push(self) -> None:
        """A run set of somebody's own: begun and completed, with nothing in it."""
        row, name = self.rng.choice(self._run_sets), self._new_name("push")
        profiles = self.courier.get(f"run-sets/{row['id']}/profiles?limit=1000")["items"]
        told = [
            {**{key: one[key] for key in ("name", "series", "document")}, "provider": one["routing"]["provider"]}
            for one in profiles
        ]
        spec = {**spec_of(name), "suite": row["suite_id"]}
        body = {
            "name": name,
            "source": uuid4().hex,
            "suite": row["suite_id"],
            "policy_version": row["policy_version"],
            "spec": spec,
            "profiles": told,
        }
        answer = self._ask("push", f"{name}.pushed", "pushes", body)
        if answer.good:
            self._ask("push complete", name, f"pushes/{answer.document['id']}/complete")

    def _label(self) -> None:
        """By the SDK, which sends it again as it sees fit."""
        label, name = f"label-{self.name}-{self.rng.randrange(3)}", self.rng.choice(self._run_sets)["name"]
        while True:
            try:
                with RemoteClient.open(self.rng.choice(self.installation.apis).url, self.tenant.key) as client:
                    self.labelled[label] = str(client.label(name, label).id)
                return
            except (ServerUnreachable, ServerFault) as error:
                self.courier.refused[type(error).__name__] += 1
