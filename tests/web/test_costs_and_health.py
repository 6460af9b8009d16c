"""What was spent, down to the attempt; and how the installation was, down to the cells that something holds back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import create_engine, text

from proctor.database.embedded import EmbeddedServer
from proctor.models.calls import Purpose
from tests.web.conftest import SCREENSHOTS, Site, Visitor
from tests.web.spending import Spent, spend

DOLLAR = 1_000_000_000
Theme = Literal["light", "dark"]


@pytest.fixture(scope="module")
def spent(site: Site, nightly: str, gaps: str) -> dict[str, str]:
    """Calls of ten days: of attempts with a verdict and without one, of judges, and of a model without a price."""
    good, owed = _attempt(site, nightly, "passed"), _attempt(site, gaps, "verifier_error")
    run = {"run_set": nightly, "attempt": good, "profile": "good", "model": "anthropic/opus-5"}
    calls = [Spent(**run, cost_nano=4 * DOLLAR, days_ago=day) for day in range(10)]
    calls += [Spent(model="openai/gpt-6", cost_nano=DOLLAR, days_ago=day, purpose=Purpose.JUDGE) for day in range(10)]
    calls += [
        Spent(run_set=gaps, attempt=owed, profile="crash", model="openai/gpt-6", cost_nano=7 * DOLLAR, days_ago=1)
    ]
    calls += [Spent(model="selfhosted/llama-9", cost_nano=None, reserved_nano=None, days_ago=2)]
    spend(site, calls)
    return {"good": good, "owed": owed, "nightly": nightly, "gaps": gaps}


def _attempt(site: Site, run_set: str, outcome: str) -> str:
    with site.api() as api:
        cells = api.get(f"run-sets/{run_set}/cells", params={"outcome": outcome}).json()["items"]
    return str(cells[0]["attempt"])


def day(ago: int) -> str:
    return f"{datetime.now(UTC) - timedelta(days=ago):%Y-%m-%d}"


def entries(page: Page):  # type: ignore[no-untyped-def]
    return page.get_by_label("Entries, the newest first").locator("tbody tr")


def test_a_bar_leads_to_its_entries_and_those_to_the_attempt(ada: Visitor, spent: dict[str, str]) -> None:
    page = ada.go("/costs?by=profile")
    bar = page.locator(f"[data-figure='entries of {day(1)}']")
    expect(bar).to_have_attribute("aria-label", re.compile(r"\$12\.00, 3 entries; good \$4\.00.*crash \$7\.00"))
    bar.press("Enter")  # 1: the entries
    expect(page.get_by_role("status").filter(has_text="filtered")).to_contain_text("(UTC)")
    expect(entries(page)).to_have_count(3)
    row = entries(page).filter(has_text="verifier error")
    row.get_by_role("link").click()  # 2: the attempt
    expect(page).to_have_url(re.compile(f"/attempts/{spent['owed']}"))
    page.go_back()
    expect(page).to_have_url(re.compile(f"day={day(1)}"))
    page.reload()
    expect(entries(page)).to_have_count(3)
    page.keyboard.press("Escape")
    expect(page.get_by_role("status").filter(has_text="filtered")).to_have_count(0)
    page.get_by_title(re.compile(r"crash: \$7\.00$")).click()
    expect(page.get_by_role("status").filter(has_text="profile crash")).to_be_visible()
    expect(entries(page)).to_have_count(1)


def test_every_figure_of_the_page_leads_to_entries_of_its_sum(ada: Visitor, spent: dict[str, str]) -> None:
    page = ada.go("/costs?by=kind")
    addresses = [one.get_attribute("href") for one in page.locator("[data-figure]").all()]
    assert len(addresses) > 10
    for address in sorted({one for one in addresses if one})[:6]:
        ada.go(address)
        expect(page.get_by_role("status").filter(has_text="filtered")).to_be_visible()
        expect(entries(page).first).to_be_visible()


def test_what_is_not_known_is_named_and_is_no_zero(ada: Visitor, spent: dict[str, str]) -> None:
    page = ada.go("/costs?by=model")
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="selfhosted/llama-9"))
    expect(row.get_by_role("cell").first).to_have_text("—")
    whole = page.get_by_text(re.compile(r"^≥ \$57\.00 · usage 9\d\.\d%$"))
    expect(whole).to_be_visible()
    unpriced = page.get_by_text("Not in these sums")
    expect(unpriced).to_be_visible()
    page.get_by_role("link", name="1 entry of selfhosted/llama-9").click()
    expect(entries(page)).to_have_count(1)
    expect(entries(page).get_by_role("cell").nth(1)).to_have_text("—")


def test_spend_without_a_verdict_is_its_owners(ada: Visitor, spent: dict[str, str]) -> None:
    page = ada.go("/costs")
    section = page.get_by_label("Spent without a verdict")
    expect(section).to_contain_text("task")
    section.get_by_role("link", name="$7.00").click()
    expect(page.get_by_role("status").filter(has_text="without a verdict: task")).to_be_visible()
    expect(entries(page).filter(has_text="$7.00")).to_have_count(1)


def test_the_month_has_a_forecast_and_its_budget(ada: Visitor, spent: dict[str, str]) -> None:
    with ada.site.api() as api:
        month = api.get("spend/month").json()
        assert month["forecast"]["low_nano"] <= month["forecast"]["expected_nano"] <= month["forecast"]["high_nano"]
        api.put("budget", json={"month_nano": 10 * DOLLAR})
    try:
        page = ada.go("/costs")
        expect(page.get_by_text(re.compile(r"^By \d+ \w+ about \$[\d,.]+: 80 % between"))).to_be_visible()
        expect(page.get_by_role("img", name=re.compile(r"of \$10\.00\. By"))).to_be_visible()
        expect(page.get_by_text(re.compile("budget \\$10.00: it (is|will probably be) used up"))).to_be_visible()
    finally:
        with ada.site.api() as api:
            api.put("budget", json={"month_nano": None})


def test_the_month_changes_by_itself_when_attempts_end(ada: Visitor, spent: dict[str, str]) -> None:
    page = ada.go("/costs")
    headline = page.get_by_text(re.compile(r"^(≥ )?\$[\d.,]+\w+ \d+, UTC"))
    before = headline.inner_text()
    spend(ada.site, [Spent(model="openai/gpt-6", cost_nano=3 * DOLLAR, days_ago=0)])
    ada.site.run("spending", '[[profiles]]\nname = "noop"\nagent = "noop"\n')
    expect(headline).not_to_have_text(before, timeout=20_000)


def test_an_administrator_sees_tenants_apart_and_no_ledger_of_theirs(ada: Visitor, spent: dict[str, str]) -> None:
    page = ada.go("/costs?by=tenant")
    table = page.get_by_label("Spend by tenant, the dearest first")
    expect(table.get_by_role("rowheader", name="acme")).to_be_visible()
    assert table.locator("[data-figure]").count() == 0


# --- health -----------------------------------------------------------------------------------------------------------

GAP = range(20, 32)
"""Minutes ago in which no server sampled."""
_SAMPLES = """
INSERT INTO proctor.health_sample
SELECT date_trunc('minute', now()) - make_interval(mins => r.ago), 0, r.age, 60, 0, r.ready, 2, 7, 0, 1, 7,
       0.25, NULL, 0.2, 48
FROM jsonb_to_recordset(CAST(:rows AS jsonb)) AS r (ago int, age float, ready int)
ON CONFLICT DO NOTHING
"""


@pytest.fixture(scope="module")
def sampled(site: Site, gaps: str) -> None:
    """Two hours of samples with a gap in them; what the server sampled itself is left."""
    rows = [
        {"ago": ago, "age": 4_000 if ago == 45 else 30, "ready": ago % 7} for ago in range(1, 120) if ago not in GAP
    ]
    with EmbeddedServer(site.folder / "home" / "postgres") as urls:
        engine = create_engine(urls.scheduler)
        with engine.begin() as connection:
            query = text("DELETE FROM proctor.health_sample WHERE at < date_trunc('minute', now())")
            connection.execute(query)
            connection.execute(text(_SAMPLES), {"rows": json.dumps(rows)})
        engine.dispose()


def test_the_server_samples_itself(ada: Visitor, gaps: str) -> None:
    with ada.site.api() as api:
        answer = api.get("health/samples").json()
    assert [one for one in answer["series"]["pending"] if one is not None], "the planner has looked by now"
    assert answer["series"]["pending"][0] is None, "this server is no hour old"


def test_health_is_drawn_and_told_in_words(ada: Visitor, sampled: None) -> None:
    page = ada.go("/health")
    chart = page.get_by_role("img", name=re.compile("^Oldest ready work"))
    expect(chart).to_have_attribute("aria-label", re.compile("high: now .*, at most 1h 06m"))
    expect(chart.locator("canvas")).to_be_visible()
    page.get_by_text(re.compile("As a table; nothing was sampled in 1[2-4] steps of 60")).click()
    row = page.get_by_role("row").filter(has=page.get_by_role("rowheader", name="Whose failures: infrastructure"))
    expect(row.get_by_role("cell").nth(2)).to_have_text("25.0%")
    assert {url for url in ada.asked if "/assets/charts-" in url}, "what draws is loaded for it"


def test_one_cursor_reads_all_charts_at_a_moment(ada: Visitor, sampled: None) -> None:
    page = ada.go("/health?range=24h")
    expect(page.get_by_role("link", name="24h")).to_have_attribute("aria-current", "page")
    queue = page.locator("figure").filter(has=page.get_by_role("heading", name="Queue"))
    lag = page.locator("figure").filter(has=page.get_by_role("heading", name="Relay lag"))
    expect(lag).not_to_contain_text("lag —")
    box = queue.locator(".u-over").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] * 0.2, box["y"] + 20)
    expect(lag).to_contain_text("lag —"), "nothing was sampled twenty hours ago"
    page.mouse.move(box["x"] + box["width"] * 0.96, box["y"] + 20)
    expect(lag).to_contain_text("lag 200 ms"), "an hour ago; the newest step may hold the server's own sample alone"
    page.mouse.move(0, 0)
    expect(lag).not_to_contain_text("lag —")
    page.get_by_role("link", name="7d").click()
    expect(page).to_have_url(re.compile("range=7d"))
    page.go_back()
    expect(page).to_have_url(re.compile("range=24h"))


def test_what_needs_somebody_leads_to_the_cells_it_holds_back(ada: Visitor, gaps: str) -> None:
    page = ada.go("/health")
    need = page.get_by_role("listitem").filter(has_text="of gaps given up: out of tries")
    need.get_by_role("link").click()
    expect(page).to_have_url(re.compile(f"/run-sets/{gaps}.*owed=true"))
    expect(page.get_by_role("status").filter(has_text="filtered")).to_be_visible()


def test_who_is_no_administrator_sees_no_charts_and_no_error(ada: Visitor, browser: Browser, gaps: str) -> None:
    with ada.site.api() as api:
        user = api.post("users", json={"name": "reader@example.org", "role": "member", "kind": "person"}).json()
        key = api.post("keys", json={"name": "bo", "user": user["id"]}).json()["secret"]
    with browser.new_context() as context:
        member = Visitor(ada.site, context).sign_in(key)
        page = member.go("/health")
        expect(page.get_by_role("heading", name="How it went")).to_have_count(0)
        expect(page.get_by_role("listitem").filter(has_text="of gaps given up")).to_be_visible()
        expect(member.go("/costs?by=tenant").get_by_label("Loading")).to_have_count(0)
        member.problems = [one for one in member.problems if "403" not in one]
        assert not member.problems


@pytest.fixture(params=["light", "dark"])
def themed(request: pytest.FixtureRequest, site: Site, browser: Browser) -> Iterator[tuple[Visitor, Theme]]:
    with browser.new_context(viewport={"width": 1440, "height": 900}, color_scheme=request.param) as context:
        visitor = Visitor(site, context).sign_in()
        yield visitor, request.param
        assert not visitor.problems


PAGES = {
    "costs-by-model": "/costs?by=model",
    "costs-day": "/costs?by=kind&days=7&key=judge",
    "health-day": "/health?range=24h",
}


@pytest.mark.parametrize("name", PAGES)
def test_pages_with_something_on_are_whole_at_every_width(
    themed: tuple[Visitor, Theme], spent: dict[str, str], sampled: None, name: str
) -> None:
    visitor, theme = themed
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    for width in (360, 1440, 3840):
        visitor.page.set_viewport_size({"width": width, "height": 900})
        visitor.go(PAGES[name])
        visitor.page.screenshot(path=str(SCREENSHOTS / f"{name}-{width}-{theme}.png"), full_page=True)
        beyond = visitor.measure("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert beyond <= 0, f"{name} scrolls to the side at {width} px"
    assert visitor.serious() == []


def test_charts_wear_the_theme_that_is_chosen(ada: Visitor, sampled: None) -> None:
    page = ada.go("/health?range=24h")
    page.locator("canvas").first.wait_for()

    def ink() -> int:
        return int(
            ada.measure(
                "(() => { const one = document.querySelector('canvas'); const { data } = one.getContext('2d')"
                ".getImageData(0, 0, one.width, one.height); let sum = 0, seen = 0;"
                " for (let at = 0; at < data.length; at += 4) if (data[at + 3] > 200) { sum += data[at]; seen += 1; }"
                " return sum / seen; })()"
            )
        )

    before = ink()
    ada.measure("document.documentElement.dataset.theme = 'dark'")
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(500)
    assert ink() < before / 2, "darker ground where nothing was sampled"
