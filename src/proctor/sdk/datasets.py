"""Datasets of a tenant's platform: brought, looked at, compared, made into others, split, written out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from proctor.app import Platform
from proctor.datasets.derivations import Derivation, Filter, NewVersion
from proctor.kernel.paths import new_file
from proctor.sdk.users import this_user

if TYPE_CHECKING:
    from proctor.datasets.browsing import ExamplePage, FitCount
    from proctor.datasets.differing import VersionDiff
    from proctor.datasets.exporting import ExportFormat
    from proctor.datasets.quality import DatasetQuality
    from proctor.datasets.registry import DatasetRow
    from proctor.datasets.service import DatasetDetail, ImportAsked, Imported, Made
    from proctor.datasets.versions import DatasetVersion

__all__ = ["DatasetExport", "Datasets"]

OnRows = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class DatasetExport:
    """What was written where."""

    version: DatasetVersion
    path: Path
    rows: int


class Datasets:
    """What the client answers of datasets: ``client.datasets``."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform

    def all(self) -> list[DatasetRow]:
        """Every dataset, by name."""
        return self._platform.datasets.list_datasets(self._platform.tenant)

    def versions(self, name: str) -> list[DatasetVersion]:
        """A dataset's versions, the newest first. Raises ``DatasetUnknown``."""
        return [version for _, version in self._platform.datasets.versions(self._platform.tenant, name)]

    def show(self, reference: str) -> DatasetDetail:
        """A version with its splits, by ``NAME``, ``NAME@VERSION`` or an id. Raises ``DatasetUnknown``."""
        return self._platform.datasets.show(self._platform.tenant, reference)

    def examples(self, wanted: Filter, *, start: int = 0, limit: int = 100) -> ExamplePage:
        """Examples of ``wanted.source`` that fit, from a position on.

        Raises ``DatasetUnknown``, ``SplitInvalid``, ``QueryInvalid``.
        """
        datasets, tenant = self._platform.datasets, self._platform.tenant
        return datasets.examples(tenant, datasets.find(tenant, wanted.source), wanted, start=start, limit=limit)

    def count(self, wanted: Filter) -> FitCount:
        """How many examples of ``wanted.source`` fit; every one is looked at.

        Raises ``DatasetUnknown``, ``SplitInvalid``, ``QueryInvalid``.
        """
        datasets, tenant = self._platform.datasets, self._platform.tenant
        return datasets.count(tenant, datasets.find(tenant, wanted.source), wanted)

    def quality(self, reference: str) -> DatasetQuality:
        """What to know of a version before trusting numbers on it; every example is looked at.

        Raises ``DatasetUnknown``.
        """
        datasets, tenant = self._platform.datasets, self._platform.tenant
        return datasets.quality(tenant, datasets.find(tenant, reference))

    def diff(self, before: str, after: str, *, beyond: str = "", limit: int = 100) -> VersionDiff:
        """How two versions differ, with the examples whose ids come after ``beyond``. Raises ``DatasetUnknown``."""
        datasets, tenant = self._platform.datasets, self._platform.tenant
        sides = [datasets.find(tenant, reference) for reference in (before, after)]
        return datasets.diff(sides[0], sides[1], beyond=beyond, limit=limit)

    def import_file(
        self, path: Path, asked: ImportAsked, new: NewVersion, *, on_rows: OnRows = lambda _: None
    ) -> Imported:
        """Make a version of a file's or folder's examples. Raises as ``DatasetService.import_file``."""
        return self._platform.datasets.import_file(
            self._platform.tenant, path, asked, new, creator=this_user(), on_rows=on_rows
        )

    def derive(self, derivation: Derivation, new: NewVersion, *, on_rows: OnRows = lambda _: None) -> Made:
        """Make a version of others. Raises as ``DatasetService.derive``."""
        return self._platform.datasets.derive(
            self._platform.tenant, derivation, new, creator=this_user(), on_rows=on_rows
        )

    def split(self, reference: str, shares: Mapping[str, float], *, seed: int) -> DatasetDetail:
        """Give a version splits with those shares. Raises ``DatasetUnknown``, ``SplitInvalid``."""
        return self._platform.datasets.split(self._platform.tenant, reference, shares, seed=seed, creator=this_user())

    def export(
        self, reference: str, path: Path, kind: ExportFormat, *, on_rows: OnRows = lambda _: None
    ) -> DatasetExport:
        """Write a version to a new file, all of it or nothing. Raises ``DatasetUnknown``, ``PathUnusable``."""
        datasets = self._platform.datasets
        version = datasets.find(self._platform.tenant, reference)
        with new_file(path) as filling:
            datasets.export(version, filling, kind, on_rows=on_rows)
        return DatasetExport(version=version, path=path, rows=version.rows)
