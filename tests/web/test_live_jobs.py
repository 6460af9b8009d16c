"""Evaluation jobs as one watches them: what happens is shown when it happens, and nothing is asked meanwhile."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.web.conftest import Site, Visitor

CHUNK_SEC = 7
"""What the target of a job takes for a chunk: long against what the page may take to be there."""
ANSWERS = """
import json, sys, time
time.sleep({seconds})
for line in sys.stdin:
    print(json.dumps({{"id": json.loads(line)["id"], "output": "refund 1"}}))
"""
NO_SOCKET = (
    "const Own = WebSocket;"
    "window.WebSocket = class extends Own { constructor(url) { super(url.replace(/ws$/, 'nowhere')); } };"
)


@pytest.fixture
def slow(site: Site, job: str, request: pytest.FixtureRequest) -> str:
    """A job of four chunks that takes its time, two of them at once; its id."""
    answer = ANSWERS.format(seconds=CHUNK_SEC) + f"# {request.node.name}\n"
    target = {"command": {"command": ["python3", "answer.py"], "files": {"answer.py": answer}}}
    asked = {"dataset": "refunds", "evaluators": ["exact-match"], "target": target, "repeats": 4, "name": "slow"}
    with site.api() as api:
        made = api.post("jobs", json=asked)
        assert made.status_code == 201, made.text
        return str(made.json()["id"])


def events_of(site: Site, job: str) -> list[dict[str, Any]]:
    with site.api() as api:
        items = api.get("events/history", params={"topic": f"job:{job}", "limit": 1000}).json()["items"]
        return list(items)


def test_a_job_that_is_watched_is_asked_about_when_something_happens_to_it(ada: Visitor, slow: str) -> None:
    page = ada.go(f"/jobs/{slow}")

    def asked() -> int:
        return sum(url.endswith(f"/jobs/{slow}") and "/api/" in url for url in ada.asked)

    head = page.get_by_role("heading", level=1)
    expect(head).to_contain_text("running", timeout=30_000)
    expect(page.get_by_text("chunks 0 of 4")).to_be_visible()
    page.wait_for_timeout(1500)
    before = asked()
    page.wait_for_timeout(3500)
    assert asked() == before, "nothing happens, so nothing is asked"
    expect(page.get_by_text(re.compile("chunks [123] of 4"))).to_be_visible(timeout=60_000)
    expect(head).to_contain_text("complete", timeout=60_000)
    expect(page.get_by_text("chunks 4 of 4")).to_be_visible()
    expect(page.get_by_role("heading", name="Results")).to_be_visible()
    assert asked() <= 2 + len(events_of(ada.site, slow)), "once to begin with, once as events begin, and by events"


def test_a_job_that_was_deleted_says_that_its_results_are_gone(ada: Visitor, job: str) -> None:
    with ada.site.api() as api:
        (outputs,) = {one["id"] for one in api.get("samples").json()["items"] if one["name"] == "answers"}
        asked = {"dataset": "refunds", "evaluators": ["exact-match"], "samples": outputs, "name": "gone"}
        made = api.post("jobs", json=asked).json()
        page = ada.go(f"/jobs/{made['id']}")
        expect(page.get_by_role("heading", level=1)).to_contain_text("complete", timeout=60_000)
        assert api.delete(f"jobs/{made['id']}").status_code == 200
    page.reload()
    expect(page.get_by_text("Its results are gone for good: deleted just now.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_contain_text("deleted")
    expect(page.get_by_role("progressbar")).to_have_count(0)
    assert ada.serious() == []
    page = ada.go("/jobs")
    expect(page.get_by_role("link", name="gone", exact=True)).to_have_count(0)
    page.get_by_label("State").select_option("deleted")
    page.get_by_role("link", name="gone", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("gone deleted")


def test_the_list_of_jobs_follows_them(ada: Visitor, slow: str) -> None:
    page = ada.go("/jobs")
    row = page.get_by_role("row").filter(has=page.locator(f"a[href='/jobs/{slow}']"))
    expect(row).to_contain_text("of 4")
    page.wait_for_timeout(1000)
    with ada.site.api() as api:
        assert api.post(f"jobs/{slow}/cancel").status_code == 200
    expect(row).to_contain_text("cancelled", timeout=8_000)


def test_without_a_socket_a_job_is_looked_at_every_ten_seconds_and_the_bar_says_so(ada: Visitor, slow: str) -> None:
    ada.page.add_init_script(NO_SOCKET)
    page = ada.go(f"/jobs/{slow}")
    expect(page.get_by_role("status").filter(has_text="reconnecting")).to_be_visible()
    with ada.site.api() as api:
        assert api.post(f"jobs/{slow}/cancel").status_code == 200
    expect(page.get_by_role("heading", level=1)).to_contain_text("cancelled", timeout=15_000)
    expect(page.get_by_role("status").filter(has_text="polling")).to_be_visible()
    ada.problems = [one for one in ada.problems if "WebSocket" not in one]
