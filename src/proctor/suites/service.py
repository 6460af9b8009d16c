"""Suites in the database: import, find, list, label, and bring a task's files to this machine."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from uuid import UUID

from pydantic import JsonValue, TypeAdapter
from sqlalchemy import Connection, Row, Select, case, func, select
from sqlalchemy.dialects.postgresql import insert

from proctor.database.engine import Database
from proctor.kernel.errors import IntegrityError
from proctor.objects.store import ObjectStore, StoredObject
from proctor.suites import labels
from proctor.suites.archives import pack, unpack
from proctor.suites.errors import ArchiveInvalid, SuiteUnknown, TaskUnknown
from proctor.suites.images import images_of
from proctor.suites.labels import Alias
from proctor.suites.loaded import LoadedSuite, LoadedTask
from proctor.suites.models import suite, suite_task, task
from proctor.suites.references import check_label, is_prefix, unknown_suite
from proctor.suites.tasks import Task, TaskProblem

__all__ = [
    "Alias",
    "StoredTask",
    "SuiteDetail",
    "SuiteRow",
    "SuiteService",
    "TaskHead",
    "TaskName",
    "heads_of",
    "named_archives",
    "names_of",
    "tasks_of",
]

_TASK: TypeAdapter[Task] = TypeAdapter(Task)
_PROBLEMS: TypeAdapter[tuple[TaskProblem, ...]] = TypeAdapter(tuple[TaskProblem, ...])
_PIECE: int = 1024 * 1024


@dataclass(frozen=True, kw_only=True)
class StoredTask:
    """A task of a suite as it is stored. ``task`` is ``None`` exactly where there are problems."""

    position: int
    name: str
    content_digest: str
    agent_digest: str
    verifier_digest: str
    task: Task | None
    problems: tuple[TaskProblem, ...] = ()


@dataclass(frozen=True, kw_only=True)
class TaskName:
    """A task of a suite by name: what a page of cells is read with."""

    name: str
    content_digest: str


@dataclass(frozen=True, kw_only=True)
class TaskHead:
    """A task as the head of a column: its name, and what its author says of it."""

    digest: str
    name: str
    category: str | None
    difficulty: str | None
    tags: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class SuiteRow:
    """A suite in a list."""

    suite_id: str
    task_count: int
    malformed_count: int
    source: str
    created_at: datetime
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SuiteDetail:
    """A suite with its tasks."""

    row: SuiteRow
    tasks: tuple[StoredTask, ...]


class SuiteService:
    """What can be done with suites, for one tenant at a time."""

    def __init__(self, database: Database, objects: ObjectStore) -> None:
        self._database = database
        self._objects = objects

    def import_suite(self, tenant: UUID, loaded: LoadedSuite, *, source: str) -> str:
        """Store a suite and its tasks; its id. Importing it again changes nothing and costs one query.

        Raises ``IntegrityError`` if a stored task of the same digest says something else.
        """

        def known_tasks(connection: Connection) -> frozenset[str] | None:
            if _suite_known(connection, tenant, loaded.suite_id):
                return None
            return _known_tasks(connection, tenant, loaded.tasks)

        known = self._database.as_tenant(tenant, known_tasks)
        if known is None:
            return loaded.suite_id
        new = [item for item in loaded.tasks if item.content_digest not in known]
        archives = self._store_archives(tenant, new)

        def insert_all(connection: Connection) -> None:
            _insert_tasks(connection, tenant, new, archives)
            _check_tasks(connection, tenant, loaded.tasks, archives)
            _insert_suite(connection, tenant, loaded, source)

        self._database.as_tenant(tenant, insert_all)
        return loaded.suite_id

    def resolve(self, tenant: UUID, reference: str) -> str:
        """The suite id that an id, its first eight characters or more, or a label stands for.

        Raises ``SuiteUnknown`` with the nearest labels, or with the ids that a prefix fits.
        """

        def look(connection: Connection) -> tuple[Mapping[str, str], Sequence[str]]:
            names = _labels(connection, tenant)
            if reference in names or not is_prefix(reference):
                return names, ()
            return names, _by_prefix(connection, tenant, reference)

        names, found = self._database.as_tenant(tenant, look)
        if reference in names:
            return names[reference]
        if len(found) > 1:
            raise SuiteUnknown(f"{reference!r} fits several suites: {', '.join(found)}.")
        if not found:
            raise unknown_suite(reference, sorted(names))
        return found[0]

    def list_suites(self, tenant: UUID) -> list[SuiteRow]:
        """Every suite, the newest first."""

        def work(connection: Connection) -> list[SuiteRow]:
            names = _labels(connection, tenant)
            rows = connection.execute(_suite_rows(tenant).order_by(suite.c.created_at.desc(), suite.c.suite_id))
            return [_suite_row(row, names) for row in rows]

        return self._database.as_tenant(tenant, work)

    def show(self, tenant: UUID, suite_id: str) -> SuiteDetail:
        """A suite by its full id, with its tasks. Raises ``SuiteUnknown``."""

        def work(connection: Connection) -> SuiteDetail:
            row = connection.execute(_suite_rows(tenant).where(suite.c.suite_id == suite_id)).one_or_none()
            if row is None:
                raise SuiteUnknown(where=suite_id)
            tasks = connection.execute(_task_rows(tenant, suite_id))
            return SuiteDetail(
                row=_suite_row(row, _labels(connection, tenant)), tasks=tuple(_stored_task(item) for item in tasks)
            )

        return self._database.as_tenant(tenant, work)

    def tasks(self, tenant: UUID, suite_id: str) -> list[StoredTask]:
        """The tasks of a suite by its full id, in order; the malformed ones too. Raises ``SuiteUnknown``."""

        def work(connection: Connection) -> list[StoredTask]:
            if not _suite_known(connection, tenant, suite_id):
                raise SuiteUnknown(where=suite_id)
            return tasks_of(connection, tenant, suite_id)

        return self._database.as_tenant(tenant, work)

    def task(self, tenant: UUID, content_digest: str) -> StoredTask:
        """One task by its content digest; its position is 0. Raises ``TaskUnknown``."""
        chosen = (task.c.tenant_id == tenant) & (task.c.content_digest == content_digest)
        row = self._database.as_tenant(tenant, lambda c: c.execute(select(task).where(chosen)).one_or_none())
        if row is None:
            raise TaskUnknown(where=content_digest)
        return _stored_task(row)

    def set_alias(self, tenant: UUID, name: str, suite_id: str, *, source: str) -> None:
        """Let a label stand for a suite from now on; what it stood for before is kept.

        Raises ``AliasInvalid`` for a malformed label and ``SuiteUnknown``.
        """
        check_label(name)

        def work(connection: Connection) -> None:
            if not _suite_known(connection, tenant, suite_id):
                raise SuiteUnknown(where=suite_id)
            labels.point(connection, tenant, labels.SUITE, name, suite_id, source=source)

        self._database.as_tenant(tenant, work)

    def aliases(self, tenant: UUID) -> list[Alias]:
        """Every label with its whole history, by name and time."""
        return self._database.as_tenant(tenant, lambda c: labels.history(c, tenant, labels.SUITE))

    def materialise(self, tenant: UUID, content_digest: str, cache: Path) -> Path:
        """The folder of a task's files on this machine, fetched at most once into ``cache``.

        Raises ``TaskUnknown``, ``TaskUnknown`` also for a malformed task, and ``ArchiveInvalid``.
        """
        stored = self._archive_of(tenant, content_digest)
        folder = cache / content_digest
        if folder.is_dir():
            return folder
        cache.mkdir(parents=True, exist_ok=True, mode=0o700)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".fetch.") as place:
            archive = Path(place) / "task.tar"
            self._objects.get_file(stored.key, archive)
            _verify(archive, stored)
            unpack(archive, folder)
        return folder

    def _archive_of(self, tenant: UUID, content_digest: str) -> StoredObject:
        chosen = (task.c.tenant_id == tenant) & (task.c.content_digest == content_digest)
        columns = select(task.c.archive_key, task.c.archive_sha256, task.c.archive_size)
        row = self._database.as_tenant(tenant, lambda c: c.execute(columns.where(chosen)).one_or_none())
        if row is None or row.archive_key is None:
            raise TaskUnknown(
                "" if row is None else "The task is malformed; there is nothing to run.", where=content_digest
            )
        return StoredObject(key=row.archive_key, sha256=row.archive_sha256, size=row.archive_size)

    def _store_archives(self, tenant: UUID, tasks: Iterable[LoadedTask]) -> dict[str, StoredObject]:
        stored: dict[str, StoredObject] = {}
        with tempfile.TemporaryDirectory(prefix="proctor-import-") as place:
            archive = Path(place) / "task.tar"
            for item in tasks:
                if item.task is not None:
                    pack(item.files, archive)
                    key = f"{tenant}/tasks/{item.content_digest}.tar"
                    stored[item.content_digest] = self._objects.put_file(key, archive)
        return stored


def _suite_known(connection: Connection, tenant: UUID, suite_id: str) -> bool:
    chosen = (suite.c.tenant_id == tenant) & (suite.c.suite_id == suite_id)
    return connection.execute(select(suite.c.suite_id).where(chosen)).first() is not None


def _known_tasks(connection: Connection, tenant: UUID, tasks: Iterable[LoadedTask]) -> frozenset[str]:
    digests = [item.content_digest for item in tasks]
    chosen = (task.c.tenant_id == tenant) & task.c.content_digest.in_(digests)
    return frozenset(connection.execute(select(task.c.content_digest).where(chosen)).scalars())


def _insert_tasks(
    connection: Connection, tenant: UUID, tasks: Iterable[LoadedTask], archives: Mapping[str, StoredObject]
) -> None:
    rows = [_task_values(tenant, item, archives.get(item.content_digest)) for item in tasks]
    if rows:
        connection.execute(insert(task).on_conflict_do_nothing(), rows)


def _task_values(tenant: UUID, item: LoadedTask, archive: StoredObject | None) -> dict[str, object]:
    return {
        "tenant_id": tenant,
        "content_digest": item.content_digest,
        "agent_digest": item.agent_digest,
        "verifier_digest": item.verifier_digest,
        "name": item.name,
        "config": None if item.task is None else _task_document(item.task),
        "images": images_of(item),
        "problem": _PROBLEMS.dump_python(item.problems, mode="json") or None,
        "archive_key": None if archive is None else archive.key,
        "archive_sha256": None if archive is None else archive.sha256,
        "archive_size": None if archive is None else archive.size,
    }


def _check_tasks(
    connection: Connection, tenant: UUID, tasks: Sequence[LoadedTask], archives: Mapping[str, StoredObject]
) -> None:
    digests = [item.content_digest for item in tasks]
    chosen = (task.c.tenant_id == tenant) & task.c.content_digest.in_(digests)
    rows = {row.content_digest: row for row in connection.execute(select(task).where(chosen))}
    for item in tasks:
        row, archive = rows[item.content_digest], archives.get(item.content_digest)
        same = (row.agent_digest, row.verifier_digest) == (item.agent_digest, item.verifier_digest)
        if not same or (archive is not None and archive.sha256 != row.archive_sha256):
            raise IntegrityError("A stored task of this digest says something else.", where=item.content_digest)


def _insert_suite(connection: Connection, tenant: UUID, loaded: LoadedSuite, source: str) -> None:
    row = {"tenant_id": tenant, "suite_id": loaded.suite_id, "task_count": len(loaded.tasks), "source": source}
    connection.execute(insert(suite).values(row).on_conflict_do_nothing())
    members = [
        {
            "tenant_id": tenant,
            "suite_id": loaded.suite_id,
            "content_digest": item.content_digest,
            "position": position,
        }
        for position, item in enumerate(loaded.tasks)
    ]
    connection.execute(insert(suite_task).on_conflict_do_nothing(), members)


def _suite_rows(tenant: UUID) -> Select[tuple[str, int, str, datetime, int]]:
    malformed = func.count(case((task.c.problem.is_not(None), 1)))
    return (
        select(suite.c.suite_id, suite.c.task_count, suite.c.source, suite.c.created_at, malformed.label("malformed"))
        .join(suite_task, (suite_task.c.tenant_id == suite.c.tenant_id) & (suite_task.c.suite_id == suite.c.suite_id))
        .join(
            task,
            (task.c.tenant_id == suite_task.c.tenant_id) & (task.c.content_digest == suite_task.c.content_digest),
        )
        .where(suite.c.tenant_id == tenant)
        .group_by(suite.c.tenant_id, suite.c.suite_id)
    )


def _task_rows(tenant: UUID, suite_id: str) -> Select[tuple[object, ...]]:
    return (
        select(task, suite_task.c.position)
        .join(
            suite_task,
            (task.c.tenant_id == suite_task.c.tenant_id) & (task.c.content_digest == suite_task.c.content_digest),
        )
        .where((suite_task.c.tenant_id == tenant) & (suite_task.c.suite_id == suite_id))
        .order_by(suite_task.c.position)
    )


def _labels(connection: Connection, tenant: UUID) -> dict[str, str]:
    """What each label stands for at this moment."""
    return labels.current(connection, tenant, labels.SUITE)


def _by_prefix(connection: Connection, tenant: UUID, prefix: str) -> Sequence[str]:
    chosen = (suite.c.tenant_id == tenant) & suite.c.suite_id.startswith(prefix, autoescape=True)
    return connection.execute(select(suite.c.suite_id).where(chosen).order_by(suite.c.suite_id)).scalars().all()


def _suite_row(row: Row[tuple[str, int, str, datetime, int]], names: Mapping[str, str]) -> SuiteRow:
    return SuiteRow(
        suite_id=row.suite_id,
        task_count=row.task_count,
        malformed_count=row.malformed,
        source=row.source,
        created_at=row.created_at,
        aliases=tuple(sorted(name for name, target in names.items() if target == row.suite_id)),
    )


def tasks_of(connection: Connection, tenant: UUID, suite_id: str) -> list[StoredTask]:
    """The tasks of a suite by its full id, in order, in the caller's transaction; none of one that is not there."""
    return [_stored_task(row) for row in connection.execute(_task_rows(tenant, suite_id))]


def names_of(
    connection: Connection, tenant: UUID, suite_id: str, digests: Iterable[str] | None = None
) -> list[TaskName]:
    """The names of a suite's tasks by its full id, in order; ``digests``: of those only. The tasks are not read."""
    rows = _task_rows(tenant, suite_id).with_only_columns(task.c.name, task.c.content_digest)
    if digests is not None:
        rows = rows.where(suite_task.c.content_digest.in_(list(digests)))
    return [TaskName(name=name, content_digest=digest) for name, digest in connection.execute(rows)]


def heads_of(connection: Connection, tenant: UUID, suite_id: str, digests: Iterable[str]) -> list[TaskHead]:
    """These tasks in the order of a suite, then those that are not in it, by name. The tasks are not read whole."""
    of_suite = (suite_task.c.tenant_id == tenant) & (suite_task.c.suite_id == suite_id)
    rows = (
        select(task.c.content_digest, task.c.name, task.c.config["metadata"].label("metadata"))
        .outerjoin(suite_task, of_suite & (suite_task.c.content_digest == task.c.content_digest))
        .where(task.c.tenant_id == tenant, task.c.content_digest.in_(list(digests)))
        .order_by(suite_task.c.position.nulls_last(), task.c.name, task.c.content_digest)
    )
    return [_head_of(*row) for row in connection.execute(rows)]


def _head_of(digest: str, name: str, metadata: object) -> TaskHead:
    """Authors write what they like there: what is no word of a usual length is left out."""
    said = metadata if isinstance(metadata, Mapping) else {}
    tags = said.get("tags")
    words = [_word(one) for one in tags[:MOST_TAGS]] if isinstance(tags, list) else []
    return TaskHead(
        digest=digest,
        name=name,
        category=_word(said.get("category")),
        difficulty=_word(said.get("difficulty")),
        tags=tuple(one for one in words if one is not None),
    )


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and 0 < len(value) <= LONGEST_WORD else None


MOST_TAGS: int = 50
LONGEST_WORD: int = 100
"""More is text, and not what anybody groups by."""


def named_archives(connection: Connection, tenant: UUID, keys: Sequence[str]) -> set[str]:
    """Which of these objects are the archives of tasks."""
    chosen = (task.c.tenant_id == tenant) & task.c.archive_key.in_(list(keys))
    return set(connection.execute(select(task.c.archive_key).where(chosen)).scalars())


def _stored_task(row: Row[tuple[object, ...]]) -> StoredTask:
    values = row._mapping
    return StoredTask(
        position=values.get("position", 0),
        name=values["name"],
        content_digest=values["content_digest"],
        agent_digest=values["agent_digest"],
        verifier_digest=values["verifier_digest"],
        task=_task_of(values["name"], values["config"]),
        problems=_PROBLEMS.validate_python(values["problem"] or ()),
    )


def _task_document(item: Task) -> dict[str, JsonValue]:
    """A task without its name, which is a label and not content: a folder may be renamed."""
    document: dict[str, JsonValue] = _TASK.dump_python(item, mode="json")
    del document["name"]
    return document


def _task_of(name: str, document: Mapping[str, JsonValue] | None) -> Task | None:
    return None if document is None else _TASK.validate_python({**document, "name": name})


def _verify(archive: Path, stored: StoredObject) -> None:
    hasher = hashlib.sha256()
    with archive.open("rb") as file:
        while piece := file.read(_PIECE):
            hasher.update(piece)
    if hasher.hexdigest() != stored.sha256:
        raise ArchiveInvalid("The archive's checksum is not the stored one.", where=stored.key)
