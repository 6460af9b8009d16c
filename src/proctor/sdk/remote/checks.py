"""A check of a suite on a server, as a command follows it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from proctor.engine.certificates.certificate import CheckedTask
from proctor.engine.task_names import matches
from proctor.sdk.checking import CheckReport, CheckRequest
from proctor.suites.service import SuiteDetail

if TYPE_CHECKING:
    from proctor.sdk.remote.work import RemoteWork

__all__ = ["RemoteCheck"]


class RemoteCheck:
    """Not begun; what the server has certified already is told at the end."""

    skipped: Sequence[CheckedTask] = ()

    def __init__(self, work: RemoteWork, suite: SuiteDetail, request: CheckRequest) -> None:
        self._work, self._request = work, request
        self.suite_id = suite.row.suite_id
        glob = request.task
        self.todo = sum(1 for task in suite.tasks if glob is None or matches(task.name, glob))

    def run(self, *, on_run: Callable[..., None], on_task: Callable[[CheckedTask], None]) -> CheckReport:
        """Have it made. A run's end is not told by a server; how each task stands is, once all do."""
        report = self._work.check(self.suite_id, self._request)
        for task in report.tasks:
            on_task(task)
        return report
