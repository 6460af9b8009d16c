"""Every page: readable in both themes at every width, by keyboard and by assistive technology, soon and alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources
from typing import Literal

import pytest
from playwright.sync_api import Browser, expect

from tests.web.conftest import SCREENSHOTS, Site, Visitor, slowness

WIDTHS = (360, 390, 1440, 3840)
PAGES = {
    "run-sets": "/run-sets",
    "run-set": "/run-sets/{nightly}",
    "run-set-gaps": "/run-sets/{gaps}",
    "run-set-table": "/run-sets/{nightly}?view=table",
    "launch": "/run-sets/new",
    "leaderboard": "/leaderboard",
    "attempt": "/attempts/{attempt}",
    "compare": "/compare?base=nightly:good&with=nightly:poor",
    "side-by-side": "/compare/attempts?a=nightly:poor&b=nightly:good&task=proctor/broken-commit",
    "datasets": "/datasets",
    "bring": "/datasets/new",
    "evaluate": "/datasets/refunds/evaluate",
    "dataset": "/datasets/refunds",
    "dataset-diff": "/datasets/refunds?tab=diff",
    "dataset-change": "/datasets/refunds?tab=diff&example=r50",
    "dataset-lineage": "/datasets/refunds?tab=lineage",
    "dataset-search": "/datasets/refunds?q=tag%3Dgift%20refund",
    "dataset-quality": "/datasets/flawed?tab=quality",
    "evaluators": "/evaluators",
    "jobs": "/jobs",
    "job": "/jobs/{job}",
    "costs": "/costs",
    "health": "/health",
    "settings": "/settings",
    "members": "/settings?section=members",
    "roles": "/settings?section=roles",
    "providers": "/settings?section=providers",
    "retention": "/settings?section=retention",
    "audit": "/audit",
    "not-found": "/nothing-here",
}
BYTES = 300_000
"""Of everything that the first view takes, as it is sent."""


@pytest.fixture(scope="module")
def things(site: Site, nightly: str, gaps: str, job: str, flawed: str) -> dict[str, str]:
    """What the pages show."""
    with site.api() as api:
        cells = api.get(f"run-sets/{gaps}/cells", params={"outcome": "verifier_error"}).json()["items"]
    return {"nightly": nightly, "gaps": gaps, "job": job, "attempt": cells[0]["attempt"]}


@pytest.fixture(params=["light", "dark"])
def theme(request: pytest.FixtureRequest) -> Literal["light", "dark"]:
    return request.param


@pytest.fixture
def themed(theme: Literal["light", "dark"], site: Site, browser: Browser) -> Iterator[Visitor]:
    with browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=theme) as context:
        visitor = Visitor(site, context).sign_in()
        yield visitor
        assert not visitor.problems
        assert not [url for url in visitor.asked if not url.startswith((site.url, "data:", "blob:"))]


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole_at_every_width(themed: Visitor, theme: str, things: dict[str, str], name: str) -> None:
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for width in WIDTHS:
        themed.page.set_viewport_size({"width": width, "height": 2000 if width > 3000 else 900})
        themed.go(PAGES[name].format(**things))
        themed.page.screenshot(path=str(SCREENSHOTS / f"{name}-{width}-{theme}.png"))
        beyond = themed.measure("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert beyond <= 0, f"{name} scrolls to the side at {width} px"
    assert themed.measure("document.querySelectorAll('h1').length") == 1


@pytest.mark.parametrize("name", PAGES)
def test_a_page_has_nothing_serious_for_axe(themed: Visitor, things: dict[str, str], name: str) -> None:
    for width in (720, 1440):
        themed.page.set_viewport_size({"width": width, "height": 900})
        themed.go(PAGES[name].format(**things))
        assert themed.serious() == [], f"{width} px"


def test_titles_are_all_different(ada: Visitor, things: dict[str, str]) -> None:
    titles = {}
    for name in (
        "run-sets",
        "run-set",
        "launch",
        "leaderboard",
        "attempt",
        "compare",
        "datasets",
        "bring",
        "evaluate",
        "dataset",
        "evaluators",
        "jobs",
        "job",
        "costs",
        "health",
        "settings",
        "members",
        "roles",
        "providers",
        "retention",
        "audit",
    ):
        ada.go(PAGES[name].format(**things))
        titles[name] = ada.measure("document.title")
        assert titles[name].endswith(" · Proctor")
    assert len(set(titles.values())) == len(titles)


WATCH_MOVES = (
    "window.moved = 0; new PerformanceObserver((list) => { for (const one of list.getEntries())"
    " if (!one.hadRecentInput) window.moved += one.value; }).observe({ type: 'layout-shift', buffered: true });"
)


def test_nothing_moves_after_it_is_there(ada: Visitor, things: dict[str, str]) -> None:
    ada.page.add_init_script(WATCH_MOVES)
    moved = {name: moved_on(ada, PAGES[name].format(**things)) for name in PAGES}
    assert {name: value for name, value in moved.items() if value > 0.02} == {}


@pytest.mark.parametrize("size", [(390, 844), (3840, 2000)])
def test_what_comes_bit_by_bit_moves_nothing_at_any_width(
    ada: Visitor, things: dict[str, str], size: tuple[int, int]
) -> None:
    ada.page.add_init_script(WATCH_MOVES)
    ada.page.set_viewport_size({"width": size[0], "height": size[1]})
    moved = {name: moved_on(ada, PAGES[name].format(**things)) for name in ("job", "costs", "health")}
    assert {name: value for name, value in moved.items() if value > 0.02} == {}


def moved_on(ada: Visitor, path: str) -> float:
    """How much moved on a page until all of it had come."""
    ada.go(path)
    ada.page.wait_for_timeout(300)
    return round(ada.measure("window.moved"), 3)


def test_the_first_view_is_small_and_compressed(ada: Visitor, things: dict[str, str]) -> None:
    sizes: dict[str, int] = {}
    plain: list[str] = []

    def seen(response) -> None:  # type: ignore[no-untyped-def]
        sizes[response.url] = response.request.sizes()["responseBodySize"]
        kind = response.headers.get("content-type", "")
        if any(one in kind for one in ("javascript", "css", "html")) and "content-encoding" not in response.headers:
            plain.append(response.url)

    ada.page.on("response", seen)
    ada.go("/run-sets")
    ada.page.wait_for_load_state("networkidle")
    assert not plain, "sent as it is"
    assert 0 < sum(sizes.values()) <= BYTES, sizes


def test_the_first_view_is_there_soon(ada: Visitor, things: dict[str, str]) -> None:
    """1.5 s on a machine that adds ten million numbers in 0.6 s; on a slower one in that measure. The best of five."""
    taken = []
    for _ in range(5):
        with ada.context.new_page() as page:
            page.goto(f"{ada.site.url}/run-sets")
            page.wait_for_selector("tbody tr")
            taken.append(page.evaluate("performance.now()") / 1000)
    assert min(taken) <= 1.5 * slowness(), taken


def test_every_figure_leads_to_what_it_counts(ada: Visitor, things: dict[str, str]) -> None:
    """One click: the cells; the second is any of them."""
    for name in ("run-set", "run-set-gaps", "leaderboard"):
        page = ada.go(PAGES[name].format(**things))
        addresses = {one.get_attribute("href") for one in page.locator("[data-figure]").all()}
        assert addresses
        for address in sorted(one for one in addresses if one):
            ada.go(address)
            assert "filtered" in page.get_by_role("status").filter(has_text="filtered").inner_text()


def test_no_rate_stands_without_its_number(ada: Visitor, things: dict[str, str]) -> None:
    for name in ("run-set", "leaderboard"):
        ada.go(PAGES[name].format(**things))
        alone = ada.measure(
            "[...document.querySelectorAll('[data-rates] dd')].filter((one) => !/[0-9]|nothing/.test("
            "one.querySelector('[data-figure]')?.textContent ?? '')).length"
        )
        assert alone == 0


def test_every_place_is_within_reach_of_a_thumb(ada: Visitor, things: dict[str, str]) -> None:
    for width in (360, 390):
        ada.page.set_viewport_size({"width": width, "height": 800})
        page = ada.go("/run-sets")
        places = page.get_by_role("navigation", name="Proctor").get_by_role("link")
        boxes = [one.bounding_box() for one in places.all()]
        assert len(boxes) == 10
        for box in boxes:
            assert box is not None
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= width
            assert box["y"] + box["height"] <= 800
            assert box["width"] >= 44
            assert box["height"] >= 44


def test_a_link_of_setting_up_that_is_used_says_so(ada: Visitor) -> None:
    page = ada.go("/setup")
    expect(page.get_by_role("heading", level=1)).to_have_text("This installation is set up already")
    assert ada.measure("document.title") == "Set up · Proctor"
    page.locator("main").get_by_role("link", name="run sets").click()
    expect(page).to_have_url(f"{ada.site.url}/run-sets")


def test_on_paper_a_page_is_light_and_without_what_leads_elsewhere(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/run-sets/{nightly}")
    page.evaluate("localStorage.setItem('proctor.preferences', JSON.stringify({ theme: 'dark' }))")
    page.reload()
    tokens = json.loads((resources.files("proctor.reports.html") / "tokens.json").read_text())
    light, dark = (tokens["outcomes"]["passed"]["fill"][side] for side in ("light", "dark"))
    expect(page.locator("canvas")).to_be_visible()
    page.wait_for_function(HOLDS, arg=dark)
    page.emulate_media(media="print")
    expect(page.get_by_role("navigation", name="Proctor")).to_be_hidden()
    expect(page.locator("header").first).to_be_hidden()
    page.wait_for_function(HOLDS, arg=light)
    assert page.evaluate("getComputedStyle(document.documentElement).backgroundColor") == "rgb(255, 255, 255)"
    page.emulate_media(media="screen")
    page.wait_for_function(HOLDS, arg=dark)
    expect(page.get_by_role("navigation", name="Proctor")).to_be_visible()


HOLDS = """(colour) => {
  const [red, green, blue] = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  const canvas = document.querySelector("canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  for (let at = 0; at < data.length; at += 4)
    if (data[at] === red && data[at + 1] === green && data[at + 2] === blue) return true;
  return false;
}"""
"""Whether the grid is drawn with a colour."""
