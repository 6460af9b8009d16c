"""The five journeys without a mouse: only keys, and what they lead to."""

from __future__ import annotations

import re

from httpx2 import Client
from playwright.sync_api import Page, expect

from tests.web.conftest import PROFILES, Visitor
from tests.web.test_journeys import other_tenant

FOCUSED = """
() => {
  const one = document.activeElement;
  return (one.getAttribute("aria-label") || one.labels?.[0]?.textContent || one.title || one.textContent || "").trim();
}
"""


def to(page: Page, name: str, *, most: int = 60) -> None:
    """Press Tab until what is called so has the focus."""
    passed = []
    for _ in range(most):
        page.keyboard.press("Tab")
        now = str(page.evaluate(FOCUSED))
        if re.search(name, now):
            return
        passed.append(now)
    raise AssertionError(f"no way by Tab to {name!r}; it passed {passed}")


def test_a_run_set_is_launched_and_watched(ada: Visitor, nightly: str) -> None:
    with ada.site.api() as api:
        suite = api.get("suites").json()["items"][0]["suite_id"]
    page = ada.go("/run-sets")
    to(page, r"^Launch")
    page.keyboard.press("Enter")
    expect(page.get_by_label("Its file, as TOML")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    to(page, "Its file, as TOML")
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(
        f'name = "by-keys"\nsuite = "{suite[:12]}"\n[[profiles]]' + PROFILES.split("[[profiles]]")[1]
    )
    page.keyboard.press("Escape")
    to(page, r"What would it take\?")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Launch")).to_be_enabled()
    expect(page.get_by_role("button", name="What would it take?")).to_be_focused()
    to(page, "^Launch$")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    expect(page.get_by_role("heading", name="by-keys")).to_contain_text("complete", timeout=120_000)
    expect(page.locator("[data-rates]").first).to_contain_text("8/8")


def test_two_keys_say_why_a_cell_has_no_verdict(ada: Visitor, gaps: str) -> None:
    page = ada.go(f"/run-sets/{gaps}")
    expect(page.get_by_role("grid")).to_be_visible()
    page.keyboard.press("n")
    expect(page.get_by_label("Cell", exact=True)).to_contain_text("verifier error")
    page.keyboard.press("o")
    expect(page.locator("[data-why]")).to_contain_text("verif")


def test_two_profiles_are_compared(ada: Visitor, nightly: str) -> None:
    page = ada.go("/leaderboard")
    for name in ("good", "poor"):
        to(page, f"^Pin {name}")
        page.keyboard.press("Space")
    page.keyboard.press("c")
    expect(page.get_by_label(re.compile("against"))).to_contain_text("pp")
    page.keyboard.press("s")
    expect(page.get_by_label(re.compile("against"))).to_contain_text("+75.0 pp")


def test_a_key_is_made_used_and_revoked(ada: Visitor) -> None:
    page = ada.go("/settings")
    to(page, "^New key, for")
    page.keyboard.type("typed")
    page.keyboard.press("Enter")
    secret = page.locator("[data-secret]").inner_text()
    with Client(base_url=ada.site.url, headers={"Authorization": f"Bearer {secret}"}) as http:
        assert http.get("/api/v1/me").status_code == 200
        to(page, "^I have kept it")
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_have_count(0)
        to(page, "Revoke typed…")
        page.keyboard.press("Enter")
        to(page, "^Type typed to revoke it")
        page.keyboard.type("typed")
        to(page, "^Revoke$")
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog")).to_have_count(0)
        assert http.get("/api/v1/me").status_code == 401


def test_another_tenants_address_is_refused(visitor: Visitor, nightly: str) -> None:
    """By a stranger who signs in with keys only."""
    page = visitor.page
    page.goto(f"{visitor.site.url}/run-sets/{nightly}")
    to(page, "^API key")
    page.keyboard.type(other_tenant(visitor.site, "neighbour"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("There is no such thing here")
    expect(page.locator("body")).not_to_contain_text("nightly")
    visitor.problems = [one for one in visitor.problems if "401" not in one and "404" not in one]
