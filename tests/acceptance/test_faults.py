"""The faults run as a user has it: every kind made on purpose in real sandboxes, each class kept apart."""

from __future__ import annotations

import shutil
from collections import Counter

import pytest

from tests.acceptance.conftest import ROOT, Cli

pytestmark = pytest.mark.journey

WANTED = {  # profile: strict, graded, coverage, bounds; of eight tasks the agent can do two
    "clean": (2 / 8, 2 / 8, 8 / 8, (2 / 8, 2 / 8)),
    "pull-drop": (2 / 8, 2 / 8, 8 / 8, (2 / 8, 2 / 8)),
    "eviction": (2 / 8, 2 / 8, 8 / 8, (2 / 8, 2 / 8)),
    "rate-limit": (2 / 8, 2 / 8, 8 / 8, (2 / 8, 2 / 8)),
    "lost-worker": (2 / 8, 2 / 8, 8 / 8, (2 / 8, 2 / 8)),
    "auth-error": (2 / 8, 2 / 6, 6 / 8, (2 / 8, 4 / 8)),
    "verifier-crash": (2 / 8, 2 / 5, 5 / 8, (2 / 8, 5 / 8)),
    "full-disk": (1 / 8, 1 / 6, 6 / 8, (1 / 8, 3 / 8)),
    "oom-kill": (1 / 8, 1 / 8, 8 / 8, (1 / 8, 1 / 8)),
}
OWED = {
    ("auth-error", "provider_auth", "provider"): 2,
    ("verifier-crash", "verifier_error", "task"): 3,
    ("full-disk", "sandbox_error", "infrastructure"): 2,
}
CLEAN = """
name = "clean"
suite = "basics"
[[profiles]]
name = "clean"
agent = "scripted"
script = "basics.scripts/poor.toml"
"""


def test_each_class_is_kept_apart_from_the_models_own_failures(cli: Cli) -> None:
    for name in ("basics", "basics.scripts"):
        shutil.copytree(ROOT / "examples" / name, cli.folder / name)
    shutil.copy(ROOT / "examples" / "faults.toml", cli.folder)
    told = cli("run", "faults.toml", "--html", "faults.html", code=3, PROCTOR_LEASE_SEC="2").stdout
    assert "not comparable (all profiles): faults: made on purpose (pull_drop, oom_kill, eviction," in told
    assert "quarantined" not in told  # faults made on purpose say nothing of a task
    assert "owed: verifier_error 3 (task) · " in told
    rates = {row["profile"]: row["rates"] for row in cli.json("leaderboard")["rows"]}
    assert {
        name: (one["strict"], one["graded"], one["coverage"], (one["bounds"]["low"], one["bounds"]["high"]))
        for name, one in rates.items()
    } == WANTED

    listed = cli.json("cells")
    cells = [{**cell, "profile": listed["profiles"][str(cell["profile"])]} for cell in listed["cells"]]
    owed = Counter((cell["profile"], cell["outcome"], cell["owner"]) for cell in cells if cell["verdict"] is None)
    assert owed == OWED
    assert {cell["owner"] for cell in cells if cell["verdict"] is not None} == {"model"}
    attempts = {name: sum(cell["attempts"] for cell in cells if cell["profile"] == name) for name in WANTED}
    assert attempts["clean"] == attempts["oom-kill"] == attempts["auth-error"] == 8
    assert attempts["eviction"] == 24
    assert attempts["rate-limit"] == 10
    assert attempts["lost-worker"] == 9
    assert attempts["full-disk"] == 14

    (crashed, *_) = [cell["attempt"] for cell in cells if cell["outcome"] == "verifier_error"]
    shown = cli("attempt", "show", crashed).stdout
    assert "verifier_error" in shown
    assert "entry 1: verifier_crash" in shown

    # What real results there are carries over to a file without faults, and nothing else does.
    cli.write("clean.toml", CLEAN)
    assert "8 of 8 cells decided earlier" in cli("run", "clean.toml").stdout

    # The faults were of the first attempts: what is owed is made good, and no verdict moves.
    cli("resume", "faults")
    after = {row["profile"]: row["rates"] for row in cli.json("leaderboard", "faults")["rows"]}
    assert all(one["coverage"] == 1.0 for one in after.values())
    assert {name: one["strict"] for name, one in after.items()} == {**dict.fromkeys(WANTED, 0.25), "oom-kill": 0.125}
