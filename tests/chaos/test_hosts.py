"""Workers on several hosts, one of which is cut off from the database for longer than its lease."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from sqlalchemy.engine import URL

from proctor.database.upgrade import upgrade
from tests.chaos.hosts import Host, hosts, why_not
from tests.chaos.rig import wait_for
from tests.external.servers import ExternalServer, connect, external_server
from tests.external.servers import why_not as no_server

pytestmark = [
    pytest.mark.skipif(bool(no_server()), reason=no_server() or "can run"),
    pytest.mark.timeout(240),
]

FILE = """name = "fleet"
suite = "suite"
[[profiles]]
name = "slow"
agent = "command"
command = "sleep 5; echo 42 > answer"
[execution]
concurrency = 1
"""


@pytest.fixture
def fleet() -> Iterator[list[Host]]:
    if reason := why_not():
        pytest.skip(reason)
    with hosts(2) as made:
        yield made


@pytest.fixture
def server(fleet: list[Host]) -> Iterator[ExternalServer]:
    with external_server(listen=[host.database for host in fleet]) as running:
        upgrade(running.owner)
        yield running


def environment(server: ExternalServer, host: Host, objects: Path) -> Mapping[str, str]:
    """How that host reaches the fleet's database and objects."""

    def seen(url: URL) -> str:
        query = {"sslmode": "verify-ca", "sslrootcert": str(server.certificate_authority)}
        there = url.set(drivername="postgresql", host=host.database, query=query)
        return there.render_as_string(hide_password=False)

    return {
        "PROCTOR_DATABASE_URL": seen(server.app),
        "PROCTOR_DATABASE_SCHEDULER_URL": seen(server.scheduler),
        "PROCTOR_TENANT": "fleet",
        "PROCTOR_OBJECTS_URL": str(objects),
    }


def rows(server: ExternalServer, query: str) -> list[tuple[object, ...]]:
    """As the superuser, whom no policy holds back."""
    superuser = server.superuser.set(database="proctor")
    with connect(superuser) as connection:
        return connection.execute(query).fetchall()  # type: ignore[arg-type]


ATTEMPTS = """
    SELECT a.number, w.class, a.ended_at IS NOT NULL FROM proctor.attempt a
    LEFT JOIN proctor.outcome w ON w.attempt_id = a.id ORDER BY a.number
"""


def test_a_worker_cut_off_past_its_lease_is_replaced_and_refused(
    fleet: list[Host], server: ExternalServer, tmp_path: Path
) -> None:
    """Its cell runs once more elsewhere; what it brings when it is back is refused, and its sandbox is gone."""
    first, second = fleet
    for host in fleet:
        host.home.write(tasks=1, source=FILE)
    zombie = first.start("run", str(first.home.file), more=environment(server, first, tmp_path / "objects"))
    in_agent = "SELECT 1 FROM proctor.attempt WHERE phase = 'agent'"
    wait_for(lambda: rows(server, in_agent), 60, "the first attempt is with its agent", every=0.1)
    assert sandboxes(first)
    first.cut_off()
    other = second.start("run", str(second.home.file), more=environment(server, second, tmp_path / "objects"))
    assert "passed 1" in other.printed_at_end(0, 120)
    assert rows(server, ATTEMPTS) == [(1, "lease_lost", True), (2, "passed", True)]
    assert zombie.alive
    first.join()
    assert zombie.wait(120) == 0, zombie.printed[-3000:]
    assert rows(server, ATTEMPTS) == [(1, "lease_lost", True), (2, "passed", True)]
    assert rows(server, "SELECT count(*) FROM proctor.result") == [(1,)]
    assert not sandboxes(first)


def sandboxes(host: Host) -> list[Path]:
    """What is left of its sandboxes."""
    return list((host.home.data / "sandboxes").rglob("pl-*"))
