"""Datasets of a tenant: brought, looked at, compared, made into others, split, written out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard
from uuid import UUID

from proctor.database.engine import Database
from proctor.datasets import browsing, differing, quality, registry
from proctor.datasets.alike import marked_flaws, marks_of
from proctor.datasets.browsing import ExamplePage, FitCount, Wanted
from proctor.datasets.derivations import Dedupe, Derivation, Filter, Merge, NewVersion, Relabel, Sample
from proctor.datasets.deriving import Deriver
from proctor.datasets.differing import Difference, VersionDiff, count_changes, version_files
from proctor.datasets.errors import SplitInvalid
from proctor.datasets.exporting import ExportFormat, write_version
from proctor.datasets.fields import Fields
from proctor.datasets.formats.catalogue import Format, found_format, rows_of
from proctor.datasets.making import Draft, Maker
from proctor.datasets.matching import Marks
from proctor.datasets.problems import Problem
from proctor.datasets.quality import DatasetQuality
from proctor.datasets.queries import FieldTerm, Flaw, FlawTerm, Term, parse_query
from proctor.datasets.references import check_name
from proctor.datasets.registry import DatasetRow
from proctor.datasets.splits import Split, cut
from proctor.datasets.staging import Staged, files_of, stage
from proctor.datasets.versions import DatasetVersion, Lineage, Parent
from proctor.datasets.workbench import workbench
from proctor.datasets.writing import VersionWriter, Written
from proctor.kernel.canonical import Json, digest
from proctor.kernel.errors import UsageError
from proctor.kernel.extras import need_data_extra
from proctor.objects.store import ObjectStore

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["DatasetDetail", "DatasetService", "ImportAsked", "Imported", "Made"]

OnRows = Callable[[int], None]


@dataclass(frozen=True, kw_only=True)
class ImportAsked:
    """How a file is to be read. ``called``: what messages and the lineage call it; ``dry_run``: only told."""

    format: Format | None = None
    fields: Fields = field(default_factory=Fields)
    skip_malformed: bool = False
    dry_run: bool = False
    called: str | None = None


@dataclass(frozen=True, kw_only=True)
class Made:
    """What became of a wish for a version.

    ``version``: the one that has the content now, ``None`` of a dry run that would make one; ``made``: whether it is
    new, or would be; ``label``: what it is called, or would be; ``rows``: its examples.
    """

    dataset: str
    label: str
    made: bool
    version: DatasetVersion | None
    rows: int


@dataclass(frozen=True, kw_only=True)
class Imported(Made):
    """What became of an import.

    ``difference``: to the newest version before it, ``None`` where there was none; ``left_out``: rows that are no
    examples, ``problems`` the first of theirs.
    """

    difference: Difference | None
    left_out: int
    problems: tuple[Problem, ...]


@dataclass(frozen=True, kw_only=True)
class DatasetDetail:
    """A version with its splits."""

    version: DatasetVersion
    splits: tuple[Split, ...]


class DatasetService:
    """What can be done with datasets, for one tenant at a time. Raises ``DataExtraMissing`` where it can't be."""

    def __init__(
        self, database: Database, objects: ObjectStore, scratch: Callable[[], AbstractContextManager[Path]]
    ) -> None:
        """``scratch``: makes an empty folder of this machine, with room for what is imported, twice."""
        need_data_extra()
        self._database, self._objects, self._scratch = database, objects, scratch
        self._maker = Maker(database, objects)

    # --- looking ------------------------------------------------------------------------------------------------------

    def list_datasets(self, tenant: UUID) -> list[DatasetRow]:
        """Every dataset, by name."""
        return self._database.as_tenant(tenant, lambda c: registry.datasets(c, tenant))

    def versions(
        self, tenant: UUID, name: str, *, before: int | None = None, limit: int | None = None
    ) -> list[tuple[int, DatasetVersion]]:
        """A dataset's versions with their positions, the newest first. Raises ``DatasetUnknown``."""
        work = partial(registry.versions, tenant=tenant, name=name, before=before, limit=limit)
        return self._database.as_tenant(tenant, work)

    def find(self, tenant: UUID, reference: str) -> DatasetVersion:
        """A version by ``NAME``, ``NAME@VERSION``, ``NAME@latest``, or an id's beginning. Raises ``DatasetUnknown``."""
        return self._database.as_tenant(tenant, lambda c: registry.find(c, tenant, reference))

    def show(self, tenant: UUID, reference: str) -> DatasetDetail:
        """A version with its splits. Raises ``DatasetUnknown``."""
        version = self.find(tenant, reference)
        return DatasetDetail(version=version, splits=self._splits(tenant, version))

    def examples(
        self, tenant: UUID, version: DatasetVersion, wanted: Filter, *, start: int = 0, limit: int = 100
    ) -> ExamplePage:
        """A page of the examples that are wanted, from a position on. Raises ``SplitInvalid``, ``QueryInvalid``."""
        found = self._wanted(tenant, version, wanted)
        return browsing.page_of(self._objects, version, found, start=start, limit=limit)

    def count(self, tenant: UUID, version: DatasetVersion, wanted: Filter) -> FitCount:
        """How many examples are wanted. Raises ``SplitInvalid``, ``QueryInvalid``."""
        return browsing.count_of(self._objects, version, self._wanted(tenant, version, wanted))

    def diff(self, before: DatasetVersion, after: DatasetVersion, *, beyond: str = "", limit: int = 100) -> VersionDiff:
        """How two versions differ by the ids of their examples, with a page of those that do."""
        with self._scratch() as folder:
            return differing.changes(self._objects, before, after, folder, beyond=beyond, limit=limit)

    def quality(self, tenant: UUID, version: DatasetVersion) -> DatasetQuality:
        """What is to be known of a version before numbers on it are trusted: it looks at all examples."""
        with self._scratch() as folder:
            return quality.quality_of(self._objects, version, self._splits(tenant, version), folder)

    def export(
        self, version: DatasetVersion, path: Path, kind: ExportFormat, *, on_rows: OnRows = lambda _: None
    ) -> None:
        """Write a version to a new file. Raises ``ObjectMissing``, ``ObjectDamaged``."""
        write_version(self._objects, version, path, kind, on_rows)

    # --- making -------------------------------------------------------------------------------------------------------

    def import_file(
        self,
        tenant: UUID,
        path: Path,
        asked: ImportAsked,
        new: NewVersion,
        *,
        creator: str,
        on_rows: OnRows = lambda _: None,
    ) -> Imported:
        """Make a version of a file's or folder's examples, unless the newest one has them all as they are.

        Raises ``FormatUnclear``, ``SourceInvalid``, ``RowsMalformed``, ``DatasetEmpty``, ``VersionTaken``.
        """
        check_name(new.dataset)
        called = (asked.called or path.name).encode(errors="replace").decode()  # a file's name need not be text
        with _telling(path, asked.called), self._scratch() as folder:
            kind = found_format(path, asked.format)
            rows = rows_of(path, kind)
            staged = stage(rows, asked.fields, folder, where=called, skip=asked.skip_malformed, on_rows=on_rows)
            before = self._maker.newest(tenant, new.dataset)
            lineage = Lineage(
                operation="import",
                parameters={"format": kind.value, "file": called, "left_out": staged.left_out},
                parents=() if before is None else (_parent(before),),
            )
            made = self._made(tenant, staged.written, lineage, new, creator=creator, dry_run=asked.dry_run)
            difference = None if before is None else self._difference(before, staged.written, folder)
        return _imported(made, staged, difference)

    def derive(
        self,
        tenant: UUID,
        derivation: Derivation,
        new: NewVersion,
        *,
        creator: str,
        on_rows: OnRows = lambda _: None,
    ) -> Made:
        """Make a version of others. Raises what the derivation raises, ``DatasetEmpty``, ``VersionTaken``."""
        check_name(new.dataset)
        references = derivation.sources if isinstance(derivation, Merge) else [derivation.source]
        parents = [self.find(tenant, reference) for reference in references]
        lineage = Lineage(
            operation=derivation.operation,
            parameters=_parameters(derivation),
            parents=tuple(map(_parent, parents)),
        )
        with self._scratch() as folder, workbench(folder) as asked, VersionWriter(folder) as writer:
            for table in self._derived(tenant, Deriver(self._objects, folder, asked), derivation, parents):
                writer.add(table)
                on_rows(table.num_rows)
            return self._made(tenant, writer.finish(), lineage, new, creator=creator)

    def split(
        self, tenant: UUID, reference: str, shares: Mapping[str, float], *, seed: int, creator: str
    ) -> DatasetDetail:
        """Give a version splits by the hashes of its ids; the same again changes nothing. Raises ``SplitInvalid``."""
        version, new = self.find(tenant, reference), cut(shares, seed)
        found = self._database.as_tenant(
            tenant, lambda c: registry.add_splits(c, tenant, version.id, new, creator=creator)
        )
        return DatasetDetail(version=version, splits=tuple(found))

    def _derived(
        self, tenant: UUID, deriver: Deriver, derivation: Derivation, parents: Sequence[DatasetVersion]
    ) -> Iterator[pa.Table]:
        match derivation:
            case Filter():
                return deriver.filter(parents[0], self._wanted(tenant, parents[0], derivation))
            case Merge():
                return deriver.merge(parents, derivation)
            case Relabel():
                return deriver.relabel(parents[0], derivation)
            case Dedupe():
                return deriver.dedupe(parents[0], derivation)
            case Sample():
                return deriver.sample(parents[0], derivation)

    def _made(
        self,
        tenant: UUID,
        written: Written,
        lineage: Lineage,
        new: NewVersion,
        *,
        creator: str,
        dry_run: bool = False,
    ) -> Made:
        draft = Draft(tenant=tenant, written=written, lineage=lineage, new=new, creator=creator, now=datetime.now(UTC))
        kept = self._maker.make(draft, dry_run=dry_run)
        return Made(dataset=new.dataset, label=kept.label, made=kept.new, version=kept.version, rows=written.rows)

    def _difference(self, before: DatasetVersion, written: Written, folder: Path) -> Difference:
        if before.content_hash == written.content_hash:
            return Difference(added=0, changed=0, removed=0, same=written.rows)
        with workbench(folder) as asked:
            return count_changes(asked, version_files(self._objects, before, folder), files_of(written))

    def _wanted(self, tenant: UUID, version: DatasetVersion, wanted: Filter) -> Wanted:
        """What a filter asks for, with what has to be known for it. Raises ``SplitInvalid``, ``QueryInvalid``."""
        terms = parse_query(wanted.query) if wanted.query else ()
        known: Mapping[str, Split] = {}
        if wanted.split is not None or any(map(_is_of_splits, terms)):
            known = {split.name: split for split in self._splits(tenant, version)}
        named = [(wanted.split, "split")] + [(term.value, "query") for term in terms if _is_split(term)]
        for name, where in named:
            _check_split(version, known, name, where)
        marks: Marks = {}
        if flaws := marked_flaws(terms):
            with self._scratch() as folder:
                marks = marks_of(self._objects, version, folder, list(known.values()), flaws)
        return Wanted(
            tags=tuple(wanted.tags),
            without_tags=tuple(wanted.without_tags),
            difficulty=wanted.difficulty,
            source=wanted.from_source,
            split=None if wanted.split is None else known[wanted.split],
            words=wanted.words,
            terms=terms,
            splits=known,
            marks=marks,
        )

    def _splits(self, tenant: UUID, version: DatasetVersion) -> tuple[Split, ...]:
        return tuple(self._database.as_tenant(tenant, lambda c: registry.splits(c, tenant, version.id)))


def _is_split(term: Term) -> TypeGuard[FieldTerm]:
    return isinstance(term, FieldTerm) and term.name == "split" and not term.is_metadata


def _is_of_splits(term: Term) -> bool:
    return _is_split(term) or (isinstance(term, FlawTerm) and term.flaw is Flaw.LEAKED)


def _check_split(version: DatasetVersion, known: Mapping[str, Split], name: str | None, where: str) -> None:
    if name is None or name in known:
        return
    there = f"it has {', '.join(known)}" if known else "it has none"
    raise SplitInvalid(
        f"{version.reference} has no split {name[:100]!r}; {there}.",
        where=where,
        remedy="`proctor dataset split` makes them.",
    )


@contextmanager
def _telling(path: Path, called: str | None) -> Iterator[None]:
    """A server's own paths are nobody's business: places are told as they were called."""
    try:
        yield
    except UsageError as error:
        if called is not None and error.where is not None:
            error.where = error.where.replace(str(path), called)
        raise


def _parent(version: DatasetVersion) -> Parent:
    return Parent(id=version.id, dataset=version.dataset, version=version.version)


def _parameters(derivation: Derivation) -> Mapping[str, Json]:
    """What was asked for but for the sources, which are the parents; of many labels their number and digest."""
    if isinstance(derivation, Relabel):
        return {"labels": len(derivation.labels), "sha256": digest(derivation.labels)}
    asked = derivation.model_dump(mode="json", exclude={"operation", "source", "sources"}, exclude_defaults=True)
    return dict(asked)


def _imported(made: Made, staged: Staged, difference: Difference | None) -> Imported:
    return Imported(**vars(made), difference=difference, left_out=staged.left_out, problems=staged.problems)
