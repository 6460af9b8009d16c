"""Parts of versions: exact row groups, read back by position from any store, and by tools of others."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from proctor.datasets import writing
from proctor.datasets.errors import DatasetEmpty, SourceInvalid
from proctor.datasets.examples import Example
from proctor.datasets.reading import local_parts, read_rows, tables
from proctor.datasets.schema import schema, table_of
from proctor.datasets.selecting import only, without
from proctor.datasets.versions import DatasetVersion, Lineage, Part
from proctor.datasets.writing import VersionWriter, Written
from proctor.kernel.ids import new_id
from proctor.objects.store import ObjectDamaged, ObjectMissing, ObjectStore

ROWS = 23_456
TENANT = UUID(int=1)


def example(number: int) -> Example:
    return Example(
        id=f"e{number}",
        input=f"input {number}",
        expected=None if number % 3 else f"expected {number}",
        difficulty=("easy", "hard", None)[number % 3],
        tags=("a", "b")[: number % 3],
        embedding=[float(number), 0.5] if number % 2 else None,
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    with VersionWriter(tmp_path_factory.mktemp("written")) as writer:
        for start in range(0, ROWS, 777):
            writer.add(table_of([example(number) for number in range(start, min(ROWS, start + 777))]))
        return writer.finish()


def stored(objects: ObjectStore, written: Written) -> DatasetVersion:
    found = []
    for number, part in enumerate(written.parts):
        kept = objects.put_file(f"{TENANT}/datasets/{number:05}.parquet", part.path)
        found.append(Part(key=kept.key, rows=part.rows, bytes=kept.size, sha256=kept.sha256))
    return DatasetVersion(
        tenant=TENANT,
        id=new_id(),
        dataset="d",
        version="1.0.0",
        rows=written.rows,
        parts=tuple(found),
        content_hash=written.content_hash,
        has_embeddings=written.has_embeddings,
        created_at=datetime.now(UTC),
        creator="test",
        metadata={},
        lineage=Lineage(operation="import", parameters={}),
    )


@pytest.fixture(params=["local", "remote"])
def objects(request: pytest.FixtureRequest, tmp_path: Path) -> ObjectStore:
    """A folder, and a store that is read by ranges."""
    return ObjectStore(tmp_path / "objects" if request.param == "local" else "memory:///")


def test_row_groups_are_exact_however_rows_come(written: Written) -> None:
    (part,) = written.parts
    footer = pq.ParquetFile(part.path)
    groups = [footer.metadata.row_group(number).num_rows for number in range(footer.num_row_groups)]
    assert groups == [10_000, 10_000, 3_456]
    assert footer.schema_arrow.equals(schema())
    assert {footer.metadata.row_group(0).column(number).compression for number in range(11)} == {"ZSTD"}
    assert (written.rows, written.has_embeddings) == (ROWS, True)


def test_parts_have_a_million_rows_but_for_the_last(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writing, "PART_ROWS", 20_000)
    with VersionWriter(tmp_path) as writer:
        writer.add(table_of([Example(id=str(number), input="x") for number in range(45_000)]))
        written = writer.finish()
    assert [part.rows for part in written.parts] == [20_000, 20_000, 5_000]
    assert [pq.read_metadata(part.path).num_rows for part in written.parts] == [20_000, 20_000, 5_000]


def test_a_content_hash_is_over_the_digests_in_their_order(written: Written, tmp_path: Path) -> None:
    digests = b"".join(example(number).digest() for number in range(ROWS))
    assert written.content_hash == hashlib.sha256(digests).hexdigest()
    with VersionWriter(tmp_path) as writer:
        writer.add(table_of([example(number) for number in reversed(range(ROWS))]))
        assert writer.finish().content_hash != written.content_hash


def test_nothing_is_no_version_and_too_much_at_once_none_either(tmp_path: Path, monkeypatch: Any) -> None:
    with VersionWriter(tmp_path) as writer, pytest.raises(DatasetEmpty):
        writer.finish()
    monkeypatch.setattr(writing, "GROUP_BYTES", 1000)
    with VersionWriter(tmp_path) as writer, pytest.raises(SourceInvalid, match="read at once"):
        writer.add(table_of([Example(id="x", input="y" * 1001)]))


@pytest.mark.parametrize(
    ("start", "stop"),
    [(0, 10), (9_990, 10_010), (0, ROWS), (20_000, 99_999), (5, 5), (9, 3), (ROWS, ROWS + 1), (-4, 2)],
)
def test_rows_are_read_by_position_as_a_slice(written: Written, objects: ObjectStore, start: int, stop: int) -> None:
    version = stored(objects, written)
    found = read_rows(objects, version, start, stop)
    wanted = [example(number) for number in range(max(0, start), min(ROWS, stop))]
    assert found.schema.names == schema().names
    assert found.column("id").to_pylist() == [one.id for one in wanted]
    assert found.column("embedding").to_pylist() == [one.embedding for one in wanted]
    some = read_rows(objects, version, start, stop, ["digest", "id"])
    assert some.schema.names == ["digest", "id"]
    assert some.column("digest").to_pylist() == [one.digest() for one in wanted]


def test_rows_over_the_border_of_parts_are_one_table(objects: ObjectStore, tmp_path: Path, monkeypatch: Any) -> None:
    for module in ("datasets.writing", "objects.parquet"):
        monkeypatch.setattr(f"proctor.{module}.PART_ROWS", 10_000)
    with VersionWriter(tmp_path) as writer:
        writer.add(table_of([Example(id=str(number), input="x") for number in range(25_000)]))
        version = stored(objects, writer.finish())
    found = read_rows(objects, version, 9_999, 20_001, ["id"]).column("id").to_pylist()
    assert found == [str(number) for number in range(9_999, 20_001)]
    assert sum(table.num_rows for table in tables(objects, version, ["id"])) == 25_000


def test_a_column_there_is_not_is_told(written: Written, objects: ObjectStore) -> None:
    with pytest.raises(KeyError, match="nope"):
        read_rows(objects, stored(objects, written), 0, 1, ["nope"])


def test_a_range_is_read_and_not_the_object(written: Written) -> None:
    objects = ObjectStore("memory:///")
    version = stored(objects, written)
    file = objects.open(version.parts[0].stored)
    fetched: list[int] = []
    fetch = file._fetch
    file._fetch = lambda start, end: fetched.append(end - start) or fetch(start, end)  # type: ignore[func-returns-value]
    pq.ParquetFile(pa.PythonFile(file, mode="r")).read_row_group(2, columns=["difficulty"])
    assert sum(fetched) < version.parts[0].bytes / 2


def damage(version: DatasetVersion, folder: Path, harm: Callable[[bytearray], None]) -> None:
    path = folder / "objects" / version.parts[0].key
    data = bytearray(path.read_bytes())
    harm(data)
    path.write_bytes(data)


def flip(data: bytearray) -> None:
    data[2000] ^= 0xFF


def cut(data: bytearray) -> None:
    del data[len(data) // 2 :]


@pytest.mark.parametrize("harm", [flip, cut, bytearray.clear])
def test_a_damaged_object_is_told_and_not_read(written: Written, tmp_path: Path, harm: Any) -> None:
    objects = ObjectStore(tmp_path / "objects")
    version = stored(objects, written)
    damage(version, tmp_path, harm)
    with pytest.raises(ObjectDamaged):
        read_rows(objects, version, 0, 10_000)


def test_a_lost_object_is_told(written: Written, tmp_path: Path) -> None:
    objects = ObjectStore(tmp_path / "objects")
    version = stored(objects, written)
    objects.delete(version.parts[0].key)
    with pytest.raises(ObjectMissing):
        read_rows(objects, version, 0, 1)
    with pytest.raises(ObjectMissing):
        local_parts(objects, version, tmp_path)


def test_parts_are_brought_to_this_machine_where_they_are_not(
    written: Written, objects: ObjectStore, tmp_path: Path
) -> None:
    (path,) = local_parts(objects, stored(objects, written), tmp_path)
    assert pq.read_metadata(path).num_rows == ROWS


def test_others_read_our_parquet(written: Written) -> None:
    (part,) = written.parts
    ours = pq.read_table(part.path)
    query = "SELECT count(*), count(DISTINCT id), sum(len(tags)), max(octet_length(digest)) FROM read_parquet(?)"
    found = duckdb.execute(query, [str(part.path)]).fetchone()
    tags = sum(len(one) for one in ours.column("tags").to_pylist())
    assert found == (ROWS, ROWS, tags, 16)


def test_rows_are_chosen_by_positions_in_one_pass() -> None:
    numbers = [pa.table({"n": list(range(start, start + 10))}) for start in range(0, 30, 10)]

    def found(chosen: Any, positions: list[int]) -> list[int]:
        return [n for table in chosen(iter(numbers), iter(positions)) for n in table.column("n").to_pylist()]

    assert found(only, [0, 9, 10, 29]) == [0, 9, 10, 29]
    assert found(without, [0, 9, 10, 29]) == [*range(1, 9), *range(11, 29)]
    assert found(only, []) == []
    assert found(without, []) == list(range(30))
