"""Sandboxes of the dead that can't be removed: no worker waits for them without end."""

from __future__ import annotations

import asyncio

import pytest

from proctor.engine import worker
from proctor.sandboxes.fake import FakeBackend, rewards
from tests.bench import Bench, write_tasks

pytestmark = pytest.mark.database

FILE = """
name = "n"
suite = "suite"
[[profiles]]
name = "p"
agent = "oracle"
"""


class Stuck(FakeBackend):
    """One whose removals never end."""

    async def reap(self, is_live: object) -> int:
        await asyncio.sleep(3600)
        return 0


def test_a_worker_begins_beside_what_can_t_be_removed(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "REAP_SEC", 0.2)
    write_tasks(bench.folder / "suite", 2)
    bench.backend = Stuck(rewards(1.0))
    bench.run(FILE)
    assert bench.settled == {"passed": 2}
