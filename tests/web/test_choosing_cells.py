"""Cells chosen by drawing over names, and by what is typed of them: a choice is an address, and can be tried again."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import FloatRect, Page, expect

from tests.web.conftest import FAULTY, Visitor


def box_of(page: Page) -> FloatRect:
    found = page.get_by_role("grid", name="Profiles by tasks").bounding_box()
    assert found is not None
    return found


def draw(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    page.mouse.move(*start)
    page.mouse.down()
    page.mouse.move(*end, steps=6)
    page.mouse.up()


def first_cell(page: Page) -> tuple[float, float]:
    """Where cells begin: the one that the keys are on first."""
    page.get_by_role("gridcell").focus()
    page.keyboard.press("ArrowDown")
    found = page.get_by_role("gridcell").bounding_box()
    assert found is not None
    return found["x"], found["y"]


def test_names_are_drawn_over_and_the_choice_is_an_address(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/run-sets/{nightly}?view=grid&pitch=18")
    left, top = first_cell(page)
    status = page.get_by_role("status").filter(has_text="filtered")

    draw(page, (left + 4, top - 20), (left + 18 * 2 + 8, top - 24))
    expect(status).to_contain_text("filtered, 6 of 16 cells")
    expect(page).to_have_url(re.compile("tasks="))
    page.reload()
    expect(status).to_contain_text("filtered, 6 of 16 cells")

    _, top = first_cell(page)  # what is filtered stands above
    box = box_of(page)
    draw(page, (box["x"] + 10, top + 4), (box["x"] + 14, top + 18 + 6))
    expect(status).to_contain_text("filtered, 6 of 16 cells")  # both profiles: of the tasks that are chosen
    draw(page, (box["x"] + 10, top + 4), (box["x"] + 14, top + 6))
    expect(status).to_contain_text("filtered, 3 of 16 cells")  # one name, as the list of profiles says it
    expect(page.get_by_label("Profile", exact=True)).not_to_have_value("")

    page.keyboard.press("Escape")
    expect(page.get_by_text("filtered")).to_have_count(0)
    page.go_back()
    expect(status).to_contain_text("filtered, 3 of 16 cells")


def test_a_stroke_that_leaves_the_grid_is_not_lost(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/run-sets/{nightly}?view=grid&pitch=18")
    left, top = first_cell(page)
    status = page.get_by_role("status").filter(has_text="filtered")
    draw(page, (left + 4, top - 20), (left + 18 * 2 + 8, box_of(page)["y"] - 60))
    expect(status).to_contain_text("filtered, 6 of 16 cells")


def test_a_stroke_is_let_go_by_escape(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/run-sets/{nightly}?view=grid&pitch=18")
    left, top = first_cell(page)
    page.mouse.move(left + 4, top - 20)
    page.mouse.down()
    page.mouse.move(left + 18 * 2 + 8, top - 20)
    page.keyboard.press("Escape")
    page.mouse.up()
    expect(page.get_by_text("filtered")).to_have_count(0)
    draw(page, (left + 4, top - 20), (left + 18 * 2 + 8, top - 20))
    expect(page.get_by_role("status").filter(has_text="filtered")).to_contain_text("filtered, 6 of 16 cells")


def test_what_is_drawn_over_beyond_the_last_name_ends_with_it(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/run-sets/{nightly}?view=grid&pitch=18")
    left, top = first_cell(page)
    draw(page, (left + 18 * 6 + 4, top - 20), (left + 18 * 8 + 60, top - 20))
    expect(page.get_by_role("status").filter(has_text="filtered")).to_contain_text("filtered, 4 of 16 cells")


@pytest.mark.usefixtures("gaps")  # which would reuse the verdicts that are made here, if it came later
def test_owed_cells_that_were_drawn_over_are_tried_again(ada: Visitor) -> None:
    # cells of its own: what is tried again may be decided, also for other run sets that count the same cells
    own = ada.site.run("drawn", f'reuse = "off"{FAULTY}')
    page = ada.go(f"/run-sets/{own}?view=grid&pitch=18")
    left, top = first_cell(page)
    draw(page, (left + 4, top - 20), (left + 18 * 8 - 4, top - 20))
    again = page.get_by_role("button", name=re.compile(r"try \d cells? again"))
    expect(again).to_be_visible()
    with page.expect_request(re.compile("/resume$")) as asked:
        again.click()
    body = asked.value.post_data_json
    assert body is not None
    assert len(body["tasks"]) == 8
    expect(page.get_by_text(re.compile(r"\d of \d cells? queued"))).to_be_visible()


def test_the_palette_finds_cells_by_class_profile_and_task(ada: Visitor, gaps: str) -> None:
    page = ada.go(f"/run-sets/{gaps}")
    expect(page.get_by_role("grid")).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("textbox", name="Go to, or do").fill("class:verifier profile:cra")
    page.get_by_role("menuitem", name=re.compile("verifier error · crash")).first.click()
    expect(page).to_have_url(re.compile("class=.*verifier_error.*profile=crash"))
    expect(page.get_by_role("status").filter(has_text="filtered")).to_be_visible()

    page.keyboard.press("Control+k")
    page.get_by_role("textbox", name="Go to, or do").fill("access-report")
    page.get_by_role("menuitem", name="proctor/access-report").click()
    expect(page.get_by_label("Task", exact=True)).to_have_value("proctor/access-report")


def test_a_running_cell_says_the_phase_that_it_has_come_to(ada: Visitor) -> None:
    with ada.site.sleeping("phased", 60, "--task", "access-report"):
        page = ada.go("/run-sets")
        page.get_by_role("link", name="phased", exact=True).click()
        pill = page.get_by_role("button", name=re.compile("^running, 1 cells"))
        expect(pill).to_be_visible(timeout=30_000)
        page.keyboard.press("n")
        page.keyboard.press("Enter")
        cell = page.get_by_label("Cell", exact=True)
        expect(cell).to_contain_text("running")
        expect(cell).to_contain_text("owed, agent", timeout=45_000)
        page.set_viewport_size({"width": 360, "height": 800})
        mark = page.get_by_role("list", name="Tasks").get_by_role("button", name=re.compile("running, agent"))
        expect(mark).to_have_text("A")
        expect(mark).to_have_css("background-color", "rgba(0, 0, 0, 0)"), "open: it is owed"


def test_a_window_made_narrow_shows_tasks_and_still_the_grid_to_who_asks(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/run-sets/{nightly}")
    tasks = page.get_by_role("list", name="Tasks")
    expect(page.get_by_role("grid")).to_be_visible()
    page.set_viewport_size({"width": 360, "height": 800})
    expect(tasks).to_be_visible()
    page.get_by_role("button", name="Grid").click()
    expect(page.get_by_role("grid")).to_be_visible()
    page.reload()
    expect(page.get_by_role("grid")).to_be_visible()
    page.get_by_role("button", name="Tasks").click()
    expect(tasks).to_be_visible()
    assert "view=" not in page.url
