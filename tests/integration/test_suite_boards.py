"""A suite's leaderboard in the database: a configuration that others came after is still in it."""

from __future__ import annotations

import pytest

from proctor.engine.reading import newest_of_each
from proctor.engine.service import OnMoved, Selection
from tests.bench import Bench, write_tasks

pytestmark = pytest.mark.database

FILE = """
name = "{name}"
suite = "suite"
[[profiles]]
name = "p"
agent = "scripted"
script = "{script}.toml"
"""


def opened(bench: Bench, name: str, script: str) -> str:
    (bench.folder / f"{script}.toml").write_text(f'[tasks."x/{script}"]\ncommands = ["true"]\n')
    resolved = bench.resolved(FILE.format(name=name, script=script))
    bench.engine.open(resolved, on_moved=OnMoved.ASK, fresh=False, selection=Selection())
    return str(resolved.plan.suite_id)


def test_each_configuration_has_its_newest_run_set_however_many_came_after_it(bench: Bench) -> None:
    write_tasks(bench.folder / "suite", 1)
    opened(bench, "old", "first")
    for number in range(4):
        suite = opened(bench, f"again-{number}", "second")
    found = bench.engine.read(lambda connection: newest_of_each(connection, bench.engine.tenant, suite, 10))
    assert [row.name for row in found] == ["again-3", "old"]
    (only,) = bench.engine.read(lambda connection: newest_of_each(connection, bench.engine.tenant, suite, 1))
    assert only.name == "again-3"
    assert bench.engine.read(lambda connection: newest_of_each(connection, bench.engine.tenant, "0" * 64, 10)) == []
