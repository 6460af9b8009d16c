"""Runs on a server, as a command follows them: the server's workers do the work, and go on when nobody looks."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.agents.scripted import script_text
from proctor.engine.planning import RunSetRow
from proctor.engine.reading import Progress, Stall
from proctor.engine.spec import RunSetSpec
from proctor.kernel.canonical import Json
from proctor.sdk.remote.errors import NotOnServer, ServerFault, ServerUnreachable
from proctor.suites.loading import load_suite
from proctor.suites.uploads import packed

if TYPE_CHECKING:
    from proctor.sdk.remote.client import RemoteClient
    from proctor.suites.datasets import ResolvedDataset

__all__ = ["RemotePrepared", "RemoteSession", "scripts_of", "upload_dataset", "upload_suite"]


SILENT_SEC: float = 300.0
"""How long a server that one follows may be away: a restart, or an upgrade."""


@dataclass(frozen=True, kw_only=True)
class MalformedTask:
    """A task that can't be run, and why."""

    name: str
    problems: tuple[str, ...]


@dataclass
class Told:
    """What the server says of it when it is opened."""

    malformed: tuple[MalformedTask, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class RemotePrepared:
    """A run-set file whose suite is on the server."""

    spec: RunSetSpec
    spec_digest: str
    document: Mapping[str, Json]
    scripts: Mapping[str, str]
    resolved: Told = field(default_factory=Told)
    missing_secrets: tuple[str, ...] = ()
    cells: int = 0
    """The server counts them."""


class RemoteSession:
    """One run set on a server, watched until nothing of it is left to do, or until one looks away."""

    preflight = None
    held_back = ""

    def __init__(self, client: RemoteClient, run_set: RunSetRow, *, nothing_to_do: bool) -> None:
        self.run_set, self.nothing_to_do = run_set, nothing_to_do
        self._client, self._away = client, False
        self._first = self._seen = client.status(str(run_set.id))
        self._silent_since: float | None = None
        self.undecided: Counter[str] = Counter()

    @property
    def decided(self) -> Counter[str]:
        """Cells that the server's workers decided since one looks."""
        before, now = self._first.progress, self._seen.progress
        passed, all_of_them = now.passed - before.passed, now.decided - before.decided
        return +Counter({"passed": passed, "not passed": all_of_them - passed})

    @property
    def running(self) -> int:
        """Attempts that run now, anywhere."""
        return self._seen.progress.running

    def start(self) -> None:
        """The server has begun already."""

    def wait(self, timeout: float) -> bool:
        """Wait a while and look; whether it has ended, or one has looked away.

        A server that restarts is waited for. Raises ``ServerUnreachable``, ``ServerFault`` after ``SILENT_SEC``.
        """
        if not self._away:
            time.sleep(timeout)
            self._look()
        return self._away or self._seen.run_set.state != "running"

    def _look(self) -> None:
        try:
            self._seen = self._client.status(str(self.run_set.id))
        except (ServerUnreachable, ServerFault) as error:
            now = time.monotonic()
            self._silent_since = self._silent_since or now
            if now - self._silent_since >= SILENT_SEC:
                error.remedy = self._client.how_to_go_on(self.run_set)
                raise
        else:
            self._silent_since = None

    def stop(self) -> None:
        """Look no more; the server goes on."""
        self._away = True

    cancel = stop

    def progress(self) -> Progress:
        """Counts of the run set, as it was last seen."""
        return self._seen.progress

    def stalled(self) -> list[Stall]:
        """Its attempts that make no progress."""
        return self._client.stalled(self.run_set)

    def result(self) -> RunSetRow:
        """How it stands."""
        return self._client.find(str(self.run_set.id))


def scripts_of(spec: RunSetSpec, base: Path) -> dict[str, str]:
    """The texts of a run-set file's script files, by the paths in it. Raises ``ProfileInvalid``."""
    return {one.script: script_text(base / one.script) for one in spec.profiles if one.script is not None}


def upload_suite(client: RemoteClient, folder: Path, *, label: str | None = None) -> str:
    """Have a folder's suite on the server, sent only where it is not there yet; its id."""
    suite_id = load_suite(folder).suite_id
    _upload(client, suite_id, [(folder, ".")], label=label, source=folder.resolve().name)
    return suite_id


def upload_dataset(client: RemoteClient, dataset: ResolvedDataset, *, label: str | None = None) -> str:
    """The same for a dataset's tasks. Raises ``NotOnServer`` where two of their folders have one name."""
    folders = [(task.folder, task.folder.name) for task in dataset.suite.tasks]
    if len({name for _, name in folders}) < len(folders):
        raise NotOnServer("Two of its tasks lie in folders of the same name.", where=dataset.label)
    _upload(client, dataset.suite.suite_id, folders, label=label, source=dataset.label)
    return dataset.suite.suite_id


def _upload(
    client: RemoteClient, suite_id: str, folders: Sequence[tuple[Path, str]], *, label: str | None, source: str
) -> None:
    if not client.knows_suite(suite_id):
        with packed(folders) as tar:
            client.send_suite(tar, label=label, source=source)
    elif label is not None:
        client.set_alias(label, suite_id)
