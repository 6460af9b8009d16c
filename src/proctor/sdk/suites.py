"""Suites of a tenant's platform: brought, labelled, checked, looked at."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from proctor.app import Platform
from proctor.engine.leaderboards import LeaderboardRow, leaderboard
from proctor.engine.planning import RunSetRow
from proctor.engine.reading import newest_of_each
from proctor.engine.resolving import resolve_suite
from proctor.engine.suite_boards import SuiteBoard, suite_board
from proctor.sandboxes.errors import SandboxError
from proctor.suites.loading import load_suite, tasks_further_down
from proctor.suites.references import check_label
from proctor.suites.service import Alias, SuiteDetail, SuiteRow

if TYPE_CHECKING:
    from proctor.engine.certificates.standing import Standing
    from proctor.sdk.checking import CheckRequest, CheckSession
    from proctor.suites.datasets import ResolvedDataset

__all__ = ["SuiteCalls"]

BOARD_RUN_SETS: int = 100
"""The most whose rows a suite's leaderboard has: each has the newest of some configuration."""


class SuiteCalls:
    """What the client answers of suites."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def import_suite(self, path: Path, *, label: str | None) -> tuple[str, SuiteDetail]:
        """Import a folder of tasks, with a label if one is given; its id and what is in it."""
        suite_id = self._platform.suites.import_suite(
            self._platform.tenant, load_suite(path), source=str(path.resolve())
        )
        if label is not None:
            self.set_alias(label, suite_id)
        return suite_id, self._platform.suites.show(self._platform.tenant, suite_id)

    def tasks_further_down(self, path: Path) -> str:
        """What to tell of folders below a suite's that hold tasks and are not read; empty where there is none."""
        return tasks_further_down(path)

    def import_dataset(self, dataset: ResolvedDataset, *, label: str | None) -> tuple[str, SuiteDetail]:
        """Import a dataset whose tasks were found (``proctor.suites.datasets``); its suite's id and what is in it."""
        if label is not None:
            check_label(label)
        source = f"{dataset.suite.path.resolve()} ({dataset.label})"
        suite_id = self._platform.suites.import_suite(self._platform.tenant, dataset.suite, source=source)
        if label is not None:
            self.set_alias(label, suite_id)
        return suite_id, self._platform.suites.show(self._platform.tenant, suite_id)

    def check(self, reference: str, request: CheckRequest) -> CheckSession:
        """A check of a suite's tasks, or of a folder's, not begun. Raises ``NothingToCheck``, ``SuiteUnknown``."""
        from proctor.sdk.checking import CheckSession

        suite_id = resolve_suite(reference, self._platform.tenant, Path.cwd(), self._platform.suites)
        return CheckSession(self._platform, suite_id, request)

    def standings(self, suite_id: str) -> dict[str, Standing]:
        """What certificates say of a suite's tasks on this machine, by content digest; empty where it can't run it."""
        from proctor.engine.certificates.service import CertificateService, ground_for

        service = CertificateService(self._platform.database, self._platform.tenant)
        try:
            ground = ground_for(
                self._platform.backend("local"), self._platform.suites.tasks(self._platform.tenant, suite_id)
            )
        except SandboxError:
            return {}
        return {one.content_digest: one for one in service.standings(suite_id, ground)}

    def suite_board(self, reference: str) -> SuiteBoard:
        """A suite's leaderboard: the newest row of each configuration, however many run sets came after it."""
        tenant, engine, database = self._platform.tenant, self._platform.engine, self._platform.database
        suite_id = self._platform.suites.resolve(tenant, reference)

        def rows(row: RunSetRow) -> list[LeaderboardRow]:
            return database.as_tenant(tenant, lambda c: leaderboard(c, tenant, row, engine.reasons(c, row)))

        found = database.as_tenant(tenant, lambda c: newest_of_each(c, tenant, suite_id, BOARD_RUN_SETS))
        return suite_board(suite_id, [(row, rows(row)) for row in found])

    def suites(self) -> list[SuiteRow]:
        """Every suite."""
        return self._platform.suites.list_suites(self._platform.tenant)

    def suite(self, reference: str) -> SuiteDetail:
        """A suite by id, beginning of one, or label."""
        tenant = self._platform.tenant
        return self._platform.suites.show(tenant, self._platform.suites.resolve(tenant, reference))

    def set_alias(self, label: str, reference: str) -> None:
        """Let a label stand for a suite from now on."""
        tenant = self._platform.tenant
        suite_id = self._platform.suites.resolve(tenant, reference)
        self._platform.suites.set_alias(tenant, label, suite_id, source="cli")

    def aliases(self) -> list[Alias]:
        """Every label with its history."""
        return self._platform.suites.aliases(self._platform.tenant)
