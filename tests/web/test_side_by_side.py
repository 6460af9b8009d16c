"""A flip opens both attempts beside each other, from where they part; the comparison is taken along as text."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.web.conftest import Visitor


def test_a_flip_opens_both_attempts_where_they_part(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/compare?base={nightly}:poor&with={nightly}:good")
    tasks = page.get_by_role("region", name="Tasks")
    flip = tasks.get_by_role("row").nth(1).get_by_role("link").first
    name = flip.inner_text()
    flip.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    for profile, outcome in (("poor", "failed"), ("good", "passed")):
        side = page.get_by_role("region", name=profile, exact=True)
        expect(side).to_contain_text(outcome)
    expect(page.get_by_role("status").filter(has_text=re.compile("part at|trajectory"))).to_be_visible()
    assert ada.serious() == []
    page.get_by_role("link", name="good", exact=True).click()
    expect(page.get_by_label("Why")).to_contain_text("passed")


def test_tasks_are_gone_through_by_keys_and_enter_opens_both_attempts(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/compare?base={nightly}:poor&with={nightly}:good")
    tasks = page.get_by_role("region", name="Tasks")
    links = [tasks.get_by_role("row").nth(at).get_by_role("link").first for at in range(1, 4)]
    assert not {"Enter"} & listed(page), "no task is gone to yet"
    for key, at in (("j", 0), ("j", 1), ("j", 2), ("k", 1)):
        page.keyboard.press(key)
        expect(links[at]).to_be_focused()
        expect(tasks.locator("tr[aria-current]")).to_have_attribute("aria-rowindex", str(at + 2))
    assert ada.measure("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    assert {"j", "k", "Enter", "s", "1", "5"} <= listed(page)
    assert ada.serious() == []
    name = links[1].inner_text()
    links[1].blur()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("/compare/attempts"))
    expect(page.get_by_role("heading", level=1)).to_have_text(name)
    page.go_back()
    page.keyboard.press("j")
    expect(links[0]).to_be_focused()
    name = links[0].inner_text()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text(name)


def listed(page: Page) -> set[str]:
    """The keys of the page, as it lists them."""
    page.keyboard.press("?")
    found = set(page.get_by_role("dialog").locator("dt").all_inner_texts())
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    return found


def test_steps_that_are_the_same_are_said_and_those_that_are_not_stand_beside_each_other(
    ada: Visitor, nightly: str
) -> None:
    with ada.site.api() as api:
        cells = api.get(f"run-sets/{nightly}/cells", params={"profile": "poor", "limit": 100}).json()
    task = cells["tasks"][cells["items"][0]["content_digest"]]
    page = ada.go(f"/compare/attempts?a={nightly}:poor&b={nightly}:poor&task={task}")
    expect(page.get_by_role("status").filter(has_text="the same on both sides")).to_be_visible()


def test_an_address_that_names_no_two_attempts_says_so(ada: Visitor, nightly: str) -> None:
    page = ada.go("/compare/attempts")
    expect(page.get_by_text("This address names no two profiles")).to_be_visible()
    page = ada.go(f"/compare/attempts?a={nightly}:poor&b={nightly}:good&task=proctor/access-report&trial=9")
    expect(page.get_by_text("One side has no trial 9")).to_be_visible()


def test_a_comparison_is_taken_along_as_text(ada: Visitor, nightly: str) -> None:
    ada.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = ada.go(f"/compare?base={nightly}:poor&with={nightly}:good")
    page.get_by_role("button", name="Copy report").click()
    expect(page.get_by_role("button", name="copied")).to_be_visible()
    text = ada.measure("navigator.clipboard.readText()")
    of = f"nightly ({nightly[:8]})"
    assert f"**{of}:good** against **{of}:poor**: Δ graded +75.0 pp [" in text
    assert "- Δ strict +75.0 pp [" in text
    assert "100.0% of 8 cells against 25.0% of 8 cells, paired over 8 tasks" in text
    assert page.url in text
