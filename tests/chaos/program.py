"""The ``proctor`` command with three parts replaced, for a test that kills it:

- a sandbox in memory, whose agents take some tenths of a second and do as the rig's profiles say;
- agents whose cost is known, so that the ledger has something to add up;
- a settler that records an attempt twice, or loses a commit's answer, when a file in the control folder says so.

What a disturbance came to is a line in ``done.jsonl`` of that folder.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import stat
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from uuid import UUID

from sqlalchemy import Connection

import proctor.agents.catalogue
import proctor.app
import proctor.engine.settling
from proctor.agents.command import Command
from proctor.agents.interfaces import AgentContext, AgentRun, Usage
from proctor.cli.main import main
from proctor.database.engine import Database
from proctor.database.errors import DatabaseUnavailable
from proctor.engine.recording import Decided, recorded_before
from proctor.engine.settling import Settler
from proctor.sandboxes.fake import FakeBackend, FakeFile, FakeSandbox
from proctor.sandboxes.interfaces import ExecRequest, ExecResult, Sandbox, SandboxSpec

CONTROL = Path(os.environ["PROCTOR_CHAOS_CONTROL"])
AGENT_SEC: tuple[float, float] = (0.2, 1.2)
COST_NANO: int = 1_234_567
ANSWER, REWARD = "/app/answer", "/logs/verifier/reward.txt"


def take(kind: str) -> bool:
    """Whether this disturbance was asked for; of several processes one is the first."""
    with suppress(OSError):
        (CONTROL / kind).rename(CONTROL / f"{kind}-{os.getpid()}")
        return True
    return False


def tell(kind: str, **said: int) -> None:
    """One line; short enough to be whole, whoever writes beside."""
    with (CONTROL / "done.jsonl").open("a", encoding="utf-8") as file:
        file.write(json.dumps({"kind": kind, "pid": os.getpid(), **said}) + "\n")


class SlowSandbox(FakeSandbox):
    """An agent's command takes a while; the verifier's does not."""

    async def exec(self, request: ExecRequest) -> ExecResult:
        if request.session == "agent":
            await asyncio.sleep(random.uniform(*AGENT_SEC))
        return await super().exec(request)


class SlowBackend(FakeBackend):
    """Understands the two commands of the rig: an answer is written, an answer is looked at."""

    def __init__(self) -> None:
        super().__init__(answer)

    async def create(self, spec: SandboxSpec) -> Sandbox:
        sandbox = SlowSandbox(self, spec, self._base(spec))
        self.sandboxes[sandbox.id] = sandbox
        return sandbox


def answer(sandbox: FakeSandbox, request: ExecRequest) -> ExecResult:
    """``echo N > answer`` and ``test.sh``."""
    words = " ".join(request.argv)
    if "> answer" in words:
        number = words.partition("echo ")[2].split()[0]
        sandbox.files[ANSWER] = FakeFile(number.encode(), stat.S_IFREG | 0o644)
    elif "test.sh" in words:
        found = sandbox.files.get(ANSWER)
        reward = b"1\n" if found is not None and found.content == b"42" else b"0\n"
        sandbox.files[REWARD] = FakeFile(reward, stat.S_IFREG | 0o644)
    return ExecResult(exit_code=0, signal=None)


class Priced(Command):
    """What it costs is known."""

    async def run(self, context: AgentContext) -> AgentRun:
        run = await super().run(context)
        return replace(run, usage=replace(Usage.none(), input_tokens=100, output_tokens=10, cost_nano=COST_NANO))


class Disturbed(Settler):
    """Records what it has recorded once more, if asked to."""

    def _write(self, tenant: UUID, decided: Sequence[Decided]) -> list[Decided]:
        written = super()._write(tenant, decided)
        if written and take("twice"):
            tell("twice", first=len(written), again=len(super()._write(tenant, decided)))
        return written


class Forgetful(Database):
    """Loses the answer to a commit of the settler, if asked to."""

    @contextmanager
    def tenant(self, tenant_id: UUID) -> Iterator[Connection]:
        with super().tenant(tenant_id) as connection:
            yield connection
        if threading.current_thread().name == "settler" and take("unknown"):
            raise DatabaseUnavailable("the answer to a commit was lost")


def look_again(connection: Connection, tenant: UUID, batch: Sequence[Decided]) -> list[Decided]:
    """The settler asks what an earlier try of its own recorded."""
    found = recorded_before(connection, tenant, batch)
    tell("unknown", asked=len(batch), found=len(found))
    return found


if __name__ == "__main__":
    proctor.app.local_backend = lambda settings: SlowBackend()
    proctor.app.Database = Forgetful  # type: ignore[misc]
    proctor.agents.catalogue.Command = Priced  # type: ignore[misc]
    proctor.engine.settling.recorded_before = look_again
    import proctor.engine.worker

    proctor.engine.worker.Settler = Disturbed  # type: ignore[misc]
    sys.path.pop(0)  # this folder's modules are no top-level ones
    main()
