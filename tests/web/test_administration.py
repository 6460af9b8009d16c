"""What those who keep a tenant come for: members, secrets, retention, budgets, the audit log, run sets in hand."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from tests.web.conftest import Site, Visitor


@pytest.fixture
def slow(site: Site) -> Iterator[str]:
    """A run set of 40 cells of two seconds each: its name."""
    with site.sleeping("slow", 2, trials=5):
        yield "slow"


def test_a_run_set_is_paused_resumed_and_cancelled(ada: Visitor, slow: str) -> None:
    page = ada.go("/run-sets")
    page.get_by_role("link", name=slow, exact=True).first.click(timeout=60_000)
    head = page.get_by_role("heading", level=1)
    expect(head).to_contain_text("running", timeout=30_000)
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_role("status").filter(has_text="paused: what runs now goes on to its end")).to_be_visible()
    expect(head).to_contain_text("paused")
    page.locator("h1").click()
    page.keyboard.press("p")
    expect(page.get_by_role("status").filter(has_text="queued")).to_contain_text(re.compile(r"\d+ cells queued"))
    expect(head).to_contain_text("running")
    page.get_by_role("button", name="Cancel…").click()
    cancel = page.get_by_role("button", name="Cancel the run set")
    expect(cancel).to_be_disabled()
    page.get_by_label(f"Type {slow} to cancel it").fill(slow)
    cancel.click()
    expect(head).to_contain_text("cancelled")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    page.locator("h1").click()
    page.keyboard.press("n")
    expect(page.get_by_label("Cell", exact=True)).to_contain_text("Resume goes on with this cell too")
    expect(page.get_by_role("button", name="Try again")).to_have_count(0)


def test_a_member_is_added_given_another_role_and_disabled(ada: Visitor) -> None:
    page = ada.go("/settings?section=members")
    page.get_by_label("E-mail, or the name of a service account").fill("bo@example.org")
    page.get_by_label("Role", exact=True).select_option("viewer")
    page.get_by_role("button", name="Add").click()
    row = page.get_by_role("row").filter(has_text="bo@example.org")
    expect(row).to_contain_text("person")
    page.get_by_label("Role of bo@example.org").select_option("reviewer")
    expect(page.get_by_label("Role of bo@example.org")).to_have_value("reviewer")
    row.get_by_role("button", name="Disable").click()
    expect(row.get_by_role("button", name="Enable")).to_be_visible()
    with ada.site.api() as api:
        kept = next(one for one in api.get("users").json()["items"] if one["name"] == "bo@example.org")
    assert (kept["role"], kept["disabled_at"] is None) == ("reviewer", False)
    page.get_by_label("E-mail, or the name of a service account").fill("bo@example.org")
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("The name is taken.")).to_be_visible()
    expect(page.get_by_label("E-mail, or the name of a service account")).to_have_value("bo@example.org")
    ada.problems = [one for one in ada.problems if "409" not in one]


def test_a_double_click_makes_one_key_and_only_its_button_puts_it_away(ada: Visitor) -> None:
    page = ada.go("/settings")
    page.get_by_label("New key, for").fill("twice")
    page.get_by_role("button", name="Create key").dblclick()
    told = page.get_by_role("dialog", name="This key is shown this once")
    expect(told).to_be_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    page.mouse.click(5, 5)
    expect(told).to_be_visible()
    told.get_by_role("button", name="I have kept it").click()
    expect(told).to_have_count(0)
    with ada.site.api() as api:
        assert [one["name"] for one in api.get("keys").json()["items"]].count("twice") == 1


def test_a_change_that_somebody_else_made_first_is_not_lost(ada: Visitor) -> None:
    with ada.site.api() as api:
        made = api.post("users", json={"name": "cy@example.org", "role": "viewer", "kind": "person"}).json()
        page = ada.go("/settings?section=members")
        tag = {"If-Match": f'"{made["version"]}"'}
        assert api.patch(f"users/{made['id']}", json={"role": "member"}, headers=tag).status_code == 200
    page.get_by_label("Role of cy@example.org").select_option("admin")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Role of cy@example.org")).to_have_value("member")
    ada.problems = [one for one in ada.problems if "412" not in one]


def test_a_run_set_file_that_is_being_written_is_there_when_one_comes_back(ada: Visitor, nightly: str) -> None:
    page = ada.go("/run-sets")
    page.get_by_role("link", name="Launch…").click()
    expect(page.get_by_label("Its file, as TOML")).to_have_value(re.compile('suite = "(?!LABEL)'))
    page.get_by_label("Its file, as TOML").fill('name = "half')
    page.go_back()
    expect(page.get_by_role("link", name="nightly", exact=True).first).to_be_visible()
    page.go_forward()
    expect(page.get_by_label("Its file, as TOML")).to_have_value('name = "half')


def test_the_last_owner_stays(ada: Visitor) -> None:
    page = ada.go("/settings?section=members")
    page.get_by_label("Role of ada@example.org").select_option("viewer")
    expect(page.get_by_role("alert")).to_contain_text("owner")
    expect(page.get_by_label("Role of ada@example.org")).to_have_value("owner")
    ada.problems = [one for one in ada.problems if "409" not in one and "403" not in one and "422" not in one]


def test_a_providers_key_is_set_and_never_shown(ada: Visitor) -> None:
    page = ada.go("/settings?section=providers")
    field = page.get_by_label(re.compile("^New value of ")).first
    name = str(field.evaluate("one => one.closest('form').querySelector('code').textContent"))
    field.fill("sk-very-secret-4711")
    form = page.locator("form").filter(has_text=name)
    form.get_by_role("button", name="Set", exact=True).click()
    expect(form).to_contain_text("set ")
    expect(form).not_to_contain_text("not set")
    page.reload()
    expect(page.locator("form").filter(has_text=name)).not_to_contain_text("not set")
    assert "4711" not in page.content()


def test_retention_is_set_and_kept(ada: Visitor) -> None:
    page = ada.go("/settings?section=retention")
    page.get_by_label("Days of results").fill("45")
    page.get_by_role("button", name="Set").click()
    expect(page.get_by_role("status").filter(has_text="Set.")).to_be_visible()
    page.reload()
    expect(page.get_by_label("Days of results")).to_have_value("45")


def test_a_budget_is_set_shown_and_taken_away(ada: Visitor) -> None:
    page = ada.go("/costs")
    page.get_by_role("button", name="Set budget").click()
    page.get_by_label("USD a month").fill("12.50")
    page.get_by_role("dialog").get_by_role("button", name="Set").click()
    expect(page.get_by_role("figure").get_by_text("budget $12.50")).to_be_visible()
    page.get_by_role("button", name="Set budget").click()
    page.get_by_label("USD a month").fill("0.0000000001")
    page.get_by_role("dialog").get_by_role("button", name="Set").click()
    expect(page.get_by_role("alert")).to_have_text("USD a month: 0, or $0.01 or more.")
    page.get_by_label("USD a month").fill("0")
    page.get_by_role("dialog").get_by_role("button", name="Set").click()
    expect(page.get_by_text("budget $0.00: it is used up")).to_be_visible()
    page.get_by_role("button", name="Set budget").click()
    page.get_by_label("USD a month").fill("")
    page.get_by_role("dialog").get_by_role("button", name="Set").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.get_by_text(re.compile("no budget is set", re.IGNORECASE))).to_be_visible()


def test_spend_is_exported_as_it_is_shown(ada: Visitor, nightly: str, tmp_path: Path) -> None:
    page = ada.go("/costs?by=profile&days=7")
    rows = list(csv.DictReader(saved(page, "Export CSV", tmp_path).read_text().splitlines()))
    assert {"good", "poor"} <= {row["key"] for row in rows}
    assert all(row["day"] for row in rows)


def test_the_audit_log_is_filtered_by_address_and_exported(ada: Visitor, nightly: str, tmp_path: Path) -> None:
    page = ada.go("/audit")
    page.get_by_label("Action").select_option("run-set.started")
    expect(page).to_have_url(re.compile("action=run-set.started"))
    page.reload()
    expect(page.locator("tbody tr").first).to_contain_text("run-set.started")
    lines = [json.loads(line) for line in saved(page, "Export this page", tmp_path).read_text().splitlines()]
    assert lines
    assert {line["action"] for line in lines} == {"run-set.started"}
    page.get_by_label("Since").fill("2001-01-01")
    expect(page).to_have_url(re.compile("day=2001-01-01"))
    expect(page.locator("tbody tr").first).to_be_visible()


def test_lists_are_whole_however_long_the_pages_of_the_server_are(ada: Visitor, job: str, flawed: str) -> None:
    with ada.site.api() as api:
        for number in range(5):
            assert api.post("keys", json={"name": f"one of many {number}"}).status_code == 201
        keys, evaluators, datasets = (
            len(api.get(name, params={"limit": 1000}).json()["items"]) for name in ("keys", "evaluators", "datasets")
        )
    page = ada.page

    def shorter(route: Route) -> None:
        route.continue_(url=re.sub(r"limit=\d+", "limit=2", route.request.url))

    page.route(re.compile(r"/api/v1/(keys|evaluators|datasets)\?"), shorter)
    for path, expected in (("/settings", keys), ("/evaluators", evaluators), ("/datasets", datasets)):
        ada.go(path)
        expect(page.locator("table tbody tr")).to_have_count(expected, timeout=30_000)
    assert min(keys, evaluators) > 2


def test_the_audit_log_tells_a_change_by_names_and_leads_to_what_it_was_of(ada: Visitor, nightly: str) -> None:
    with ada.site.api() as api:
        user = api.post("users", json={"name": "ivy@example.org", "role": "viewer", "kind": "person"}).json()
        api.patch(f"users/{user['id']}", json={"role": "member"})
    page = ada.go("/audit?action=user.changed")
    row = page.locator("tbody tr").first
    expect(row).to_contain_text("ivy@example.org")
    expect(row).to_contain_text("role: viewer → member · disabled: no")
    with ada.site.api() as api:
        before = api.get("allowance").json()["quota"].get("budget_month_nano")
        for nano in (7_000_000_000, before):
            api.put("budget", json={"month_nano": nano}).raise_for_status()
    page = ada.go("/audit?action=quota.set")
    expect(page.locator("tbody tr").first.get_by_text("acme", exact=True)).to_be_visible()
    page = ada.go("/audit?action=run-set.started")
    page.locator("tbody tr").last.get_by_role("link").click()
    expect(page).to_have_url(re.compile("/run-sets/"))
    expect(page.get_by_role("heading", level=1)).to_be_visible()


def saved(page: Page, button: str, folder: Path) -> Path:
    """What a button saves, as a file."""
    with page.expect_download() as loading:
        page.get_by_role("button", name=button).click()
    path = folder / loading.value.suggested_filename
    loading.value.save_as(path)
    return path


def test_a_jobs_figure_shows_the_results_that_it_counts(ada: Visitor, job: str) -> None:
    page = ada.go(f"/jobs/{job}")
    page.locator("[data-figure]").first.click()
    expect(page).to_have_url(re.compile("status=scored"))
    expect(page.get_by_role("status").filter(has_text="filtered")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page).not_to_have_url(re.compile("status="))


def test_health_says_what_needs_somebody(ada: Visitor, gaps: str) -> None:
    page = ada.go("/health")
    expect(page.get_by_text(re.compile(r"\d+ cells? of gaps given up: out of tries"))).to_be_visible()


def test_a_bar_of_the_scores_shows_the_results_in_it(ada: Visitor, job: str) -> None:
    page = ada.go(f"/jobs/{job}")
    bar = page.get_by_role("button", name=re.compile("^exact-match.*, 1, 36 results|^exact-match.* to 1, "))
    bar.last.click()
    told = page.get_by_role("status").filter(has_text="filtered")
    expect(told).to_contain_text(re.compile(r"of exact-match, from [\d.]+: 36 of 120 results"))
    scores = page.get_by_role("table", name="Results").locator("tbody tr td:nth-child(5)")
    expect(scores.first).to_have_text("1")
    assert set(scores.all_inner_texts()) == {"1"}
    page.reload()
    expect(told).to_contain_text("of exact-match")
    page.keyboard.press("Escape")
    expect(told).to_have_count(0)
    page.get_by_role("button", name=re.compile("^exact-match, no score, .*, 6 results")).click()
    expect(told).to_contain_text("of exact-match: 6 of 120 results")
    expect(page.get_by_role("table", name="Results").locator("tbody tr")).to_have_count(6)


def test_the_ends_of_the_scores_stand_under_the_ends_of_their_bars(ada: Visitor, job: str) -> None:
    page = ada.go(f"/jobs/{job}")
    figure = page.locator("figure").filter(has_text="exact-match").first
    low, high = (_sides(figure.get_by_text(text, exact=True)) for text in ("0", "1"))
    scored = figure.locator("button:not([data-unscored])")
    assert low[0] == pytest.approx(_sides(scored.first)[0], abs=2)
    assert high[1] == pytest.approx(_sides(scored.last)[1], abs=2)
    without = _sides(figure.get_by_text("no score 6", exact=True))
    assert without[0] == pytest.approx(_sides(figure.locator("[data-unscored]").first)[0], abs=2)


def _sides(part: Locator) -> tuple[float, float]:
    """Where it begins and ends on the page, from the left, in pixels."""
    box = part.bounding_box()
    assert box is not None
    return box["x"], box["x"] + box["width"]


def test_a_viewer_sees_no_control_that_is_refused(visitor: Visitor, site: Site) -> None:
    with site.api() as api:
        seen = api.post("users", json={"name": "val@example.org", "role": "viewer", "kind": "person"}).json()
        key = api.post("keys", json={"name": "val", "user": seen["id"]}).json()["secret"]
    visitor.sign_in(key)
    for path, who in (("/run-sets/new", "members"), ("/costs", "members"), ("/audit", "admins")):
        page = visitor.go(path)
        expect(page.get_by_role("alert")).to_contain_text(f"It is for {who}")
        assert page.locator("main").get_by_role("button").count() == 0
        expect(page.get_by_role("alert")).not_to_contain_text("Settings")
    page = visitor.go("/settings")
    expect(page.get_by_text("These are your own keys")).to_be_visible()
    table = visitor.go("/settings?section=roles").get_by_role("table", name="What each role may do")
    expect(table.get_by_role("columnheader", name="viewer (you)")).to_be_visible()
    row = table.get_by_role("row", name=re.compile("runs:write"))
    assert row.get_by_role("cell").all_inner_texts()[:5] == ["no", "no", "yes", "yes", "yes"]
    page.set_viewport_size({"width": 360, "height": 800})
    heads = table.get_by_role("columnheader")
    first, viewer = (heads.nth(place).bounding_box() for place in (0, 1))
    assert first is not None
    assert viewer is not None
    assert viewer["x"] + viewer["width"] <= 360, "an answer is seen beside its permission"


def test_an_admin_is_not_offered_what_only_an_owner_may(visitor: Visitor, site: Site) -> None:
    with site.api() as api:
        added = api.post("users", json={"name": "ad@example.org", "role": "admin", "kind": "person"}).json()
        key = api.post("keys", json={"name": "ad", "user": added["id"]}).json()["secret"]
    page = visitor.sign_in(key).go("/settings?section=members")
    owner = page.get_by_role("row").filter(has=page.get_by_role("cell", name="owner", exact=True))
    expect(owner).to_have_count(1)
    expect(owner.get_by_role("button")).to_have_count(0)
    expect(page.get_by_label("Role of ad@example.org")).to_be_visible()
    for select in page.locator("select").all():
        assert "owner" not in select.locator("option").all_inner_texts()


@pytest.mark.parametrize("role", ["viewer", "reviewer", "member", "admin"])
def test_no_page_asks_for_what_its_reader_may_not_have(visitor: Visitor, site: Site, nightly: str, role: str) -> None:
    with site.api() as api:
        seen = api.post("users", json={"name": f"{role}@asks.example.org", "role": role, "kind": "person"}).json()
        key = api.post("keys", json={"name": role, "user": seen["id"]}).json()["secret"]
    refused: list[str] = []
    visitor.sign_in(key).page.on(
        "response", lambda answer: refused.append(answer.url) if answer.status == 403 else None
    )
    sections = ("keys", "members", "roles", "providers", "retention", "appearance")
    settings = [f"/settings?section={one}" for one in sections]
    for path in ("/run-sets", f"/run-sets/{nightly}", "/health", "/costs", "/audit", "/jobs", "/datasets", *settings):
        visitor.go(path)
    assert refused == []
    page = visitor.go("/health")
    told = page.get_by_role("region", name="Installation")
    expect(told).to_contain_text("The installation's figures are for administrators of the installation")
    if role != "admin":
        expect(visitor.go("/settings?section=members").get_by_role("alert")).to_contain_text(
            "It is for admins and owners"
        )


def test_a_page_of_a_list_that_is_gone_leads_to_the_first(ada: Visitor, nightly: str) -> None:
    page = ada.go("/audit?cursor=gone&day=20000-01-01")
    expect(page.get_by_role("alert")).not_to_contain_text("cursor")
    expect(page.get_by_role("button", name="Retry")).to_have_count(0)
    page.get_by_role("link", name="Back to the first page").click()
    expect(page.locator("tbody tr").first).to_be_visible()
    page = ada.go("/audit?actor=nobody")
    expect(page.get_by_role("alert")).to_contain_text("Who: should be an id.")
    page.get_by_role("link", name="The page without its filters").click()
    expect(page.get_by_role("table", name="Audit log, the newest first")).to_be_visible()
    page.get_by_label("Action").select_option("retention.set")
    expect(page).to_have_url(re.compile("action=retention.set"))
    page = ada.go("/audit?action=foo")
    expect(page.get_by_role("alert")).to_contain_text("action: is none of those that there are.")
    page.get_by_role("link", name="The page without its filters").click()
    expect(page.locator("tbody tr").first).to_be_visible()
    ada.problems = [one for one in ada.problems if "422" not in one]


def test_the_first_form_refuses_a_name_that_no_tenant_can_have(visitor: Visitor) -> None:
    visitor.page.goto(f"{visitor.site.url}/setup#token")
    tenant = visitor.page.get_by_label("Tenant")
    for name, is_one in (("-", False), ("acme-2", True), ("2", True), ("Acme", False)):
        tenant.fill(name)
        assert tenant.evaluate("one => one.checkValidity()") == is_one, name
    visitor.problems = [one for one in visitor.problems if "401" not in one]
