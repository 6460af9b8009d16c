"""What the installation promises of itself: how fast its error budget burns, of what; that backups are proven."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Browser, Locator, Page, expect
from sqlalchemy import Connection, create_engine, text

from proctor.database.embedded import EmbeddedServer
from tests.web.conftest import SCREENSHOTS, Site, Visitor

NEWEST, PROVEN = "b" * 64, "a" * 64
FOLDER = "/srv/backups of acme/2026-12-01"


@contextmanager
def scheduler(site: Site) -> Iterator[Connection]:
    with EmbeddedServer(site.folder / "home" / "postgres") as urls:
        engine = create_engine(urls.scheduler)
        with engine.begin() as connection:
            yield connection
        engine.dispose()


def sampled(site: Site, *, lost: int, minutes: int = 60) -> None:
    """Ten attempts ended in each of the last minutes, and so many of them were lost."""
    with scheduler(site) as connection:
        connection.execute(text("DELETE FROM proctor.health_sample WHERE at < date_trunc('minute', now())"))
        connection.execute(
            text(
                "INSERT INTO proctor.health_sample SELECT g, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, 0,"
                " g - interval '1 min', 10, :lost FROM generate_series(date_trunc('minute', now()) -"
                " make_interval(mins => :minutes), date_trunc('minute', now()) - interval '1 min', interval '1 min') g"
                " ON CONFLICT DO NOTHING"
            ),
            {"lost": lost, "minutes": minutes},
        )


def backed_up(site: Site, *, hours: float, digest: str, verified: bool) -> None:
    with scheduler(site) as connection:
        connection.execute(
            text(
                "INSERT INTO proctor.backup (digest, made_at, bytes, host, folder, verified_at)"
                " VALUES (:digest, now() - make_interval(mins => :minutes), 9000000, 'store-1', :folder,"
                " CASE WHEN :verified THEN now() END)"
            ),
            {"digest": digest, "minutes": int(hours * 60), "folder": FOLDER, "verified": verified},
        )


@pytest.fixture(autouse=True)
def as_before(site: Site) -> Iterator[None]:
    yield
    with scheduler(site) as connection:
        connection.execute(text("DELETE FROM proctor.backup"))
        connection.execute(text("DELETE FROM proctor.health_sample WHERE at < date_trunc('minute', now())"))
    with site.api() as api:
        for one in api.get("alerts/acknowledgements").json()["items"]:
            api.delete(f"alerts/acknowledgements/{one['alert']}")


def need(page: Page, what: str) -> Locator:
    return page.get_by_role("listitem").filter(has_text=what)


def test_a_fresh_installation_is_not_nagged_and_an_unknown_is_no_number(ada: Visitor, gaps: str) -> None:
    with scheduler(ada.site) as connection:
        connection.execute(text("DELETE FROM proctor.health_sample"))
    page = ada.go("/health")
    burn = page.get_by_text(re.compile("^SLO burn"))
    expect(burn.first).to_be_visible()
    expect(page.get_by_text("— none was made yet")).to_be_visible()
    expect(need(page, "SLO burn")).to_have_count(0)
    expect(need(page, "backup")).to_have_count(0)


def test_a_burn_is_of_the_range_and_a_fast_one_needs_somebody(ada: Visitor, gaps: str) -> None:
    sampled(ada.site, lost=0)
    page = ada.go("/health")
    expect(page.get_by_text(re.compile(r"^SLO burn 0×$"))).to_be_visible()
    expect(
        page.get_by_text(re.compile(r"0 of (59|60)0 attempts lost.* in the last hour · objective 99%"))
    ).to_be_visible()
    expect(need(page, "SLO burn")).to_have_count(0)
    sampled(ada.site, lost=2)
    page = ada.go("/health?range=24h")
    expect(
        page.get_by_text(re.compile(r"in the last 24 hours, of which (59m 00s|1h 0.m) were sampled"))
    ).to_be_visible()
    fast = need(page, "SLO burn 20× in the last hour: 1")
    expect(fast).to_contain_text("1% is allowed")
    fast.get_by_role("button", name="Acknowledge").press("Enter")
    page.get_by_role("dialog").get_by_role("button", name="Acknowledge").press("Enter")
    seen = page.get_by_role("list", name="Acknowledged").get_by_role("listitem").filter(has_text="SLO burn")
    expect(seen).to_contain_text("by ada@example.org")
    with ada.site.api() as api:
        assert [one["alert"] for one in api.get("alerts/acknowledgements").json()["items"]] == ["slo.burn.1h"]


def test_a_backup_that_nobody_proved_is_told_with_its_command(ada: Visitor, gaps: str) -> None:
    backed_up(ada.site, hours=31.2, digest=PROVEN, verified=True)
    page = ada.go("/health")
    line = need(page, "backup unaudited for 31 h")
    expect(line).to_contain_text("none was made since the last verified one")
    expect(line).to_contain_text("proctor backup create FOLDER")
    backed_up(ada.site, hours=2.1, digest=NEWEST, verified=False)
    page = ada.go("/health")
    expect(line).to_contain_text("the newest, made 2 h ago on store-1, is not verified")
    expect(line.locator("code")).to_have_text(f"proctor backup verify '{FOLDER}'")
    expect(page.get_by_text("2 h old, not verified; the last verified one is 31 h old")).to_be_visible()
    line.get_by_role("button", name="Copy").focus()
    page.keyboard.press("Enter")
    expect(line.get_by_role("status")).to_have_text(re.compile("copied|not allowed"))
    with scheduler(ada.site) as connection:
        connection.execute(text("UPDATE proctor.backup SET verified_at = now()"))
    page = ada.go("/health")
    expect(page.get_by_text("verified, 2 h old")).to_be_visible()
    expect(line).to_have_count(0)


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_promises_are_whole_and_accessible_at_every_width(site: Site, browser: Browser, gaps: str, theme: str) -> None:
    sampled(site, lost=2)
    backed_up(site, hours=31.2, digest=PROVEN, verified=True)
    backed_up(site, hours=2.1, digest=NEWEST, verified=False)
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    with browser.new_context(color_scheme=theme) as context:  # type: ignore[arg-type]
        visitor = Visitor(site, context).sign_in()
        for width in (360, 1440):
            visitor.page.set_viewport_size({"width": width, "height": 900})
            page = visitor.go("/health")
            expect(need(page, "backup unaudited")).to_be_visible()
            expect(need(page, "SLO burn 20×")).to_be_visible()
            page.screenshot(path=str(SCREENSHOTS / f"promises-{width}-{theme}.png"), full_page=True)
            beyond = visitor.measure("document.documentElement.scrollWidth - document.documentElement.clientWidth")
            assert beyond <= 0, f"it scrolls to the side at {width} px"
            assert visitor.serious() == []
        assert not visitor.problems


def test_who_is_no_administrator_asks_for_neither(ada: Visitor, browser: Browser, gaps: str) -> None:
    backed_up(ada.site, hours=31.2, digest=PROVEN, verified=True)
    with ada.site.api() as api:
        user = api.post("users", json={"name": "promised@example.org", "role": "member", "kind": "person"}).json()
        key = api.post("keys", json={"name": "bo", "user": user["id"]}).json()["secret"]
    with browser.new_context() as context:
        member = Visitor(ada.site, context).sign_in(key)
        page = member.go("/health")
        expect(page.get_by_role("listitem").filter(has_text="of gaps given up")).to_be_visible()
        expect(need(page, "backup")).to_have_count(0)
        assert not [url for url in member.asked if "health/objective" in url or "health/backups" in url]
        member.problems = [one for one in member.problems if "403" not in one]
        assert not member.problems
