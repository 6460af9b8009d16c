"""What the dashboard promises of every view: nothing counted twice, nothing asked for nothing, the way back kept."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.web.conftest import Site, Visitor

FIVE = "".join(f'\n[[profiles]]\nname = "p{number}"\nagent = "oracle"\nseries = "s{number}"\n' for number in range(5))
EVICTED = """
[[faults]]
kind = "eviction"
profiles = ["p1", "p2"]
tasks = "access-report"

[[faults]]
kind = "eviction"
profiles = ["p3"]
tasks = "access-report"
attempts = [1, 2]
"""


@pytest.fixture(scope="module")
def retried(site: Site) -> str:
    """Forty cells, each decided; two took a second attempt, and one a third."""
    return site.run("retried", f"reuse = 'off'\n{FIVE}{EVICTED}")


def test_a_retry_is_never_a_row(ada: Visitor, retried: str) -> None:
    page = ada.go(f"/run-sets/{retried}?view=table")
    table = page.get_by_role("table")
    expect(table).to_have_attribute("aria-rowcount", "41")  # and the head
    tries = [text for text in attempts_of(page) if text != "1"]
    assert sorted(tries) == ["2", "2", "3"]
    expect(page.locator("[data-rates]").first).to_contain_text("40/40")


def attempts_of(page: Page) -> list[str]:
    """How many attempts each row tells of, over all that the table holds."""
    found: dict[str, str] = {}
    scroller = page.locator("section").filter(has=page.get_by_role("table")).last
    for top in range(0, 41 * 28, 300):
        scroller.evaluate("(one, top) => one.scrollTo(0, top)", top)
        page.wait_for_timeout(50)
        for row in page.locator("tbody tr").all():
            found[str(row.get_attribute("aria-rowindex"))] = row.locator("td").last.inner_text()
    assert len(found) == 40
    return list(found.values())


def test_a_cell_of_three_attempts_shows_three_and_the_oldest_has_its_evidence(ada: Visitor, retried: str) -> None:
    with ada.site.api() as api:
        cells = api.get(f"run-sets/{retried}/cells", params={"profile": "p3", "task": "*access-report"}).json()["items"]
    page = ada.go(f"/run-sets/{retried}?cell={cells[0]['cell']}")
    listed = page.get_by_label("Attempts, the oldest first").get_by_role("listitem")
    expect(listed).to_have_count(3)
    expect(listed.first).to_contain_text("node lost")
    listed.first.get_by_role("link", name="1", exact=True).click()
    expect(page.get_by_text("node lost").first).to_be_visible()
    expect(page.locator("[data-why]")).not_to_be_empty()
    page.get_by_role("button", name=re.compile("^evidence: ")).click()
    expect(page.get_by_text("agent").first).to_be_visible()


@pytest.fixture
def still(site: Site) -> Iterator[str]:
    """A run set of one cell that takes longer than anybody looks; its id."""
    with site.sleeping("still", 200, "--task", "access-report"):
        eventually(lambda: running(site))
        yield site.run_set("still")
    site.command("cancel", "still")


def running(site: Site) -> bool:
    with site.api() as api:
        found = api.get("run-sets", params={"name": "still"}).json()["items"]
        return bool(found) and bool(api.get(f"run-sets/{found[0]['id']}/running").json()["items"])


def eventually(holds: Callable[[], bool]) -> None:
    for _ in range(240):
        if holds():
            return
        time.sleep(0.25)
    raise AssertionError("it never came true")


def test_a_run_that_is_watched_is_not_asked_about_while_nothing_happens(ada: Visitor, still: str) -> None:
    page = ada.go(f"/run-sets/{still}")
    expect(page.get_by_text("1 running")).to_be_visible(timeout=30_000)
    page.wait_for_timeout(3000)
    asked = len(ada.asked)
    page.wait_for_timeout(60_000)
    assert ada.asked[asked:] == []
    expect(page.get_by_role("heading", level=1)).to_contain_text("running")


def test_the_way_back_leads_to_the_same_place_and_the_same_thing(ada: Visitor, retried: str) -> None:
    page = ada.go(f"/run-sets/{retried}?view=table")
    scroller = page.locator("section").filter(has=page.get_by_role("table")).last
    scroller.evaluate("(one) => one.scrollTo(0, 400)")
    row = page.locator("tbody tr[aria-rowindex='22']")
    row.get_by_role("link").click()
    expect(page).to_have_url(re.compile("/attempts/"))
    expect(page.locator("[data-why]")).to_be_visible()
    page.go_back()
    expect(row.get_by_role("link")).to_be_focused()
    assert scroller.evaluate("(one) => one.scrollTop") == 400


def test_a_long_page_is_left_and_found_again_where_it_was(ada: Visitor, job: str) -> None:
    page = ada.page
    page.set_viewport_size({"width": 1440, "height": 400})
    ada.go("/evaluators")
    page.evaluate("document.scrollingElement.scrollTo(0, 300)")
    page.wait_for_timeout(300)  # as somebody takes to press a key: places are noted ten times a second
    place = page.evaluate("document.scrollingElement.scrollTop")
    assert place > 0
    page.keyboard.press("g")
    page.keyboard.press("l")
    expect(page.get_by_role("heading", name="Leaderboard")).to_be_visible()
    page.go_back()
    expect(page.get_by_role("heading", name="Evaluators")).to_be_visible()
    page.wait_for_function("(place) => document.scrollingElement.scrollTop === place", arg=place)


DIALOGS = {
    "keys of the page": ("/run-sets", lambda page: page.keyboard.press("?")),
    "budget": ("/costs", lambda page: page.get_by_role("button", name="Set budget").click()),
    "a new key": ("/settings", lambda page: make_key(page)),
    "revoking": ("/settings", lambda page: page.get_by_role("button", name="Revoke").first.click()),
    "cancelling": ("/run-sets/{paused}", lambda page: page.get_by_role("button", name="Cancel…").click()),
}


def make_key(page: Page) -> None:
    page.get_by_label("New key, for").fill("looked at")
    page.get_by_role("button", name="Create key").click()


@pytest.fixture(scope="module")
def paused(site: Site, nightly: str) -> str:
    """A run set that was paused before it was worked on."""
    with site.api() as api:
        suite = api.get("suites").json()["items"][0]["suite_id"]
        said = {"name": "paused", "suite": suite, "profiles": [{"name": "p", "agent": "noop"}]}
        made = api.post("run-sets", json={"spec": said, "spec_digest": "0" * 64, "limit": 1}).json()["run_set"]["id"]
        api.post(f"run-sets/{made}/pause")
        return str(made)


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", DIALOGS)
def test_a_dialog_has_nothing_serious_for_axe(ada: Visitor, paused: str, name: str, theme: str) -> None:
    ada.page.emulate_media(color_scheme="dark" if theme == "dark" else "light")
    path, open_it = DIALOGS[name]
    page = ada.go(path.format(paused=paused))
    open_it(page)
    expect(page.get_by_role("dialog")).to_be_visible()
    page.wait_for_timeout(200)
    assert ada.serious() == []
    page.keyboard.press("Escape")
    if name == "a new key":  # what is shown once is not lost by a key
        page.get_by_role("button", name="I have kept it").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
