"""A run set that is pushed: whole, once, by name of who pushed it, and never as anything that ran here."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from proctor.app import Server
from proctor.database.engine import Database
from proctor.engine.planning import RunSetRow
from proctor.identity.permissions import Role
from proctor.identity.service import ensure_tenant
from proctor.kernel.ids import new_id
from proctor.objects.store import ObjectStore
from proctor.sandboxes.fake import FakeBackend, rewards
from proctor.sdk.remote import pushing
from proctor.sdk.remote.client import RemoteClient
from proctor.sdk.remote.pushing import PushReport, push
from proctor.sdk.remote.transport import Transport
from tests.api.conftest import Asker, Tenant
from tests.bench import Bench, write_tasks

RUN_SET = """
name = "nightly"
suite = "tasks"
trials = 2
[execution]
sandbox = "local"
[[profiles]]
name = "oracle"
agent = "oracle"
"""


@pytest.fixture
def laptop(database: Database, objects: ObjectStore, bench: Bench, tmp_path: Path) -> Bench:
    """An installation of somebody's own."""
    tenant = ensure_tenant(database, f"t-{new_id().hex}")
    write_tasks(tmp_path / "tasks", 2)
    return Bench(database=database, tenant=tenant, objects=objects, folder=tmp_path, owner=bench.owner)


@pytest.fixture
def ran(laptop: Bench) -> RunSetRow:
    return laptop.run(RUN_SET)


def send(server: Server, laptop: Bench, row: RunSetRow, asker: Asker) -> PushReport:
    assert asker.key is not None
    remote = RemoteClient(Transport("http://testserver", asker.key, http=asker.http))
    return push(server.platform(laptop.tenant), row, remote, lambda _: None)


def pushed(asker: Asker) -> Any:
    return asker.get("run-sets/nightly.pushed/leaderboard")


def test_a_push_that_is_completed_twice_with_one_key_is_noted_once(
    server: Server, acme: Tenant, laptop: Bench, ran: RunSetRow
) -> None:
    row = send(server, laptop, ran, acme.owner).run_set
    before = len(acme.owner.get("audit-log?limit=1000")["items"])
    first = acme.owner("POST", f"pushes/{row.id}/complete", idempotency_key="one")
    again = acme.owner("POST", f"pushes/{row.id}/complete", idempotency_key="one")
    assert (first.status_code, again.json()) == (200, first.json())
    assert len(acme.owner.get("audit-log?limit=1000")["items"]) == before + 1


def test_a_run_set_moves_whole_and_once(server: Server, acme: Tenant, laptop: Bench, ran: RunSetRow) -> None:
    first = send(server, laptop, ran, acme.owner)
    assert (first.new, first.known, first.run_set.name, first.run_set.state) == (4, 0, "nightly.pushed", "complete")
    again = send(server, laptop, ran, acme.owner)
    assert (again.new, again.known, again.objects, again.run_set.id) == (0, 4, 0, first.run_set.id)

    (row,) = pushed(acme.owner)["rows"]
    assert (row["rates"]["counts"]["passed"], row["rates"]["counts"]["expected"]) == (4, 4)
    who = f"owner@{acme.name}.example"
    assert not row["comparable"]
    assert f"pushed by {who}: nothing here saw it run" in row["reasons"]
    cells = acme.owner.get("run-sets/nightly.pushed/cells")["items"]
    assert len(cells) == 4
    own = server.platform(laptop.tenant)
    from proctor.sdk.client import Client

    here = Client(own).attempt(str(Client(own).cells(str(ran.id))[1].cells[0].attempt))
    there = acme.owner.get(f"attempts/{cells[0]['attempt']}")
    assert [one["phase"] for one in there["evidence"]] == [one["phase"] for one in here.evidence]
    assert [one["rewards"] for one in there["gradings"]] == [one["rewards"] for one in here.gradings]
    assert [one["class"] for one in there["outcomes"]] == [one["class"] for one in here.outcomes]
    names = {one["name"] for one in there["attempt"]["artifacts"]}
    assert names == {one["name"] for one in here.attempt["artifacts"]}
    for one in there["attempt"]["artifacts"]:
        sent = acme.owner("GET", f"attempts/{cells[0]['attempt']}/artifacts/{one['name']}")
        assert hashlib.sha256(sent.content).hexdigest() == one["sha256"]
    assert acme.owner.get("series/oracle/history")["items"][-1]["comparable"] is False


def test_a_push_that_was_cut_off_goes_on(
    server: Server, acme: Tenant, laptop: Bench, ran: RunSetRow, monkeypatch: Any
) -> None:
    monkeypatch.setattr(pushing, "PAGE_BYTES", 1)
    real, count = Transport.post, [0]

    def dying(self: Transport, path: str, body: Any = None) -> Any:
        count[0] += path.endswith("/cells")
        if count[0] == 3:
            raise KeyboardInterrupt
        return real(self, path, body)

    monkeypatch.setattr(Transport, "post", dying)
    with pytest.raises(KeyboardInterrupt):
        send(server, laptop, ran, acme.owner)
    assert acme.owner.get("run-sets/nightly.pushed")["run_set"]["state"] == "running"
    monkeypatch.setattr(Transport, "post", real)
    done = send(server, laptop, ran, acme.owner)
    assert (done.new, done.known, done.run_set.state) == (2, 2, "complete")


def test_what_is_pushed_is_never_taken_for_what_ran_here(
    server: Server, acme: Tenant, laptop: Bench, ran: RunSetRow, tmp_path: Path
) -> None:
    """A forged verdict would be worth money: whoever reuses it does not run the cell."""
    send(server, laptop, ran, acme.owner)
    own = Bench(
        database=laptop.database,
        tenant=acme.id,
        objects=laptop.objects,
        folder=tmp_path,
        owner=laptop.owner,
        backend=FakeBackend(rewards(0.0)),
    )
    row = own.run(RUN_SET)
    (told,) = acme.owner.get(f"run-sets/{row.id}/leaderboard")["rows"]
    assert told["rates"]["counts"]["passed"] == 0
    assert told["other_trials"] == 0
    assert acme.owner.get("run-sets/nightly")["run_set"]["id"] == str(row.id)
    (still,) = pushed(acme.owner)["rows"]
    assert still["rates"]["counts"]["passed"] == 4
    assert acme.owner.post("run-sets/nightly.pushed/resume", code=409)["code"] == "run-set-imported"


def test_two_people_push_the_same_and_are_told_apart(
    server: Server, acme: Tenant, laptop: Bench, ran: RunSetRow
) -> None:
    one = send(server, laptop, ran, acme.owner).run_set.id
    reviewer = acme.as_role(Role.MEMBER)
    two = send(server, laptop, ran, reviewer).run_set.id
    assert one != two
    assert reviewer.post(f"pushes/{one}/complete", code=404)["code"] == "run-set-unknown"
    assert acme.owner.post(f"pushes/{two}/complete", code=404)["code"] == "run-set-unknown"


def test_a_viewer_pushes_nothing(server: Server, acme: Tenant, laptop: Bench, ran: RunSetRow) -> None:
    with pytest.raises(Exception, match="suites:write|results:write"):
        send(server, laptop, ran, acme.as_role(Role.VIEWER))


# --- forgeries -----------------------------------------------------------------------------------------------------


@pytest.fixture
def recorded(
    server: Server, acme: Tenant, laptop: Bench, ran: RunSetRow, monkeypatch: Any
) -> tuple[dict[str, Any], list[Any]]:
    """What an honest client would say, with its objects sent and no cell."""
    said: dict[str, Any] = {}
    real = Transport.post

    def listening(self: Transport, path: str, body: Any = None) -> Any:
        if path == "pushes":
            said["manifest"] = body
        if path.endswith("/cells"):
            said["cells"] = body["cells"]
            return {"new": 0, "known": 0}
        return real(self, path, body)

    monkeypatch.setattr(Transport, "post", listening)
    send(server, laptop, ran, acme.owner)
    monkeypatch.setattr(Transport, "post", real)
    return said["manifest"], json.loads(json.dumps(said["cells"]))


def change(path: str, value: Any) -> Callable[[Any], None]:
    def apply(cell: Any) -> None:
        *places, last = [int(part) if part.isdigit() else part for part in path.split(".")]
        for place in places:
            cell = cell[place]
        cell[last] = value

    return apply


@pytest.mark.parametrize(
    ("forge", "code"),
    [
        (change("attempts.0.outcomes.0.verdict", False), "push-contradicts"),
        (change("attempts.0.outcomes.0.outcome", "failed"), "push-contradicts"),
        (change("attempts.0.outcomes.0.owner", "provider"), "push-contradicts"),
        (change("attempts.0.gradings.0.rewards", {"reward": 0.0}), "push-contradicts"),
        (change("attempts.0.gradings.0.rewards", {"reward": float("1e308")}), "push-contradicts"),
        (change("attempts.0.gradings.0.detail.passed", None), "push-contradicts"),
        (change("attempts.0.gradings.0.detail.problem", "nonsense"), "push-contradicts"),
        (change("attempts.0.ended_at", "2001-01-01T00:00:00Z"), "push-contradicts"),
        (change("attempts.0.ended_at", "2901-01-01T00:00:00Z"), "push-contradicts"),
        (change("attempts.0.artifacts", [{"name": "x", "sha256": "0" * 64, "size": 1}]), "push-contradicts"),
        (change("attempts.0.log", {"name": "log", "sha256": "0" * 64, "size": 1}), "push-contradicts"),
        (change("profile", "another"), "push-contradicts"),
        (change("task", "0" * 64), "push-contradicts"),
        (change("place", 3), "push-contradicts"),
        (change("place", 0), "request-invalid"),
        (change("attempts.0.number", 101), "request-invalid"),
        (change("attempts.0.evidence.0.phase", "miracle"), "request-invalid"),
        (change("attempts.0.evidence.0.detail", {"x": "a\x00b"}), "request-invalid"),
        (change("attempts.0.evidence.0.detail", {"\x00": 1}), "request-invalid"),
        (change("attempts.0.backend", "a\x00"), "request-invalid"),
        (change("attempts.0.usage", {"cost_nano": 10**30}), "request-invalid"),
        (change("attempts.0.id", str(new_id())), "request-invalid"),
    ],
)
def test_a_forged_cell_is_refused_with_all_of_its_page(
    server: Server, acme: Tenant, recorded: Any, forge: Callable[[Any], None], code: str
) -> None:
    _, honest = recorded
    run_set = acme.owner.get("run-sets/nightly.pushed")["run_set"]["id"]
    forged = deepcopy(honest)
    forge(forged[-1])
    told = acme.owner.post(f"pushes/{run_set}/cells", {"cells": forged}, 422)
    assert told["code"] == code, told
    assert acme.owner.get(f"run-sets/{run_set}/cells?outcome=passed")["items"] == []
    done = acme.owner.post(f"pushes/{run_set}/cells", {"cells": honest}, 200)
    assert done == {"new": 4, "known": 0}


def test_half_a_character_is_refused(acme: Tenant, recorded: Any) -> None:
    """JSON can say it, and the database's JSON can't."""
    _, forged = recorded
    run_set = acme.owner.get("run-sets/nightly.pushed")["run_set"]["id"]
    forged[0]["attempts"][0]["limits"] = {"x": ["\ud800"]}
    headers = {"Authorization": f"Bearer {acme.owner_key}", "Content-Type": "application/json"}
    body = json.dumps({"cells": forged}).encode()
    response = acme.http.post(f"/api/v1/pushes/{run_set}/cells", content=body, headers=headers)
    assert (response.status_code, response.json()["code"]) == (422, "request-invalid")


def test_an_attempt_that_is_there_is_never_written_over(acme: Tenant, recorded: Any) -> None:
    _, honest = recorded
    run_set = acme.owner.get("run-sets/nightly.pushed")["run_set"]["id"]
    acme.owner.post(f"pushes/{run_set}/cells", {"cells": honest}, 200)
    acme.owner.post(f"pushes/{run_set}/complete", code=200)
    attempt = acme.owner.get(f"run-sets/{run_set}/cells")["items"][0]["attempt"]
    before = acme.owner.get(f"attempts/{attempt}")
    other = deepcopy(honest)
    for cell in other:
        said = cell["attempts"][0]
        said["gradings"][0].update(rewards={"reward": 0.0})
        said["gradings"][0]["detail"].update(passed=False, primary=0.0)
        said["outcomes"] = []
        said["evidence"].append({**said["evidence"][-1], "seq": 900})
    assert acme.owner.post(f"pushes/{run_set}/cells", {"cells": other}, 200) == {"new": 0, "known": 4}
    acme.owner.post(f"pushes/{run_set}/complete", code=200)
    assert acme.owner.get(f"attempts/{attempt}") == before


@pytest.mark.parametrize(
    ("forge", "code"),
    [
        (change("profiles.0.document.origin", "import:push:00000000000000000000000000000000:ceo"), "push-contradicts"),
        (change("profiles.0.document.policies", {"nonsense": 1}), "push-contradicts"),
        (change("profiles.0.document.options", {"x": 2**60}), "push-contradicts"),
        (change("profiles.0.document", {}), "push-contradicts"),
        (change("spec", {"name": "x"}), "run-set-file"),
        (change("spec.trials", 10**9), "run-set-file"),
        (change("policy_version", "mine@000000000000"), "outcome-policy"),
        (change("policy", "nonsense"), "outcome-policy"),
        (change("suite", "0" * 64), "suite-unknown"),
        (change("name", "../x"), "request-invalid"),
        (change("source", "x"), "request-invalid"),
    ],
)
def test_a_forged_manifest_is_refused(acme: Tenant, recorded: Any, forge: Callable[[Any], None], code: str) -> None:
    manifest = json.loads(json.dumps(recorded[0]))
    forge(manifest)
    response = acme.owner("POST", "pushes", manifest)
    assert response.status_code in (404, 422), response.text
    assert response.json()["code"] == code, response.text


def test_an_object_is_what_its_digest_says(acme: Tenant, rival: Tenant, objects: ObjectStore) -> None:
    data = b"some bytes"
    digest = hashlib.sha256(data).hexdigest()
    headers = {"Authorization": f"Bearer {acme.owner_key}", "Content-Type": "application/octet-stream"}
    path = f"/api/v1/pushes/objects/{digest}"
    assert acme.http.put(path, content=b"others", headers=headers).json()["code"] == "push-contradicts"
    assert list(objects.list(f"{acme.id}/")) == []
    assert acme.http.put(path, content=data, headers=headers).status_code == 200
    assert acme.owner.post("pushes/objects", {"sha256": [digest]}, 200)["missing"] == []
    assert rival.owner.post("pushes/objects", {"sha256": [digest]}, 200)["missing"] == [digest], "no oracle"


def test_a_log_has_to_be_one(acme: Tenant, recorded: Any) -> None:
    _, honest = recorded
    run_set = acme.owner.get("run-sets/nightly.pushed")["run_set"]["id"]
    headers = {"Authorization": f"Bearer {acme.owner_key}", "Content-Type": "application/octet-stream"}
    for data in (b"no json\n", b"[1]\n", b'{"text": 1}\n', b"[" * 100_000):
        digest = hashlib.sha256(data).hexdigest()
        assert acme.http.put(f"/api/v1/pushes/objects/{digest}", content=data, headers=headers).status_code == 200
        forged = deepcopy(honest)
        forged[0]["attempts"][0]["log"] = {"name": "log", "sha256": digest, "size": len(data)}
        assert acme.owner.post(f"pushes/{run_set}/cells", {"cells": forged}, 422)["code"] == "push-contradicts"


def test_only_a_push_can_be_filled(server: Server, acme: Tenant, laptop: Bench, recorded: Any, ran: RunSetRow) -> None:
    """Not a run set of the tenant's own, whose numbers people believe."""
    _, honest = recorded
    own = Bench(
        database=laptop.database, tenant=acme.id, objects=laptop.objects, folder=laptop.folder, owner=laptop.owner
    )
    row = own.run(RUN_SET)
    assert acme.owner.post(f"pushes/{row.id}/cells", {"cells": honest}, 404)["code"] == "run-set-unknown"
    assert acme.owner.post(f"pushes/{UUID(int=0)}/cells", {"cells": honest}, 404)["code"] == "run-set-unknown"


def test_no_other_route_takes_a_large_body(acme: Tenant) -> None:
    headers = {"Authorization": f"Bearer {acme.owner_key}", "Content-Type": "application/x-tar"}
    assert acme.http.post("/api/v1/users", content=bytes(2 << 20), headers=headers).status_code == 413
    headers["Content-Type"] = "application/octet-stream"
    assert acme.http.post("/api/v1/pushes", content=bytes(17 << 20), headers=headers).status_code == 413
