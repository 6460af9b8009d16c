"""Long work as its caller sees it: a receipt, progress, an end, a download; and what strangers try on it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import io
import json
import tarfile
import time
from datetime import UTC, datetime, timedelta
from functools import reduce
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from proctor.api.routes import run_sets
from proctor.app import Server
from proctor.database.engine import Database
from proctor.engine.planning import RunSetRow
from proctor.identity.permissions import Role
from proctor.kernel.ids import new_id
from proctor.objects.store import ObjectStore
from proctor.operations import service as operations
from proctor.operations.links import Link, sign_link
from proctor.operations.service import Ending, Progress
from proctor.serving.operations import remove_expired, work_once
from tests.api.conftest import SECRET, Asker, Tenant, work_until_done
from tests.bench import Bench, write_tasks

RUN_SET = """
name = "nightly"
suite = "tasks"
[execution]
sandbox = "local"
[[profiles]]
name = "oracle"
agent = "oracle"
"""
NESTED = "(?:(?:(?:(?:x?){999}){999}){999}){999}"
"""Of nothing at all it takes the age of the universe."""
RESULTS = 'format = "proctor-results-1"\nname = "theirs"\nsuite = "SUITE"\n[[profiles]]\nname = "p"\nagent = "a"\n'


@pytest.fixture(autouse=True)
def nothing_waits(urls: Any) -> None:
    """Work is looked for over all tenants: what another test left is none of this one's."""
    from sqlalchemy import create_engine

    engine = create_engine(urls.owner)
    with engine.begin() as connection:
        connection.execute(text("TRUNCATE proctor.operation"))
    engine.dispose()


@pytest.fixture
def nightly(acme: Tenant, database: Database, objects: ObjectStore, bench: Bench, tmp_path: Path) -> RunSetRow:
    own = Bench(database=database, tenant=acme.id, objects=objects, folder=tmp_path, owner=bench.owner)
    write_tasks(tmp_path / "tasks", 2)
    return own.run(RUN_SET)


def export(server: Server, asker: Asker, run_set: RunSetRow) -> Any:
    operation = asker.post(f"run-sets/{run_set.id}/exports", {}, 202)["id"]
    return work_until_done(server, asker, operation)


def members(packed: bytes) -> list[str]:
    with tarfile.open(fileobj=io.BytesIO(gzip.decompress(packed))) as tar:
        return tar.getnames()


def test_an_export_is_followed_fetched_and_written_down(server: Server, acme: Tenant, nightly: RunSetRow) -> None:
    viewer = acme.as_role(Role.VIEWER)
    response = viewer("POST", "run-sets/nightly/exports", {"folder": "/home/ada/jobs/nightly"})
    assert response.status_code == 202
    receipt = response.json()
    assert response.headers["location"] == f"/api/v1/operations/{receipt['id']}"
    assert (receipt["state"], receipt["kind"], receipt["progress"]["done"]) == ("queued", "export", 0)
    assert viewer(*("GET", f"operations/{receipt['id']}/download")).json()["code"] == "download-unknown"

    done = work_until_done(server, viewer, receipt["id"])
    assert done["state"] == "done"
    assert done["result"]["folder"] == "/home/ada/jobs/nightly"
    assert (done["result"]["trials"], done["result"]["expected"]) == (2, 2)
    assert done["progress"] == {"done": 2, "total": None, "words": "trials written"}
    packed = viewer("GET", f"operations/{receipt['id']}/download")
    assert hashlib.sha256(packed.content).hexdigest() == packed.headers["x-content-sha256"]
    assert {"result.json", "proctor.json"} <= set(members(packed.content))
    (listed,) = viewer.get("operations?state=done")["items"]
    assert listed["id"] == receipt["id"]
    assert "request" not in listed
    noted = [one for one in acme.owner.get("audit-log")["items"] if one["action"] == "data.exported"]
    assert [(one["target"], one["actor"]) for one in noted] == [(receipt["id"], done["actor"])]


def test_the_same_post_again_is_the_same_operation(acme: Tenant, nightly: RunSetRow) -> None:
    first = acme.owner("POST", "run-sets/nightly/exports", {}, idempotency_key="x").json()
    assert acme.owner("POST", "run-sets/nightly/exports", {}, idempotency_key="x").json() == first
    assert len(acme.owner.get("operations")["items"]) == 1


def test_operations_come_in_pages_the_newest_first(acme: Tenant, nightly: RunSetRow) -> None:
    made = [acme.owner.post("audits", {}, 202)["id"] for _ in range(5)]
    first = acme.owner.get("operations?limit=3")
    rest = acme.owner.get(f"operations?limit=3&cursor={first['next']}")
    assert [one["id"] for one in first["items"] + rest["items"]] == made[::-1]


def test_one_tenant_may_not_fill_the_waiting_room(acme: Tenant, rival: Tenant, monkeypatch: Any) -> None:
    monkeypatch.setattr(operations, "WAITING", 2)
    for _ in range(2):
        acme.owner.post("audits", {}, 202)
    assert acme.owner.post("audits", {}, 429)["code"] == "operations-full"
    rival.owner.post("audits", {}, 202)


# --- ending --------------------------------------------------------------------------------------------------------


def test_what_waits_is_cancelled_at_once_and_only_once(server: Server, acme: Tenant) -> None:
    operation = acme.owner.post("audits", {}, 202)["id"]
    assert acme.owner.post(f"operations/{operation}/cancel", code=200)["state"] == "cancelled"
    assert acme.owner.post(f"operations/{operation}/cancel", code=409)["code"] == "operation-ended"
    assert not work_once(server)


def test_what_runs_ends_where_it_next_counts(server: Server, acme: Tenant, monkeypatch: Any) -> None:
    from proctor.sdk import work

    def slow(_: Any, job: work.Job) -> work.Made:
        job.tally.begin("things")
        told = acme.owner.post(f"operations/{operation}/cancel", code=200)
        assert (told["state"], told["cancel_asked"]) == ("running", True)
        for _second in range(100):
            time.sleep(0.1)
            job.tally.more()
        raise AssertionError("it went on")

    monkeypatch.setitem(work._KINDS, work.WorkKind.AUDIT, (work.AuditWork, slow))
    operation = acme.owner.post("audits", {}, 202)["id"]
    done = work_until_done(server, acme.owner, operation)
    assert (done["state"], done["progress"]["words"]) == ("cancelled", "things")
    assert 0 < done["progress"]["done"] < 100


def test_others_work_is_cancelled_by_who_may_change_results(acme: Tenant, nightly: RunSetRow) -> None:
    viewer = acme.as_role(Role.VIEWER)
    of_owner = acme.owner.post("run-sets/nightly/exports", {}, 202)["id"]
    of_viewer = viewer.post("run-sets/nightly/exports", {}, 202)["id"]
    assert viewer.post(f"operations/{of_owner}/cancel", code=403)["code"] == "forbidden"
    assert viewer.post(f"operations/{of_viewer}/cancel", code=200)["state"] == "cancelled"
    assert acme.as_role(Role.REVIEWER).post(f"operations/{of_owner}/cancel", code=200)["state"] == "cancelled"


def test_a_fault_of_ours_is_told_without_how_it_came_about(server: Server, acme: Tenant, monkeypatch: Any) -> None:
    from proctor.sdk import work

    def broken(_: Any, job: work.Job) -> work.Made:
        raise RuntimeError("the password is hunter2")

    monkeypatch.setitem(work._KINDS, work.WorkKind.AUDIT, (work.AuditWork, broken))
    done = work_until_done(server, acme.owner, acme.owner.post("audits", {}, 202)["id"])
    assert (done["state"], done["error"]["code"]) == ("failed", "own-fault")
    assert "hunter2" not in json.dumps(done)


# --- processes that die ---------------------------------------------------------------------------------------------


def claim(server: Server, tenant: UUID, lease_sec: float = 60.0) -> operations.Claimed | None:
    return server.database.as_tenant(tenant, lambda c: operations.claim(c, tenant, lease_sec=lease_sec))


def run_out(server: Server, tenant: UUID) -> None:
    with server.database.tenant(tenant) as connection:
        connection.execute(text("UPDATE proctor.operation SET lease_until = now() - interval '1 s'"))


def test_nothing_is_worked_on_twice_at_once(server: Server, acme: Tenant) -> None:
    acme.owner.post("audits", {}, 202)
    assert claim(server, acme.id) is not None
    assert claim(server, acme.id) is None
    assert not work_once(server)


def test_a_process_that_died_is_followed_by_another_and_a_zombie_changes_nothing(server: Server, acme: Tenant) -> None:
    operation = acme.owner.post("audits", {}, 202)["id"]
    zombie = claim(server, acme.id)
    assert zombie is not None
    run_out(server, acme.id)
    assert work_until_done(server, acme.owner, operation)["state"] == "done"
    said = Progress(done=99, total=None, words="lies")
    database, ending = server.database, Ending(state="failed", result="lies")
    assert not database.as_tenant(acme.id, lambda c: operations.settle(c, zombie, ending, said))
    assert not database.as_tenant(acme.id, lambda c: operations.beat(c, zombie, said, lease_sec=60)).held
    assert "lies" not in json.dumps(acme.owner.get(f"operations/{operation}"))


def test_what_kills_every_process_is_given_up(server: Server, acme: Tenant) -> None:
    operation = acme.owner.post("audits", {}, 202)["id"]
    for _ in range(operations.LOSSES):
        assert claim(server, acme.id) is not None
        run_out(server, acme.id)
    assert claim(server, acme.id) is None
    done = acme.owner.get(f"operations/{operation}")
    assert (done["state"], done["error"]["code"]) == ("failed", "operation-lost")


def test_a_server_that_stops_puts_its_work_back(server: Server, acme: Tenant, nightly: RunSetRow) -> None:
    operation = acme.owner.post("run-sets/nightly/exports", {}, 202)["id"]
    assert work_once(server, lambda: True)
    assert acme.owner.get(f"operations/{operation}")["state"] == "queued"
    assert work_until_done(server, acme.owner, operation)["state"] == "done"


def test_who_asks_for_little_does_not_wait_for_who_asks_for_much(server: Server, acme: Tenant, rival: Tenant) -> None:
    for _ in range(5):
        acme.owner.post("audits", {}, 202)
    assert claim(server, acme.id) is not None
    operation = rival.owner.post("audits", {}, 202)["id"]
    assert work_once(server)
    assert rival.owner.get(f"operations/{operation}")["state"] == "done"


# --- downloads -----------------------------------------------------------------------------------------------------


def test_a_link_works_without_a_key_until_it_runs_out(server: Server, acme: Tenant, nightly: RunSetRow) -> None:
    operation = export(server, acme.owner, nightly)["id"]
    made = acme.owner.post(f"operations/{operation}/download-link", {"seconds": 60})
    response = acme.http.get(made["url"])
    assert response.status_code == 200
    assert "proctor.json" in members(response.content)
    assert response.headers["content-disposition"].startswith("attachment")
    assert datetime.fromisoformat(made["expires_at"]) <= datetime.now(UTC) + timedelta(seconds=60)
    acme.owner.post(f"operations/{operation}/download-link", {"seconds": 3601}, 422)


def test_every_other_link_is_answered_in_the_same_bytes(
    server: Server, acme: Tenant, rival: Tenant, nightly: RunSetRow
) -> None:
    operation = UUID(export(server, acme.owner, nightly)["id"])
    unfinished = UUID(acme.owner.post("run-sets/nightly/exports", {}, 202)["id"])
    soon = datetime.now(UTC) + timedelta(minutes=5)
    good = sign_link(Link(tenant=acme.id, operation=operation, until=soon), SECRET)
    raw = base64.urlsafe_b64decode(good + "=" * (-len(good) % 4))
    flipped = [raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :] for at in range(len(raw))]
    texts = [base64.urlsafe_b64encode(one).decode().rstrip("=") for one in flipped]
    texts += [
        sign_link(Link(tenant=acme.id, operation=operation, until=soon), b"another secret of 32 bytes or so.."),
        sign_link(Link(tenant=acme.id, operation=operation, until=datetime.now(UTC) - timedelta(seconds=1)), SECRET),
        sign_link(Link(tenant=rival.id, operation=operation, until=soon), SECRET),
        sign_link(Link(tenant=acme.id, operation=new_id(), until=soon), SECRET),
        sign_link(Link(tenant=acme.id, operation=unfinished, until=soon), SECRET),
        *(good[:-1], good + "A", "x", "%00", "é", "=" * 40, "." * 200),
    ]
    assert acme.http.get(f"/api/v1/downloads/{good}").status_code == 200
    answers = set()
    for one in texts:
        response = acme.http.get(f"/api/v1/downloads/{one}")
        own = (response.headers[name] for name in ("x-request-id", "x-trace-id"))
        body = reduce(lambda text, one: text.replace(one, ""), own, response.text)
        answers.add((response.status_code, body, response.headers.get("cache-control")))
    assert len(answers) == 1
    assert answers.pop()[0] == 404


def test_downloads_are_removed_after_a_week(
    server: Server, acme: Tenant, nightly: RunSetRow, objects: ObjectStore
) -> None:
    done = export(server, acme.owner, nightly)
    url = acme.owner.post(f"operations/{done['id']}/download-link", {})["url"]
    remove_expired(server)
    assert acme.http.get(url).status_code == 200
    week = datetime.fromisoformat(done["download_until"]) - datetime.fromisoformat(done["ended_at"])
    assert week == timedelta(days=7)
    with server.database.tenant(acme.id) as connection:
        connection.execute(text("UPDATE proctor.operation SET files_until = now() - interval '1 s'"))
    assert acme.http.get(url).status_code == 404
    remove_expired(server)
    assert list(objects.list(f"{acme.id}/operations/")) == []
    assert acme.owner.get(f"operations/{done['id']}")["download_until"] is None


# --- what is sent --------------------------------------------------------------------------------------------------


def tar_of(*entries: tuple[str, bytes | tarfile.TarInfo]) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for name, what in entries:
            member = what if isinstance(what, tarfile.TarInfo) else tarfile.TarInfo(name)
            if isinstance(what, bytes):
                member.size = len(what)
            tar.addfile(member, io.BytesIO(what) if isinstance(what, bytes) else None)
    return file.getvalue()


def link_to(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tuple[str, tarfile.TarInfo]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return name, member


def sparse(name: str, size: int) -> bytes:
    """A member that says it is large and holds nothing."""
    member = tarfile.TarInfo(name)
    table = b"1\n%d\n0\n" % size
    member.size = 512
    member.pax_headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": name,
        "GNU.sparse.realsize": str(size),
    }
    return member.tobuf(tarfile.PAX_FORMAT) + table + bytes(512 - len(table)) + bytes(1024)


def send(server: Server, asker: Asker, tar: bytes, query: str = "") -> Any:
    headers = {"Authorization": f"Bearer {asker.key}", "Content-Type": "application/x-tar"}
    response = asker.http.post(f"/api/v1/imports{query}", content=tar, headers=headers)
    assert response.status_code == 202, response.text
    return work_until_done(server, asker, response.json()["id"])


def results(acme: Tenant) -> tuple[str, bytes]:
    suite = acme.owner.get("suites")["items"][0]["suite_id"]
    return "results.toml", RESULTS.replace("SUITE", suite).encode()


def test_results_are_sent_and_imported(server: Server, acme: Tenant, nightly: RunSetRow, objects: ObjectStore) -> None:
    done = send(server, acme.as_role(Role.REVIEWER), tar_of(results(acme), ("attempts.jsonl", b"")))
    assert done["state"] == "done", done
    assert (done["result"]["run_set"], done["result"]["expected"]) == ("theirs", 2)
    assert acme.owner.get("run-sets/theirs")["run_set"]["name"] == "theirs"
    remove_expired(server)
    assert list(objects.list(f"{acme.id}/operations/")) == [], "what was sent is not kept"


@pytest.mark.parametrize(
    "tar",
    [
        b"",
        b"not a tar" * 100,
        gzip.compress(bytes(1 << 20)),
        tar_of(("results.toml", b"x")),
        tar_of(("results.toml", b"x"), link_to("attempts.jsonl", "/etc/passwd")),
        tar_of(link_to("results.toml", "/etc/hostname"), ("attempts.jsonl", b"")),
        tar_of(link_to("results.toml", "/etc/passwd", tarfile.LNKTYPE), ("attempts.jsonl", b"")),
        tar_of(link_to("results.toml", "x", tarfile.CHRTYPE), ("attempts.jsonl", b"")),
        tar_of(("../results.toml", b"x"), ("attempts.jsonl", b"")),
        tar_of(("/etc/results.toml", b"x")),
        sparse("attempts.jsonl", 1 << 50),
        sparse("attempts.jsonl", 1 << 27),
    ],
    ids=["empty", "noise", "gzip", "one", "link", "link2", "hard", "device", "up", "absolute", "bomb", "small-bomb"],
)
def test_hostile_tars_are_refused_and_leave_nothing(
    server: Server, acme: Tenant, nightly: RunSetRow, objects: ObjectStore, tar: bytes
) -> None:
    done = send(server, acme.owner, tar)
    assert (done["state"], done["error"]["code"]) == ("failed", "suite-upload"), done
    told = json.dumps(done["error"])
    assert str(server.settings.home) not in told
    assert "root:" not in told
    remove_expired(server)
    assert list(objects.list(f"{acme.id}/operations/")) == []
    assert list((server.settings.home / "tmp").iterdir()) == []


@pytest.mark.parametrize("suite", ["/", ".", "..", "tasks", "~", "/etc"])
def test_a_manifest_names_no_folder_of_the_servers(
    server: Server, acme: Tenant, nightly: RunSetRow, suite: str, monkeypatch: Any, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    manifest = RESULTS.replace("SUITE", suite).encode()
    done = send(server, acme.owner, tar_of(("results.toml", manifest), ("attempts.jsonl", b"")))
    assert done["error"]["code"] == "suite-unknown", done


def test_results_that_expect_too_much_are_refused(server: Server, acme: Tenant, nightly: RunSetRow) -> None:
    name, manifest = results(acme)
    more = "".join(f'[[profiles]]\nname = "p{number}"\nagent = "a"\n' for number in range(1100))
    manifest = manifest.replace(b"[[profiles]]", b"trials = 1000\n[[profiles]]", 1) + more.encode()
    done = send(server, acme.owner, tar_of((name, manifest), ("attempts.jsonl", b"")))
    assert done["error"]["code"] == "import-invalid", done


@pytest.mark.parametrize("pattern", ["(a+)+b", "(a|a)*b", "(.*)(.*)(.*)(.*)x", "a?" * 30, r"(.)\1", "(?=a)a", NESTED])
def test_a_pattern_that_could_stop_the_server_is_refused(server: Server, acme: Tenant, pattern: str) -> None:
    rules = {"variants": [{"pattern": pattern, "profile": "p"}]}
    began = time.monotonic()
    told = acme.owner.post("audits", {"rules": rules}, 422)
    assert (told["code"], told["where"]) == ("audit-rules", "--rules: variants.0.pattern")
    assert "server does not try it" in told["detail"]
    assert time.monotonic() - began < 5, "it was tried"


def test_so_many_patterns_are_refused(acme: Tenant) -> None:
    rules = {"variants": [{"pattern": "x", "profile": "p"}] * 101}
    assert acme.owner.post("audits", {"rules": rules}, 422)["code"] == "audit-rules"


@pytest.mark.parametrize("pattern", ["(", "a{99999999999}", "(" * 2000 + ")" * 2000, r"(\w+)-v\d+", "(a|b)-.*", ""])
def test_other_patterns_are_taken_or_refused_as_on_ones_own_machine(acme: Tenant, pattern: str) -> None:
    rules = {"variants": [{"pattern": pattern, "profile": "p"}]}
    response = acme.owner("POST", "audits", {"rules": rules})
    right = pattern.startswith(("(\\w", "(a|b)"))
    assert response.status_code == (202 if right else 422), response.text
    assert right or response.json()["code"] == "audit-rules"


@pytest.mark.parametrize("suite", ["/", ".", "../tasks", "tasks"])
def test_a_regrade_names_no_folder_of_the_servers(
    acme: Tenant, nightly: RunSetRow, suite: str, monkeypatch: Any, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert acme.owner.post("run-sets/nightly/regrades", {"suite": suite}, 404)["code"] == "suite-unknown"
    planned = acme.owner.post("run-sets/nightly/regrade-plan", {}, 404)  # its file named a folder
    assert planned["code"] == "suite-unknown"


def test_an_audit_tells_nothing_of_the_machine(server: Server, acme: Tenant, nightly: RunSetRow) -> None:
    body = {"apply": True, "profile_list": "list.json", "listed": ["oracle", "gone"], "run_set": "nightly"}
    done = work_until_done(server, acme.owner, acme.owner.post("audits", body, 202)["id"])
    assert done["state"] == "done"
    assert (done["result"]["leaked"], done["result"]["written"]) == ({}, None)
    (compared,) = done["result"]["denominators"]
    assert compared["source"] == "list.json"
    assert not (server.settings.home / "audits").exists()


def test_a_policy_is_sent_and_classified_by(server: Server, acme: Tenant, nightly: RunSetRow) -> None:
    body = {"policy": "nonsense", "source": "mine.toml"}
    operation = acme.owner.post("run-sets/nightly/reclassifications", body, 202)["id"]
    done = work_until_done(server, acme.owner, operation)
    assert (done["error"]["code"], done["error"]["where"].partition(":")[0]) == ("outcome-policy", "mine.toml"), done


def test_a_rehearsal_starts_nothing(acme: Tenant, nightly: RunSetRow) -> None:
    suite = acme.owner.get("suites")["items"][0]["suite_id"]
    spec = {"name": "new", "suite": suite, "profiles": [{"name": "a", "agent": "noop"}]}
    seen = acme.owner.post("run-sets/rehearsal", {"spec": spec, "spec_digest": "0" * 64}, 200)
    assert (seen["expected"], seen["new"], seen["existing"]) == (2, 2, None)
    assert [row["name"] for row in acme.owner.get("run-sets")["items"]] == ["nightly"]


def test_a_rehearsal_ends_within_its_time_and_keeps_nobody_waiting(
    acme: Tenant, nightly: RunSetRow, monkeypatch: pytest.MonkeyPatch
) -> None:
    suite = acme.owner.get("suites")["items"][0]["suite_id"]
    spec = {"name": "huge", "suite": suite, "trials": 50_000, "profiles": [{"name": "a", "agent": "noop"}]}
    monkeypatch.setattr(run_sets, "_REHEARSAL_SEC", 0.5)
    told = acme.owner.post("run-sets/rehearsal", {"spec": spec, "spec_digest": "0" * 64}, 422)
    assert (told["code"], told["where"]) == ("run-set-file", "trials")
    assert "100,000 cells" in told["detail"]
    small = {"spec": {**spec, "trials": 1}, "spec_digest": "1" * 64}
    assert acme.owner.post("run-sets/rehearsal", small, 200)["new"] == 2
    assert [row["name"] for row in acme.owner.get("run-sets")["items"]] == ["nightly"]


def test_more_cells_than_can_be_meant_are_refused_before_any_is_planned(acme: Tenant, nightly: RunSetRow) -> None:
    suite = acme.owner.get("suites")["items"][0]["suite_id"]
    profiles = [{"name": f"p{number}", "agent": "noop"} for number in range(6)]
    body = {"spec": {"name": "huge", "suite": suite, "trials": 99_999, "profiles": profiles}, "spec_digest": "0" * 64}
    for path in ("run-sets/rehearsal", "run-sets"):
        told = acme.owner.post(path, body, 422)
        assert "99,999 trials of 2 tasks by 6 profiles make 1,199,988 cells" in told["detail"]
        assert told["where"].endswith("trials")
