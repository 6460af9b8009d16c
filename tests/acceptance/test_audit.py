"""The audit of June: reconciled to the last cell, repaired to the published figures, and then there is nothing."""

from __future__ import annotations

import json
import time

import pytest
from sqlalchemy import create_engine, text

from proctor.database.embedded import EmbeddedServer
from tests.acceptance import june
from tests.acceptance.conftest import Cli

pytestmark = pytest.mark.journey

CASE = june.CASE
TABLES = ("result", "expected_cell", "run_set_profile", "task")
UNLINK = text("""
    DELETE FROM proctor.result r
    USING proctor.expected_cell e, proctor.run_set_profile p, proctor.task t,
          unnest(CAST(:profiles AS text[]), CAST(:tasks AS text[])) AS gone (profile, task)
    WHERE e.tenant_id = r.tenant_id AND e.cell_id = r.cell_id
      AND p.tenant_id = e.tenant_id AND p.run_set_id = e.run_set_id AND p.position = e.profile
      AND t.tenant_id = e.tenant_id AND t.content_digest = e.content_digest
      AND p.name = gone.profile AND t.name = gone.task
""")


def unlink(cli: Cli) -> None:
    """What an engine of before left: attempts with their verdicts, and no result that says so."""
    cells = june.terminal_cells()
    profiles, tasks = [profile for profile, _ in cells], [f"june/task-{task:02d}" for _, task in cells]
    with EmbeddedServer(cli.home / "postgres") as urls:
        engine = create_engine(urls.owner)
        with engine.begin() as connection:
            for table in TABLES:
                connection.execute(text(f"ALTER TABLE proctor.{table} NO FORCE ROW LEVEL SECURITY"))
            gone = connection.execute(UNLINK, {"profiles": profiles, "tasks": tasks}).rowcount
            for table in TABLES:
                connection.execute(text(f"ALTER TABLE proctor.{table} FORCE ROW LEVEL SECURITY"))
        engine.dispose()
    assert gone == len(cells)


def test_june_is_reconciled_repaired_and_clean(cli: Cli) -> None:
    june.write_suite(cli.folder / "tasks")
    june.write_results(cli.folder / "results")
    cli("suite", "import", "tasks", "--label", june.SUITE)
    imported = cli.json("import", "results", code=3)
    assert (imported["expected"], imported["attempts"]) == (CASE["expected_cells"], CASE["attempts_stored"])
    assert cli.json("resume", "june", code=2)["error"]["code"] == "run-set-imported"
    unlink(cli)
    cli.write("rules.toml", june.RULES)
    names = june.profiles()
    stale = [*names[6:], *(f"effort-{number}" for number in range(CASE["stale_profile_file"]["extra_profiles"]))]
    assert len(stale) == CASE["stale_profile_file"]["profiles"]
    cli.write("profiles.json", json.dumps({"profiles": stale}))
    asked = ("audit", "june", "--rules", "rules.toml", "--profiles", "profiles.json")

    started = time.monotonic()
    before = cli.json(*asked, code=1)["audit"]
    took = time.monotonic() - started
    (found,) = before["run_sets"]
    cells, part = found["cells"], CASE["partition"]
    assert (cells["expected"], cells["decided"]) == (CASE["expected_cells"], part["linked_verdicts"])
    terminal = CASE["terminal_results_not_linked"]
    assert cells["terminal"] == {name: terminal[name] for name in ("passed", "failed", "verifier_error")}
    recoverable = {
        group["how"].split()[0]: (group["cells"], group["profiles"]) for group in found["unlinked"]["recoverable"]
    }
    wanted = CASE["recoverable_by_metadata_repair"]
    assert recoverable == {
        "suite": (wanted["legacy_suite_name"]["cells"], wanted["legacy_suite_name"]["profiles"]),
        "variant": (wanted["encoded_variant_name"]["cells"], wanted["encoded_variant_name"]["profiles"]),
    }
    assert sum(cells["owed"].values()) == CASE["cells_with_attempts_but_no_verdict"]
    assert cells["never_attempted"] == part["never_attempted"]
    (listed,) = before["denominators"]
    file = CASE["stale_profile_file"]
    assert (listed["profiles"], listed["cells"]) == (file["profiles"], file["cells"])
    assert (len(listed["missing"]), len(listed["extra"])) == (file["missing_profiles"], file["extra_profiles"])
    assert took < 30

    assert "Nothing was changed" in cli(*asked, code=1).stdout
    applied = cli.json(*asked, "--apply")["audit"]
    assert json.loads((cli.folder / applied["written"]).read_text(encoding="utf-8"))["repairs"]
    assert json.loads((cli.folder / "profiles.json").read_text(encoding="utf-8"))["profiles"] == sorted(names)

    after = cli.json(*asked)
    (clean,) = after["audit"]["run_sets"]
    assert after["findings"] == 0
    assert clean["cells"]["decided"] == CASE["after_apply"]["with_verdict"]
    owed = sum(clean["cells"]["owed"].values()) + sum(clean["cells"]["terminal"].values())
    assert owed == CASE["after_apply"]["owed"]
    assert "Nothing to repair." in cli(*asked).stdout
    rows = {row["profile"]: row["rates"]["counts"] for row in cli.json("leaderboard", "june")["rows"]}
    whole = [name for name, counts in rows.items() if counts["decided"] == counts["expected"] == CASE["tasks"]]
    assert set(names[: wanted["legacy_suite_name"]["profiles"]]) <= set(whole)


def test_bad_results_and_rules_are_refused_by_their_place(cli: Cli) -> None:
    june.write_suite(cli.folder / "tasks")
    june.write_results(cli.folder / "results")
    told = cli.json("import", "results", code=2)["error"]
    assert told["code"] == "suite-unknown"
    cli("suite", "import", "tasks", "--label", june.SUITE)
    lines = (cli.folder / "results" / "attempts.jsonl").read_text(encoding="utf-8").splitlines()
    (cli.folder / "results" / "attempts.jsonl").write_text("\n".join([lines[0], '{"suite": 3}']), encoding="utf-8")
    told = cli.json("import", "results", code=2)["error"]
    assert (told["code"], "line 2" in told["where"], "suite" in told["message"]) == ("import-invalid", True, True)
    (cli.folder / "results" / "attempts.jsonl").write_text("\n".join([lines[0], lines[0]]), encoding="utf-8")
    told = cli.json("import", "results", code=2)["error"]
    assert ("line 2" in told["where"], "line 1" in told["message"]) == (True, True)
    assert cli.json("status")["run_sets"] == []
    cli.write("rules.toml", "[[variants]]\npattern = '('\nprofile = 'x'\n")
    assert cli.json("audit", "--rules", "rules.toml", code=2)["error"]["code"] == "audit-rules"
