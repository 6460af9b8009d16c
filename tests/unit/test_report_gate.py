"""What a gate writes: JUnit XML and Markdown, with names that mean harm."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from proctor.engine.comparing import compare_groups
from proctor.engine.gates import Against, judge_gate
from proctor.engine.pairs import Side, Tally
from proctor.engine.spec import Gate
from proctor.reports.comparison import comparison_parts
from proctor.reports.formats import cost_difference, one_line, points, policy_words, reward
from proctor.reports.junit import junit
from proctor.reports.markdown import escaped, markdown
from proctor.reports.summary import summary
from proctor.sdk.outputs import ReportUnwritable, append_step_summary, check_writable
from tests.unit.test_comparing import FAIL, OWED, PASS, WITHDRAWN, cells, of, side
from tests.unit.test_report_html import Board, sample

HOSTILE = (
    "a\"b<c>&'d]]>",
    "one | two\n| --- | --- |\n| x | y |",
    "![x](http://evil.example/pixel.png) [link](javascript:alert(1))",
    "<img src=x onerror=alert(1)>",
    "\x1b[31mred\x00\x08\ud800\u202egnp.exe\uffff",
    "`code` *bold* _it_ ~~no~~ @everyone #1 https://evil.example www.evil.example",
    "trailing \\",
    "",
)


def made() -> tuple[Board, list[Side]]:
    grid: dict[str, dict[str, list[str | None]]] = {
        "loop": {"yes": ["passed"], "no": ["failed"], "lost": ["provider_rate_limit"], "none": [None]}
    }
    run_set = sample(grid).board
    tasks = {
        "yes": cells("yes", PASS),
        "no": cells("no", FAIL),
        "lost": cells("lost", OWED),
        "gone": cells("gone", WITHDRAWN),
        "half": cells("half", PASS, FAIL, OWED),
    }
    return run_set, [side("nightly", tasks, profile="loop")]


def test_a_case_says_whose_its_failure_is() -> None:
    run_set, sides = made()
    root = ET.fromstring(junit(run_set, sides))
    cases = {case.get("name"): case for case in root.iter("testcase")}
    assert {name: [child.tag for child in case] for name, case in cases.items()} == {
        "yes": [],
        "no": ["failure"],
        "lost": ["error"],
        "gone": ["skipped"],
        "half": ["error"],
    }
    assert {case.get("classname") for case in cases.values()} == {"nightly.loop"}
    assert cases["lost"][0].get("message") == ("1 of 1 cells without a verdict: provider_rate_limit (provider) 1")
    assert cases["lost"][0].get("type") == "provider_rate_limit"
    assert cases["gone"][0].get("message") == "withdrawn: wrong data"
    assert "1 x pass: passed (owner: model)" in str(cases["half"][0].text)
    suite = root[0]
    counts = [suite.get(name) for name in ("tests", "failures", "errors", "skipped", "time")]
    assert counts == ["5", "1", "2", "1", "5.000"]
    assert [root.get(name) for name in ("tests", "failures", "errors", "skipped")] == counts[:4]


def test_the_suites_properties_carry_the_numbers_and_the_gate() -> None:
    run_set, sides = made()
    judged = replace(run_set, gate=judge_gate(Gate(strict=0.5), run_set.rows))
    suite = ET.fromstring(junit(judged, sides))[0]
    found = {one.get("name"): one.get("value") for one in suite.iter("property")}
    assert (found["strict"], found["graded"], found["coverage"]) == ("0.25", "0.5", "0.5")
    assert (found["bounds.low"], found["bounds.high"], found["expected"]) == ("0.25", "0.75", "4")
    assert found["gate"] == "open"
    assert found["gate.1"] == "loop: strict between 25.0% and 75.0%, gate 50.0%: open"


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_breaks_the_xml(name: str) -> None:
    run_set, _ = made()
    owed = Tally(outcome=name, owner=name, verdict=None, cells=1)
    root = ET.fromstring(junit(run_set, [side(name, {"t": cells(name, owed)}, profile="loop")]).encode("utf-8"))
    (case,) = root.iter("testcase")
    assert case.get("name") == one_line(name)
    assert [child.tag for child in case] == ["error"]


@pytest.mark.parametrize("name", HOSTILE)
def test_no_name_breaks_the_markdown(name: str) -> None:
    run_set, _ = made()
    rows = [replace(run_set.rows[0], profile=name)]
    tasks = {str(place): cells(name, PASS) for place in range(3)}
    lost = {str(place): cells(name, FAIL) for place in range(3)}
    against = compare_groups([[side("a", tasks, profile=name)], [side("b", lost, profile=name)]], alpha=0.05)
    gate = judge_gate(Gate(strict=0.9, against="b"), rows, Against(comparison=against))
    text = markdown(replace(run_set, rows=rows, gate=gate, run_set=replace(run_set.run_set, name=name, reason=name)))
    tokens = MarkdownIt("gfm-like", {"linkify": False, "html": True}).parse(text)
    inline = [child for token in tokens for child in token.children or []]
    assert {child.type for child in inline} <= {"text", "text_special", "softbreak", "strong_open", "strong_close"}
    assert not [token for token in tokens if token.type.startswith("html")]
    assert len([token for token in tokens if token.type == "table_open"]) == 3
    rows_of_tables = "\n".join(token.type for token in tokens).split("tr_open")[1:]
    assert {row.count("td_open") + row.count("th_open") for row in rows_of_tables} == {8, 4, 2}
    assert "https:" not in text
    assert "www." not in text
    assert "@" not in text


def test_an_ordinary_name_is_readable_in_the_source() -> None:
    assert escaped("own/fix_the_parser-2.0 (easy)") == "own/fix_the_parser-2.0 (easy)"


def test_a_summary_with_a_comparison() -> None:
    run_set, _ = made()
    against = compare_groups([[of("new", "f" * 9, profile="loop")], [of("label:main", "p" * 9)]], alpha=0.05)
    gate = judge_gate(Gate(against="label:main"), run_set.rows, Against(comparison=against))
    text = markdown(replace(run_set, gate=gate))
    assert "## nightly: gate missed" in text
    assert "| loop | 25.0% (1/4) |" in text
    assert "| provider | provider_rate_limit | 1 | none |" in text
    assert "| t00 | label:main:p |" in text
    told = "\n".join(str(part) for part in summary(replace(run_set, gate=gate)))
    assert "gate missed" in told
    assert "gate: loop: -100.0 points against label:main:p, p 0.00391 (alpha 0.05), worse: missed" in told


def test_a_comparison_on_the_screen_counts_what_it_does_not_list() -> None:
    parts = comparison_parts(compare_groups([[of("a", "p" * 50 + "-" * 30)], [of("b", "f" * 50 + "p")]], alpha=0.05))
    told = "\n".join(str(part) for part in parts)
    assert "solved only by a:p: 50 (t00, t01," in told
    assert "and 30 more)" in told
    assert "30 cells are unpaired:" in told
    assert "McNemar, chi-square: p" in told


def test_a_jobs_summary_page_that_cannot_be_written_fails_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_set, _ = made()
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "page.md"))
    assert append_step_summary(run_set) == ""  # type: ignore[arg-type]
    assert append_step_summary(run_set) == ""  # type: ignore[arg-type]
    assert (tmp_path / "page.md").read_text(encoding="utf-8") == markdown(run_set) * 2
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path))
    assert "can't be written" in append_step_summary(run_set)  # type: ignore[arg-type]
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", "")
    assert append_step_summary(run_set) == ""  # type: ignore[arg-type]


def test_a_report_is_tried_before_the_work_and_leaves_nothing_behind(tmp_path: Path) -> None:
    check_writable(tmp_path / "new" / "junit.xml")
    assert list((tmp_path / "new").iterdir()) == []
    (tmp_path / "kept.xml").write_text("kept", encoding="utf-8")
    check_writable(tmp_path / "kept.xml")
    assert (tmp_path / "kept.xml").read_text(encoding="utf-8") == "kept"
    with pytest.raises(ReportUnwritable):
        check_writable(tmp_path / "kept.xml" / "junit.xml")


def test_what_is_not_judged_by_the_usual_policy_says_so() -> None:
    run_set, sides = made()
    own = replace(run_set, run_set=replace(run_set.run_set, policy_version="team@0123456789ab"))
    words = "judged by policy team@0123456789ab"
    assert words in str(summary(own)[0])
    assert words.replace("@", "&#64;") in markdown(own)
    assert '"policy" value="team@0123456789ab"' in junit(own, sides)
    assert '"policy" value="outcomes-1"' in junit(run_set, sides)
    assert "judged by" not in str(summary(run_set)[0]) + markdown(run_set)
    team = [[replace(one, policy_version="team@0123456789ab")] for one in (of("a", "pf"), of("b", "fp"))]
    told = "\n".join(str(part) for part in comparison_parts(compare_groups(team, alpha=0.05)))
    assert f"both sides {words}" in told
    assert policy_words("outcomes-1") == ""


@pytest.mark.parametrize(
    ("mean", "told"),
    [
        (None, "—"),
        (0.0, "0.00"),
        (0.625, "0.62"),
        (-1.5, "-1.50"),
        (0.004, "0.004"),
        (1e-9, "1e-09"),
        (99_999.5, "99999.50"),
        (123_456.7, "1.235e+05"),
        (1e300, "1e+300"),
        (-1e300, "-1e+300"),
    ],
)
def test_a_mean_reward_fits_its_column(mean: float | None, told: str) -> None:
    assert reward(mean) == told


def test_numbers_for_a_reader() -> None:
    assert (points(0.125), points(-0.03), points(None)) == ("+12.5", "−3.0", "—")
    assert (cost_difference(None), cost_difference(0)) == ("—", "$0.00")
    assert (cost_difference(400_000_000), cost_difference(-1_210_000_000)) == ("+$0.40", "−$1.21")
    assert one_line("a\n\tb\x1b[0m\u202ec", at_most=6) == "a b […"
