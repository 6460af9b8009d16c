"""Run sets of a server with secrets: whose attempts get, what they leave, and how those end that can't have them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import structlog
from sqlalchemy import text

from proctor.app import Server
from proctor.database.engine import Database
from proctor.engine.library import CachedLibrary
from proctor.engine.parts import RunnerParts
from proctor.engine.worker import Worker, WorkerSettings
from proctor.identity.vault.key_files import FileKeyring
from proctor.kernel.clock import SystemClock
from proctor.objects.store import ObjectStore
from proctor.queue.workers import WorkerIdentity
from proctor.sandboxes.fake import FakeBackend, FakeSandbox, rewards
from proctor.sandboxes.interfaces import ExecRequest, ExecResult
from proctor.serving.secrets import AttemptSecrets
from tests.api.conftest import Asker, Tenant, work_until_done
from tests.api.test_secrets import OTHER, VALUE, put
from tests.bench import Bench, write_tasks

SPEC = {
    "name": "r",
    "suite": "mine",
    "profiles": [{"name": "a", "agent": "command", "command": "x", "env": {"KEY": "${TOKEN}"}}],
    "secrets": {"names": ["TOKEN"]},
}


@dataclass
class Runs:
    """A tenant's run sets, worked on as a server's worker does, with a sandbox that notes what agents know."""

    server: Server
    bench: Bench
    seen: list[str | None] = field(default_factory=list)
    graded: list[str | None] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.backend = FakeBackend(self._answer)
        self.opener = AttemptSecrets(self.server)

    def _answer(self, sandbox: FakeSandbox, request: ExecRequest) -> ExecResult:
        if any("test.sh" in word for word in request.argv):
            self.graded.append(request.env.get("VERIFIER_KEY"))
        if request.session == "agent":
            self.seen.append(request.env.get("KEY"))
            assert request.on_output is not None
            request.on_output("stdout", f"I know {request.env.get('KEY')}".encode())
        return rewards(1.0)(sandbox, request)

    def work(self) -> None:
        """Everything that waits, of whichever tenant."""
        identity = WorkerIdentity.of_this_process()
        parts = RunnerParts(
            backend=self.backend,
            objects=self.server.objects,
            library=CachedLibrary(self.bench.suites, self.bench.folder / "cache"),
            clock=SystemClock(),
            owner=identity.owner,
            scratch=self.bench.folder,
            opener=self.opener,
        )
        settings = WorkerSettings(slots=2, scope=None, lease_sec=4.0)
        worker = Worker(self.server.database, parts, identity, settings, lambda _: None)
        left = text("SELECT count(*) FROM proctor.queue_item WHERE state IN ('pending', 'waiting', 'claimed')")
        asyncio.run(worker.run(lambda: self.server.database.as_scheduler(lambda c: c.execute(left).scalar_one() > 0)))


CONFIG = """
schema_version = "1.4"
[environment]
network_mode = "no-network"
[verifier.env]
VERIFIER_KEY = "${TOKEN}"
[metadata.proctor]
verification = "snapshot"
"""


@pytest.fixture
def runs(acme: Tenant, rival: Tenant, server: Server, bench: Bench, tmp_path: Path) -> Runs:
    from proctor.suites.loading import load_suite

    write_tasks(tmp_path / "suite", 1, config=CONFIG)
    for tenant in (acme, rival):
        suite = bench.suites.import_suite(tenant.id, load_suite(tmp_path / "suite"), source="test")
        bench.suites.set_alias(tenant.id, "mine", suite, source="test")
    return Runs(server, bench)


def submitted(asker: Asker, code: int = 202, name: str = "r", names: tuple[str, ...] = ("TOKEN",)):  # type: ignore[no-untyped-def]
    spec = {**SPEC, "name": name, "secrets": {"names": list(names)}}
    return asker.post("run-sets", {"spec": spec, "spec_digest": "0" * 64, "fresh": True}, code)


def cell_of(asker: Asker, name: str = "r"):  # type: ignore[no-untyped-def]
    (cell,) = asker.get(f"run-sets/{name}/cells")["items"]
    return cell


def evidence_of(asker: Asker, name: str = "r"):  # type: ignore[no-untyped-def]
    return asker.get(f"attempts/{cell_of(asker, name)['attempt']}")


def test_a_name_that_is_not_set_is_told_at_submission(acme: Tenant, rival: Tenant, runs: Runs) -> None:
    put(rival.owner, "TOKEN")
    put(acme.owner, "OTHER")
    refused = submitted(acme.owner, 422, names=("OTHER", "TOKEN"))
    assert (refused["code"], refused["where"]) == ("secret-missing", "spec.secrets.names[1]")
    assert "`proctor secret set TOKEN`" in refused["remedy"]
    body = {"spec": SPEC, "spec_digest": "0" * 64}
    assert acme.owner.post("run-sets/rehearsal", body, 200)["missing_secrets"] == ["TOKEN"]
    assert acme.owner.get("run-sets")["items"] == []


def test_attempts_have_their_own_tenants_secrets_and_tell_none(
    acme: Tenant, rival: Tenant, runs: Runs, objects: ObjectStore, server: Server
) -> None:
    put(acme.owner, "TOKEN")
    put(rival.owner, "TOKEN", OTHER)
    submitted(acme.owner)
    submitted(rival.owner)
    runs.work()
    assert sorted(map(str, runs.seen)) == sorted([VALUE, OTHER])
    assert sorted(map(str, runs.graded)) == sorted([VALUE, OTHER])
    for tenant, value in ((acme, VALUE), (rival, OTHER)):
        cell = cell_of(tenant.owner)
        assert cell["outcome"] == "passed"
        log = tenant.owner("GET", f"attempts/{cell['attempt']}/log").text
        assert "I know [secret removed]" in log
        kept = [objects.get(key) for key in objects.list(f"{tenant.id}/")]
        assert not [one for one in kept if value.encode() in one]
        assert tenant.owner.get("secrets")["items"][0]["last_used_at"] is not None
        for table in ("evidence", "attempt", "grading", "event", "configuration", "run_set", "tenant_secret"):
            count = text(f"SELECT count(*) FROM proctor.{table} t WHERE t::text LIKE :value")
            told = server.database.as_tenant(
                tenant.id, lambda c, q=count, v=value: c.execute(q, {"value": f"%{v}%"}).scalar_one()
            )
            assert told == 0, table


def test_a_replaced_secret_is_the_next_attempts(acme: Tenant, runs: Runs) -> None:
    put(acme.owner, "TOKEN")
    submitted(acme.owner)
    runs.work()
    put(acme.owner, "TOKEN", OTHER)
    submitted(acme.owner, name="again")
    runs.work()
    assert runs.seen == [VALUE, OTHER]


def test_a_secret_that_is_gone_ends_the_attempt_as_the_users(acme: Tenant, runs: Runs) -> None:
    put(acme.owner, "TOKEN")
    submitted(acme.owner)
    assert acme.owner("DELETE", "secrets/TOKEN").status_code == 200
    runs.work()
    found = evidence_of(acme.owner)
    assert [(one["class"], one["owner"], one["rule"], one["verdict"]) for one in found["outcomes"]] == [
        ("cancelled", "user", "secret-missing", None)
    ]
    assert [one["phase"] for one in found["evidence"]] == ["prepare", "record"]
    assert "TOKEN is not set on this server." in found["evidence"][0]["detail"]["message"]
    assert runs.seen == []
    noted = acme.owner.get("audit-log")["items"][-1]
    assert (noted["action"], noted["detail"]["reason"], noted["actor"]) == ("secret.refused", "secret-missing", None)

    assert acme.owner.post("run-sets/r/resume", None, 422)["code"] == "secret-missing"
    put(acme.owner, "TOKEN", OTHER)
    assert acme.owner.post("run-sets/r/resume", None, 202)["queued"] == 1
    runs.work()
    assert (cell_of(acme.owner)["outcome"], runs.seen) == ("passed", [OTHER])


def gone(path: Path) -> None:
    path.unlink()


def another(path: Path) -> None:
    path.unlink()
    FileKeyring(path, made=True).add()


@pytest.mark.parametrize(("spoil", "code"), [(gone, "secrets-key"), (another, "secrets-key-unknown")])
def test_a_worker_that_can_t_open_them_is_the_machines_fault_and_goes_on(
    acme: Tenant, runs: Runs, server: Server, spoil: Callable[[Path], None], code: str
) -> None:
    put(acme.owner, "TOKEN")
    path = server.settings.home / "secrets" / "secrets.key"
    before = path.read_bytes()
    submitted(acme.owner)
    spoil(path)
    with structlog.testing.capture_logs() as logged:
        runs.opener = _Mending(AttemptSecrets(server), path, before)  # type: ignore[assignment]
        runs.work()
    found = acme.owner.get("run-sets/r/cells")["items"][0]
    assert found["outcome"] == "passed", "it was tried again, and the key was back"
    told = [one for one in logged if one["event"] == "secrets.closed"]
    assert [one["code"] for one in told] == [code, code]
    assert ["error" in one for one in told] == [False, True], "the place is on the operators' line alone"
    assert str(path) in told[1]["error"]
    noted = [one for one in acme.owner.get("audit-log")["items"] if one["action"] == "secret.refused"]
    assert [one["detail"]["reason"] for one in noted] == [code]
    first = acme.owner.get(f"attempts/{noted[0]['detail']['attempt']}")
    assert [(one["class"], one["owner"]) for one in first["outcomes"]] == [("sandbox_error", "infrastructure")]
    assert str(server.settings.home) not in json.dumps(first), "places of the server are nobody's business"


@dataclass
class _Mending:
    """The key comes back after the first attempt."""

    opener: AttemptSecrets
    path: Path
    key: bytes

    def __call__(self, assignment):  # type: ignore[no-untyped-def]
        try:
            return self.opener(assignment)
        finally:
            self.path.write_bytes(self.key)


def test_grading_again_has_them_too(
    acme: Tenant, runs: Runs, server: Server, monkeypatch: pytest.MonkeyPatch, database: Database
) -> None:
    put(acme.owner, "TOKEN")
    submitted(acme.owner)
    runs.work()
    monkeypatch.setattr("proctor.app.local_backend", lambda settings: runs.backend)
    put(acme.owner, "TOKEN", OTHER)
    wanted = acme.owner.post("run-sets/r/regrades", {"recheck": True}, 202)["id"]
    done = work_until_done(server, acme.owner, wanted)
    assert (done["state"], done["result"]["regraded"], done["result"]["failed"]) == ("done", 1, {})
    assert runs.graded == [VALUE, OTHER]
    acme.owner("DELETE", "secrets/TOKEN")
    assert acme.owner.post("run-sets/r/regrade-plan", {"recheck": True}, 422)["code"] == "secret-missing"
    wanted = acme.owner.post("run-sets/r/regrades", {"recheck": True}, 202)["id"]
    ended = work_until_done(server, acme.owner, wanted)
    assert (ended["state"], ended["error"]["code"]) == ("failed", "secret-missing")
    assert "`proctor secret set TOKEN`" in ended["error"]["remedy"]


def test_the_servers_own_environment_is_nobodys(
    acme: Tenant, runs: Runs, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "the-servers-own-value")
    assert submitted(acme.owner, 422)["code"] == "secret-missing"
    put(acme.owner, "TOKEN")
    submitted(acme.owner)
    runs.work()
    monkeypatch.setattr("proctor.app.local_backend", lambda settings: runs.backend)
    wanted = acme.owner.post("run-sets/r/regrades", {"recheck": True}, 202)["id"]
    assert work_until_done(server, acme.owner, wanted)["state"] == "done"
    assert runs.seen + runs.graded == [VALUE] * 3
