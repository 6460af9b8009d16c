"""Long work of a server, followed until it ends: what a command waits for as it would on this machine."""

from __future__ import annotations

import hashlib
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from proctor.engine.imports.records import ATTEMPTS, MANIFEST
from proctor.engine.planning import RunSetRow
from proctor.engine.regrading.candidates import PassedOver
from proctor.kernel.errors import FAULT_WORDS, ProctorError
from proctor.kernel.paths import new_folder
from proctor.operations.service import Operation, Receipt
from proctor.sdk.archives import unpack_download
from proctor.sdk.audits import AuditReport, AuditRequest, mend_list, read_profile_list
from proctor.sdk.checking import CheckReport, CheckRequest
from proctor.sdk.exports import ExportReport
from proctor.sdk.imports import ImportReport
from proctor.sdk.reclassifications import Reclassification, read_policy_file
from proctor.sdk.regrades import RegradeReport
from proctor.sdk.remote.answers import read, run_set_path
from proctor.sdk.remote.errors import ServerFault, ServerRefused
from proctor.sdk.remote.transport import Transport

__all__ = ["RemoteRegradePlan", "RemoteWork"]

FIRST_LOOK_SEC: float = 0.2
LAST_LOOK_SEC: float = 2.0
"""Between looks, longer and longer: short work is told at once, hours of it cost few requests."""
Told = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class RemoteTask:
    """A task by its name."""

    name: str


@dataclass(frozen=True, kw_only=True)
class RemoteCandidate:
    """An attempt that qualifies for a regrade."""

    cell: UUID
    profile: str
    task: RemoteTask
    trial: int
    attempt: UUID
    before: bool | None


@dataclass(frozen=True, kw_only=True)
class RemoteRegrade:
    """What there is to do."""

    cells: Sequence[Sequence[RemoteCandidate]]
    passed_over: Sequence[PassedOver]
    decided: int


@dataclass(frozen=True, kw_only=True)
class RemoteRegradePlan:
    """What a regrade on a server would do. ``asked``: by which words."""

    run_set: RunSetRow
    suite_id: str
    regrade: RemoteRegrade
    asked: Mapping[str, Any]


class RemoteWork:
    """The operations of a server."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._policies: dict[str, tuple[str, str]] = {}

    # --- receipts -----------------------------------------------------------------------------------------------------

    def operations(self, *, state: str | None = None) -> list[Receipt]:
        """The newest operations first."""
        return read(list[Receipt], self._transport.get("operations", state=state)["items"])

    def operation(self, identity: UUID) -> Operation:
        """One operation as it is now."""
        return read(Operation, self._transport.get(f"operations/{identity}"))

    def cancel(self, identity: UUID) -> Operation:
        """End one."""
        return read(Operation, self._transport.post(f"operations/{identity}/cancel"))

    def link(self, identity: UUID, *, seconds: int) -> str:
        """A URL that fetches what an operation made, without a key."""
        made = self._transport.post(f"operations/{identity}/download-link", {"seconds": seconds})
        return f"{self._transport.server.rstrip('/')}{made['url']}"

    def follow(self, identity: UUID, on_more: Told = lambda _: None) -> Operation:
        """An operation once it has ended. ``on_more`` hears how much more of it is done."""
        wait, told = FIRST_LOOK_SEC, 0
        while True:
            seen = self.operation(identity)
            if seen.progress.done > told:
                on_more(seen.progress.done - told)
                told = seen.progress.done
            if seen.ended_at is not None:
                return seen
            time.sleep(wait)
            wait = min(wait * 1.5, LAST_LOOK_SEC)

    def ended(self, receipt: Any, on_more: Told) -> Operation:
        """The operation of a receipt as it was sent, done. Raises what it failed with."""
        return self._result(read(Operation, receipt), on_more)

    def _done(self, path: str, body: Mapping[str, Any], on_more: Told = lambda _: None) -> Operation:
        return self._result(read(Operation, self._transport.post(path, body)), on_more)

    def _result(self, receipt: Operation, on_more: Told) -> Operation:
        """The operation, done. Who stops waiting for it cancels it. Raises what it failed with."""
        try:
            seen = self.follow(receipt.id, on_more)
        except KeyboardInterrupt:
            with suppress(ProctorError):  # it may have ended meanwhile
                self.cancel(receipt.id)
            raise
        if seen.state != "done":
            raise _error(seen, self._transport.server)
        return seen

    # --- kinds --------------------------------------------------------------------------------------------------------

    def export(self, reference: str | None, folder: Path, *, on_page: Told = lambda _: None) -> ExportReport:
        """Have a run set exported, and unpack it here, all of it or nothing."""
        with new_folder(folder) as filling:
            target = folder.resolve()
            done = self._done(f"{run_set_path(reference)}/exports", {"folder": str(target)}, on_page)
            with tempfile.TemporaryFile() as packed:
                self.fetch(done.id, packed)
                unpack_download(packed, filling)
        return replace(read(ExportReport, done.result), folder=target)

    def fetch(self, operation: UUID, file: IO[bytes]) -> None:
        """What an operation made, into ``file``. Raises ``ServerFault`` for what is not what the server says it is."""
        hasher = hashlib.sha256()
        with self._transport.stream(f"operations/{operation}/download") as response:
            for piece in response.iter_bytes():
                hasher.update(piece)
                file.write(piece)
            if response.headers["X-Content-SHA256"] != hasher.hexdigest():
                raise ServerFault("What it sent was damaged on its way.", where=self._transport.server)
        file.seek(0)

    def plan_regrade(self, reference: str | None, asked: Mapping[str, Any]) -> RemoteRegradePlan:
        """Which attempts a regrade would grade."""
        found = self._transport.post(f"{run_set_path(reference)}/regrade-plan", asked)
        cells = [[{**one, "task": {"name": one["task"]}} for one in cell] for cell in found["cells"]]
        regrade = {"cells": cells, "passed_over": found["passed_over"], "decided": found["decided"]}
        return RemoteRegradePlan(
            run_set=read(RunSetRow, found["run_set"]),
            suite_id=found["suite_id"],
            regrade=read(RemoteRegrade, regrade),
            asked=asked,
        )

    def regrade(self, plan: RemoteRegradePlan, *, concurrency: int, on_done: Callable[[None], None]) -> RegradeReport:
        """Have them graded."""

        def more(number: int) -> None:
            for _ in range(number):
                on_done(None)

        body = {**plan.asked, "concurrency": concurrency}
        return read(RegradeReport, self._done(f"run-sets/{plan.run_set.id}/regrades", body, more).result)

    def reclassify(self, reference: str | None, policy: Path, *, on_page: Told = lambda _: None) -> Reclassification:
        """What another policy makes of a run set's evidence."""
        source, text = str(policy), read_policy_file(policy)
        body = {"policy": text, "source": source}
        done = self._done(f"{run_set_path(reference)}/reclassifications", body, on_page)
        found = read(Reclassification, done.result["reclassification"])
        self._policies[found.after] = (source, text)
        return found

    def move_pin(self, done: Reclassification) -> int:
        """Let the run set count by that policy from now on; how many cells are owed now."""
        source, text = self._policies[done.after]
        body = {"policy": text, "source": source, "move_pin": True}
        return int(self._done(f"run-sets/{done.run_set.id}/reclassifications", body).result["owed"])

    def audit(self, request: AuditRequest, names: Callable[[], Sequence[str]]) -> AuditReport:
        """Have it audited; a list of profiles that was given is read, and with ``apply`` mended, here.

        ``names``: the profiles that such a list is to have.
        """
        path = request.profile_list
        body = {
            "run_set": request.run_set,
            "rules": request.rules.model_dump(mode="json"),
            "rules_file": request.rules_file,
            "profile_list": None if path is None else str(path),
            "listed": [] if path is None else read_profile_list(path),
            "apply": request.apply,
            "checksums": request.checksums,
        }
        report = read(AuditReport, self._done("audits", body).result)
        if path is not None and request.apply and not all(one.agrees for one in report.denominators):
            mend_list(path, names())
        return report

    def check(self, suite_id: str, request: CheckRequest, on_done: Told = lambda _: None) -> CheckReport:
        """Have a suite's tasks certified on the server's machine."""
        return read(CheckReport, self._done(f"suites/{suite_id}/checks", asdict(request), on_done).result)

    def import_results(self, folder: Path, *, suite: str | None, on_page: Told = lambda _: None) -> ImportReport:
        """Send results that others made, and have them imported. ``suite``: the id of the one that they name."""
        with tempfile.TemporaryFile() as file:
            with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
                for name in (MANIFEST, ATTEMPTS):
                    tar.add((folder / name).resolve(), arcname=name)
            sent = self._transport.send(
                "POST", "imports", params={"suite": suite}, content=file, headers={"Content-Type": "application/x-tar"}
            )
        return read(ImportReport, self._result(read(Operation, sent.json()), on_page).result)


def _error(seen: Operation, server: str) -> ServerRefused | ServerFault:
    if seen.state == "cancelled" or seen.error is None:
        return ServerRefused("operation-cancelled", "It was cancelled.", where=str(seen.id), remedy=None)
    told = seen.error
    if told["message"] == FAULT_WORDS:
        return ServerFault(f"{told['message']} Operation {seen.id}.", where=server)
    return ServerRefused(told["code"], told["message"], where=told["where"], remedy=told["remedy"])
