"""Datasets of a tenant on a server: what ``proctor.sdk.datasets.Datasets`` answers, answered by it."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from proctor.datasets.browsing import ExamplePage, FitCount, ListedExample
from proctor.datasets.derivations import Derivation, Filter, NewVersion
from proctor.datasets.differing import VersionDiff
from proctor.datasets.exporting import ExportFormat
from proctor.datasets.formats.catalogue import found_format
from proctor.datasets.formats.rows import opened
from proctor.datasets.quality import DatasetQuality
from proctor.datasets.registry import DatasetRow
from proctor.datasets.service import DatasetDetail, ImportAsked, Imported, Made
from proctor.datasets.versions import DatasetVersion
from proctor.kernel.paths import new_file
from proctor.sdk.archives import unpack_download
from proctor.sdk.cursors import Listing
from proctor.sdk.dataset_work import packed_folder
from proctor.sdk.datasets import DatasetExport
from proctor.sdk.remote.answers import part, read
from proctor.sdk.remote.transport import API, Transport
from proctor.sdk.remote.work import RemoteWork

__all__ = ["RemoteDatasets"]

_LARGEST_PAGE = 1000
OnRows = Callable[[int], None]


class RemoteDatasets:
    """What a server answers of datasets."""

    def __init__(self, transport: Transport, work: RemoteWork) -> None:
        self._transport, self._work = transport, work

    def all(self) -> list[DatasetRow]:
        """Every dataset, by name."""
        return read(list[DatasetRow], list(self._transport.pages("datasets", limit=_LARGEST_PAGE)))

    def versions(self, name: str) -> list[DatasetVersion]:
        """A dataset's versions, the newest first."""
        return read(list[DatasetVersion], list(self._transport.pages(f"datasets/{part(name)}/versions")))

    def show(self, reference: str) -> DatasetDetail:
        """A version with its splits."""
        return read(DatasetDetail, self._transport.get(f"datasets/{part(reference)}"))

    def examples(self, wanted: Filter, *, start: int = 0, limit: int = 100) -> ExamplePage:
        """Examples of ``wanted.source`` that fit, from a position on."""
        asked = _asked(wanted)
        filters = tuple((name, value) for name, values in asked.items() for value in _each(values))
        listing = Listing(f"{API}/datasets/{wanted.source}/examples", filters)
        cursor = listing.cursor([start]) if start else None
        path = f"datasets/{part(wanted.source)}/examples"
        found: list[ListedExample] = []
        while True:
            size = min(_LARGEST_PAGE, limit - len(found))
            page = self._transport.get(path, **asked, limit=size, cursor=cursor)
            found += read(list[ListedExample], page["items"])
            cursor = page["next"]
            if cursor is None or len(found) >= limit:
                break
        after = None if cursor is None else found[-1].position + 1
        return ExamplePage(examples=tuple(found), next=after)

    def count(self, wanted: Filter) -> FitCount:
        """How many examples of ``wanted.source`` fit."""
        return read(FitCount, self._transport.get(f"datasets/{part(wanted.source)}/examples/count", **_asked(wanted)))

    def quality(self, reference: str) -> DatasetQuality:
        """What to know of a version before trusting numbers on it."""
        return read(DatasetQuality, self._transport.get(f"datasets/{part(reference)}/quality"))

    def diff(self, before: str, after: str, *, beyond: str = "", limit: int = 100) -> VersionDiff:
        """How two versions differ, with the examples whose ids come after ``beyond``."""
        path = f"datasets/{part(after)}/diff"
        return read(VersionDiff, self._transport.get(path, against=before, beyond=beyond or None, limit=limit))

    def import_file(
        self, path: Path, asked: ImportAsked, new: NewVersion, *, on_rows: OnRows = lambda _: None
    ) -> Imported:
        """Send a file, or a folder as a tar, and have a version made of it."""
        kind = found_format(path, asked.format)
        params = {
            "name": new.dataset,
            "version": new.version,
            "metadata": [f"{key}={value}" for key, value in new.metadata.items()],
            "file": path.name,
            "format": kind.value,
            "id_field": asked.fields.id,
            "input_field": asked.fields.input,
            "expected_field": asked.fields.expected,
            "skip_malformed": asked.skip_malformed,
            "dry_run": asked.dry_run,
        }
        media = "application/x-tar" if path.is_dir() else "application/octet-stream"
        with _content(path) as content:
            sent = self._transport.send(
                "POST", "datasets/imports", params=params, content=content, headers={"Content-Type": media}
            )
        return read(Imported, self._work.ended(sent.json(), on_rows).result)

    def derive(self, derivation: Derivation, new: NewVersion, *, on_rows: OnRows = lambda _: None) -> Made:
        """Have a version made of others."""
        body = {"new": new.model_dump(mode="json"), "derivation": derivation.model_dump(mode="json")}
        return read(Made, self._work.ended(self._transport.post("datasets/derivations", body), on_rows).result)

    def split(self, reference: str, shares: Mapping[str, float], *, seed: int) -> DatasetDetail:
        """Give a version splits with those shares."""
        body = {"shares": dict(shares), "seed": seed}
        return read(DatasetDetail, self._transport.post(f"datasets/{part(reference)}/splits", body))

    def export(
        self, reference: str, path: Path, kind: ExportFormat, *, on_rows: OnRows = lambda _: None
    ) -> DatasetExport:
        """Have a version written to a file, and fetch it here, all of it or nothing."""
        with new_file(path) as filling, tempfile.TemporaryDirectory(dir=filling.parent, prefix=".proctor-") as place:
            body = {"format": kind.value, "file": "export"}
            asked = self._transport.post(f"datasets/{part(reference)}/exports", body)
            done = self._work.ended(asked, on_rows)
            with tempfile.TemporaryFile(dir=place) as packed:
                self._work.fetch(done.id, packed)
                unpack_download(packed, Path(place))
            (Path(place) / "export").rename(filling)
        return DatasetExport(
            version=read(DatasetVersion, done.result["version"]), path=path, rows=int(done.result["rows"])
        )


def _asked(wanted: Filter) -> dict[str, Any]:
    return wanted.model_dump(mode="json", exclude={"operation", "source"}, exclude_defaults=True)


def _each(value: Any) -> list[str]:
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]


@contextmanager
def _content(path: Path) -> Iterator[IO[bytes]]:
    if path.is_dir():
        with packed_folder(path) as tar:
            yield tar
    else:
        with opened(path) as file:
            yield file
