"""What a page says when a part of it can't be had, and whose cell an attempt is when two run sets count it."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Site, Visitor


def test_rates_that_cannot_be_had_say_so_and_are_asked_for_again(site: Site, visitor: Visitor, nightly: str) -> None:
    ada = visitor.sign_in()
    failing = True

    def answer(route) -> None:  # type: ignore[no-untyped-def]
        route.fulfill(status=503, json={"title": "Busy", "detail": "Not now.", "status": 503}) if failing else (
            route.continue_()
        )

    ada.page.route("**/leaderboard*", answer)
    ada.page.goto(f"{site.url}/run-sets/{nightly}")
    alert = ada.page.get_by_role("alert")
    expect(alert).to_contain_text("Not now.", timeout=20_000)
    expect(ada.page.get_by_role("grid")).to_be_visible()
    failing = False
    alert.get_by_role("button", name="Retry").click()
    expect(ada.page.get_by_text(re.compile("^strict", re.IGNORECASE)).first).to_be_visible()
    ada.problems.clear()  # the browser writes down what failed


@pytest.mark.parametrize(
    ("path", "title"),
    [
        ("/run-sets/nope", "Run set nope"),
        ("/attempts/nope", "Attempt nope"),
        ("/jobs/nope", "Job nope"),
        ("/datasets/nope@v1", "Dataset nope@v1"),
        ("/datasets/nope@v1/evaluate", "Evaluate nope@v1"),
    ],
)
def test_a_page_of_nothing_has_a_title_as_every_page(ada: Visitor, path: str, title: str) -> None:
    page = ada.go(path)
    expect(page.get_by_role("heading", level=1)).to_have_text(title)
    expect(page.get_by_role("alert")).to_contain_text(re.compile("There is no such thing here|That did not work"))
    assert ada.serious() == []
    ada.problems = [one for one in ada.problems if "404" not in one and "422" not in one]


def test_a_page_that_cannot_be_loaded_says_so_and_comes_when_it_can_be(ada: Visitor) -> None:
    page = ada.go("/run-sets")
    page.route(re.compile(r"/assets/jobs-.*\.js"), lambda route: route.abort())
    page.get_by_role("link", name="Jobs", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("This page could not be loaded")
    expect(page.get_by_role("link", name="Costs", exact=True)).to_be_visible()
    page.unroute_all()
    page.get_by_role("button", name="Retry").click()
    expect(page.get_by_role("heading", level=1, name="Jobs")).to_be_visible()
    ada.problems.clear()


def test_a_reused_verdict_keeps_the_run_set_that_it_is_looked_at_from(ada: Visitor, nightly: str) -> None:
    again = ada.site.run("again", '[[profiles]]\nname = "renamed"\nagent = "oracle"\n')
    page = ada.go(f"/run-sets/{again}?view=table")
    page.get_by_role("row").nth(1).get_by_role("link").click()
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text("renamed")
    expect(page.get_by_text("reused: it ran in")).to_be_visible()
    expect(page.get_by_role("link", name="again", exact=True)).to_be_visible()
    page.reload()
    expect(heading).to_contain_text("renamed")
    page.goto(f"{ada.site.url}/run-sets/{nightly}?view=table&profile=good")
    page.get_by_role("row").nth(1).get_by_role("link").click()
    expect(heading).to_contain_text("good")
    expect(page.get_by_text("reused: it ran in")).to_have_count(0)


def test_on_a_phone_an_attempt_opens_at_its_deciding_step_and_its_output_is_scrolled_by_keyboard(
    ada: Visitor, nightly: str
) -> None:
    with ada.site.api() as api:
        cells = api.get(f"run-sets/{nightly}/cells", params={"profile": "poor", "outcome": "failed"}).json()["items"]
    ada.page.set_viewport_size({"width": 390, "height": 844})
    page = ada.go(f"/attempts/{cells[0]['attempt']}")
    current = page.locator("[aria-current=step]")
    expect(current).to_be_in_viewport()
    assert ada.serious() == []


def test_what_was_done_is_not_said_beside_another_state(ada: Visitor) -> None:
    with ada.site.sleeping("told", 30):
        page = ada.go("/run-sets")
        page.get_by_role("link", name="told", exact=True).first.click(timeout=60_000)
        expect(page.get_by_role("heading", level=1)).to_contain_text("running", timeout=30_000)
        page.get_by_role("button", name="Pause").click()
        said = page.get_by_text(re.compile("^paused: what runs now goes on to its end"))
        expect(said).to_be_visible()
        expect(page.get_by_role("button", name="Resume")).to_be_visible()
        with ada.site.api() as api:
            api.post(f"run-sets/{ada.site.run_set('told')}/resume")
        expect(page.get_by_role("button", name="Pause")).to_be_visible(timeout=20_000)
        expect(said).to_have_count(0)
