"""A local worker's death is read off its pid and start time; real processes are killed here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, replace
from uuid import UUID

import pytest
from sqlalchemy import text

from proctor.database.engine import Database
from proctor.kernel.ids import new_id
from proctor.queue import service as queue
from proctor.queue import workers
from proctor.queue.service import Item
from proctor.queue.workers import WorkerIdentity

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clean_queue")]

KIND = "cell"
_PROGRAM = """
import dataclasses, json, sys
from proctor.queue.workers import WorkerIdentity
print(json.dumps(dataclasses.asdict(WorkerIdentity.of_this_process()), default=str), flush=True)
sys.stdin.read()
"""


@contextmanager
def worker_process(database: Database) -> Iterator[tuple[subprocess.Popen[str], WorkerIdentity]]:
    """A registered worker of another process."""
    with subprocess.Popen(
        [sys.executable, "-c", _PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            fields = json.loads(process.stdout.readline())
            identity = WorkerIdentity(**{**fields, "id": UUID(fields["id"])})
            register(database, identity)
            yield process, identity
        finally:
            process.kill()


def register(database: Database, identity: WorkerIdentity) -> None:
    database.as_scheduler(lambda c: workers.register(c, identity, slots=4))


def dead(database: Database) -> list[UUID]:
    return database.as_scheduler(workers.dead_local_workers)


def known(database: Database) -> set[UUID]:
    return {row.id for row in database.as_scheduler(lambda c: c.execute(text("SELECT id FROM proctor.worker")).all())}


def claim_for(database: Database, identity: WorkerIdentity) -> queue.Claim:
    tenant = new_id()
    item = Item(id=new_id())
    database.as_tenant(tenant, lambda c: queue.enqueue(c, tenant, KIND, [item], holder=new_id()))
    (claim,) = database.as_scheduler(lambda c: queue.claim(c, KIND, worker_id=identity.id, limit=1, slots=1))
    return claim


def test_a_killed_workers_leases_end_at_once(database: Database) -> None:
    with worker_process(database) as (process, identity):
        claim = claim_for(database, identity)
        assert dead(database) == []
        assert database.as_scheduler(queue.reap) == []
        process.kill()
        process.wait()
        assert dead(database) == [identity.id]
        (lost,) = database.as_scheduler(lambda c: queue.reap(c, dead_workers=dead(database)))
    assert (lost.id, lost.token, lost.worker_id) == (claim.id, claim.token, identity.id)


def test_a_worker_that_nobody_waited_for_is_dead_too(database: Database) -> None:
    with worker_process(database) as (process, identity):
        process.kill()
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays a zombie
        assert dead(database) == [identity.id]


def test_a_reused_pid_is_not_the_worker(database: Database) -> None:
    with worker_process(database) as (_, identity):
        earlier = replace(identity, id=new_id(), process_started=identity.process_started - 1)
        register(database, earlier)
        assert dead(database) == [earlier.id]


def test_setting_the_wall_clock_kills_nobody(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    """Start times were once compared as seconds since the epoch, which move with the clock."""
    with worker_process(database):
        monkeypatch.setattr("psutil.boot_time", lambda: 0.0)
        monkeypatch.setattr("psutil._pslinux.boot_time", lambda: 0.0)
        assert dead(database) == []


def test_workers_from_before_the_last_boot_are_dead(database: Database) -> None:
    mine = WorkerIdentity.of_this_process()
    before = replace(mine, id=new_id(), boot_id="another boot")
    register(database, mine)
    register(database, before)
    assert dead(database) == [before.id]


def test_nothing_is_known_of_workers_elsewhere(database: Database) -> None:
    """Another host's pids mean nothing here, nor do those of a container that has this host's name."""
    mine = WorkerIdentity.of_this_process()
    name = mine.host.partition("/")[0]
    register(database, replace(mine, id=new_id(), host="elsewhere", pid=1, process_started=1))
    register(database, replace(mine, id=new_id(), host=f"{name}/pid:[1]", pid=1, process_started=1))
    assert dead(database) == []


def test_a_worker_is_forgotten_once_it_holds_nothing(database: Database) -> None:
    mine = WorkerIdentity.of_this_process()
    register(database, mine)
    claim = claim_for(database, mine)
    database.as_scheduler(lambda c: workers.forget(c, [mine.id]))
    assert known(database) == {mine.id}
    database.as_scheduler(lambda c: queue.complete_all(c, KIND, [claim]))
    database.as_scheduler(lambda c: workers.forget(c, [mine.id]))
    assert known(database) == set()


def test_workers_of_hosts_that_never_came_back_are_forgotten_after_a_day(database: Database) -> None:
    mine = WorkerIdentity.of_this_process()
    lost, recent = replace(mine, id=new_id(), host="gone"), replace(mine, id=new_id(), host="elsewhere")
    for identity in (lost, recent):
        register(database, identity)
    statement = text("UPDATE proctor.worker SET seen_at = now() - interval '25 hours' WHERE id = :id")
    database.as_scheduler(lambda c: c.execute(statement, {"id": lost.id}) and None)
    database.as_scheduler(lambda c: workers.forget(c, []))
    assert known(database) == {recent.id}


def test_a_heartbeat_is_one_statement_for_all_claims_and_says_which_live(database: Database) -> None:
    mine = WorkerIdentity.of_this_process()
    register(database, mine)
    kept, lost = claim_for(database, mine), claim_for(database, mine)
    expire = text("UPDATE proctor.queue_item SET lease_until = now() - interval '1 s'")
    database.as_scheduler(lambda c: c.execute(expire) and None)
    assert beat(database, mine, [kept.token]) == {kept.token}
    assert [one.token for one in database.as_scheduler(queue.reap)] == [lost.token]
    assert beat(database, mine, [kept.token, lost.token]) == {kept.token}


def test_a_claim_whose_answer_was_lost_is_found_again(database: Database) -> None:
    mine = WorkerIdentity.of_this_process()
    known_claim, lost_claim = claim_for(database, mine), claim_for(database, mine)
    found = database.as_scheduler(lambda c: queue.held_by(c, KIND, mine.id, known=[known_claim.token]))
    assert found == [lost_claim]


def beat(database: Database, identity: WorkerIdentity, tokens: list[int]) -> set[int]:
    return database.as_scheduler(lambda c: queue.heartbeat(c, identity.id, tokens))


def test_the_owner_says_host_pid_and_start(database: Database) -> None:
    host, pid, started = WorkerIdentity.of_this_process().owner.split(":")
    assert host
    assert int(pid)
    assert float(started) > 1_000_000_000
    assert set(asdict(WorkerIdentity.of_this_process())) >= {"host", "boot_id", "pid", "process_started"}
