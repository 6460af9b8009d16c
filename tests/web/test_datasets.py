"""A version is searched and judged by its quality in the browser: each count leads to the examples that it counts."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.web.conftest import SCREENSHOTS, Site, Visitor

SLOW = 30_000


def rows(page: Page) -> Locator:
    return page.get_by_role("table", name="Examples", exact=True).locator("tbody tr")


def test_examples_are_found_by_words_and_fields(ada: Visitor, flawed: str) -> None:
    page = ada.go(f"/datasets/{flawed}")
    expect(page.get_by_text("50 of 200 examples shown")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type('owe segment="damaged in transit" -tag=gift')
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("q=owe"))
    expect(page.get_by_text("30 of 200 examples fit")).to_be_visible(timeout=SLOW)
    expect(rows(page)).to_have_count(30)
    page.reload()
    expect(page.get_by_label("Search")).to_have_value('owe segment="damaged in transit" -tag=gift')
    expect(rows(page)).to_have_count(30, timeout=SLOW)
    page.go_back()
    expect(page.get_by_text("50 of 200 examples shown")).to_be_visible(timeout=SLOW)
    page.get_by_label("Search").fill("segment=gift")
    page.keyboard.press("Enter")
    expect(page.get_by_text("60 of 200 examples fit · 50 shown")).to_be_visible(timeout=SLOW)
    page.get_by_role("button", name="Next").click()
    expect(page.get_by_text("60 of 200 examples fit · 10 shown")).to_be_visible(timeout=SLOW)
    page.get_by_label("Search").fill("segment=nowhere")
    page.keyboard.press("Enter")
    expect(page.get_by_text("None of 200 examples fits.")).to_be_visible(timeout=SLOW)
    assert ada.serious() == []


def changed(visitor: Visitor, name: str, *versions: list[dict[str, object]]) -> str:
    """A dataset of these versions, each against the one before."""
    for rows in versions:
        file = visitor.site.folder / f"{name}.jsonl"
        file.write_text("".join(json.dumps(one) + "\n" for one in rows))
        visitor.site.command("dataset", "import", str(file), "--name", name)
    return name


def test_a_change_says_what_was_and_what_is(ada: Visitor) -> None:
    first: list[dict[str, object]] = [{"id": f"c{n}", "input": f"line one\nline {n}", "expected": n} for n in range(60)]
    second = [{**one, "expected": str(one["expected"]), "tags": ["new"]} for one in first[1:]]
    second[0] = {**second[0], "input": "line one\nline one more", "id": 'a "quoted" id'}
    name = changed(ada, "changing", first, second)
    page = ada.go(f"/datasets/{name}?tab=diff")
    expect(page.get_by_text("~58 changed")).to_be_visible(timeout=SLOW)
    table = page.get_by_role("table", name="Changes")
    expect(table.locator("tbody tr")).to_have_count(50)
    table.get_by_role("button", name='a "quoted" id').click()
    drawer = page.get_by_role("complementary", name="Change of")
    expect(drawer.locator("[data-changes]").filter(has_text="input")).to_contain_text("+ line one more", timeout=SLOW)
    page.keyboard.press("j")
    page.keyboard.press("j")
    expect(page).to_have_url(re.compile("example=c1(&|$)"))
    expect(drawer).to_contain_text("− line 1")
    page.keyboard.press("j")
    expected = drawer.locator("[data-changes]").filter(has_text="expected")
    expect(expected).to_contain_text(re.compile(r'− 10\s+\+ "10"'), timeout=SLOW)
    expect(drawer.locator("[data-changes]").filter(has_text="tags")).to_contain_text('+   "new"')
    page.reload()
    expect(expected).to_be_visible(timeout=SLOW)
    assert ada.serious() == []
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    expect(table.get_by_role("button", name="c10")).to_be_focused()
    page.get_by_role("button", name="Next").click()
    expect(table.locator("tbody tr")).to_have_count(11, timeout=SLOW)
    expect(page.get_by_role("button", name="Next")).to_be_focused()
    table.get_by_role("button", name="c59").click()
    drawer.get_by_role("link", name=f"in {name}@1.1.0").click()
    expect(page.get_by_role("complementary", name="Example c59")).to_be_visible(timeout=SLOW)


def test_a_version_that_is_not_there_is_named_as_the_address_has_it(ada: Visitor, job: str) -> None:
    page = ada.go("/datasets/refunds?tab=diff&against=9.9.9")
    expect(page.get_by_role("alert")).to_contain_text("9.9.9", timeout=SLOW)
    assert page.get_by_label("Since", exact=True).input_value() == "9.9.9"
    page.get_by_label("Since", exact=True).select_option("1.0.0")
    expect(page.get_by_text("+10 added")).to_be_visible(timeout=SLOW)
    ada.problems = [one for one in ada.problems if "404" not in one]


def test_a_search_keeps_the_focus_and_examples_are_gone_through_by_keys(ada: Visitor, flawed: str) -> None:
    page = ada.go(f"/datasets/{flawed}")
    page.keyboard.press("/")
    page.keyboard.type("owe")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("q=owe"))
    box = page.get_by_label("Search")
    expect(box).to_be_focused()
    page.keyboard.type(" -tag=gift")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("tag"))
    expect(box).to_be_focused()
    expect(rows(page).first).to_be_visible(timeout=SLOW)
    page.locator("h1").click()
    for key in "jjk":
        page.keyboard.press(key)
    expect(page.locator("tr[data-current]")).to_have_attribute("data-key", "f0")
    page.keyboard.press("Enter")
    drawer = page.get_by_role("complementary", name=re.compile("^Example "))
    expect(drawer).to_have_accessible_name("Example f0")
    page.keyboard.press("j")
    expect(drawer).to_have_accessible_name("Example f2")
    expect(page).to_have_url(re.compile("example=f2"))
    page.keyboard.press("Escape")
    expect(drawer).to_have_count(0)
    for path in ("/run-sets", "/jobs"):
        ada.go(path)
        page.keyboard.press("/")
        page.keyboard.type("nothing is called so")
        page.keyboard.press("Enter")
        expect(page).to_have_url(re.compile("q="))
        expect(page.get_by_label("Name")).to_be_focused()


def test_a_long_id_ends_in_its_column_and_no_character_turns_what_follows(ada: Visitor) -> None:
    ids = [f"a-corpus/of-examples-{n}-{'-of-a-long-name' * 14}" for n in range(2)]
    rows = [{"id": one, "input": "why", "note": "\u202egnp.exe"} for one in ids]
    file = ada.site.folder / "longids.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in rows))
    ada.site.command("dataset", "import", str(file), "--name", "longids")
    page = ada.go("/datasets/longids")
    name = page.get_by_role("button", name=ids[1])
    expect(name).to_have_attribute("title", ids[1])
    ends = name.evaluate(
        "it => [it.getBoundingClientRect().right, it.closest('th, td').nextSibling"
        ".getBoundingClientRect().left, it.scrollWidth - it.clientWidth]"
    )
    assert ends[0] <= ends[1] - 8
    assert ends[2] > 0, "it ends with …"
    name.click()
    expect(page.get_by_label(f"Example {ids[1]}")).to_contain_text('"note": "\\u202egnp.exe"')


def test_what_is_opened_below_a_list_comes_into_sight(ada: Visitor, flawed: str, nightly: str) -> None:
    ada.page.set_viewport_size({"width": 360, "height": 800})
    page = ada.go(f"/datasets/{flawed}")
    rows(page).first.get_by_role("button").click()
    expect(page.get_by_role("complementary", name="Example f0").get_by_role("heading", level=2)).to_be_in_viewport()
    page = ada.go(f"/run-sets/{nightly}")
    marks = page.get_by_role("list", name="Tasks").get_by_role("button")
    assert {one.get_attribute("data-look") for one in marks.all()} == {"solid"}
    page.get_by_role("list", name="Tasks").get_by_role("button").first.click()
    expect(page.get_by_label("Cell", exact=True).get_by_role("link", name="Open attempt")).to_be_in_viewport()


@pytest.mark.parametrize(
    ("typed", "told"),
    [
        ('segment="late', "begins with a quote that nothing ends"),
        ("is:odd", "is:duplicate"),
        ("segment=", "segment=*"),
        ("split=validation", "it has train, test"),
    ],
)
def test_what_cant_be_read_is_told_beside_the_box(ada: Visitor, flawed: str, typed: str, told: str) -> None:
    page = ada.go(f"/datasets/{flawed}")
    page.get_by_label("Search").fill(typed)
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text(told, timeout=SLOW)
    box = page.get_by_label("Search")
    expect(box).to_have_value(typed)
    expect(box).to_have_attribute("aria-invalid", "true")
    assert ada.serious() == []
    ada.problems = [one for one in ada.problems if "422" not in one]
    box.fill("segment=late")
    page.keyboard.press("Enter")
    expect(rows(page).first).to_be_visible(timeout=SLOW)


def test_each_count_of_the_quality_leads_to_its_examples(ada: Visitor, flawed: str) -> None:
    page = ada.go(f"/datasets/{flawed}")
    page.get_by_role("button", name="Quality").press("Enter")
    expect(page).to_have_url(re.compile("tab=quality"))
    table = page.get_by_role("table", name="Examples to look at")
    for what, told in {
        "No expected output": "5 of 200",
        "Empty input": "3 of 200",
        "Duplicate input": "21 of 200",
        "Contradictory expected outputs": "21 of 200",
    }.items():
        expect(table.get_by_role("row").filter(has_text=what)).to_contain_text(told, timeout=SLOW)
    expect(page.get_by_role("table", name="Lengths in characters")).to_contain_text("Median")
    expect(page.get_by_role("table", name="Fields").get_by_role("row").filter(has_text="ticket")).to_contain_text(
        "each in one example"
    )
    figures = [(one.get_attribute("href"), one.inner_text()) for one in page.locator("[data-figure]").all()]
    assert len(figures) > 15
    for address, number in figures:
        assert address is not None
        ada.go(address)
        count = int(number.replace(",", ""))
        fits = f"{count} of 200 examples {'fits' if count == 1 else 'fit'}"
        said = "50 of 200 examples shown" if count == 200 else fits if count <= 50 else f"{fits} · 50 shown"
        expect(page.get_by_text(said)).to_be_visible(timeout=SLOW)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_quality_is_read_on_a_telephone(ada: Visitor, flawed: str, theme: str) -> None:
    ada.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    ada.page.set_viewport_size({"width": 360, "height": 800})
    page = ada.go(f"/datasets/{flawed}?tab=quality")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(SCREENSHOTS / f"quality-whole-360-{theme}.png"), full_page=True)
    assert ada.measure("document.documentElement.scrollWidth - document.documentElement.clientWidth") <= 0
    first = page.locator("[data-figure]").first
    first.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("q="))
    expect(page.get_by_text("of 200 examples fit")).to_be_visible(timeout=SLOW)


def test_viewers_read_it_and_strangers_find_nothing(visitor: Visitor, site: Site, flawed: str) -> None:
    with site.api() as api:
        seen = api.post("users", json={"name": "vera@example.org", "role": "viewer", "kind": "person"}).json()
        key = api.post("keys", json={"name": "vera", "user": seen["id"]}).json()["secret"]
    page = visitor.sign_in(key).go(f"/datasets/{flawed}?tab=quality")
    expect(page.get_by_role("table", name="Examples to look at")).to_be_visible(timeout=SLOW)
