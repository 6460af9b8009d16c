"""What needs somebody is acknowledged: it stands below with who, why and until when, and counts again after that."""

from __future__ import annotations

import re
from collections.abc import Iterator
from uuid import UUID

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from proctor.database.embedded import EmbeddedServer
from proctor.database.engine import Database
from tests.web.conftest import SCREENSHOTS, Site, Visitor

NEED = "of gaps given up: out of tries"
LIST = "alerts/acknowledgements"
_OVER = (
    "UPDATE proctor.acknowledgement SET created_at = created_at - interval '2 days', until = until - interval '2 days'"
)


@pytest.fixture(autouse=True)
def unseen(site: Site, gaps: str) -> Iterator[None]:
    """Nothing is acknowledged before, and nothing is left acknowledged."""
    yield
    with site.api() as api:
        for one in api.get(LIST).json()["items"]:
            assert api.delete(f"{LIST}/{one['alert']}").status_code == 200


def need(page: Page) -> Locator:
    return page.get_by_role("listitem").filter(has_text=NEED)


def seen(page: Page) -> Locator:
    return page.get_by_role("list", name="Acknowledged").get_by_role("listitem").filter(has_text=NEED)


def counted(page: Page) -> int:
    """How many things need somebody, by the heading."""
    words = page.get_by_role("heading", name=re.compile("needs? you$")).inner_text()
    return 0 if words.startswith("Nothing") else int(words.split()[0])


def acknowledge(page: Page, note: str = "", hours: str = "24") -> None:
    need(page).get_by_role("button", name="Acknowledge").click()
    dialog = page.get_by_role("dialog", name="Acknowledge")
    dialog.get_by_label("Note").fill(note)
    dialog.get_by_label("For how long").select_option(hours)
    dialog.get_by_role("button", name="Acknowledge").click()
    expect(dialog).to_have_count(0)


def asked(visitor: Visitor) -> list[str]:
    """Keeps which acknowledgements are sent from now on."""
    found: list[str] = []
    visitor.page.on(
        "request", lambda one: found.append(one.method) if LIST in one.url and one.method != "GET" else None
    )
    return found


def test_a_need_is_acknowledged_and_taken_back_by_keyboard(ada: Visitor, gaps: str) -> None:
    page = ada.go("/health")
    before = counted(page)
    button = need(page).get_by_role("button", name="Acknowledge")
    button.focus()
    page.keyboard.press("Enter")
    note = page.get_by_role("dialog").get_by_label("Note")
    expect(note).to_be_focused()
    page.keyboard.press("Escape")
    expect(button).to_be_focused()
    page.keyboard.press("Enter")
    page.keyboard.type("the verifier is mended on Monday")
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")  # from a day to a week
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(seen(page)).to_contain_text("by ada@example.org just now")
    expect(seen(page)).to_contain_text("the verifier is mended on Monday")
    assert counted(page) == before - 1
    back = seen(page).get_by_role("button", name="Take back")
    expect(back).to_be_focused()
    with ada.site.api() as api:
        (told,) = api.get(LIST).json()["items"]
    assert told["alert"] == f"run-set.{gaps}.dead"
    page.reload()
    expect(seen(page)).to_have_count(1)
    seen(page).get_by_role("link").click()
    expect(page).to_have_url(re.compile(f"/run-sets/{gaps}.*owed=true"))
    page.go_back()
    back.focus()
    page.keyboard.press("Enter")
    expect(seen(page)).to_have_count(0)
    expect(button).to_be_focused()
    assert counted(page) == before


def test_a_double_click_acknowledges_once(ada: Visitor, gaps: str) -> None:
    page, sent = ada.go("/health"), asked(ada)
    need(page).get_by_role("button", name="Acknowledge").click()
    page.get_by_role("dialog").get_by_role("button", name="Acknowledge").dblclick()
    expect(seen(page)).to_have_count(1)
    assert sent == ["PUT"]
    seen(page).get_by_role("button", name="Take back").dblclick()
    expect(seen(page)).to_have_count(0)
    assert sent == ["PUT", "DELETE"]


def test_what_the_server_did_not_take_is_not_shown_as_seen(ada: Visitor, gaps: str) -> None:
    page = ada.go("/health")
    before = counted(page)
    problem = '{"code": "own-fault", "detail": "The server failed.", "remedy": null, "errors": []}'

    def fail(route: Route) -> None:
        if route.request.method == "GET":
            route.fallback()
        else:
            route.fulfill(status=500, content_type="application/problem+json", body=problem)

    page.route(f"**/{LIST}/*", fail)
    need(page).get_by_role("button", name="Acknowledge").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Note").fill("kept")
    dialog.get_by_role("button", name="Acknowledge").click()
    expect(dialog.get_by_role("alert")).to_contain_text("The server failed.")
    expect(dialog.get_by_label("Note")).to_have_value("kept")
    dialog.get_by_role("button", name="Leave it").click()
    expect(seen(page)).to_have_count(0)
    assert counted(page) == before
    ada.problems = [one for one in ada.problems if "500" not in one]


def test_it_counts_again_when_its_time_is_over(ada: Visitor, gaps: str) -> None:
    page = ada.go("/health")
    before = counted(page)
    acknowledge(page)
    expect(seen(page)).to_contain_text("counts again in 24 hours")
    with ada.site.api() as api:
        tenant = UUID(api.get("me").json()["tenant"])
    with EmbeddedServer(ada.site.folder / "home" / "postgres") as urls:
        database = Database(urls.app, urls.scheduler)
        database.as_tenant(tenant, lambda c: c.exec_driver_sql(_OVER) and None)
        database.close()
    expect(seen(page)).to_have_count(0, timeout=20_000)
    expect(need(page).get_by_role("button", name="Acknowledge")).to_be_visible()
    assert counted(page) == before


def test_who_may_not_sees_who_has_seen_it_and_no_button(ada: Visitor, browser: Browser, gaps: str) -> None:
    page = ada.go("/health")
    acknowledge(page, "known", "8")
    with ada.site.api() as api:
        user = api.post("users", json={"name": "looks@example.org", "role": "viewer", "kind": "person"}).json()
        key = api.post("keys", json={"name": "looks", "user": user["id"]}).json()["secret"]
    with browser.new_context() as context:
        viewer = Visitor(ada.site, context).sign_in(key)
        page = viewer.go("/health")
        expect(seen(page)).to_contain_text(re.compile("by ada@example.org .*: known"))
        expect(page.get_by_role("button", name=re.compile("Acknowledge|Take back"))).to_have_count(0)


def test_it_is_whole_and_accessible_at_the_width_of_a_phone(ada: Visitor, gaps: str) -> None:
    page = ada.page
    page.set_viewport_size({"width": 390, "height": 844})
    ada.go("/health")
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)

    def is_whole(name: str) -> None:
        page.screenshot(path=str(SCREENSHOTS / f"health-{name}-390.png"), full_page=True)
        beyond = ada.measure("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert beyond <= 0, f"{name} scrolls to the side"
        assert ada.serious() == [], name

    need(page).get_by_role("button", name="Acknowledge").click()
    is_whole("acknowledging")
    page.keyboard.press("Escape")
    acknowledge(page, "longwordwithoutaspace" * 9)
    expect(seen(page)).to_have_count(1)
    is_whole("acknowledged")
