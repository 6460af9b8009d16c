"""Datasets over HTTP: sent, followed, looked at in pages, made into others, fetched; and what strangers send."""

from __future__ import annotations

import gzip
import io
import json
import shutil
import tarfile
from collections import namedtuple
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pyarrow as pa
import pytest
from fastapi.testclient import TestClient
from sqlalchemy import create_engine, text

from proctor.app import Server
from proctor.datasets.derivations import Dedupe, Filter, Merge, NewVersion, Relabel, Sample
from proctor.datasets.exporting import ExportFormat
from proctor.datasets.fields import Fields
from proctor.datasets.service import ImportAsked
from proctor.identity.permissions import Role
from proctor.objects.store import ObjectStore
from proctor.sdk.remote.client import RemoteClient
from proctor.sdk.remote.errors import ServerRefused
from proctor.serving.operations import work_once
from tests.api.conftest import Asker, Tenant, send, work_until_done

LINES = [
    {"id": "a", "input": "A", "expected": 1, "tags": ["x"], "difficulty": "easy"},
    {"id": "b", "input": {"q": "B"}, "difficulty": "hard"},
    {"id": "c", "input": "C", "tags": ["x", "y"]},
]


@pytest.fixture(autouse=True)
def nothing_waits(urls: Any) -> None:
    """Work is looked for over all tenants: what another test left is none of this one's."""
    engine = create_engine(urls.owner)
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE proctor.operation"))
    engine.dispose()


def lines(rows: list[dict[str, Any]]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()


def bring(server: Server, asker: Asker, content: bytes, kind: str = "application/octet-stream", **asked: Any) -> Any:
    """Send a file and have it imported; the operation as it ended."""
    query = urlencode({"name": "qa", "format": "jsonl", "file": "rows.jsonl", **asked}, doseq=True)
    response = send(asker, f"datasets/imports?{query}", content, kind)
    assert response.status_code == 202, response.text
    return work_until_done(server, asker, response.json()["id"])


def test_an_import_is_followed_and_written_down(server: Server, acme: Tenant) -> None:
    member = acme.as_role(Role.MEMBER)
    done = bring(server, member, lines(LINES), metadata=["owner=ada", "why=test"])
    assert (done["state"], done["kind"], done["progress"]["done"]) == ("done", "import-dataset", 3)
    version = done["result"]["version"]
    assert (version["version"], version["rows"], version["metadata"]) == ("1.0.0", 3, {"owner": "ada", "why": "test"})
    assert version["creator"] == member.get("me")["name"]
    assert version["lineage"]["parameters"] == {"file": "rows.jsonl", "format": "jsonl", "left_out": 0}
    noted = [one for one in acme.owner.get("audit-log")["items"] if one["action"] == "dataset.made"]
    told = {"kind": "import-dataset", "dataset": "qa", "version": "1.0.0"}
    assert [(one["target"], one["detail"]) for one in noted] == [(done["id"], told)]

    again = bring(server, member, lines(LINES))["result"]
    assert (again["made"], again["version"]["id"]) == (False, version["id"])
    dry = bring(server, member, lines(LINES[:2]), dry_run=True)["result"]
    assert (dry["made"], dry["label"], dry["version"]) == (True, "1.1.0", None)
    assert dry["difference"] == {"added": 0, "changed": 0, "removed": 1, "same": 2}
    made = [one["target"] for one in acme.owner.get("audit-log")["items"] if one["action"] == "dataset.made"]
    assert made == [done["id"]], "nothing was made by the second, and by a look"


@pytest.mark.parametrize("by_sdk", [False, True])
def test_an_import_may_take_no_field_for_the_id_and_for_what_is_expected(
    server: Server, acme: Tenant, remote: Any, tmp_path: Path, by_sdk: bool
) -> None:
    content = lines([{"id": 1, "input": "A", "expected": "x"}, {"id": 1, "input": "B", "expected": "y"}])
    if by_sdk:
        (tmp_path / "rows.jsonl").write_bytes(content)
        fields = Fields(id="", expected="")
        remote.import_file(tmp_path / "rows.jsonl", ImportAsked(fields=fields), NewVersion(dataset="qa"))
    else:
        assert bring(server, acme.owner, content, id_field="", expected_field="")["state"] == "done"
    found = acme.owner.get("datasets/qa/examples")["items"]
    assert [(one["metadata"], one["expected"]) for one in found] == [
        ({"id": 1, "expected": "x"}, None),
        ({"id": 1, "expected": "y"}, None),
    ]
    assert {len(one["id"]) for one in found} == {32}


def test_lists_come_in_pages(server: Server, acme: Tenant) -> None:
    viewer = acme.as_role(Role.VIEWER)
    for number in range(3):
        bring(server, acme.owner, lines(LINES[: number + 1]))
    bring(server, acme.owner, lines(LINES), name="other")
    assert [(row["name"], row["version"]) for row in viewer.get("datasets")["items"]] == [
        ("other", "1.0.0"),
        ("qa", "1.2.0"),
    ]
    first = viewer.get("datasets/qa/versions?limit=2&fields=version")
    rest = viewer.get(f"datasets/qa/versions?limit=2&fields=version&cursor={first['next']}")
    assert [one["version"] for one in first["items"] + rest["items"]] == ["1.2.0", "1.1.0", "1.0.0"]
    assert rest["next"] is None

    page = viewer.get("datasets/qa/examples?limit=2")
    assert [(one["id"], one["input"], one["expected"]) for one in page["items"]] == [
        ("a", "A", 1),
        ("b", {"q": "B"}, None),
    ]
    last = viewer.get(f"datasets/qa/examples?limit=2&cursor={page['next']}")
    assert [one["id"] for one in last["items"]] == ["c"]
    assert [one["id"] for one in viewer.get("datasets/qa/examples?tags=x&tags=y")["items"]] == ["c"]
    assert [one["id"] for one in viewer.get("datasets/qa@1.1.0/examples?without_tags=x")["items"]] == ["b"]
    assert viewer.get(f"datasets/qa/examples?limit=2&tags=x&cursor={page['next']}", 422)["code"] == "cursor"
    assert viewer.get("datasets/qa/examples?split=test", 422)["code"] == "dataset-split"
    assert [one["id"] for one in viewer.get('datasets/qa/examples?words="Q":')["items"]] == ["b"]
    assert viewer.get("datasets/qa/examples?words=%00", 422)["code"] == "request-invalid"

    found = viewer.get("datasets/qa/diff?against=qa@1.0.0")
    assert found["difference"] == {"added": 2, "changed": 0, "removed": 0, "same": 1}
    assert [(one["id"], one["kind"]) for one in found["changes"]] == [("b", "added"), ("c", "added")]


def test_examples_are_found_by_a_query(server: Server, acme: Tenant) -> None:
    bring(server, acme.owner, lines([*LINES, {"id": "d", "input": "A", "expected": 2, "segment": "gift & co"}]))
    viewer = acme.as_role(Role.VIEWER)

    def found(query: str, **more: str) -> list[str]:
        asked = urlencode({"query": query, **more})
        return [one["id"] for one in viewer.get(f"datasets/qa/examples?{asked}")["items"]]

    assert found("tag=x -tag=y") == ["a"]
    assert found('segment="gift & co"') == ["d"]
    assert found("is:contradiction") == ["a", "d"]
    assert found("expects:number", tags="x") == ["a"]
    first = viewer.get("datasets/qa/examples?query=is:duplicate&limit=1")
    rest = viewer.get(f"datasets/qa/examples?query=is:duplicate&limit=1&cursor={first['next']}")
    whole = viewer.get("datasets/qa")["version"]["rows"]
    assert viewer.get("datasets/qa/examples/count?query=is:duplicate") == {"fit": 2, "examples": whole}
    assert viewer.get("datasets/qa/examples/count?query=is:odd", 422)["where"] == "query"
    assert [one["id"] for one in first["items"] + rest["items"]] == ["a", "d"]


@pytest.mark.parametrize("query", ["is:odd", "segment=", '"open', "=x", "expects:poem", "field:x", " "])
def test_a_malformed_query_is_refused_by_its_parameter(server: Server, acme: Tenant, query: str) -> None:
    bring(server, acme.owner, lines(LINES))
    told = acme.owner.get(f"datasets/qa/examples?{urlencode({'query': query})}", 422)
    assert (told["code"], told["where"]) == ("dataset-query", "query")
    assert told["remedy"]
    derivation = {"operation": "filter", "source": "qa", "query": query}
    refused = acme.owner.post("datasets/derivations", {"new": {"dataset": "x"}, "derivation": derivation}, 422)
    assert (refused["code"], refused["detail"]) == ("dataset-query", told["detail"])


def test_a_query_is_bounded_and_of_a_split_that_there_is(server: Server, acme: Tenant) -> None:
    bring(server, acme.owner, lines(LINES))
    long = urlencode({"query": "x" * 1001})
    assert acme.owner.get(f"datasets/qa/examples?{long}", 422)["code"] == "request-invalid"
    assert acme.owner.get("datasets/qa/examples?query=%00", 422)["code"] == "request-invalid"
    told = acme.owner.get("datasets/qa/examples?query=split%3Dtest", 422)
    assert (told["code"], told["where"]) == ("dataset-split", "query")


def test_the_quality_of_a_version_is_told_to_viewers(server: Server, acme: Tenant) -> None:
    bring(server, acme.owner, lines(LINES))
    bring(server, acme.owner, lines([*LINES, {"id": "d", "input": "A", "expected": 2}]))
    viewer = acme.as_role(Role.VIEWER)
    before, now = (viewer.get(f"datasets/{name}/quality") for name in ("qa@1.0.0", "qa"))
    assert (before["version"], before["examples"], before["duplicates"]["examples"]) == ("1.0.0", 3, 0)
    assert now["duplicates"] == {"examples": 2, "query": "is:duplicate", "inputs": 1}
    assert now["contradictions"]["examples"] == 2
    assert now["leaks"] is None
    assert viewer.get("datasets/none/quality", 404)["code"] == "dataset-unknown"
    assert viewer.get("datasets/qa/quality?deep=1", 422)["code"] == "parameter-unknown"


def test_splits_are_made_once_and_written_down(server: Server, acme: Tenant) -> None:
    bring(server, acme.owner, lines(LINES))
    body = {"shares": {"train": 0.5, "test": 0.5}, "seed": 4}
    made = acme.owner.post("datasets/qa/splits", body)
    assert [one["name"] for one in made["splits"]] == ["train", "test"]
    assert acme.owner.post("datasets/qa/splits", body)["splits"] == acme.owner.get("datasets/qa")["splits"]
    held = [acme.owner.get(f"datasets/qa/examples?split={name}")["items"] for name in ("train", "test")]
    assert sorted(one["id"] for side in held for one in side) == ["a", "b", "c"]
    acme.owner.post("datasets/qa/splits", {**body, "seed": 5}, 422)
    noted = [one for one in acme.owner.get("audit-log")["items"] if one["action"] == "dataset.split"]
    assert {one["target"] for one in noted} == {"qa@1.0.0"}


def test_a_folder_is_sent_as_a_tar(server: Server, acme: Tenant) -> None:
    table, rows = io.BytesIO(), pa.table({"input": ["a", "b"]})
    with pa.ipc.new_stream(table, rows.schema) as out:
        out.write_table(rows)
    state = json.dumps({"_data_files": [{"filename": "data.arrow"}]}).encode()
    packed = tarred({"state.json": state, "data.arrow": table.getvalue()})
    done = bring(server, acme.owner, packed, "application/x-tar", format="hf", file="saved")
    assert (done["state"], done["result"]["rows"]) == ("done", 2)
    escaping = tarred({"../state.json": state})
    refused = bring(server, acme.owner, escaping, "application/x-tar", format="hf", file="saved")
    assert (refused["state"], refused["error"]["code"]) == ("failed", "dataset-source")


def tarred(files: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        for name, data in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            tar.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def test_what_is_no_dataset_is_told_without_the_servers_paths(server: Server, acme: Tenant, tmp_path: Path) -> None:
    endless = b"x" * (17 << 20)
    for content, code in ((b"nonsense\n", "dataset-rows"), (b"", "dataset-empty"), (endless, "dataset-source")):
        done = bring(server, acme.owner, content)
        assert (done["state"], done["error"]["code"]) == ("failed", code)
        assert done["error"]["where"] in ("rows.jsonl", None)
        assert str(tmp_path) not in json.dumps(done)
    done = bring(server, acme.owner, b"no parquet", format="parquet", file="x.parquet")
    assert done["error"]["where"] == "x.parquet"
    assert acme.owner.get("datasets")["items"] == []


@pytest.mark.parametrize(
    ("query", "code"),
    [
        ("name=a/b", "dataset-name"),
        ("name=deadbeef", "dataset-name"),
        ("version=one", "dataset-version"),
        ("format=xml", "request-invalid"),
        ("file=a/b", "request-invalid"),
        ("file=", "request-invalid"),
        (f"metadata={'x' * 300}=y", "request-invalid"),
    ],
)
def test_a_request_that_is_wrong_is_refused_at_once(acme: Tenant, objects: ObjectStore, query: str, code: str) -> None:
    asked = {"name": "qa", "format": "jsonl", "file": "x.jsonl"} | dict([query.split("=", 1)])
    response = send(acme.owner, f"datasets/imports?{urlencode(asked)}", lines(LINES))
    assert (response.status_code, response.json()["code"]) == (422, code)
    assert [key for key in objects.list(f"{acme.id}/") if "/operations/" in key] == []


def test_an_upload_leaves_room_on_the_disk(acme: Tenant, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1000, 700, 300))
    response = send(acme.owner, "datasets/imports?name=qa&format=jsonl&file=x", b"x" * 101)
    assert (response.status_code, response.json()["code"]) == (413, "too-large")


def test_only_members_make_versions(acme: Tenant) -> None:
    viewer = acme.as_role(Role.VIEWER)
    assert send(viewer, "datasets/imports?name=qa&format=jsonl&file=x", b"").status_code == 403
    body = {"new": {"dataset": "x"}, "derivation": {"operation": "dedupe", "source": "qa"}}
    viewer.post("datasets/derivations", body, 403)
    assert acme.as_role(Role.MEMBER).post("datasets/derivations", body, 404)["code"] == "dataset-unknown"


def test_an_export_is_one_file_in_its_download(server: Server, acme: Tenant) -> None:
    bring(server, acme.owner, lines(LINES))
    viewer = acme.as_role(Role.VIEWER)
    receipt = viewer.post("datasets/qa/exports", {"format": "jsonl", "file": "qa.jsonl"}, 202)
    assert work_until_done(server, viewer, receipt["id"])["result"]["rows"] == 3
    packed = viewer("GET", f"operations/{receipt['id']}/download").content
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed))) as tar:
        assert tar.getnames() == ["qa.jsonl"]
        found = tar.extractfile("qa.jsonl")
        assert found is not None
        assert [json.loads(line) for line in found] == LINES
    viewer.post("datasets/qa/exports", {"format": "jsonl", "file": "../x"}, 422)


# --- the SDK over HTTP ------------------------------------------------------------------------------------------------


@pytest.fixture
def remote(server: Server, acme: Tenant, http: TestClient, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A client whose waiting does the work."""
    monkeypatch.setattr("proctor.sdk.remote.work.time.sleep", lambda _: work_once(server))
    with RemoteClient.open("http://testserver", acme.owner_key, http=http) as client:
        yield client.datasets


def test_the_sdk_makes_of_a_server_what_it_makes_of_a_machine(
    server: Server, acme: Tenant, remote: Any, tmp_path: Path
) -> None:
    here = server.platform(acme.id).datasets
    path = tmp_path / "rows.jsonl"
    path.write_bytes(lines(LINES))
    seen: list[int] = []
    made = remote.import_file(path, ImportAsked(), NewVersion(dataset="qa"), on_rows=seen.append)
    assert made.version == here.find(acme.id, "qa")
    assert sum(seen) == 3
    path.write_bytes(lines([{**LINES[0], "expected": 2}, *LINES[1:], {"id": "d", "input": "A"}]))
    remote.import_file(path, ImportAsked(), NewVersion(dataset="qa", version="2.0.0"))
    assert [one.version for one in remote.versions("qa")] == ["2.0.0", "1.0.0"]
    assert remote.diff("qa@1.0.0", "qa") == here.diff(here.find(acme.id, "qa@1.0.0"), here.find(acme.id, "qa"))
    for derivation in (
        Filter(source="qa", tags=["x"]),
        Merge(sources=["qa@1.0.0", "qa"], prefer="last"),
        Relabel(source="qa", labels=[{"id": "a", "difficulty": None}]),
        Dedupe(source="qa"),
        Sample(source="qa", size=2, seed=1, by="difficulty"),
    ):
        done = remote.derive(derivation, NewVersion(dataset=f"by-{derivation.operation}"))
        kept = here.derive(acme.id, derivation, NewVersion(dataset=f"here-{derivation.operation}"), creator="x").version
        assert kept is not None
        assert done.version.content_hash == kept.content_hash
    assert remote.split("qa", {"test": 0.5}, seed=1) == here.show(acme.id, "qa") == remote.show("qa")
    wanted = Filter(source="qa", tags=["x"])
    assert remote.examples(wanted, limit=1) == here.examples(acme.id, here.find(acme.id, "qa"), wanted, limit=1)
    assert [one.id for one in remote.examples(wanted, start=1).examples] == ["c"]
    typed = Filter(source="qa", query='tag=x -"Z" is:duplicate')
    assert remote.examples(typed) == here.examples(acme.id, here.find(acme.id, "qa"), typed)
    assert remote.quality("qa") == here.quality(acme.id, here.find(acme.id, "qa"))
    assert {row.name for row in remote.all()} == {row.name for row in here.list_datasets(acme.id)}
    for kind in ExportFormat:
        done = remote.export("qa", tmp_path / f"out.{kind}", kind)
        here.export(here.find(acme.id, "qa"), tmp_path / f"here.{kind}", kind)
        assert (tmp_path / f"out.{kind}").read_bytes() == (tmp_path / f"here.{kind}").read_bytes()
        assert done.rows == 4
    assert sorted(one.name for one in tmp_path.glob(".proctor*")) == []


def test_the_sdk_tells_what_a_server_refuses(remote: Any, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text("nonsense\n")
    with pytest.raises(ServerRefused) as refused:
        remote.import_file(path, ImportAsked(), NewVersion(dataset="qa"))
    assert (refused.value.code, refused.value.where) == ("dataset-rows", "rows.jsonl")
    with pytest.raises(ServerRefused) as refused:
        remote.show("no such thing")
    assert refused.value.code == "dataset-unknown"
