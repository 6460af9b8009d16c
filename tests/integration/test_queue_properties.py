"""The queue's invariants: two workers' transactions, interleaved by hypothesis, beside a model in Python.

Each step does one thing to the queue and to the model; after it the table must say what the model says. A worker may
leave its transaction open while the other acts. A step that has to wait for it ends by the lock timeout instead, and
must then have changed nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from uuid import UUID

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from psycopg.errors import LockNotAvailable
from sqlalchemy import Connection, Engine, create_engine, text
from sqlalchemy.exc import OperationalError

from proctor.kernel.ids import derived_id
from proctor.queue import service as queue
from proctor.queue.service import Band, Item, PutBack
from tests.conftest import Urls
from tests.integration.queue_model import Lane, Model

pytestmark = [
    pytest.mark.endurance,
    pytest.mark.database,
    pytest.mark.skipif(
        os.environ.get("PROCTOR_TEST_DATABASE") == "proxy",
        reason="a dropped connection ends a transaction that the model holds open",
    ),
]

KIND = "cell"
TENANT = derived_id("tenant", "model")
IDS = tuple(derived_id("cell", number) for number in range(6))
HOLDERS = tuple(derived_id("run-set", number) for number in range(2))
PROVIDERS = ("p", "q")
WORKERS = (0, 1)

_rows = st.lists(st.sampled_from(IDS), min_size=1, max_size=5, unique=True)
_holder = st.sampled_from(HOLDERS)
_provider = st.sampled_from(PROVIDERS)
_worker = st.sampled_from(WORKERS)
_open = st.sampled_from([False, False, False, True])


@dataclass
class Worker:
    """One session, and what it will have done once it commits."""

    id: UUID
    connection: Connection
    pending: list[Callable[[], None]] | None = None
    touched: set[UUID] = field(default_factory=set)
    claiming: bool = False


class QueueMachine(RuleBasedStateMachine):
    """Two workers and a planner on one queue.

    No rule has a precondition: which rows a claim takes among equal ones is PostgreSQL's own business, and what is
    drawn next must not hang on it. A rule that has nothing to do does nothing.
    """

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self.model = Model()
        self.workers = [Worker(derived_id("worker", n), engine.connect()) for n in WORKERS]
        self.planner = engine.connect()
        with self.planner.begin():
            for table in ("queue_item", "queue_lane", "queue_share", "queue_service", "worker"):
                self.planner.execute(text(f"DELETE FROM proctor.{table}"))
            for worker in self.workers:
                self.planner.execute(
                    text(
                        "INSERT INTO proctor.worker (id, host, boot_id, pid, process_started, slots)"
                        " VALUES (:id, 'model', '', 1, 1, 4)"
                    ),
                    {"id": worker.id},
                )

    def teardown(self) -> None:
        for connection in (self.planner, *(worker.connection for worker in self.workers)):
            connection.rollback()
            connection.close()

    # --- acting -------------------------------------------------------------------------------------------------------

    @contextmanager
    def plan(self) -> Iterator[None]:
        """The planner's transaction; what is changed in the model is undone if the queue had to wait."""
        before = self.model.copy()
        try:
            with self.planner.begin():
                self.planner.execute(text("SET LOCAL lock_timeout = '60ms'"))
                yield
        except OperationalError as error:
            self.waited(error)
            self.model = before

    def act(self, number: int, work: Callable[[Worker], list[Callable[[], None]]], leave_open: bool) -> None:
        """One worker's transaction: what ``work`` returns is done to the model when it commits."""
        worker = self.workers[number]
        transaction = worker.connection.begin()
        try:
            worker.connection.execute(text("SET LOCAL lock_timeout = '60ms'"))
            worker.pending = work(worker)
        except OperationalError as error:
            transaction.rollback()
            self.waited(error)
            worker.pending, worker.claiming = None, False
            return
        if not leave_open or self.other(worker).pending is not None:
            self.end(worker, commit=True)

    def waited(self, error: OperationalError) -> None:
        """Only for an open transaction may a step have to wait."""
        if not isinstance(error.orig, LockNotAvailable) or all(worker.pending is None for worker in self.workers):
            raise error

    def end(self, worker: Worker, *, commit: bool) -> None:
        if commit:
            worker.connection.commit()
            for change in worker.pending or []:
                change()
        else:
            worker.connection.rollback()
        worker.pending, worker.claiming = None, False

    def other(self, worker: Worker) -> Worker:
        return self.workers[1 - self.workers.index(worker)]

    def free(self, number: int) -> bool:
        return self.workers[number].pending is None

    # --- the planner's rules ------------------------------------------------------------------------------------------

    @rule(
        ids=_rows,
        holder=_holder,
        provider=_provider,
        band=st.sampled_from(Band),
        delay=st.sampled_from([0.0, 0.0, 0.0, 3600.0]),
        revive=st.booleans(),
    )
    def enqueue(self, ids: list[UUID], holder: UUID, provider: str, band: Band, delay: float, revive: bool) -> None:
        with self.plan():
            items = [Item(id=key, provider=provider, band=band, delay=delay) for key in ids]
            queue.enqueue(self.planner, TENANT, KIND, [*items, items[0]], holder=holder, revive=revive)
            self.model.lanes.setdefault(provider, Lane())
            for key in ids:
                self.model.want(key, str(holder), Item(id=key, provider=provider, band=band, delay=delay), revive)

    @rule(holder=_holder, gone=st.booleans())
    def let_go(self, holder: UUID, gone: bool) -> None:
        with self.plan():
            queue.let_go(self.planner, TENANT, KIND, holder, drop=gone)
            for key, row in list(self.model.rows.items()):
                if str(holder) in row.holders:
                    self.model.leave(key, row, str(holder), gone)

    @rule(
        provider=_provider,
        what=st.sampled_from(["pause", "open", "open", "unlimit", "fail", "worked", "time"]),
    )
    def change_lane(self, provider: str, what: str) -> None:
        if provider not in self.model.lanes:
            return
        with self.plan():
            self._change_lane(provider, self.model.lanes[provider], what)

    def _change_lane(self, provider: str, lane: Lane, what: str) -> None:
        key = (self.planner, TENANT, KIND, provider)
        if what == "pause":
            queue.pause_lane(*key, reason="by hand")
            lane.paused = True
        elif what == "open":
            queue.open_lane(*key)
            lane.paused, lane.closed, lane.failures = False, False, 0
        elif what == "half-open":
            self._change_lane(provider, lane, "fail")
            self._change_lane(provider, lane, "time")
        elif what in ("limit", "unlimit"):
            lane.max_running = 1 if what == "limit" else None
            queue.limit_lane(*key, max_running=lane.max_running)
        elif what == "fail":
            queue.lane_failed(*key, reason="provider_error", retry_after=None)
            if not lane.closed:
                lane.failures, lane.closed, lane.shut_token = lane.failures + 1, True, self._last_token()
        elif what == "worked":
            queue.lanes_worked(*key[:3], {provider: None})
            lane.closed, lane.failures = lane.closed and not lane.failures, 0
        else:
            self.planner.execute(
                text(
                    "UPDATE proctor.queue_lane SET closed_until = closed_until - interval '1 day' WHERE provider = :p"
                ),
                {"p": provider},
            )
            lane.closed = False

    def _last_token(self) -> int:
        found = self.planner.execute(text("SELECT pg_sequence_last_value('proctor.queue_token')")).scalar_one()
        return int(found or 0)

    @rule(ids=_rows)
    def time_comes(self, ids: list[UUID]) -> None:
        with self.plan():
            self.planner.execute(
                text("UPDATE proctor.queue_item SET run_at = now() - interval '1 s' WHERE id = ANY(:ids)"), {"ids": ids}
            )
            for row in (self.model.rows[key] for key in ids if key in self.model.rows):
                row.due = True

    @rule(ids=_rows)
    def leases_pass(self, ids: list[UUID]) -> None:
        with self.plan():
            statement = (
                "UPDATE proctor.queue_item SET lease_until = now() - interval '1 min'"
                " WHERE id = ANY(:ids) AND state = 'claimed'"
            )
            self.planner.execute(text(statement), {"ids": ids})
            for row in (self.model.rows[key] for key in ids if key in self.model.rows):
                row.expired = row.expired or row.state == "claimed"

    @rule(purge=st.booleans(), ids=_rows)
    def dead_letters(self, purge: bool, ids: list[UUID]) -> None:
        with self.plan():
            dead = {key for key, row in self.model.rows.items() if row.state == "dead"}
            assert {one.id for one in queue.dead_letters(self.planner, TENANT, KIND)} == dead
            chosen = dead & set(ids)
            if purge:
                assert queue.purge_dead(self.planner, TENANT, KIND, ids=ids) == chosen
                for key in chosen:
                    del self.model.rows[key]
                return
            back = {key for key in chosen if self.model.rows[key].holders}
            assert queue.requeue_dead(self.planner, TENANT, KIND, ids=ids) == back
            for row in (self.model.rows[key] for key in back):
                row.fresh()
                row.state, row.due = "pending" if row.wanted else "paused", True

    # --- the workers' rules -------------------------------------------------------------------------------------------

    @initialize(losses=st.sampled_from([0, 2, 4]), what=st.sampled_from(["open", "limit", "half-open"]))
    def begin(self, losses: int, what: str) -> None:
        """Something in each lane, and perhaps a row that was lost before, or a lane with room for one."""
        for number, provider in enumerate(PROVIDERS):
            self.enqueue(list(IDS[number::2]), HOLDERS[0], provider, Band.NORMAL, 0.0, revive=False)
        for _ in range(losses):
            self.claim_and_die(0, 1)
        self.change_lane(PROVIDERS[0], what)

    @rule(number=_worker, limit=st.integers(1, 3))
    def claim_and_die(self, number: int, limit: int) -> None:
        if all(worker.pending is None for worker in self.workers):
            self.claim(number, limit, None, leave_open=False)
            self.reap(1 - number, number, leave_open=False)

    @rule(number=_worker, limit=st.integers(1, 5))
    def claim_what_is_there(self, number: int, limit: int) -> None:
        self.claim(number, limit, None, leave_open=False)

    @rule(number=_worker, provider=_provider, what=st.sampled_from(["limit", "half-open"]))
    def claim_from_a_narrow_lane(self, number: int, provider: str, what: str) -> None:
        self.change_lane(provider, what)
        self.claim(number, 5, None, leave_open=False)

    @rule(number=_worker, limit=st.integers(1, 5), scope=st.sampled_from([None, None, *HOLDERS]), leave_open=_open)
    def claim(self, number: int, limit: int, scope: UUID | None, leave_open: bool) -> None:
        if not self.free(number):
            return

        def work(worker: Worker) -> list[Callable[[], None]]:
            claims = queue.claim(worker.connection, KIND, worker_id=worker.id, limit=limit, slots=4, scope=scope)
            assert not self.other(worker).claiming, "two claims of a kind at once"
            worker.claiming = True
            ready = self.model.ready(scope)
            self._check(worker, claims, ready, limit)
            promoted = self._column(worker, "state = 'pending'")
            marked = self._column(worker, "state = 'pending' AND worker_id = :worker")
            return [lambda: self._claimed(worker, claims, promoted, marked)]

        self.act(number, work, leave_open)

    def _check(self, worker: Worker, claims: Sequence[queue.Claim], ready: list[UUID], limit: int) -> None:
        """What was claimed could be; and all that could be was, if no other transaction holds rows."""
        held = self.model.held(worker.id)
        suspects = [key for key in ready if self.model.rows[key].losses >= 2]
        claimed = [claim.id for claim in claims]
        assert set(claimed) <= set(ready)
        assert len(set(claimed)) == len(claimed) <= limit
        for provider, lane in self.model.lanes.items():
            count = sum(self.model.rows[key].provider == provider for key in claimed)
            assert count <= lane.room(self.model.running(provider))
        if any(self.model.rows[key].alone for key in held):
            assert claimed == []
        elif set(claimed) & set(suspects):
            assert len(claimed) == 1
            assert not held
        elif self.other(worker).pending is None:
            self._check_all(worker, claimed, ready, suspects, limit)

    def _check_all(
        self, worker: Worker, claimed: list[UUID], ready: list[UUID], suspects: list[UUID], limit: int
    ) -> None:
        other = self.other(worker).id
        if suspects and not self.model.held(worker.id):
            raise AssertionError("an idle worker left a suspect")
        if any(self.model.rows[key].state == "pending" and self.model.rows[key].worker != other for key in suspects):
            assert claimed == []
            return
        normal = [key for key in ready if key not in suspects]
        room = sum(
            min(lane.room(self.model.running(name)), sum(self.model.rows[key].provider == name for key in normal))
            for name, lane in self.model.lanes.items()
        )
        assert len(claimed) == min(limit, room)

    def _column(self, worker: Worker, where: str) -> set[UUID]:
        found = worker.connection.execute(
            text(f"SELECT id FROM proctor.queue_item WHERE {where}"), {"worker": worker.id}
        )
        return {row.id for row in found}

    def _claimed(self, worker: Worker, claims: Sequence[queue.Claim], promoted: set[UUID], marked: set[UUID]) -> None:
        for key in promoted & self.model.rows.keys():
            if self.model.rows[key].state == "waiting":
                assert self.model.rows[key].due
                self.model.rows[key].state = "pending"
        for key in marked & self.model.rows.keys():
            self.model.rows[key].worker = worker.id
        for claim in claims:
            row = self.model.rows[claim.id]
            row.state, row.token, row.worker = "claimed", claim.token, worker.id
            row.alone, row.expired = row.losses >= 2, False
            assert all(claim.token > token for _, _, token in self.model.dead_tokens)

    @rule(
        number=_worker,
        how=st.sampled_from(["complete", "complete", "back", "wait", "bury"]),
        count=st.integers(1, 3),
        leave_open=_open,
    )
    def finish(self, number: int, how: str, count: int, leave_open: bool) -> None:
        if not self.free(number) or not (held := self.model.held(self.workers[number].id)[:count]):
            return

        def work(worker: Worker) -> list[Callable[[], None]]:
            pairs = [(key, self.model.rows[key].token or 0) for key in held]
            assert self._write(worker.connection, how, pairs) == set(held)
            return [lambda key=key: self.model.finished(key, how) for key in held]  # type: ignore[misc]

        self.act(number, work, leave_open)

    def _write(self, connection: Connection, how: str, pairs: Sequence[tuple[UUID, int]]) -> set[UUID]:
        if how == "complete":
            return queue.complete(connection, TENANT, KIND, pairs)
        delay, dead = 60.0 if how == "wait" else 0.0, how == "bury"
        back = [PutBack(id=key, token=token, delay=delay, dead=dead, used=1) for key, token in pairs]
        return queue.put_back(connection, TENANT, KIND, back)

    @rule(number=_worker)
    def heartbeat(self, number: int) -> None:
        if not self.free(number):
            return

        def work(worker: Worker) -> list[Callable[[], None]]:
            held = self.model.held(worker.id)
            tokens = {self.model.rows[key].token for key in held}
            stale = [token for owner, _, token in self.model.dead_tokens if owner == worker.id]
            asked = [*(token for token in tokens if token is not None), *stale]
            assert queue.heartbeat(worker.connection, worker.id, asked) == tokens
            return [lambda: [setattr(self.model.rows[key], "expired", False) for key in held] and None]

        self.act(number, work, leave_open=False)

    @rule(number=_worker, how=st.sampled_from(["complete", "back", "wait", "bury"]))
    def write_under_dead_tokens(self, number: int, how: str) -> None:
        """It changes nothing: the invariant compares every row."""
        if not self.model.dead_tokens or not self.free(number):
            return
        pairs = [(key, token) for _, key, token in self.model.dead_tokens]

        def work(worker: Worker) -> list[Callable[[], None]]:
            assert self._write(worker.connection, how, pairs) == set()
            return []

        self.act(number, work, leave_open=False)

    @rule(number=_worker, dead=st.sampled_from([None, None, *WORKERS]), leave_open=_open)
    def reap(self, number: int, dead: int | None, leave_open: bool) -> None:
        """``dead``: that worker's process is known to be gone."""
        if not self.free(number):
            return
        gone = [] if dead is None else [self.workers[dead].id]

        def work(worker: Worker) -> list[Callable[[], None]]:
            ended = {
                key
                for key, row in self.model.rows.items()
                if row.state == "claimed" and (row.expired or row.worker in gone)
            }
            lost = queue.reap(worker.connection, dead_workers=gone)
            assert len({one.id for one in lost}) == len(lost)
            assert {one.id for one in lost} <= ended
            if self.other(worker).pending is None:
                assert {one.id for one in lost} == ended
            return [lambda one=one: self.model.lost(one) for one in lost]  # type: ignore[misc]

        self.act(number, work, leave_open)

    @rule(commit=st.sampled_from([True, True, False]))
    def end_open_transaction(self, commit: bool) -> None:
        for worker in self.workers:
            if worker.pending is not None:
                self.end(worker, commit=commit)

    # --- what holds after every step ----------------------------------------------------------------------------------

    @invariant()
    def table_is_as_the_model_says(self) -> None:
        with self.planner.begin():
            found = self.planner.execute(
                text(
                    "SELECT id, provider, holders, band, state, tries, losses, losses_alone, alone, token, worker_id"
                    " FROM proctor.queue_item"
                )
            ).all()
        known = {
            key: (r.provider, r.holders, r.band, r.state, r.tries, r.losses, r.losses_alone, r.alone, r.token, r.worker)
            for key, r in self.model.rows.items()
        }
        assert {row.id: tuple(row)[1:] for row in found} == known

    @invariant()
    def bands_and_pauses_follow_the_holders(self) -> None:
        for row in self.model.rows.values():
            if row.wanted:
                assert row.band == min(band for band in row.holders.values() if band is not None)
                assert row.state != "paused"
            else:
                assert row.state in ("paused", "claimed", "dead")

    @invariant()
    def tokens_are_live_once(self) -> None:
        live = [row.token for row in self.model.rows.values() if row.token is not None]
        assert len(set(live)) == len(live)
        assert not set(live) & {token for _, _, token in self.model.dead_tokens}


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_the_queue_does_what_its_model_does(urls: Urls) -> None:
    engine = create_engine(urls.scheduler, pool_size=3)
    try:
        run_state_machine_as_test(  # type: ignore[no-untyped-call]
            lambda: QueueMachine(engine),
            settings=settings(
                max_examples=50,
                stateful_step_count=60,
                derandomize=True,
                deadline=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    finally:
        engine.dispose()
