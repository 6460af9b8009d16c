"""Suites in a real PostgreSQL: importing, naming, and bringing tasks back."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from sqlalchemy import func, select

from proctor.database.engine import Database
from proctor.kernel.errors import IntegrityError
from proctor.objects.store import ObjectStore
from proctor.suites.errors import AliasInvalid, ArchiveInvalid, SuiteUnknown, TaskUnknown
from proctor.suites.files import read_tree
from proctor.suites.loading import load_suite
from proctor.suites.models import suite, suite_task, task
from proctor.suites.service import SuiteService
from proctor.suites.tasks import VerificationMode

BASICS = Path(__file__).parents[2] / "examples/basics"


@pytest.fixture
def suites(database: Database, objects: ObjectStore) -> SuiteService:
    return SuiteService(database, objects)


def write_suite(folder: Path, *, malformed: bool = False) -> Path:
    for name in ("one", "two"):
        (folder / name / "tests").mkdir(parents=True)
        (folder / name / "task.toml").write_text("")
        (folder / name / "instruction.md").write_text(f"Do {name}.\n")
        (folder / name / "tests/test.sh").write_text("#!/bin/bash\n")
    if malformed:
        (folder / "two/task.toml").write_text("[agent\n")
    return folder


def counts(database: Database, tenant: UUID) -> tuple[int, ...]:
    with database.tenant(tenant) as connection:
        tables = (task, suite, suite_task)
        return tuple(connection.execute(select(func.count()).select_from(table)).scalar_one() for table in tables)


def test_what_is_imported_is_what_is_read_back(suites: SuiteService, tenant: UUID) -> None:
    loaded = load_suite(BASICS)
    suite_id = suites.import_suite(tenant, loaded, source="examples/basics")
    assert suite_id == loaded.suite_id
    stored = suites.tasks(tenant, suite_id)
    assert [item.task for item in stored] == [item.task for item in loaded.tasks]
    assert [item.position for item in stored] == list(range(8))
    for item, there in zip(stored, loaded.tasks, strict=True):
        assert (item.content_digest, item.agent_digest, item.verifier_digest, item.name) == (
            there.content_digest,
            there.agent_digest,
            there.verifier_digest,
            there.name,
        )
    assert suites.task(tenant, stored[3].content_digest) == replace(stored[3], position=0)


def test_importing_again_changes_nothing(
    suites: SuiteService, database: Database, tenant: UUID, tmp_path: Path
) -> None:
    loaded = load_suite(write_suite(tmp_path / "suite"))
    suites.import_suite(tenant, loaded, source="here")
    before = counts(database, tenant)
    suites.import_suite(tenant, loaded, source="there")
    assert counts(database, tenant) == before == (2, 1, 2)
    assert suites.list_suites(tenant)[0].source == "here"


def test_two_suites_share_a_task(suites: SuiteService, database: Database, tenant: UUID, tmp_path: Path) -> None:
    folder = write_suite(tmp_path / "suite")
    suites.import_suite(tenant, load_suite(folder), source="both")
    suites.import_suite(tenant, load_suite(folder / "one"), source="one")
    assert counts(database, tenant) == (2, 2, 3)


def test_imports_at_once_agree(suites: SuiteService, database: Database, tenant: UUID, tmp_path: Path) -> None:
    loaded = load_suite(write_suite(tmp_path / "suite"))
    with ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(lambda source: suites.import_suite(tenant, loaded, source=source), "abcd"))
    assert set(ids) == {loaded.suite_id}
    assert counts(database, tenant) == (2, 1, 2)


def test_a_malformed_task_is_a_row_with_its_problems(suites: SuiteService, tenant: UUID, tmp_path: Path) -> None:
    loaded = load_suite(write_suite(tmp_path / "suite", malformed=True))
    suite_id = suites.import_suite(tenant, loaded, source="x")
    good, bad = suites.show(tenant, suite_id).tasks
    assert good.task is not None
    assert good.task.verifier.mode is VerificationMode.LIVE
    assert bad.task is None
    assert "is not valid TOML" in bad.problems[0].reason
    assert suites.list_suites(tenant)[0].malformed_count == 1
    with pytest.raises(TaskUnknown, match="malformed"):
        suites.materialise(tenant, bad.content_digest, tmp_path / "cache")


def test_the_same_digest_with_other_content_is_an_integrity_error(
    suites: SuiteService, database: Database, tenant: UUID, tmp_path: Path
) -> None:
    folder = write_suite(tmp_path / "suite")
    loaded = load_suite(folder)
    suites.import_suite(tenant, loaded, source="x")
    forged = replace(loaded.tasks[0], verifier_digest="0" * 64)
    with pytest.raises(IntegrityError):
        suites.import_suite(tenant, replace(loaded, suite_id="1" * 64, tasks=(forged,)), source="y")
    assert counts(database, tenant) == (2, 1, 2)


def test_a_renamed_folder_is_the_same_task(suites: SuiteService, tenant: UUID, tmp_path: Path) -> None:
    folder = write_suite(tmp_path / "suite")
    suites.import_suite(tenant, load_suite(folder), source="x")
    (folder / "one").rename(folder / "uno")
    again = load_suite(folder / "uno")
    suite_id = suites.import_suite(tenant, again, source="y")
    assert [item.name for item in suites.tasks(tenant, suite_id)] == ["one"]


def test_tenants_do_not_see_each_other(suites: SuiteService, tenant: UUID, tmp_path: Path) -> None:
    loaded = load_suite(write_suite(tmp_path / "suite"))
    suite_id = suites.import_suite(tenant, loaded, source="x")
    other = uuid4()
    assert suites.list_suites(other) == []
    with pytest.raises(SuiteUnknown):
        suites.resolve(other, suite_id)
    with pytest.raises(SuiteUnknown):
        suites.tasks(other, suite_id)
    with pytest.raises(TaskUnknown):
        suites.materialise(other, loaded.tasks[0].content_digest, tmp_path / "cache")
    assert suites.import_suite(other, loaded, source="x") == suite_id


def test_a_suite_is_found_by_id_prefix_and_label(suites: SuiteService, tenant: UUID, tmp_path: Path) -> None:
    suite_id = suites.import_suite(tenant, load_suite(write_suite(tmp_path / "suite")), source="x")
    suites.set_alias(tenant, "nightly", suite_id, source="me")
    for reference in (suite_id, suite_id[:8], "nightly"):
        assert suites.resolve(tenant, reference) == suite_id
    with pytest.raises(SuiteUnknown, match="Did you mean nightly"):
        suites.resolve(tenant, "nightl")
    with pytest.raises(SuiteUnknown, match="at least its first 8"):
        suites.resolve(tenant, suite_id[:7])
    with pytest.raises(SuiteUnknown, match="no suite '%'"):
        suites.resolve(tenant, "%")


def test_a_prefix_of_two_suites_names_both(suites: SuiteService, tenant: UUID, tmp_path: Path) -> None:
    loaded = load_suite(write_suite(tmp_path / "suite"))
    for end in "01":
        suites.import_suite(tenant, replace(loaded, suite_id="abcdef12" + end * 56), source="x")
    with pytest.raises(SuiteUnknown, match=r"fits several suites: abcdef120+, abcdef121+"):
        suites.resolve(tenant, "abcdef12")


def test_a_label_moves_and_keeps_its_history(suites: SuiteService, tenant: UUID, tmp_path: Path) -> None:
    folder = write_suite(tmp_path / "suite")
    first = suites.import_suite(tenant, load_suite(folder), source="x")
    second = suites.import_suite(tenant, load_suite(folder / "one"), source="x")
    suites.set_alias(tenant, "main", first, source="a")
    suites.set_alias(tenant, "main", second, source="b")
    suites.set_alias(tenant, "main", second, source="again, no change")
    suites.set_alias(tenant, "other", first, source="c")
    old, now, other = suites.aliases(tenant)
    assert (old.target, old.source, old.valid_to) == (first, "a", now.valid_from)
    assert (now.target, now.source, now.valid_to) == (second, "b", None)
    assert (other.name, other.valid_to) == ("other", None)
    assert suites.resolve(tenant, "main") == second
    assert suites.show(tenant, second).row.aliases == ("main",)


def test_a_label_needs_a_known_suite_and_a_plain_name(suites: SuiteService, tenant: UUID) -> None:
    with pytest.raises(AliasInvalid):
        suites.set_alias(tenant, "deadbeef", "0" * 64, source="x")
    with pytest.raises(SuiteUnknown):
        suites.set_alias(tenant, "main", "0" * 64, source="x")


def test_a_task_comes_back_byte_for_byte(suites: SuiteService, tenant: UUID, tmp_path: Path) -> None:
    loaded = load_suite(BASICS)
    suites.import_suite(tenant, loaded, source="x")
    for item in loaded.tasks:
        folder = suites.materialise(tenant, item.content_digest, tmp_path / "cache")
        assert [(file.path, file.sha256) for file in read_tree(folder).files] == [
            (file.path, file.sha256) for file in item.files
        ]
        assert suites.materialise(tenant, item.content_digest, tmp_path / "cache") == folder
    assert len(list((tmp_path / "cache").iterdir())) == 8


def test_many_workers_bring_one_task(suites: SuiteService, tenant: UUID, tmp_path: Path) -> None:
    loaded = load_suite(write_suite(tmp_path / "suite"))
    suites.import_suite(tenant, loaded, source="x")
    digest, cache = loaded.tasks[0].content_digest, tmp_path / "cache"
    with ThreadPoolExecutor(8) as pool:
        folders = set(pool.map(lambda _: suites.materialise(tenant, digest, cache), range(16)))
    assert folders == {cache / digest}
    assert [path.name for path in cache.iterdir()] == [digest]


def test_a_damaged_archive_is_not_unpacked(
    suites: SuiteService, objects: ObjectStore, tenant: UUID, tmp_path: Path
) -> None:
    loaded = load_suite(write_suite(tmp_path / "suite"))
    suites.import_suite(tenant, loaded, source="x")
    digest = loaded.tasks[0].content_digest
    objects.put(f"{tenant}/tasks/{digest}.tar", b"other bytes")
    with pytest.raises(ArchiveInvalid, match="checksum"):
        suites.materialise(tenant, digest, tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []
