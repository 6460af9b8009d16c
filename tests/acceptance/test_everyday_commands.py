"""An engineer's day: every everyday command, over a finished run of the bundled tasks."""

from __future__ import annotations

import json
from html.parser import HTMLParser

import pytest

from proctor.agents.trajectory import parse
from tests.acceptance.conftest import Cli


def test_the_leaderboard_shows_all_rates_together(finished: Cli) -> None:
    board = finished.json("leaderboard")
    rows = {row["profile"]: row for row in board["rows"]}
    assert board["run_set"]["state"] == "complete"
    assert (rows["oracle"]["rates"]["strict"], rows["noop"]["rates"]["strict"]) == (1.0, 0.0)
    assert rows["oracle"]["rates"]["counts"] == {"expected": 8, "decided": 8, "passed": 8, "withdrawn": 0}
    assert rows["oracle"]["usage"]["cost_nano"] == 0
    (reason,) = rows["oracle"]["reasons"]
    assert reason.startswith("no baseline certificate: 8 tasks (proctor/access-report, ")
    assert rows["oracle"]["comparable"] is False
    shown = finished("leaderboard").stdout
    for word in ("strict", "graded", "coverage", "bounds", "95 %", "cost", "usage", "100.0% 8/8"):
        assert word in shown


def test_running_again_does_nothing(finished: Cli) -> None:
    done = finished("run", "basics", "--agent", "oracle,noop")
    assert "nothing to do" in done.stderr


def test_status_cells_and_attempts(finished: Cli) -> None:
    assert finished.json("status")["run_sets"][0]["state"] == "complete"
    assert finished.json("status", "basics")["status"]["progress"]["decided"] == 16
    failed = finished.json("cells", "--outcome", "failed")
    assert {cell["profile"] for cell in failed["cells"]} == {1}
    attempt = failed["cells"][0]["attempt"]
    detail = finished.json("attempt", "show", attempt)
    assert detail["evidence"][0]["phase"] == "prepare"
    assert detail["outcomes"][-1]["class"] == "failed"
    assert parse(finished("attempt", "show", attempt, "--trajectory").stdout.encode()).steps
    assert "verify" in finished("attempt", "show", attempt[:8]).stdout


def test_pages_of_cells_join_up(finished: Cli) -> None:
    whole = [cell["cell"] for cell in finished.json("cells")["cells"]]
    first = finished.json("cells", "--limit", "10")
    rest = finished.json("cells", "--limit", "10", "--after", first["after"])
    assert [cell["cell"] for cell in first["cells"] + rest["cells"]] == whole
    assert rest["after"] is None


def test_logs_hold_what_was_printed(finished: Cli) -> None:
    cells = finished.json("cells", "--profile", "noop", "--task", "orders-summary")["cells"]
    assert "summary.json" in finished("attempt", "logs", cells[0]["attempt"]).stdout


def test_artifacts_are_saved_whole(finished: Cli) -> None:
    cells = finished.json("cells", "--profile", "oracle")["cells"]
    detail = finished.json("attempt", "show", cells[0]["attempt"], "--save", "kept")
    for artifact in detail["attempt"]["artifacts"]:
        assert (finished.folder / "kept" / artifact["name"]).stat().st_size == artifact["size"]
    finished("attempt", "show", cells[0]["attempt"], "--save", "kept", code=2)


def test_suites_and_labels(finished: Cli) -> None:
    (suite,) = finished.json("suite", "list")["suites"]
    assert finished.json("suite", "show", suite["suite_id"][:10])["row"]["task_count"] == 8
    finished("suite", "alias", "stable", suite["suite_id"])
    assert finished.json("suite", "show", "stable")["row"]["suite_id"] == suite["suite_id"]
    told = finished("suite", "show", "stabel", code=2).stderr
    assert "stable" in told


def test_profiles_and_history(finished: Cli) -> None:
    assert {agent["name"] for agent in finished.json("profile", "list")["agents"]} >= {"oracle", "noop", "command"}
    assert [row["name"] for row in finished.json("profile", "list", "basics")["profiles"]] == ["oracle", "noop"]
    assert json.loads(finished("profile", "show", "oracle").stdout)["document"]["agent"]["name"] == "oracle"
    assert len(finished.json("history", "oracle")["revisions"]) == 1


def test_the_report_is_one_file_that_asks_nobody(finished: Cli) -> None:
    finished("leaderboard", "--html", "report.html")
    page = (finished.folder / "report.html").read_text(encoding="utf-8")
    sources: list[str] = []

    class Look(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            sources.extend(value or "" for name, value in attrs if name in ("src", "href"))

    Look().feed(page)
    assert sources
    assert all(source.startswith(("#", "data:")) for source in sources)
    assert "oracle" in page


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["run", "absent.toml"], "absent.toml"),
        (["run", "basics"], "--agent"),
        (["run", "basics", "--agent", "orcale"], "orcale"),
        (["run", "basics", "--agent", "noop,noop"], "two profiles are named 'noop'"),
        (["run", "basics", "--agent", "[/foo]"], "profiles[0].name"),
        (["run", "nowhere/tasks", "--agent", "noop"], "nowhere/tasks"),
        (["leaderboard", "other"], "other"),
        (["attempt", "show", "zz"], "zz"),
        (["attempt", "show", "ffffffff"], "ffffffff"),
        (["cells", "--outcome", "faled"], "faled"),
        (["cells", "--profile", "x"], "--profile"),
        (["cells", "--after", "x"], "--after"),
        (["suite", "import", "absent"], "absent"),
        (["suite", "alias", "only-a-label"], "SUITE"),
        (["task", "try", "absent"], "absent"),
    ],
)
def test_mistakes_are_told_with_the_place_and_exit_code_2(finished: Cli, arguments: list[str], told: str) -> None:
    done = finished(*arguments, code=2)
    assert told in done.stderr


def test_errors_as_json_have_a_stable_code(finished: Cli) -> None:
    error = finished.json("leaderboard", "other", code=2)["error"]
    assert (error["code"], "status" in error["remedy"]) == ("run-set-unknown", True)


@pytest.mark.parametrize(
    "arguments", [["run", "f.toml", "--limit", "0"], ["cells", "--bogus"], ["nosuch"], ["task", "new"]]
)
def test_mistakes_of_the_command_line_are_json_too(finished: Cli, arguments: list[str]) -> None:
    assert finished.json(*arguments, code=2)["error"]["code"] == "usage"
