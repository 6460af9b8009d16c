"""What people come to the dashboard for, from the sign-in to the answer."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

from httpx2 import Client
from playwright.sync_api import Browser, Route, expect

from tests.web.conftest import FAULTY, PROFILES, ROOT, Site, Visitor


def test_a_key_lets_one_in_and_a_wrong_one_says_so(visitor: Visitor, nightly: str) -> None:
    page = visitor.page
    page.goto(visitor.site.url)
    page.get_by_label("API key").fill("proctor_wrong")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("key")
    page.get_by_label("API key").fill(visitor.site.key)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Run sets")).to_be_visible()
    expect(page.get_by_role("link", name="nightly", exact=True)).to_be_visible()
    assert visitor.measure("document.cookie") == "", "no script can read the key"
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("API key")).to_be_visible()
    visitor.problems = [one for one in visitor.problems if "401" not in one]


def test_a_run_set_is_launched_and_watched_to_its_end(ada: Visitor, nightly: str) -> None:
    with ada.site.api() as api:
        suite = api.get("suites").json()["items"][0]["suite_id"]
    page = ada.go("/run-sets/new")
    launch = page.get_by_role("button", name="Launch")
    expect(launch).to_be_disabled()
    said = PROFILES.split("\n[[profiles]]")[1]
    page.get_by_label("Its file, as TOML").fill(
        f'name = "watched"\nsuite = "{suite[:12]}"\ntrials = 2\n[[profiles]]{said}'
    )
    page.get_by_role("button", name="What would it take?").click()
    verdict = page.get_by_label("Before it is launched")
    expect(verdict).to_contain_text("Not comparable")
    expect(verdict).to_contain_text("no baseline certificate")
    expect(verdict).to_contain_text("8 cells")
    launch.click()
    expect(page.get_by_role("heading", name="watched")).to_be_visible()
    expect(page.get_by_role("grid")).to_be_visible()
    expect(page.locator("[data-rates] dd b").first).to_have_text("100.0%", timeout=120_000)
    expect(page.get_by_role("heading", name="watched")).to_contain_text("complete", timeout=30_000)
    expect(page.get_by_role("button", name=re.compile("passed, 16 cells"))).to_be_visible()


def test_a_run_set_with_a_script_is_launched_with_the_scripts_file(ada: Visitor, nightly: str) -> None:
    with ada.site.api() as api:
        suite = api.get("suites").json()["items"][0]["suite_id"]
    page = ada.go("/run-sets/new")
    file = f'name = "by-script"\nsuite = "{suite[:12]}"\nreuse = "off"\n{PROFILES}'
    page.get_by_label("Its file, as TOML").fill(file)
    look = page.get_by_role("button", name="What would it take?")
    look.click()
    expect(page.get_by_role("alert")).to_contain_text("The script basics.scripts/poor.toml is empty.")
    page.get_by_label("Its file, as TOML").fill(f"{file}\n[execution]\nconcurrency = 0\n")
    page.get_by_label("Script basics.scripts/poor.toml", exact=True).fill("[tasks]\n")
    look.click()
    expect(page.get_by_role("alert")).to_contain_text("execution.concurrency")
    page.reload()
    expect(page.get_by_label("Script basics.scripts/poor.toml", exact=True)).to_have_value("[tasks]\n")
    page.get_by_label("Its file, as TOML").fill(file)
    page.get_by_label("Script basics.scripts/poor.toml", exact=True).fill('[tasks."proctor/x"]\nfoo = 1\n')
    look.click()
    expect(page.get_by_role("alert")).to_contain_text("basics.scripts/poor.toml")
    ada.problems = [one for one in ada.problems if "422" not in one]
    chooser = page.get_by_label("A file: Script basics.scripts/poor.toml")
    chooser.set_input_files(ROOT / "examples" / "basics.scripts" / "poor.toml")
    look.click()
    expect(page.get_by_label("Before it is launched")).to_contain_text("16 cells")
    page.get_by_role("button", name="Launch").click()
    expect(page.get_by_role("heading", name="by-script")).to_contain_text("complete", timeout=120_000)
    expect(page.get_by_role("button", name=re.compile("failed, 6 cells"))).to_be_visible()


def test_two_clicks_say_why_a_cell_has_no_verdict(ada: Visitor, gaps: str) -> None:
    page = ada.go(f"/run-sets/{gaps}")
    page.get_by_title("Show the cells without a verdict").click()  # 1: the cells
    expect(page.get_by_role("status").filter(has_text="filtered")).to_contain_text(
        re.compile(r"filtered, \d of 8 cells")
    )
    page.keyboard.press("n")
    cell = page.get_by_label("Cell", exact=True)
    expect(cell).to_contain_text("verifier error")
    expect(cell.get_by_role("listitem").first).to_contain_text("verifier")
    cell.get_by_role("link", name="Open attempt").click()  # 2: the attempt
    expect(page).to_have_url(re.compile("/attempts/"))
    expect(page.get_by_text("verifier error").first).to_be_visible()


def test_the_legend_the_bar_and_the_address_are_one_filter(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/run-sets/{nightly}")
    told = page.get_by_role("status").filter(has_text="filtered")
    pill = page.locator("button[aria-pressed]").filter(has_text="failed")
    pill.click()
    by_legend, address = told.inner_text(), page.url
    pill.click()
    page.get_by_role("button", name=re.compile("^failed, ")).click()
    assert told.inner_text() == by_legend
    assert page.url == address
    page.reload()
    expect(told).to_have_text(by_legend, use_inner_text=True)
    page.keyboard.press("Escape")
    expect(told).to_have_count(0)
    page.go_back()
    expect(told).to_have_text(by_legend, use_inner_text=True)


def test_two_profiles_are_pinned_and_compared(ada: Visitor, nightly: str) -> None:
    page = ada.go("/leaderboard")
    page.get_by_label("Pin good").first.check()
    page.get_by_label("Pin poor").first.check()
    page.get_by_role("button", name="Compare pinned").click()
    claim = page.get_by_label(re.compile("against"))
    expect(claim).to_contain_text("−75.0 pp")
    expect(claim).to_contain_text("paired over 8 tasks")
    expect(page.get_by_role("button", name=re.compile("Flips"))).to_contain_text("+0 / −6")
    page.get_by_role("button", name="Swap the base").click()
    expect(page.get_by_label(re.compile("against"))).to_contain_text("+75.0 pp")


def test_a_version_of_a_dataset_says_what_it_added(ada: Visitor, job: str) -> None:
    page = ada.go("/datasets/refunds?tab=diff")
    expect(page.get_by_text("+10 added")).to_be_visible()
    expect(page.get_by_text("−0 removed")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="r50")).to_contain_text("added")
    page.get_by_role("button", name="Lineage").click()
    lineage = page.get_by_label("Lineage, the newest first")
    expect(lineage.get_by_role("listitem").first).to_contain_text("file second.jsonl")


def test_a_key_is_made_used_and_revoked(ada: Visitor) -> None:
    page = ada.go("/settings")
    page.get_by_label("New key, for").fill("robot")
    page.get_by_role("button", name="Create key").click()
    secret = page.locator("[data-secret]").inner_text()
    with Client(base_url=ada.site.url, headers={"Authorization": f"Bearer {secret}"}) as http:
        assert http.get("/api/v1/me").json()["tenant_name"] == "acme"
        page.get_by_role("button", name="I have kept it").click()
        row = page.get_by_role("row").filter(has_text="robot")
        row.get_by_role("button", name="Revoke").click()
        revoke = page.get_by_role("dialog").get_by_role("button", name="Revoke")
        expect(revoke).to_be_disabled()
        page.get_by_label("Type robot to revoke it").fill("robot")
        revoke.click()
        expect(row).to_contain_text("revoked")
        assert http.get("/api/v1/me").status_code == 401


def test_a_viewer_sees_no_control_that_changes_anything(
    ada: Visitor, browser: Browser, nightly: str, gaps: str
) -> None:
    with ada.site.api() as api:
        user = api.post("users", json={"name": "vi@example.org", "role": "viewer", "kind": "person"}).json()
        key = api.post("keys", json={"name": "vi", "user": user["id"]}).json()["secret"]
    with browser.new_context() as context:
        viewer = Visitor(ada.site, context).sign_in(key)
        page = viewer.go(f"/run-sets/{gaps}")
        expect(page.get_by_role("grid")).to_be_visible()
        for name in ("Pause", "Resume", "Cancel…"):
            expect(page.get_by_role("button", name=name)).to_have_count(0)
        expect(viewer.go("/run-sets").get_by_role("link", name="Launch…")).to_have_count(0)
        expect(page.get_by_role("navigation", name="Proctor").get_by_role("link", name="Costs")).to_have_count(0)
        page = viewer.go("/run-sets?q=nothing")
        expect(page.get_by_text("has “nothing” in its name")).to_be_visible()
        page = viewer.go("/health")
        need = page.get_by_role("listitem").filter(has_text="of gaps given up: out of tries")
        expect(need).not_to_contain_text("resume")
        page = viewer.go("/settings?section=retention")
        expect(page.get_by_text("Days of results")).to_be_visible()
        expect(page.get_by_label("Days of results")).to_have_count(0)
    with other_viewer(ada.site, browser) as viewer:
        for path, empty in (("/run-sets", "There is no run set yet."), ("/datasets", "There is no dataset yet.")):
            page = viewer.go(path)
            expect(page.get_by_text(empty)).to_be_visible()
            expect(page.get_by_role("main")).not_to_contain_text("proctor ")


@contextmanager
def other_viewer(site: Site, browser: Browser) -> Iterator[Visitor]:
    """A viewer of a tenant that has nothing yet."""
    owner = {"Authorization": f"Bearer {other_tenant(site, 'empty')}"}
    with Client(base_url=site.url, headers=owner) as http:
        user = http.post("/api/v1/users", json={"name": "vo@example.org", "role": "viewer", "kind": "person"}).json()
        key = http.post("/api/v1/keys", json={"name": "vo", "user": user["id"]}).json()["secret"]
    with browser.new_context() as context:
        yield Visitor(site, context).sign_in(key)


def test_a_page_whose_key_is_revoked_says_so_and_is_no_longer_called_live(
    ada: Visitor, browser: Browser, nightly: str
) -> None:
    with ada.site.api() as api:
        user = api.post("users", json={"name": "rex@example.org", "role": "member", "kind": "person"}).json()
        issued = api.post("keys", json={"name": "rex", "user": user["id"]}).json()
        with browser.new_context() as context:
            page = Visitor(ada.site, context).sign_in(issued["secret"]).go(f"/run-sets/{nightly}")
            expect(page.get_by_text("live", exact=True)).to_be_visible()
            assert api.delete(f"keys/{issued['key']['id']}").status_code < 300
            expect(page.get_by_text("Your key no longer opens this server")).to_be_visible(timeout=60_000)
            expect(page.get_by_label("API key")).to_be_visible()


def test_another_tenants_address_tells_nothing(ada: Visitor, browser: Browser, nightly: str) -> None:
    key = other_tenant(ada.site)
    with browser.new_context() as context:
        stranger = Visitor(ada.site, context).sign_in(key)
        stranger.page.goto(f"{ada.site.url}/run-sets/{nightly}")
        expect(stranger.page.get_by_role("alert")).to_contain_text("There is no such thing here")
        expect(stranger.page.locator("body")).not_to_contain_text("nightly")
        expect(stranger.page.locator("body")).not_to_contain_text("acme")


def other_tenant(site: Site, name: str = "rival") -> str:
    """The key of another, new tenant's owner."""
    with site.api() as api:
        made = api.post("tenants", json={"name": name, "owner": f"eve@{name}.example"})
        assert made.status_code == 201, made.text
        return str(made.json()["issued"]["secret"])


def test_a_broken_socket_says_so_and_misses_nothing(ada: Visitor, nightly: str) -> None:
    page = ada.page
    page.add_init_script(
        "const Own = WebSocket; window.sockets = [];"
        "window.WebSocket = class extends Own { constructor(url) { super(url); window.sockets.push(this); } };"
    )
    ada.go(f"/run-sets/{nightly}")
    live = page.get_by_role("status").filter(has_text="live")
    expect(live).to_be_visible()
    asked = len(ada.asked)
    page.wait_for_timeout(5000)
    assert len(ada.asked) == asked, "nothing happens, so nothing is asked"
    page.context.set_offline(True)
    ada.measure("window.sockets.at(-1).close()")
    expect(page.get_by_role("status").filter(has_text="reconnecting")).to_be_visible(timeout=2000)
    ada.site.run("while-away", PROFILES)
    page.context.set_offline(False)
    expect(live).to_be_visible(timeout=15_000)
    ada.problems = [one for one in ada.problems if "ERR_INTERNET_DISCONNECTED" not in one and "WebSocket" not in one]


def test_an_outage_is_told_with_its_age_and_is_over_when_it_is(ada: Visitor, nightly: str, job: str) -> None:
    page = ada.page
    page.add_init_script(
        "const Own = WebSocket; window.sockets = []; window.cut = false;"
        "window.WebSocket = class extends Own { constructor(url) {"
        " super(window.cut ? url.replace(/ws$/, 'nowhere') : url); window.sockets.push(this); } };"
    )
    for path in (f"/run-sets/{nightly}", f"/jobs/{job}"):
        ada.go(path)
        live = page.get_by_role("status").filter(has_text=re.compile("^live$"))
        expect(live).to_be_visible()
        page.route("**/api/**", lambda route: route.abort())
        ada.measure("(window.cut = true, window.sockets.at(-1).close())")
        band = page.get_by_text("The server can't be reached. What you see is").first
        expect(band).to_be_visible(timeout=60_000)
        told = page.get_by_role("status").filter(has_text="reconnecting, polling").inner_text()
        assert int(re.findall(r"(\d+) s old", told)[0]) >= 10, told
        page.unroute_all()
        ada.measure("(window.cut = false)")
        expect(live).to_be_visible(timeout=30_000)
        expect(band).to_have_count(0, timeout=30_000)
    ada.problems = [one for one in ada.problems if "ERR_" not in one and "WebSocket" not in one and "ws:" not in one]


def test_the_keys_that_are_listed_are_those_that_work(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/run-sets/{nightly}")
    page.keyboard.press("?")
    listed = page.get_by_role("dialog").locator("dt").all_inner_texts()
    assert {"n", "N", "o", "t", "+", "-", "0", "/", "1", "2", "g r", "g l", "?"} <= set(listed)
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    page.keyboard.press("t")
    expect(page).to_have_url(re.compile("view=table"))
    page.keyboard.press("1")
    expect(page).to_have_url(re.compile("class="))
    page.keyboard.press("/")
    expect(page.get_by_label("Task")).to_be_focused()
    page.keyboard.press("Escape")
    page.locator("h1").click()
    page.keyboard.press("g")
    page.keyboard.press("l")
    expect(page.get_by_role("heading", name="Leaderboard")).to_be_visible()


def test_a_new_server_is_set_up_in_the_browser_once(ada: Visitor) -> None:
    page = ada.page
    ada.context.clear_cookies()
    page.goto(f"{ada.site.url}/setup#used-already")
    page.get_by_label("Tenant").fill("again")
    page.get_by_label("Owner's e-mail").fill("eve@example.org")
    page.get_by_role("button", name="Set up").click()
    expect(page.get_by_role("alert")).to_be_visible()
    ada.problems = [one for one in ada.problems if "401" not in one and "403" not in one]


def test_the_example_file_is_where_the_page_says() -> None:
    assert (ROOT / "docs" / "reference" / "run-set-file.md").is_file()


def test_what_came_of_trying_again_is_not_said_of_another_run_set(ada: Visitor, nightly: str) -> None:
    file = 'reuse = "off"' + FAULTY.replace("share = 0.5\nseed = 7\n", "")
    page = ada.go(f"/run-sets/{ada.site.run('said', file)}?owed=true")
    page.get_by_role("button", name=re.compile("try .* again")).click()
    receipt = page.get_by_text(re.compile("cells queued"))
    expect(receipt).to_be_visible()
    page.keyboard.press("Control+k")
    page.get_by_role("textbox", name="Go to, or do").fill("nightly")
    page.get_by_role("menuitem", name=re.compile("nightly")).first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("nightly")
    expect(receipt).to_have_count(0)


def test_owed_cells_are_tried_again_one_and_then_the_rest(ada: Visitor) -> None:
    file = 'reuse = "off"' + FAULTY.replace("share = 0.5\nseed = 7\n", "")
    page = ada.go(f"/run-sets/{ada.site.run('again', file)}?owed=true")
    page.keyboard.press("n")
    cell = page.get_by_label("Cell", exact=True)
    expect(cell).to_contain_text("verifier error")
    cell.get_by_role("button", name="Try again").click()
    expect(page.get_by_text("1 of 1 cell queued")).to_be_visible()
    expect(cell.get_by_role("listitem")).to_have_count(2, timeout=60_000)
    expect(page.get_by_role("heading", level=1)).to_contain_text("complete with gaps", timeout=60_000)
    page.keyboard.press("Escape")
    rest = page.get_by_role("button", name=re.compile(r"try \d cells? again"))
    held: list[Route] = []
    page.route("**/resume", lambda route: held.append(route))
    for _ in range(5):
        page.keyboard.press("r")
    expect(rest).to_be_disabled()
    (only,) = held
    only.continue_()
    expect(page.get_by_text(re.compile(r"(\d) of \1 cells? queued"))).to_be_visible()
    expect(rest).to_have_count(0, timeout=60_000)
    expect(page.get_by_role("heading", level=1)).to_contain_text("complete", timeout=60_000)
    expect(page.locator("[data-rates]").first).to_contain_text("8/8")
