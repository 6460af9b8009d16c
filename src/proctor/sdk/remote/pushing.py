"""A run set of this machine sent to a server: only what is not there yet, and as often as one likes."""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from proctor.app import Platform
from proctor.engine import reading
from proctor.engine.imports.bringing import is_imported
from proctor.engine.outcomes import is_shipped
from proctor.engine.planning import RunSetRow
from proctor.engine.policy_book import source_of
from proctor.engine.pushes.reading import Told, pages
from proctor.engine.segments import read_segments
from proctor.kernel.canonical import sha256_hex
from proctor.kernel.errors import UsageError
from proctor.kernel.ids import derived_id
from proctor.objects.store import StoredObject
from proctor.sdk.remote.answers import read
from proctor.sdk.remote.client import RemoteClient
from proctor.suites.service import StoredTask
from proctor.suites.uploads import packed

__all__ = ["PushReport", "push"]

PAGE_BYTES: int = 4 << 20
"""Of one page of cells, about: a quarter of what a server takes at once."""


class PushRefused(UsageError):
    """This run set can't be pushed."""

    code = "push-refused"


@dataclass(kw_only=True)
class PushReport:
    """What was sent. ``known``: attempts that the server had already."""

    run_set: RunSetRow
    new: int = 0
    known: int = 0
    objects: int = 0
    object_bytes: int = 0


def push(platform: Platform, row: RunSetRow, remote: RemoteClient, on_more: Callable[[int], None]) -> PushReport:
    """Send a run set with all that was kept of it. Raises ``PushRefused``, and what the server refuses."""
    profiles = platform.engine.read(lambda c: reading.profiles_of(c, platform.tenant, row.id))
    if is_imported(platform.engine.read(lambda c: platform.engine.stored_plan(c, row)).profiles):
        what = "They are results that others made."
        raise PushRefused(what, where=row.name, remedy="`proctor import FOLDER --server URL` sends them.")
    _send_suite(platform, row.suite_id, remote)
    begun = read(RunSetRow, remote.transport.post("pushes", _manifest(platform, row, profiles)))
    sender = _Sender(platform, remote, PushReport(run_set=begun), {one["position"]: one["name"] for one in profiles})
    for page in pages(platform.engine.read, platform.tenant, row):
        for cell in page:
            sender.add(cell)
            on_more(len(cell.attempts))
    sender.flush()
    sender.report.run_set = read(RunSetRow, remote.transport.post(f"pushes/{begun.id}/complete"))
    return sender.report


def _manifest(platform: Platform, row: RunSetRow, profiles: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    spec = platform.engine.stored_spec(row.id)
    version = row.policy_version
    own = None if is_shipped(version) else platform.engine.read(lambda c: source_of(c, platform.tenant, version))
    return {
        "name": row.name,
        "source": derived_id("push", row.trace_id, row.id).hex,
        "suite": row.suite_id,
        "policy_version": version,
        "policy": own,
        "spec": spec.model_dump(mode="json", exclude_defaults=True),
        "profiles": [
            {
                "name": one["name"],
                "series": one["series"],
                "provider": one["routing"]["provider"],
                "document": one["document"],
            }
            for one in profiles
        ],
    }


def _send_suite(platform: Platform, suite_id: str, remote: RemoteClient) -> None:
    """The tasks as they are stored: their folder may be gone, or be another by now."""
    if remote.knows_suite(suite_id):
        return
    with _laid_out(platform, suite_id) as folders, packed(folders) as tar:
        remote.send_suite(tar, label=None, source="push")
    if not remote.knows_suite(suite_id):
        raise PushRefused("Its suite can't be made again from what is stored.", where=suite_id[:12], remedy=_SUITE)


_SUITE = "Send its folder first: `proctor suite import FOLDER --server URL`."


@contextmanager
def _laid_out(platform: Platform, suite_id: str) -> Iterator[list[tuple[Path, str]]]:
    tasks = platform.suites.tasks(platform.tenant, suite_id)
    if any(one.task is None for one in tasks):
        raise PushRefused("Of a malformed task nothing is stored.", where=suite_id[:12], remedy=_SUITE)
    with tempfile.TemporaryDirectory(prefix="proctor-push-") as cache:
        tenant, kept = platform.tenant, platform.suites
        yield [(kept.materialise(tenant, one.content_digest, Path(cache)), _folder(one)) for one in tasks]


def _folder(task: StoredTask) -> str:
    """A folder's name for it; names of tasks are other people's words, and one may be another's beginning."""
    return f"{task.name.rpartition('/')[2][:100]}-{task.content_digest[:12]}"


@dataclass
class _Sender:
    """Collects cells into pages and sends each after its objects."""

    platform: Platform
    remote: RemoteClient
    report: PushReport
    names: Mapping[int, str]
    cells: list[Any] = field(default_factory=list)
    size: int = 0
    objects: dict[str, StoredObject | bytes] = field(default_factory=dict)

    def add(self, cell: Told) -> None:
        """Take one."""
        attempts = [self._attempt(one) for one in cell.attempts]
        plain = {"profile": self.names[cell.profile], "task": cell.task, "place": cell.place, "attempts": attempts}
        self.cells.append(plain)
        self.size += len(json.dumps(plain))
        if self.size >= PAGE_BYTES or len(self.objects) >= 500:
            self.flush()

    def flush(self) -> None:
        """Send what was collected."""
        if not self.cells:
            return
        transport = self.remote.transport
        asked = transport.post("pushes/objects", {"sha256": list(self.objects)})
        for sha256 in asked["missing"]:
            self._send(sha256, self.objects[sha256])
        done = transport.post(f"pushes/{self.report.run_set.id}/cells", {"cells": self.cells})
        self.report.new += done["new"]
        self.report.known += done["known"]
        self.cells, self.size, self.objects = [], 0, {}

    def _attempt(self, row: Mapping[str, Any]) -> dict[str, Any]:
        names = ("number", "started_at", "ended_at", "backend", "limits", "usage", "evidence", "gradings")
        graded = {one["number"] for one in row["gradings"]} or {0}
        return {
            **{name: row[name] for name in names},
            "log": self._log(UUID(row["id"])),
            "artifacts": [self._artifact(one) for one in row["artifacts"]],
            "outcomes": [one for one in row["outcomes"] if one["grading"] in graded],
        }

    def _artifact(self, kept: Mapping[str, Any]) -> dict[str, Any]:
        self.objects[kept["sha256"]] = StoredObject(key=kept["key"], sha256=kept["sha256"], size=kept["size"])
        return {"name": kept["name"], "sha256": kept["sha256"], "size": kept["size"]}

    def _log(self, attempt: UUID) -> dict[str, Any] | None:
        segments = read_segments(self.platform.objects, self.platform.tenant, attempt)
        data = b"".join(piece for _, piece in segments)
        if not data:
            return None
        sha256 = sha256_hex(data)
        self.objects[sha256] = data
        return {"name": "log", "sha256": sha256, "size": len(data)}

    def _send(self, sha256: str, what: StoredObject | bytes) -> None:
        with tempfile.TemporaryFile() as file:
            self._write(what, file)
            self.report.objects += 1
            self.report.object_bytes += file.tell()
            headers = {"Content-Type": "application/octet-stream"}
            self.remote.transport.send("PUT", f"pushes/objects/{sha256}", content=file, headers=headers)

    def _write(self, what: StoredObject | bytes, file: IO[bytes]) -> None:
        if isinstance(what, bytes):
            file.write(what)
            return
        hasher = hashlib.sha256()
        for piece in self.platform.objects.stream(what.key):
            hasher.update(piece)
            file.write(piece)
        if hasher.hexdigest() != what.sha256:
            remedy = "`proctor audit --checksums` lists what is damaged here."
            raise PushRefused("What is stored here of it is damaged.", where=what.key, remedy=remedy)
