"""``proctor export``: a run set as a job directory of Harbor's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path

from proctor.app import Platform
from proctor.engine import leaderboards, reading
from proctor.engine.exporting import AttemptFacts, ExportPage, export_page
from proctor.engine.planning import RunSetRow
from proctor.engine.segments import read_segments
from proctor.kernel.clock import SystemClock
from proctor.kernel.paths import new_folder
from proctor.objects.store import StoredObject
from proctor.reports.harbor import Export, Exported, Gap, JobWriter
from proctor.reports.harbor.inputs import ExportedTask, exported_profiles

__all__ = ["ExportReport", "export_into", "export_run_set"]


@dataclass(frozen=True, kw_only=True)
class ExportReport:
    """What was written where: a trial for each cell with an attempt; ``gaps`` are the cells without a verdict."""

    run_set: str
    folder: Path
    trials: int
    expected: int
    gaps: tuple[Gap, ...]


def export_run_set(
    platform: Platform, row: RunSetRow, folder: Path, *, on_page: Callable[[int], None] = lambda _: None
) -> ExportReport:
    """Write a run set as a job directory of Harbor's, all of it or nothing. ``on_page`` hears of new trials.

    Raises ``FolderTaken`` and ``PathUnusable`` of the folder, ``ObjectMissing`` and ``ObjectDamaged`` of a trajectory.
    """
    with new_folder(folder) as filling:
        return export_into(platform, row, filling, called=folder.resolve(), on_page=on_page)


def export_into(
    platform: Platform, row: RunSetRow, filling: Path, *, called: Path, on_page: Callable[[int], None] = lambda _: None
) -> ExportReport:
    """The same into an empty folder. ``called``: where the job will be in the end, which its files say."""
    done = _write(platform, _export(platform, row, called), filling, on_page)
    return ExportReport(run_set=row.name, folder=called, trials=done.trials, expected=done.expected, gaps=done.gaps)


def _write(platform: Platform, export: Export, filling: Path, on_page: Callable[[int], None]) -> Exported:
    row = export.run_set
    with JobWriter.open(filling, export, _Kept(platform)) as writer:
        for page in _pages(platform, row):
            on_page(sum(writer.add(cell, facts) for cell, facts in page.cells))
        reasons = platform.engine.read(lambda c: platform.engine.reasons(c, row))
        board = platform.engine.read(lambda c: leaderboards.leaderboard(c, platform.tenant, row, reasons))
        return writer.finish(board)


def _pages(platform: Platform, row: RunSetRow) -> Iterator[ExportPage]:
    """A transaction each: a run set that still runs is told as it was when each of its cells was read."""
    after = None
    while True:
        page = platform.engine.read(partial(export_page, tenant=platform.tenant, row=row, after=after))
        yield page
        if page.cursor is None:
            return
        after = page.cursor


def _export(platform: Platform, row: RunSetRow, target: Path) -> Export:
    spec = platform.engine.stored_spec(row.id)
    profiles = platform.engine.read(lambda c: reading.profiles_of(c, platform.tenant, row.id))
    tasks = platform.suites.tasks(platform.tenant, row.suite_id)
    dataset = _dataset(platform, row.suite_id)
    return Export(
        run_set=row,
        folder=target,
        at=SystemClock().now(),
        profiles=exported_profiles(profiles),
        tasks={one.content_digest: ExportedTask.of(one, dataset) for one in tasks},
        trials=spec.trials,
        concurrency=spec.execution.concurrency,
    )


def _dataset(platform: Platform, suite_id: str) -> str:
    """What the suite is called: its first label of now, else the beginning of its id."""
    aliases = platform.suites.aliases(platform.tenant)
    labels = sorted(one.name for one in aliases if one.target == suite_id and one.valid_to is None)
    return labels[0] if labels else f"suite-{suite_id[:12]}"


class _Kept:
    """Logs and trajectories in the object store."""

    def __init__(self, platform: Platform) -> None:
        self._objects, self._tenant = platform.objects, platform.tenant

    def segments(self, facts: AttemptFacts) -> Iterator[bytes]:
        """The attempt's log; segments that are not there any more are not told."""
        found = read_segments(self._objects, self._tenant, facts.id)
        return (segment for _, segment in islice(found, facts.last_segment))

    def save(self, stored: StoredObject, path: Path) -> None:
        """Write an object to a new file. Raises ``ObjectMissing``, ``ObjectDamaged``."""
        self._objects.fetch(stored, path)
