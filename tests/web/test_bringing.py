"""Examples are brought and judged in the browser: what would come of them, and what is wrong, is seen before."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from playwright.sync_api import Page, expect

from tests.web.conftest import RUNS_SEC, Site, Visitor

EXAMPLES = """{"nr": "q1", "question": "Capital of France?", "answer": "Paris"}
{"nr": "q2", "question": "Capital of Italy?", "answer": "Rome"}
{"nr": "q3", "question": "Capital of Spain?", "answer": "Madrid"}"""
OUTPUTS = """{"id": "q1", "output": "Paris"}
{"id": "q2", "output": "Milan"}
{"id": "q3", "output": "Madrid"}"""


def field(page: Page, label: str) -> str:
    return page.get_by_label(label, exact=True).input_value()


def test_pasted_examples_become_a_version_and_are_evaluated(ada: Visitor) -> None:
    page = ada.go("/datasets")
    page.get_by_role("link", name="Bring a dataset").click()
    page.get_by_label("Name").fill("capitals")
    page.get_by_label(re.compile("^Examples, a JSON")).fill(EXAMPLES)
    seen = page.get_by_role("region", name="What is seen of it")
    expect(seen).to_contain_text("3 rows looked at")
    expect(seen.get_by_role("row").filter(has_text="question")).to_contain_text("text3/3Capital of France?")
    assert (field(page, "Id"), field(page, "Input"), field(page, "Expected output")) == ("", "question", "answer")
    page.get_by_label("Id", exact=True).select_option("nr")
    expect(page.get_by_role("button", name="Import")).to_be_disabled()
    page.get_by_role("button", name="What would it bring?").click()
    verdict = page.get_by_role("region", name="Before it is imported")
    expect(verdict).to_contain_text("a new version", timeout=30_000)
    expect(verdict).to_contain_text("3 examples")
    page.get_by_role("button", name="Import").dblclick()
    expect(page.get_by_role("heading", name="capitals")).to_be_visible(timeout=30_000)
    assert ada.serious() == []

    expect(page.get_by_role("table", name="Examples").locator("tbody tr")).to_have_count(3)
    page.keyboard.press("/")
    page.keyboard.type("MADRID")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("q=MADRID"))
    expect(page.get_by_role("table", name="Examples").locator("tbody tr")).to_have_count(1, timeout=15_000)
    page.get_by_role("button", name="clear").click()
    expect(page.get_by_role("table", name="Examples").locator("tbody tr")).to_have_count(3)

    page.get_by_role("link", name="Evaluate this version").click()
    first = page.get_by_role("checkbox").first
    expect(first).to_be_checked()
    page.get_by_label(re.compile("^Outputs, a JSON")).fill(OUTPUTS)
    page.get_by_label("Name").fill("by-hand")
    page.get_by_role("button", name="Evaluate", exact=True).dblclick()
    expect(page).to_have_url(re.compile("/jobs/"), timeout=30_000)
    told = page.get_by_role("row").filter(has_text="q2").filter(has_text="scored")
    expect(told).to_contain_text("exact-match", timeout=RUNS_SEC * 1000)
    expect(page.get_by_role("row").filter(has_text="scored")).to_have_count(3)
    with ada.site.api() as api:
        assert [one["name"] for one in api.get("jobs").json()["items"]].count("by-hand") == 1


def test_rows_without_an_id_are_taken_as_the_command_line_takes_them(ada: Visitor) -> None:
    page = ada.go("/datasets/new")
    page.get_by_label("Name").fill("half-named")
    rows = '{"id": "a", "input": "1"}\n{"input": "2"}'
    page.get_by_label(re.compile("^Examples, a JSON")).fill(rows)
    page.get_by_role("button", name="What would it bring?").click()
    expect(page.get_by_role("region", name="Before it is imported")).to_contain_text("2 examples", timeout=30_000)


def test_rows_that_are_no_examples_are_named_before_anything_is_kept(ada: Visitor, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(f"{EXAMPLES}\nnonsense\n" + '{"nr": 7}\n')
    page = ada.go("/datasets/new")
    page.get_by_label("Name").fill("broken")
    page.get_by_label(re.compile("^A file: Examples")).set_input_files(file)
    expect(page.get_by_text("line 4: not JSON")).to_be_visible()
    page.get_by_label("Id", exact=True).select_option("nr")
    page.get_by_role("button", name="What would it bring?").click()
    verdict = page.get_by_role("region", name="Before it is imported")
    expect(verdict.get_by_text(re.compile("^row 4: it is no JSON from its character 1 on"))).to_be_visible(
        timeout=30_000
    )
    left_out = page.get_by_role("button", name=re.compile("Import without 2 rows"))
    expect(left_out).to_be_enabled()
    with ada.site.api() as api:
        assert "broken" not in [one["name"] for one in api.get("datasets").json()["items"]]
    left_out.click()
    expect(page.get_by_role("heading", name="broken")).to_be_visible(timeout=30_000)
    expect(page.get_by_text("3 examples")).to_be_visible()


def test_rows_of_which_none_is_an_example_are_named_with_what_helps(ada: Visitor) -> None:
    page = ada.go("/datasets/new")
    page.get_by_label("Name").fill("none-of-it")
    page.get_by_label(re.compile("^Examples, a JSON")).fill('{"q": "one"}\n{"q": "two"}')
    page.get_by_role("button", name="What would it bring?").click()
    told = page.get_by_role("alert")
    expect(told).to_contain_text("2 rows can't be imported", timeout=30_000)
    expect(told).to_contain_text("row 1: input: it is missing")
    expect(told).to_contain_text("no row is an example")
    page.get_by_label("Input", exact=True).select_option("q")
    page.get_by_role("button", name="What would it bring?").click()
    expect(page.get_by_role("region", name="Before it is imported")).to_contain_text("2 examples", timeout=30_000)


def test_what_is_chosen_to_be_none_is_not_taken_and_outlives_a_letter(ada: Visitor) -> None:
    page = ada.go("/datasets/new")
    page.get_by_label("Name").fill("chosen")
    text = page.get_by_label(re.compile("^Examples, a JSON"))
    text.fill('{"id": "a", "input": "I", "prompt": "P", "expected": "E"}')
    page.get_by_label("Id", exact=True).select_option("")
    page.get_by_label("Input", exact=True).select_option("")
    expect(page.get_by_text("Missing: the field that is the input.")).to_be_visible()
    page.get_by_label("Input", exact=True).select_option("prompt")
    page.get_by_label("Expected output", exact=True).select_option("")
    text.press("End")
    text.press("Enter")
    assert [field(page, one) for one in ("Id", "Input", "Expected output")] == ["", "prompt", ""]
    page.get_by_role("button", name="What would it bring?").click()
    expect(page.get_by_role("region", name="Before it is imported")).to_contain_text("1 example", timeout=30_000)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("heading", name="chosen", exact=True)).to_be_visible(timeout=30_000)
    with ada.site.api() as api:
        (kept,) = api.get("datasets/chosen/examples").json()["items"]
    assert (kept["input"], kept["expected"], kept["id"] == "a") == ("P", None, False)


def test_a_file_that_was_changed_since_it_was_chosen_is_told(ada: Visitor, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    file.write_text(EXAMPLES)
    page = bring_file(ada, file, "moving")
    file.unlink()
    page.get_by_role("button", name="What would it bring?").click()
    expect(page.get_by_role("alert")).to_contain_text("changed or removed since it was chosen", timeout=30_000)
    ada.problems = [one for one in ada.problems if "ERR_" not in one]


def bring_file(ada: Visitor, file: Path, name: str) -> Page:
    page = ada.go("/datasets/new")
    page.get_by_label("Name").fill(name)
    page.get_by_label(re.compile("^A file: Examples")).set_input_files(file)
    return page


def test_columns_of_a_csv_file_are_named_before_it_is_sent(ada: Visitor, tmp_path: Path) -> None:
    file = tmp_path / "rows.csv"
    file.write_text('nr,question,answer\nq1,"Capital of\nFrance?",Paris\nq2,Capital of Italy?,Rome\n')
    page = bring_file(ada, file, "csv-capitals")
    expect(page.get_by_role("region", name="What is seen of it")).to_contain_text("2 rows looked at")
    assert (field(page, "Id"), field(page, "Input"), field(page, "Expected output")) == ("", "question", "answer")
    page.get_by_label("Id", exact=True).select_option("nr")
    page.get_by_role("button", name="What would it bring?").click()
    expect(page.get_by_role("region", name="Before it is imported")).to_contain_text("2 examples", timeout=30_000)
    assert ada.serious() == []


def test_columns_of_a_parquet_file_are_named_before_it_is_sent(ada: Visitor, tmp_path: Path) -> None:
    file = tmp_path / "rows.parquet"
    table = pa.table({"key": ["a", "b"], "text": ["one", "two"], "label": [1, 2], "tags": [["x"], []]})
    pq.write_table(table, file, compression="zstd")
    page = bring_file(ada, file, "parquet-texts")
    seen = page.get_by_role("region", name="What is seen of it")
    expect(seen).to_contain_text("2 rows")
    kinds = {"key": "text", "text": "text", "label": "number", "tags": "list"}
    assert [row.split("\t")[:2] for row in seen.locator("tbody tr").all_inner_texts()] == [
        [*one] for one in kinds.items()
    ]
    assert (field(page, "Id"), field(page, "Input"), field(page, "Expected output")) == ("key", "text", "label")
    page.get_by_role("button", name="What would it bring?").click()
    expect(page.get_by_role("region", name="Before it is imported")).to_contain_text("2 examples", timeout=30_000)


def test_files_that_are_none_are_told_in_words(ada: Visitor, tmp_path: Path) -> None:
    wrong = {
        "latin.csv": ("input\nThé\n".encode("latin-1"), "latin.csv: It is not UTF-8, after line 1. Save it as UTF-8"),
        "wide.jsonl": ('{"input": "x"}'.encode("utf-16"), "wide.jsonl: It is not UTF-8. Save it as UTF-8"),
        "none.parquet": (b"no parquet at all", "none.parquet: It can't be read as a Parquet file"),
    }
    for name, (content, told) in wrong.items():
        file = tmp_path / name
        file.write_bytes(content)
        page = bring_file(ada, file, "wrong")
        page.get_by_role("button", name="What would it bring?").click()
        expect(page.get_by_role("alert")).to_contain_text(told, timeout=30_000)
    file = tmp_path / "empty.jsonl"
    file.touch()
    page = bring_file(ada, file, "wrong")
    expect(page.get_by_text("Missing: examples: empty.jsonl is empty.")).to_be_visible()


def test_what_is_being_written_outlives_a_reload_and_not_a_sign_out(ada: Visitor, job: str) -> None:
    page = ada.go("/datasets/new")
    page.get_by_label("Name").fill("half-written")
    page.get_by_label(re.compile("^Examples, a JSON")).fill(EXAMPLES)
    page.get_by_label("Id", exact=True).select_option("nr")
    page.reload()
    assert (field(page, "Name"), field(page, "Id")) == ("half-written", "nr")
    expect(page.get_by_label(re.compile("^Examples, a JSON"))).to_have_value(EXAMPLES)
    page = ada.go("/datasets/refunds/evaluate")
    page.get_by_label("Outputs", exact=True).select_option(label="others, sent now")
    page.get_by_label(re.compile("^Outputs, a JSON")).fill(OUTPUTS)
    page.reload()
    page.get_by_label("Outputs", exact=True).select_option(label="others, sent now")
    expect(page.get_by_label(re.compile("^Outputs, a JSON"))).to_have_value(OUTPUTS)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("API key")).to_be_visible()
    assert ada.measure("Object.keys(sessionStorage).filter((key) => key.includes('draft'))") == []
    ada.problems = [one for one in ada.problems if "401" not in one]


def test_what_the_server_refuses_is_told_with_what_helps(ada: Visitor) -> None:
    page = ada.go("/datasets/new")
    expect(page.get_by_text("Missing: a name and examples.")).to_be_visible()
    page.get_by_label("Name").fill("no name at all!")
    expect(page.get_by_text("Missing: examples.")).to_be_visible()
    page.get_by_label(re.compile("^Examples, a JSON")).fill(EXAMPLES)
    page.get_by_role("button", name="What would it bring?").click()
    expect(page.get_by_role("alert")).to_contain_text("name", timeout=30_000)
    ada.problems = [one for one in ada.problems if "422" not in one]
    page.get_by_label("Name").fill("none")
    page.get_by_label(re.compile("^Examples, a JSON")).fill("nonsense")
    page.get_by_role("button", name="What would it bring?").click()
    expect(page.get_by_role("alert")).to_be_visible(timeout=30_000)


def test_a_viewer_is_told_whose_it_is(visitor: Visitor, site: Site, job: str) -> None:
    with site.api() as api:
        seen = api.post("users", json={"name": "vic@example.org", "role": "viewer", "kind": "person"}).json()
        key = api.post("keys", json={"name": "vic", "user": seen["id"]}).json()["secret"]
    page = visitor.sign_in(key).go("/datasets/refunds")
    expect(page.get_by_role("link", name="Evaluate this version")).to_have_count(0)
    page = visitor.go("/datasets")
    expect(page.get_by_role("link", name="Bring a dataset")).to_have_count(0)
    page = visitor.go("/datasets/new")
    expect(page.get_by_label("Name")).to_have_count(0)
    page = visitor.go("/datasets/refunds/evaluate")
    expect(page.get_by_role("button", name="Evaluate", exact=True)).to_have_count(0)
