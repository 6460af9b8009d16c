"""A task's services in the engine: whose terms can be kept, what a backend is asked for, and their files and hooks."""

from __future__ import annotations

import tarfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from proctor.engine import artifacts
from proctor.engine.hooks import run_hooks
from proctor.engine.phases import TaskUnsupported
from proctor.engine.services import place_of, service_specs
from proctor.engine.spec import Policy
from proctor.engine.terms import obstacles, refuse_unsupported
from proctor.kernel.canonical import Json
from proctor.sandboxes.errors import NothingThere, ServiceStopped
from proctor.sandboxes.fake import FakeBackend
from proctor.sandboxes.interfaces import (
    Capabilities,
    Condition,
    ExecRequest,
    ExecResult,
    Place,
    Probe,
    SandboxSpec,
    TransferLimits,
    Volume,
)
from proctor.sandboxes.interfaces import (
    Service as Container,
)
from proctor.suites.errors import VariableMissing
from proctor.suites.services import Build, Composed, Mount, Readiness, ReadyProbe, Service, SharedVolume
from proctor.suites.tasks import (
    AgentSettings,
    Artifact,
    CollectHook,
    Environment,
    Step,
    Task,
    TaskProblem,
    VerificationMode,
    Verifier,
)
from tests.contracts.sandboxes import labels

DB = Service(
    name="db",
    image="postgres:16",
    command=("serve",),
    env={"PASSWORD": "${PASSWORD}"},
    mounts=(Mount(source="seed", target="/seed"),),
    volumes=(SharedVolume(name="rows", target="/data", read_only=True),),
    probe=ReadyProbe(argv=("ready",), retries=7),
    networks=("back",),
)
MAIN = Service(name="main", build=Build(), needs={"db": Readiness.HEALTHY}, networks=("back", "front"))
COMPOSED = Composed(main=MAIN, beside=(DB,), inward=("back",))
LIVE = Verifier(mode=VerificationMode.LIVE)
HOOK = CollectHook(command="dump", service="db", timeout_sec=1)
TASK = Task(
    name="t",
    instruction="Do.",
    agent=AgentSettings(),
    environment=Environment(compose=True, services=COMPOSED),
    verifier=replace(LIVE, collect=(HOOK,)),
    artifacts=(Artifact(source="/dump", service="db"),),
)
CONFIGURATION: dict[str, Json] = {
    "policies": Policy().model_dump(mode="json"),
    "agent": {"name": "noop", "version": "1", "layer": None},
}


class Containers(FakeBackend):
    """A backend whose sandboxes are containers, with services unless it is told otherwise."""

    def __init__(self, *, services: bool = True) -> None:
        super().__init__()
        self._services = services

    def capabilities(self) -> Capabilities:
        return replace(super().capabilities(), host=False, builds=True, users=None, services=self._services)


def test_services_their_artifacts_and_hooks_are_taken_where_a_backend_has_services() -> None:
    refuse_unsupported(TASK, CONFIGURATION, Containers())


PROBLEMS = tuple(TaskProblem(file="f.yaml", field=f"services.db.k{n}", reason="is not supported") for n in range(9))
VOLUME = replace(MAIN, volumes=DB.volumes)
SHARING = replace(TASK, environment=replace(TASK.environment, services=replace(COMPOSED, main=VOLUME)))
STEP = Step(name="s", instruction="Do.", agent=AgentSettings(), verifier=LIVE)


@pytest.mark.parametrize(
    ("task", "where", "told"),
    [
        (
            replace(TASK, environment=Environment(compose=True, compose_problems=PROBLEMS)),
            "f.yaml",
            "services.db.k0: is not supported; services.db.k1: is not supported; ",
        ),
        (replace(TASK, environment=Environment(compose=True, dockerfile=True)), "environment", "was not read when"),
        (
            replace(TASK, environment=replace(TASK.environment, services=replace(COMPOSED, main=Service(name="main")))),
            "environment",
            "names no image and has no Dockerfile",
        ),
        (replace(SHARING, verifier=replace(LIVE, mode=VerificationMode.SNAPSHOT)), "services.main.volumes", "no kept"),
        (replace(SHARING, steps=(STEP,)), "services.main.volumes", "no kept state holds a volume"),
        (replace(TASK, artifacts=(Artifact(source="/d", service="x"),)), "artifacts[0].service", "no service 'x'"),
        (
            replace(TASK, verifier=replace(LIVE, collect=(HOOK, replace(HOOK, service="x")))),
            "verifier.collect[1].service",
            "no service 'x'",
        ),
        (
            replace(TASK, verifier=replace(LIVE, environment=Environment(compose=True))),
            "verifier.environment",
            "only the task's own environment can have services",
        ),
    ],
)
def test_what_can_t_be_had_is_refused_by_name(task: Task, where: str, told: str) -> None:
    with pytest.raises(TaskUnsupported) as caught:
        refuse_unsupported(task, CONFIGURATION, Containers())
    assert caught.value.where == f"t: {where}"
    assert told in caught.value.message


def test_a_long_list_of_problems_is_cut_and_counted() -> None:
    task = replace(TASK, environment=Environment(compose=True, compose_problems=PROBLEMS))
    with pytest.raises(TaskUnsupported, match="k7: is not supported; and 1 more"):
        refuse_unsupported(task, CONFIGURATION, Containers())


def test_a_backend_without_services_says_so() -> None:
    with pytest.raises(TaskUnsupported, match="has services, which the fake sandbox does not have"):
        refuse_unsupported(TASK, CONFIGURATION, Containers(services=False))
    with pytest.raises(TaskUnsupported, match="needs an image"):
        refuse_unsupported(TASK, CONFIGURATION, FakeBackend())


def test_a_services_secret_that_was_not_given_is_told_before_anything_runs() -> None:
    assert list(obstacles(TASK, CONFIGURATION, Containers(), secrets=())) == [
        "services.db.environment: ${PASSWORD} is not among secrets.names, or is a provider's key"
    ]
    assert list(obstacles(TASK, CONFIGURATION, Containers(), secrets=("PASSWORD",))) == []


def test_what_a_backend_is_asked_for() -> None:
    folder = Path("/task")
    (db,) = service_specs(COMPOSED, folder, {"db": "postgres@sha256:0"}, {"PASSWORD": "s"})
    assert (db.image, db.command, db.entrypoint, db.env) == ("postgres@sha256:0", ("serve",), None, {"PASSWORD": "s"})
    assert db.probe == Probe(argv=("ready",), retries=7)
    assert db.place == Place(
        name="db",
        networks=frozenset({"back"}),
        outward=False,
        volumes={"/data": Volume(name="rows", read_only=True)},
        files={"/seed": Path("/task/environment/seed")},
    )
    main = place_of(COMPOSED, MAIN, folder)
    assert (main.outward, main.needs) == (True, {"db": Condition.HEALTHY})
    with pytest.raises(VariableMissing):
        service_specs(COMPOSED, folder, {"db": "i"}, {})


class Database:
    """A service that has one file, and whose program may have ended."""

    workdir = "/var/db"

    def __init__(self, *, stopped: bool = False) -> None:
        self.stopped = stopped
        self.ran: list[tuple[str, str | None]] = []

    async def exec(self, request: ExecRequest) -> ExecResult:
        if self.stopped:
            raise ServiceStopped("it ended with exit code 3")
        self.ran.append((request.argv[-1], request.cwd))
        return ExecResult(exit_code=4, signal=None)

    async def get(self, source: str, destination: Path, limits: TransferLimits | None = None) -> None:
        if source != "/dump":
            raise NothingThere(where=source)
        destination.write_text("rows")

    async def kill_session(self, session: str) -> None:
        """Nothing of it is left."""


async def with_services(services: Mapping[str, Container], monkeypatch: pytest.MonkeyPatch):
    box = await FakeBackend().create(SandboxSpec(labels=labels()))
    own = box.service
    monkeypatch.setattr(box, "service", lambda name: services.get(name) or own(name), raising=False)
    return box


async def test_a_hook_runs_in_its_service_and_one_that_has_ended_is_evidence(monkeypatch: pytest.MonkeyPatch) -> None:
    up, down = Database(), Database(stopped=True)
    box = await with_services({"db": up, "gone": down}, monkeypatch)
    hooks = [HOOK, replace(HOOK, service="main"), replace(HOOK, service="gone")]
    ended = await run_hooks(box, hooks)
    assert up.ran == [("dump", "/var/db")]
    assert [(one["service"], one.get("exit_code"), "not_running" in one) for one in ended] == [  # type: ignore[index,union-attr,call-overload]
        ("db", 4, False),
        ("main", 0, False),
        ("gone", None, True),
    ]


async def test_files_of_a_service_are_kept_apart_and_given_to_the_verifier(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    box = await with_services({"db": Database()}, monkeypatch)
    (tmp_path / "own").write_text("mine")
    await box.put(tmp_path / "own", "/dump")
    listed = [Artifact(source="/dump", service="db"), Artifact(source="/dump"), Artifact(source="/no", service="db")]
    assert await artifacts.take(box, listed, tmp_path / "taken") == ["/no"]
    kept = artifacts.pack(listed, tmp_path / "taken", tmp_path / "kept.tar")
    with tarfile.open(kept.path) as tar:
        assert tar.getnames() == ["db/dump", "dump"]
    verifier = await FakeBackend().create(SandboxSpec(labels=labels()))
    await artifacts.give(verifier, listed, tmp_path / "taken", only_of_services=True)
    assert await verifier.read("/dump", 10) == b"rows"
