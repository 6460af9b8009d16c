"""Going anywhere by its name: the palette, with the keyboard alone."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.web.conftest import Visitor

FIELD = "Go to, or do"


def opened(page: Page) -> None:
    """With the palette open, and the keys going to it."""
    page.keyboard.press("Control+k")
    expect(page.get_by_role("textbox", name=FIELD)).to_be_focused()


def goes(page: Page, typed: str, entry: str) -> None:
    """Type, wait for the entry, and take it."""
    opened(page)
    page.keyboard.type(typed)
    expect(page.get_by_role("menuitem").first).to_contain_text(entry)
    if page.locator("[role=menuitem][data-focused]").count() == 0:
        page.keyboard.press("ArrowDown")  # the first; while one types it is the one that is meant
    expect(page.locator("[role=menuitem][data-focused]")).to_contain_text(entry)
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name=FIELD)).to_have_count(0)


def test_its_code_comes_when_it_is_first_used(ada: Visitor, nightly: str) -> None:
    page = ada.go("/run-sets")
    page.wait_for_load_state("networkidle")
    assert not [url for url in ada.asked if "palette" in url]
    opened(page)
    assert [url for url in ada.asked if "palette" in url]


def test_everything_is_gone_to_by_its_name(ada: Visitor, nightly: str, job: str) -> None:
    page = ada.go("/run-sets")
    goes(page, "leaderb", "Leaderboard")
    expect(page).to_have_url(re.compile("/leaderboard"))
    goes(page, "nightl", "nightly")
    expect(page).to_have_url(re.compile(f"/run-sets/{nightly}"))
    expect(page.get_by_role("heading", name="nightly")).to_be_visible()
    goes(page, "refunds", "refunds")
    expect(page).to_have_url(re.compile("/datasets/refunds"))
    goes(page, job, "refunds")
    expect(page).to_have_url(re.compile(f"/jobs/{job}"))
    goes(page, "token-f1", "token-f1")
    expect(page).to_have_url(re.compile("/evaluators.*token-f1"))


def test_an_attempt_is_gone_to_by_its_id_and_by_its_address(ada: Visitor, gaps: str) -> None:
    with ada.site.api() as api:
        attempt = api.get(f"run-sets/{gaps}/cells").json()["items"][0]["attempt"]
    page = ada.go("/run-sets")
    goes(page, attempt, f"Attempt {attempt}")
    expect(page).to_have_url(re.compile(f"/attempts/{attempt}"))
    page.wait_for_selector("h1")
    goes(page, f"{ada.site.url}/run-sets/{gaps}?owed=true", f"/run-sets/{gaps}")
    expect(page.get_by_role("status").filter(has_text="filtered")).to_be_visible()
    opened(page)
    page.keyboard.type("https://proctor.example.org/attempts/1")
    expect(page.get_by_role("menu")).to_contain_text("another server")


def test_what_was_looked_at_is_offered_first_and_forgotten_with_the_session(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/run-sets/{nightly}")
    expect(page.get_by_role("heading", name="nightly")).to_be_visible()
    ada.go("/run-sets")
    opened(page)
    expect(page.get_by_role("menuitem").first).to_contain_text("nightly")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("API key")).to_be_visible()
    assert ada.measure("Object.keys(localStorage).filter((key) => key.includes('recent'))") == []
    ada.problems = [one for one in ada.problems if "401" not in one]


def test_this_pages_actions_are_done_by_name_and_say_their_keys(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/run-sets/{nightly}")
    opened(page)
    expect(page.get_by_role("menuitem").filter(has_text="Next owed cell")).to_contain_text("n")
    page.keyboard.press("Escape")
    goes(page, "grid or", "Grid or table")
    expect(page).to_have_url(re.compile("view=table"))


def test_escape_closes_it_and_gives_the_focus_back(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/run-sets/{nightly}")
    page.get_by_role("searchbox", name="Task").focus()
    opened(page)
    page.keyboard.type("zzz")
    expect(page.get_by_role("menu")).to_contain_text("Nothing here")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_role("searchbox", name="Task")).to_be_focused()
    page.locator("h1").click()
    page.keyboard.press("?")
    listed = page.get_by_role("dialog").locator("dt").all_inner_texts()
    assert "⌘/Ctrl K" in listed


def test_it_has_nothing_serious_for_axe(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/run-sets/{nightly}")
    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        opened(page)
        page.keyboard.type("night")
        expect(page.get_by_role("menuitem").first).to_contain_text("nightly")
        assert ada.serious("document.querySelector('dialog')") == []
        page.keyboard.press("Escape")


def test_lists_are_narrowed_to_what_stands_in_their_names(ada: Visitor, nightly: str, gaps: str, job: str) -> None:
    page = ada.go("/run-sets")
    expect(page.get_by_role("link", name="gaps")).to_be_visible()
    page.keyboard.press("/")
    expect(page.get_by_role("searchbox", name="Name")).to_be_focused()
    page.keyboard.type("NIGHT")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile(r"/run-sets\?q=NIGHT"))
    expect(page.get_by_role("link", name="gaps")).to_have_count(0)
    expect(page.get_by_role("link", name="nightly").first).to_be_visible()
    page.reload()
    expect(page.get_by_role("searchbox", name="Name")).to_have_value("NIGHT")
    page.get_by_role("searchbox", name="Name").fill("no such")
    page.keyboard.press("Enter")
    expect(page.get_by_text("No run set has “no such” in its name.")).to_be_visible()
    with ada.site.api() as api:
        name = api.get(f"jobs/{job}").json()["job"]["name"]
    page = ada.go(f"/jobs?q={name[1:].upper()}")
    expect(page.get_by_role("link", name=name, exact=True).first).to_be_visible()


def test_a_suite_stands_by_its_label_and_leads_to_its_leaderboard(ada: Visitor, nightly: str) -> None:
    with ada.site.api() as api:
        suite = api.get(f"run-sets/{nightly}").json()["run_set"]["suite_id"]
        labels = next(one["aliases"] for one in api.get("suites").json()["items"] if one["suite_id"] == suite)
    page = ada.go("/run-sets")
    row = page.get_by_role("row", name=re.compile("nightly")).last
    row.get_by_role("link", name=labels[0] if labels else suite[:12]).click()
    expect(page).to_have_url(re.compile(f"/leaderboard.*{suite}"))
