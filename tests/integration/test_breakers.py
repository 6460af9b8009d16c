"""Failing registries, nodes and providers, with a worker of sixteen slots: what starts, what waits, and for whom."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text

from proctor.engine import reading
from proctor.engine.breakers import Kind, Scope
from proctor.engine.claiming import Claimer
from proctor.engine.evidence import Evidence, Phase
from proctor.engine.policy_files import CURRENT_POLICY, load_policy
from proctor.engine.preflight import Preflight, tell_registries
from proctor.engine.recording import KIND, Moved, record_progress
from proctor.queue import service as queue
from proctor.queue import workers
from proctor.queue.workers import WorkerIdentity
from proctor.sandboxes.errors import ImagePullFailed, SandboxStartError
from proctor.sandboxes.fake import FakeBackend, rewards
from proctor.sandboxes.interfaces import Capabilities, Sandbox, SandboxSpec
from tests.bench import TASK, Bench, write_tasks

pytestmark = [pytest.mark.endurance, pytest.mark.database]

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HUB, OTHER = "hub.example", "other.example"
FILE = 'name = "n"\nsuite = "suite"\ntrials = 30\n[[profiles]]\nname = "p"\nagent = "noop"\nmodel = "acme/one"\n'


@dataclass
class World(FakeBackend):
    """A backend whose registries and machine fail when they are told to."""

    down: set[str] = field(default_factory=set)
    missing: set[str] = field(default_factory=set)
    here: set[str] = field(default_factory=set)
    stuck: dict[str, str] = field(default_factory=dict)
    """Images that never come, with the registry that it is laid on."""
    ill: Callable[[SandboxSpec], bool] = lambda _: False
    pulls: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        super().__init__(rewards(1.0))

    def capabilities(self) -> Capabilities:
        return replace(super().capabilities(), host=False, builds=True)

    async def has(self, image: str) -> bool:
        return image in self.here

    async def build(self, folder: Path, timeout_sec: float, dockerfile: str = "Dockerfile") -> str:
        return await self.pull((folder / dockerfile).read_text().removeprefix("FROM ").strip())

    async def pull(self, image: str | None) -> str:
        assert image is not None
        if image in self.here:
            return image
        self.pulls[image] += 1
        await asyncio.sleep(0)
        registry = image.partition("/")[0]
        if registry in self.down or image in self.stuck:
            laid_on = self.stuck.get(image, registry)
            raise ImagePullFailed("toomanyrequests: slow down", http_status=429, registry=laid_on, where=image)
        if image in self.missing:
            raise ImagePullFailed("manifest unknown", http_status=404, where=image)
        return image

    async def create(self, spec: SandboxSpec) -> Sandbox:
        if self.ill(spec):
            raise SandboxStartError("no space left on device")
        return await super().create(spec)


@pytest.fixture
def world(bench: Bench) -> World:
    bench.backend = world = World()
    return world


def tasks_of(folder: Path, registry: str, count: int = 10) -> None:
    """Tasks that run in images of a registry only."""
    for number in range(count):
        config = TASK.replace("[environment]", f'[environment]\ndocker_image = "{registry}/{number}:1"')
        write_tasks(folder / f"{registry}-{number}", 1, config=config)
        (folder / f"{registry}-{number}" / "task-00").rename(folder / f"task-{registry}-{number}")
        (folder / f"{registry}-{number}").rmdir()


def time_passes(bench: Bench) -> None:
    """So long that every breaker lets a probe through, and every delay of a row is over."""
    for statement in (
        "UPDATE proctor.queue_lane SET closed_until = now() WHERE closed_until > now()",
        "UPDATE proctor.queue_item SET run_at = now() WHERE state = 'waiting'",
    ):
        bench.database.as_scheduler(lambda c, s=statement: c.execute(text(s)) and None)  # type: ignore[misc]


def work(bench: Bench, source: str, *idle: Callable[[], object], slots: int = 16) -> reading.RunSetStatus:
    """Work until nothing more starts; each time that happens the next of ``idle`` is done, and the work goes on."""
    row, then = bench.open(source).run_set, iter(idle)

    def go_on() -> bool:
        if bench.sql("SELECT FROM proctor.queue_item WHERE state = 'claimed'"):
            return True  # what ended is being recorded
        action = next(then, None)
        if action is not None:
            action()
        return action is not None

    asyncio.run(bench.worker(row.id, slots=slots).run(go_on))
    return bench.engine.read(lambda c: reading.status(c, bench.tenant, row))


def started_after(bench: Bench, failures: int) -> int:
    """Attempts that started after so many failures were recorded, by the order in which events were written."""
    return int(
        str(
            bench.sql(
                "SELECT count(*) FROM proctor.event WHERE name = 'attempt.started' AND seq > ("
                " SELECT seq FROM proctor.event WHERE name = 'attempt.ended' AND payload->>'class' = 'image_error'"
                " ORDER BY seq OFFSET :skip LIMIT 1)",
                skip=failures - 1,
            )[0][0]
        )
    )


def attempts(bench: Bench) -> int:
    return int(str(bench.sql("SELECT count(*) FROM proctor.attempt")[0][0]))


def waits(seen: reading.RunSetStatus) -> list[tuple[str, str, str]]:
    return [(one.scope, one.name, one.state.value) for one in seen.progress.waits]


# --- a registry -------------------------------------------------------------------------------------------------------


def test_no_attempt_starts_after_the_tenth_failure_of_a_registry(bench: Bench, world: World) -> None:
    """300 cells on sixteen slots; what was in flight ends, and the rest waits without using up a try."""
    tasks_of(bench.folder / "suite", HUB)
    world.down.add(HUB)
    seen = work(bench, FILE)
    assert started_after(bench, 10) == 0
    assert attempts(bench) < 100  # what ended and is not recorded yet keeps no slot
    (wait,) = seen.progress.waits
    assert (wait.scope, wait.name, wait.state) == ("registry", HUB, "closed")
    assert wait.until is not None
    assert wait.counts == {"image_error": attempts(bench)}
    assert seen.progress.dead == 0
    tried = bench.sql("SELECT count(*) FROM proctor.queue_item WHERE tries > 0")
    assert tried[0] <= (9,)  # those recorded in batches before the tenth


def test_a_probe_reopens_the_registry_and_all_is_done(bench: Bench, world: World) -> None:
    tasks_of(bench.folder / "suite", HUB)
    world.down.add(HUB)
    before: list[int] = []

    def probe() -> None:
        before.append(attempts(bench))
        time_passes(bench)

    def heal() -> None:
        before.append(attempts(bench))
        world.down.clear()
        time_passes(bench)

    seen = work(bench, FILE, probe, probe, heal, lambda: time_passes(bench), slots=16)
    assert before[1:] == [before[0] + 1, before[0] + 2]
    assert (seen.progress.decided, seen.progress.waits) == (300, ())
    assert bench.sql("SELECT failures, counts FROM proctor.queue_lane WHERE provider = :k", k=f"registry/{HUB}") == [
        (0, {})
    ]


def test_another_registrys_cells_go_on(bench: Bench, world: World) -> None:
    tasks_of(bench.folder / "suite", HUB)
    tasks_of(bench.folder / "suite", OTHER)
    world.down.add(HUB)
    seen = work(bench, FILE)
    assert seen.progress.decided == 300
    assert waits(seen) == [("registry", HUB, "closed")]


def test_a_registry_that_worked_for_hours_is_closed_as_soon(bench: Bench, world: World) -> None:
    tasks_of(bench.folder / "suite", HUB)
    work(bench, FILE)
    world.down.add(HUB)
    work(bench, FILE.replace("trials = 30", "trials = 60"))
    assert started_after(bench, 10) == 0


def test_images_that_are_not_there_close_no_registry(bench: Bench, world: World) -> None:
    """A task names its image: what it can bring about must not hold up the others."""
    tasks_of(bench.folder / "suite", HUB)
    world.missing.add(f"{HUB}/0:1")
    seen = work(bench, FILE, *[lambda: time_passes(bench)] * 6)
    assert (seen.progress.decided, seen.progress.dead) == (270, 30)
    assert bench.sql("SELECT count(*) FROM proctor.queue_lane WHERE failures > 0") == [(0,)]


def failures(bench: Bench, key: str = f"registry/{HUB}") -> object:
    return bench.sql("SELECT failures FROM proctor.queue_lane WHERE provider = :key", key=key)[0][0]


def bring(bench: Bench, *images: str) -> None:
    """What comes before a run set's first cell."""
    preflight = Preflight(bench.worker(None)._parts, images, load_policy(CURRENT_POLICY))
    asyncio.run(preflight.run(lambda: True))
    bench.engine.read(lambda c: tell_registries(c, bench.tenant, preflight))


def test_a_probe_whose_images_are_here_by_now_reopens_the_registry(bench: Bench, world: World) -> None:
    """Nobody asks the registry again: what waits for it would go one by one for ever."""
    tasks_of(bench.folder / "suite", HUB)
    row = bench.open(FILE).run_set
    world.down.add(HUB)
    bring(bench, f"{HUB}/0:1")
    assert failures(bench) == 1
    world.here.update(f"{HUB}/{number}:1" for number in range(10))
    time_passes(bench)
    assert bench.work(row.id).state == "complete"
    assert failures(bench) == 0


def test_a_registry_that_gave_images_before_the_first_cell_is_open(bench: Bench, world: World) -> None:
    world.down.add(HUB)
    bring(bench, f"{HUB}/0:1")
    world.here.add(f"{HUB}/0:1")
    bring(bench, f"{HUB}/0:1")
    assert failures(bench) == 1  # it was here: that says nothing
    world.down.clear()
    bring(bench, f"{HUB}/0:1", f"{HUB}/1:1")
    assert failures(bench) == 0


def test_a_probe_that_built_its_image_reopens_the_registry_of_its_base(bench: Bench, world: World) -> None:
    suite = write_tasks(bench.folder / "suite", 10)
    for task in suite.iterdir():
        (task / "environment").mkdir()
        (task / "environment" / "Dockerfile").write_text(f"FROM {HUB}/base:1\n")
    world.down.add(HUB)

    def heal() -> None:
        world.down.clear()
        time_passes(bench)

    seen = work(bench, FILE, heal, lambda: time_passes(bench))
    assert (seen.progress.decided, seen.progress.waits) == (300, ())
    assert failures(bench) == 0


def test_a_probe_that_asked_for_nothing_leaves_what_failed_lately_on_record(bench: Bench, world: World) -> None:
    """It may be only one image that is here: the next failure closes the registry at once."""
    tasks_of(bench.folder / "suite", HUB)
    world.down.add(HUB)
    work(bench, FILE)
    world.here.update(f"{HUB}/{number}:1" for number in range(9))
    row, rounds = bench.open(FILE).run_set, 0

    def go_on() -> bool:
        nonlocal rounds
        rounds += 1
        time_passes(bench)
        return bench.progress(row).decided < 270

    before = attempts(bench)
    asyncio.run(bench.worker(row.id, slots=16).run(go_on))
    progress = bench.progress(row)
    assert (progress.decided, progress.dead) == (270, 0)
    assert attempts(bench) - before - 270 <= 4 * rounds


def test_a_failure_of_a_registry_that_its_cell_does_not_wait_for_is_its_own(bench: Bench, world: World) -> None:
    tasks_of(bench.folder / "suite", HUB, 4)
    world.stuck = {f"{HUB}/{number}:1": OTHER for number in range(4)}
    row = bench.open(FILE.replace("trials = 30", "trials = 3")).run_set
    worker = bench.worker(row.id, slots=16)
    asyncio.run(worker.run(lambda: (time_passes(bench), attempts(bench) < 48)[1]))
    assert attempts(bench) == 48
    assert bench.progress(row).dead == 12


def test_a_probe_that_fails_by_itself_is_not_the_next_one_for_ever(bench: Bench, world: World) -> None:
    tasks_of(bench.folder / "suite", HUB)
    first = bench.folder / "suite" / f"task-{HUB}-0" / "task.toml"
    first.write_text(first.read_text().replace("timeout_sec = 30", "timeout_sec = 300"))
    world.stuck = {f"{HUB}/0:1": HUB}
    bench.open(FILE.replace("trials = 30", "trials = 3"))
    world.down.add(HUB)
    bring(bench, f"{HUB}/1:1")
    world.down.clear()
    seen = work(bench, FILE.replace("trials = 30", "trials = 3"), *[lambda: time_passes(bench)] * 20)
    assert (seen.progress.decided, seen.progress.dead) == (27, 3)
    assert world.pulls[f"{HUB}/0:1"] == 3 * 4


@pytest.mark.parametrize(
    ("key", "phase", "opens"),
    [(f"registry/{HUB}", "start", True), ("node/here", "agent", True), ("node/here", "start", False)],
)
def test_what_a_probe_found_working_opens_while_it_still_runs(
    bench: Bench, world: World, key: str, phase: str, opens: bool
) -> None:
    tasks_of(bench.folder / "suite", HUB)
    row = bench.open(FILE).run_set
    bench.engine.read(lambda c: queue.lane_failed(c, bench.tenant, KIND, key, reason="sandbox_error", retry_after=None))
    time_passes(bench)
    identity = replace(WorkerIdentity.of_this_process(), host="here")
    bench.database.as_scheduler(lambda c: workers.register(c, identity, slots=9))
    claimer = Claimer(
        bench.database, identity.id, backend="fake", slots=9, scope=row.id, lease_sec=60, host=identity.node
    )
    (probe,) = claimer.claim(9, list)
    evidence = [Evidence(phase=Phase.IMAGE, seq=1, started_at=NOW, ended_at=NOW, detail={"image": "x", "asked": []})]
    moved = Moved(assignment=probe, evidence=evidence, segment=0, phase=phase)
    bench.engine.read(lambda c: record_progress(c, bench.tenant, [moved]))
    assert failures(bench, key) == int(not opens)
    assert len(claimer.claim(9, list)) == (9 if opens else 0)


# --- a node, a run set ------------------------------------------------------------------------------------------------


def test_a_machine_that_starts_no_sandbox_claims_nothing_until_a_probe_works(bench: Bench, world: World) -> None:
    write_tasks(
        bench.folder / "suite", 10, config=TASK.replace("[environment]", f'[environment]\ndocker_image = "{HUB}/x"')
    )
    full = [True]
    world.ill = lambda _: bool(full)

    def heal() -> None:
        full.clear()
        time_passes(bench)

    seen = work(bench, FILE)
    (wait,) = seen.progress.waits
    assert (wait.scope, wait.state) == ("node", "closed")
    assert list(wait.counts) == ["sandbox_error"]
    assert attempts(bench) < 100
    seen = work(bench, FILE, heal, lambda: time_passes(bench))
    assert (seen.progress.decided, seen.progress.waits) == (300, ())


def test_a_task_whose_sandboxes_never_start_closes_no_machine(bench: Bench, world: World) -> None:
    tasks_of(bench.folder / "suite", HUB)
    world.ill = lambda spec: spec.image == f"{HUB}/0:1"
    seen = work(bench, FILE, *[lambda: time_passes(bench)] * 6)
    assert (seen.progress.decided, seen.progress.dead) == (270, 30)


def test_two_tasks_whose_sandboxes_never_start_close_no_machine_where_others_work(bench: Bench, world: World) -> None:
    tasks_of(bench.folder / "suite", HUB)
    work(bench, FILE.replace("trials = 30", "trials = 1"))
    world.ill = lambda spec: spec.image in (f"{HUB}/0:1", f"{HUB}/1:1")
    seen = work(bench, FILE, *[lambda: time_passes(bench)] * 6)
    assert (seen.progress.decided, seen.progress.dead) == (300 - 2 * 29, 2 * 29)
    assert bench.sql("SELECT count(*) FROM proctor.queue_lane WHERE failures > 0") == [(0,)]


def test_a_run_set_in_trouble_is_paused_with_the_class_counts(bench: Bench, world: World) -> None:
    tasks_of(bench.folder / "suite", HUB)
    world.missing.update(f"{HUB}/{number}:1" for number in range(10))
    seen = work(bench, FILE)
    row = bench.engine.finish(seen.run_set.id)
    assert row.state == "paused"
    assert row.reason.startswith("too many attempts failed: image_error ")
    assert attempts(bench) <= 60
    world.missing.clear()
    bench.engine.resume(row.id)
    assert bench.work(row.id).state == "complete"


# --- opened by hand ---------------------------------------------------------------------------------------------------


def test_what_is_opened_by_hand_is_counted_anew(bench: Bench, world: World) -> None:
    tasks_of(bench.folder / "suite", HUB)
    world.down.add(HUB)
    work(bench, FILE)
    hub = Scope(kind=Kind.REGISTRY, name=HUB)
    assert bench.engine.unblock(hub)
    assert not bench.engine.unblock(hub)
    before = attempts(bench)
    seen = work(bench, FILE)
    assert 10 <= attempts(bench) - before < 100
    assert waits(seen) == [("registry", HUB, "closed")]
