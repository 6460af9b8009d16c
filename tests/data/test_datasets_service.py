"""Datasets in a real PostgreSQL and a real object store: versions, references, what is the same, what comes of what."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import UUID

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import func, select

from proctor.database.engine import Database
from proctor.datasets import registry
from proctor.datasets.derivations import Dedupe, Filter, Merge, NewVersion, Relabel, Sample
from proctor.datasets.errors import (
    DatasetEmpty,
    DatasetNameInvalid,
    DatasetUnknown,
    MergeConflict,
    RelabelInvalid,
    RowsMalformed,
    SampleInvalid,
    SplitInvalid,
    VersionTaken,
)
from proctor.datasets.exporting import ExportFormat
from proctor.datasets.models import dataset, dataset_parent, dataset_version
from proctor.datasets.reading import read_rows
from proctor.datasets.service import DatasetService, ImportAsked, Imported
from proctor.datasets.versions import DatasetVersion
from proctor.identity.service import ensure_tenant
from proctor.kernel.ids import new_id
from proctor.objects.store import ObjectStore

pytestmark = pytest.mark.database

ROW = dict[str, Any]


@pytest.fixture
def service(database: Database, objects: ObjectStore) -> DatasetService:
    @contextmanager
    def scratch() -> Iterator[Path]:
        with TemporaryDirectory() as folder:
            yield Path(folder)

    return DatasetService(database, objects, scratch)


@pytest.fixture
def desk(service: DatasetService, tenant: UUID, objects: ObjectStore, tmp_path: Path) -> Desk:
    return Desk(service, tenant, objects, tmp_path)


class Desk:
    """A tenant's hands."""

    def __init__(self, service: DatasetService, tenant: UUID, objects: ObjectStore, folder: Path) -> None:
        self.service, self.tenant, self.objects, self.folder = service, tenant, objects, folder

    def bring(self, name: str, rows: list[ROW], version: str | None = None, **asked: Any) -> Imported:
        path = self.folder / "rows.jsonl"
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        new = NewVersion(dataset=name, version=version)
        return self.service.import_file(self.tenant, path, ImportAsked(**asked), new, creator="ada")

    def made(self, name: str, rows: list[ROW], version: str | None = None) -> DatasetVersion:
        found = self.bring(name, rows, version).version
        assert found is not None
        return found

    def derive(self, derivation: Any, name: str = "derived") -> DatasetVersion:
        found = self.service.derive(self.tenant, derivation, NewVersion(dataset=name), creator="ada").version
        assert found is not None
        return found

    def ids(self, version: DatasetVersion) -> list[str]:
        return list(read_rows(self.objects, version, 0, version.rows, ["id"]).column("id").to_pylist())

    def rows(self, version: DatasetVersion) -> list[ROW]:
        return list(read_rows(self.objects, version, 0, version.rows).to_pylist())


def rows(*ids: str, **more: Any) -> list[ROW]:
    return [{"id": identity, "input": f"input of {identity}", **more} for identity in ids]


# --- importing --------------------------------------------------------------------------------------------------------


def test_an_import_under_a_name_that_exists_tells_what_changes(desk: Desk) -> None:
    first = desk.bring("qa", rows("a", "b", "c"))
    assert (first.label, first.made, first.difference, first.rows) == ("1.0.0", True, None, 3)
    second = desk.bring("qa", [*rows("a"), *rows("b", expected="B"), *rows("d")])
    assert (second.label, second.made) == ("1.1.0", True)
    assert vars(second.difference) == {"added": 1, "changed": 1, "removed": 1, "same": 1}  # type: ignore[arg-type]
    assert second.version is not None
    assert [parent.version for parent in second.version.lineage.parents] == ["1.0.0"]
    assert desk.ids(desk.service.find(desk.tenant, "qa@1.0.0")) == ["a", "b", "c"], "old versions stay"


def test_the_same_again_changes_nothing_and_says_so(desk: Desk, database: Database) -> None:
    first = desk.bring("qa", rows("a", "b"))
    again = desk.bring("qa", rows("a", "b"))
    relabelled = desk.bring("qa", rows("a", "b"), "3.0.0")
    assert (again.made, again.label, again.version) == (False, "1.0.0", first.version)
    assert (relabelled.made, relabelled.label) == (False, "1.0.0")
    with database.tenant(desk.tenant) as connection:
        assert connection.execute(select(func.count()).select_from(dataset_version)).scalar_one() == 1
    assert len(list(desk.objects.list(f"{desk.tenant}/datasets"))) == 1


def test_a_label_means_one_content_for_ever(desk: Desk) -> None:
    desk.bring("qa", rows("a"), "2.0.0")
    desk.bring("qa", rows("b"))
    assert desk.bring("qa", rows("a"), "2.0.0").made is False
    with pytest.raises(VersionTaken):
        desk.bring("qa", rows("c"), "2.0.0")
    assert [version.version for _, version in desk.service.versions(desk.tenant, "qa")] == ["2.1.0", "2.0.0"]


def test_the_order_of_rows_is_part_of_a_version(desk: Desk) -> None:
    desk.bring("qa", rows("a", "b"))
    turned = desk.bring("qa", rows("b", "a"))
    assert turned.made
    assert vars(turned.difference)["same"] == 2  # type: ignore[arg-type]


def test_content_of_an_older_version_comes_back_as_a_new_one(desk: Desk) -> None:
    first = desk.made("qa", rows("a"))
    desk.made("qa", rows("b"))
    back = desk.made("qa", rows("a"))
    assert (back.version, back.content_hash) == ("1.2.0", first.content_hash)


def test_a_dry_run_writes_nothing(desk: Desk, database: Database) -> None:
    told = desk.bring("qa", rows("a"), dry_run=True)
    assert (told.label, told.made, told.version) == ("1.0.0", True, None)
    assert list(desk.objects.list("")) == []
    with database.tenant(desk.tenant) as connection:
        assert connection.execute(select(func.count()).select_from(dataset)).scalar_one() == 0


def test_malformed_rows_are_told_and_nothing_is_imported(desk: Desk, database: Database) -> None:
    wrong = [*rows("a"), {"id": "b"}, *({"input": 1, "id": True} for _ in range(30))]
    with pytest.raises(RowsMalformed) as refused:
        desk.bring("qa", wrong)
    lines = refused.value.message.splitlines()
    assert lines[0] == "31 rows can't be imported:"
    assert lines[1].strip() == "row 2: input: it is missing"
    assert (len(lines), lines[-1].strip(), refused.value.where) == (22, "and 11 more", "rows.jsonl")
    assert list(desk.objects.list("")) == []

    left = desk.bring("qa", wrong, skip_malformed=True)
    assert (left.rows, left.left_out, str(left.problems[0])) == (1, 31, "row 2: input: it is missing")
    with pytest.raises(RowsMalformed) as none_left:
        desk.bring("qa", wrong[1:], skip_malformed=True)
    assert none_left.value.message.splitlines()[1].strip() == "row 1: input: it is missing"
    assert none_left.value.remedy == "Correct them: no row is an example. Nothing was imported."
    with pytest.raises(DatasetEmpty):
        desk.bring("qa", [], skip_malformed=True)
    with pytest.raises(DatasetNameInvalid):
        desk.bring("no/name", rows("a"))


def test_an_id_that_comes_again_is_a_malformed_row(desk: Desk) -> None:
    twice = [*rows("a", "b"), {"id": "a", "input": "other"}, *rows("c", "b")]
    with pytest.raises(RowsMalformed) as refused:
        desk.bring("qa", twice)
    told = [line.strip() for line in refused.value.message.splitlines()[1:]]
    assert told == ["row 3: id: row 1 has the id 'a' too", "row 5: id: row 2 has the id 'b' too"]
    left = desk.bring("qa", twice, skip_malformed=True)
    assert left.version is not None
    assert [(row["id"], row["input"]) for row in desk.rows(left.version)] == [
        ("a", "input of a"),
        ("b", "input of b"),
        ("c", "input of c"),
    ]


def test_two_who_import_at_once_get_two_versions_or_are_told(desk: Desk) -> None:
    desk.bring("qa", rows("a"))
    folders = [desk.folder / str(number) for number in range(4)]
    for folder in folders:
        folder.mkdir()
    desks = [Desk(desk.service, desk.tenant, desk.objects, folder) for folder in folders]

    def bring(number: int) -> str | None:
        try:
            return desks[number].bring("qa", rows(f"new-{number}")).label
        except VersionTaken:
            return None

    with ThreadPoolExecutor(4) as pool:
        labels = [label for label in pool.map(bring, range(4)) if label is not None]
    known = [version.version for _, version in desk.service.versions(desk.tenant, "qa")]
    assert sorted(known) == sorted(["1.0.0", *labels])
    assert len(labels) >= 1


def test_what_was_stored_and_not_written_down_is_written_down_by_the_same_import(desk: Desk, monkeypatch: Any) -> None:
    """A process that dies after the objects and before the row leaves objects that the next try names."""

    def dies(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(registry, "add", dies)
        with pytest.raises(KeyboardInterrupt):
            desk.bring("qa", rows("a"))
    left = list(desk.objects.list(""))
    assert len(left) == 1
    with pytest.raises(DatasetUnknown):
        desk.service.find(desk.tenant, "qa")
    made = desk.made("qa", rows("a"))
    assert [part.key for part in made.parts] == left


# --- finding ----------------------------------------------------------------------------------------------------------


def test_a_version_is_found_by_name_label_and_id(desk: Desk) -> None:
    one, two = desk.made("qa", rows("a")), desk.made("qa", rows("b"))
    find = desk.service.find
    for reference in ("qa", "qa@latest", "qa@1.1.0", str(two.id), two.id.hex, two.id.hex[:8], str(two.id)[:12]):
        assert find(desk.tenant, reference) == two, reference
    assert find(desk.tenant, "qa@1.0.0") == one
    for reference in ("", "qb", "qa@9.9.9", "qa@", two.id.hex[:7], "0" * 32, "%", "qa@1.0.0 "):
        with pytest.raises(DatasetUnknown):
            find(desk.tenant, reference)
    with pytest.raises(DatasetUnknown, match="Did you mean qa@1"):
        find(desk.tenant, "qa@1.0.1")


def test_tenants_have_the_same_names_apart(desk: Desk, database: Database) -> None:
    made = desk.made("qa", rows("a"))
    rival = Desk(desk.service, ensure_tenant(database, f"t-{new_id().hex}"), desk.objects, desk.folder)
    for reference in ("qa", str(made.id), made.id.hex[:8]):
        with pytest.raises(DatasetUnknown):
            rival.service.find(rival.tenant, reference)
    assert rival.service.list_datasets(rival.tenant) == []
    assert rival.made("qa", rows("a")).id != made.id


def test_a_list_has_each_dataset_with_its_newest_version(desk: Desk) -> None:
    desk.made("qa", rows("a"))
    desk.made("qa", rows("a", "b"))
    desk.made("arithmetic", rows("x", embedding=[1, 2]))
    listed = desk.service.list_datasets(desk.tenant)
    assert [(row.name, row.version, row.rows, row.versions, row.has_embeddings) for row in listed] == [
        ("arithmetic", "1.0.0", 1, 1, True),
        ("qa", "1.1.0", 2, 2, False),
    ]


def test_examples_come_in_pages_and_by_what_they_are(desk: Desk) -> None:
    many = [
        {
            "id": f"e{n:05}",
            "input": n,
            "difficulty": ("easy", "hard")[n % 2],
            "tags": ["t"] if n % 3 else [],
            "source": "s",
        }
        for n in range(12_000)
    ]
    version = desk.made("qa", many)

    def page(start: int, limit: int, **wanted: Any) -> tuple[list[int], int | None]:
        found = desk.service.examples(desk.tenant, version, Filter(source="qa", **wanted), start=start, limit=limit)
        assert all(one.id == f"e{one.position:05}" for one in found.examples)
        return [one.position for one in found.examples], found.next

    assert page(0, 3) == ([0, 1, 2], 3)
    assert page(11_998, 5) == ([11_998, 11_999], None)
    assert page(11_998, 2) == ([11_998, 11_999], None)
    assert page(9_999, 2) == ([9_999, 10_000], 10_001)
    assert page(9_997, 3, difficulty="hard", tags=["t"]) == ([9_997, 10_001, 10_003], 10_004)
    assert page(0, 2, without_tags=["t"]) == ([0, 3], 4)
    assert page(0, 2, from_source="elsewhere") == ([], None)
    assert page(0, 3, words="E0000") == ([0, 1, 2], 3)
    assert page(3, 9, words="0001", difficulty="hard") == ([11, 13, 15, 17, 19, 10_001], None)
    assert page(0, 9, words="e11999") == ([11_999], None)
    assert page(0, 9, words="100%_.*") == ([], None)
    (first,) = desk.service.examples(desk.tenant, version, Filter(source="qa"), limit=1).examples
    assert (first.input, first.expected, first.tags, first.metadata) == (0, None, (), None)
    with pytest.raises(SplitInvalid, match="it has none"):
        page(0, 1, split="test")


# --- differing --------------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(*[st.dictionaries(st.integers(0, 30), st.integers(0, 2), min_size=1, max_size=20)] * 2)
def test_a_difference_is_what_two_mappings_differ_by(desk: Desk, old: dict[int, int], new: dict[int, int]) -> None:
    name = f"d-{new_id().hex}x"
    before, after = (
        desk.made(name, [{"id": f"k{key}", "input": "same", "expected": value} for key, value in side.items()], label)
        for side, label in ((old, "1.0.0"), (new, "2.0.0"))
    )
    found = desk.service.diff(before, after, limit=1000)
    wanted = {f"k{key}": "added" for key in new.keys() - old.keys()}
    wanted |= {f"k{key}": "removed" for key in old.keys() - new.keys()}
    wanted |= {f"k{key}": "changed" for key in old.keys() & new.keys() if old[key] != new[key]}
    assert {change.id: change.kind for change in found.changes} == wanted
    assert [change.id for change in found.changes] == sorted(wanted)
    assert {change.fields for change in found.changes if change.kind == "changed"} <= {("expected",)}
    kinds = list(wanted.values())
    same = sum(old[key] == new[key] for key in old.keys() & new.keys())
    assert vars(found.difference) == {**{k: kinds.count(k) for k in ("added", "changed", "removed")}, "same": same}


def test_a_difference_comes_in_pages(desk: Desk) -> None:
    before, after = desk.made("qa", rows("z")), desk.made("qa", rows(*"abcde"))
    seen: list[str] = []
    beyond: str | None = ""
    while beyond is not None:
        page = desk.service.diff(before, after, beyond=beyond, limit=2)
        seen += [change.id for change in page.changes]
        beyond = page.next
        assert len(page.changes) == 2, "no page is empty: there are six"
    assert seen == ["a", "b", "c", "d", "e", "z"]


# --- deriving ---------------------------------------------------------------------------------------------------------


def test_a_filter_keeps_what_fits_in_its_order(desk: Desk) -> None:
    desk.made("qa", [*rows("a", "c", tags=["x"]), *rows("b", tags=["x", "y"]), *rows("d", difficulty="hard")])
    kept = desk.derive(Filter(source="qa", tags=["x"], without_tags=["y"]))
    assert desk.ids(kept) == ["a", "c"]
    assert (kept.lineage.operation, dict(kept.lineage.parameters)) == ("filter", {"tags": ["x"], "without_tags": ["y"]})
    assert [(one.dataset, one.version) for one in kept.lineage.parents] == [("qa", "1.0.0")]
    assert desk.ids(desk.derive(Filter(source="qa", difficulty="hard"))) == ["d"]
    with pytest.raises(DatasetEmpty):
        desk.derive(Filter(source="qa", tags=["none"]))


def test_a_merge_keeps_each_id_once_and_hides_no_contradiction(desk: Desk, database: Database) -> None:
    desk.made("one", rows("a", "b"))
    desk.made("two", [*rows("b"), *rows("c")])
    merged = desk.derive(Merge(sources=["one", "two"]))
    assert desk.ids(merged) == ["a", "b", "c"], "the same example twice is no contradiction"
    desk.made("three", [{"id": "a", "input": "another"}, *rows("d")])
    with pytest.raises(MergeConflict, match="'a'"):
        desk.derive(Merge(sources=["one", "three"]))
    first, last = (desk.derive(Merge(sources=["one", "three"], prefer=which)) for which in ("first", "last"))
    assert desk.rows(first)[0]["input"] == "input of a"
    assert [(row["id"], row["input"]) for row in desk.rows(last)] == [
        ("b", "input of b"),
        ("a", "another"),
        ("d", "input of d"),
    ]
    with database.tenant(desk.tenant) as connection:
        query = select(func.count()).where(dataset_parent.c.version_id == last.id)
        assert connection.execute(query).scalar_one() == 2


def test_new_labels_replace_fields_and_nothing_else(desk: Desk) -> None:
    before = desk.made("qa", rows("a", "b", "c", expected="old", tags=["t"], embedding=[1.5]))
    labels: list[dict[str, Any]] = [{"id": "b", "expected": {"n": 1}, "tags": None}, {"id": "c", "difficulty": "hard"}]
    after = desk.derive(Relabel(source="qa", labels=labels), "qa")
    found = {row["id"]: row for row in desk.rows(after)}
    assert list(found) == ["a", "b", "c"]
    assert found["a"] == desk.rows(before)[0]
    assert (found["b"]["expected"], found["b"]["expected_is_json"], found["b"]["tags"]) == ('{"n":1}', True, [])
    assert (found["c"]["expected"], found["c"]["difficulty"], found["c"]["embedding"]) == ("old", "hard", [1.5])
    assert [change.fields for change in desk.service.diff(before, after).changes] == [
        ("expected", "tags"),
        ("difficulty",),
    ]


@pytest.mark.parametrize(
    "label",
    [
        {"id": "gone", "expected": "x"},
        {"expected": "x"},
        {"id": "a"},
        {"id": "a", "input": "x"},
        {"id": "a", "tags": "x"},
        {"id": 1, "expected": "x"},
    ],
)
def test_labels_that_do_not_fit_are_refused(desk: Desk, label: dict[str, Any]) -> None:
    desk.made("qa", rows("a"))
    with pytest.raises(RelabelInvalid):
        desk.derive(Relabel(source="qa", labels=[label]), "qa")
    with pytest.raises(RelabelInvalid, match="already"):
        desk.derive(Relabel(source="qa", labels=[{"id": "a", "expected": "x"}] * 2), "qa")
    assert desk.service.find(desk.tenant, "qa").version == "1.0.0"


def test_the_first_of_those_that_say_the_same_stays(desk: Desk) -> None:
    said = [("a", "x", 1), ("b", "x", 2), ("c", "x", 1), ("d", ["x"], 1), ("e", '["x"]', 1)]
    desk.made("qa", [{"id": identity, "input": text, "expected": value} for identity, text, value in said])
    assert desk.ids(desk.derive(Dedupe(source="qa"))) == ["a", "d", "e"]
    assert desk.ids(desk.derive(Dedupe(source="qa", by="input+expected"))) == ["a", "b", "d", "e"]


def test_a_sample_has_the_shares_of_its_strata_and_one_seed_draws_one_sample(desk: Desk) -> None:
    many = [{"id": f"e{n}", "input": n, **({"difficulty": "hard"} if n % 4 == 0 else {})} for n in range(1000)]
    desk.made("qa", many)
    drawn = desk.derive(Sample(source="qa", size=101, seed=7, by="difficulty"), "drawn")
    hard = [row for row in desk.rows(drawn) if row["difficulty"] == "hard"]
    assert (drawn.rows, len(hard)) == (101, 25)
    numbers = [int(identity[1:]) for identity in desk.ids(drawn)]
    assert numbers == sorted(numbers), "in the order of the version"
    desk.made("turned", many[::-1])
    again = desk.derive(Sample(source="turned", size=101, seed=7, by="difficulty"), "again")
    assert set(desk.ids(again)) == set(desk.ids(drawn)), "whatever the order"
    other = desk.derive(Sample(source="qa", size=101, seed=8, by="difficulty"), "other")
    assert set(desk.ids(other)) != set(desk.ids(drawn))
    assert (
        desk.derive(Sample(source="qa", size=1000, seed=1), "all").content_hash
        == desk.service.find(desk.tenant, "qa").content_hash
    )
    with pytest.raises(SampleInvalid):
        desk.derive(Sample(source="qa", size=1001, seed=1))


# --- splits and exports -----------------------------------------------------------------------------------------------


def test_splits_are_rules_that_later_versions_have_too(desk: Desk) -> None:
    ids = [f"e{number}" for number in range(500)]
    first = desk.made("qa", rows(*ids))
    shares = {"train": 0.8, "test": 0.2}
    detail = desk.service.split(desk.tenant, "qa", shares, seed=3, creator="ada")
    assert desk.service.split(desk.tenant, "qa", shares, seed=3, creator="eve") == detail
    with pytest.raises(SplitInvalid, match="already"):
        desk.service.split(desk.tenant, "qa", {"train": 0.5}, seed=3, creator="ada")
    train, test = (desk.ids(desk.derive(Filter(source=str(first.id), split=name), name)) for name in shares)
    assert sorted(train + test) == sorted(ids)
    desk.made("qa", rows(*ids[100:], "new-1", "new-2"))
    later = desk.service.show(desk.tenant, "qa")
    assert later.splits == detail.splits
    held = set(desk.ids(desk.derive(Filter(source="qa", split="test"), "test")))
    assert held - {"new-1", "new-2"} == set(test) & set(ids[100:])


@pytest.mark.parametrize("kind", list(ExportFormat))
def test_an_export_reads_back(desk: Desk, kind: ExportFormat) -> None:
    version = desk.made(
        "qa",
        [
            {"id": "a", "input": "plain", "expected": "ü", "tags": ["x", "y"], "embedding": [0.1, 2]},
            {"id": "b", "input": {"k": [1, None, 1e-7]}, "metadata": {"z": {}}, "difficulty": "hard", "source": "s"},
            {"id": "c", "input": '{"k": 1}', "expected": 7},
        ],
    )
    path = desk.folder / f"out.{kind.value}"
    desk.service.export(version, path, kind)
    asked, new = ImportAsked(), NewVersion(dataset="again")
    again = desk.service.import_file(desk.tenant, path, asked, new, creator="ada").version
    assert again is not None
    if kind is ExportFormat.CSV:  # which has nothing but text
        assert [replace_json(row) for row in desk.rows(again)] == [replace_json(row) for row in desk.rows(version)]
    else:
        assert again.content_hash == version.content_hash


def replace_json(row: ROW) -> ROW:
    """A row as text alone."""
    texts = {name: row[name] if row[name] is None else row[name].replace(" ", "") for name in ("input", "expected")}
    return {**row, **texts, "input_is_json": False, "expected_is_json": False, "digest": None}


def test_objects_of_a_remote_store_do_as_well(database: Database, tenant: UUID, tmp_path: Path, desk: Desk) -> None:
    remote = Desk(
        DatasetService(database, ObjectStore("memory:///"), desk.service._scratch), tenant, desk.objects, tmp_path
    )
    remote.objects = remote.service._objects
    before, after = remote.made("qa", rows("a", "b")), remote.made("qa", rows("b", "c"))
    assert len(remote.service.diff(before, after).changes) == 2
    assert remote.ids(remote.derive(Merge(sources=["qa@1.0.0", "qa"]))) == ["a", "b", "c"]
    assert replace(after, created_at=before.created_at).tenant == tenant
