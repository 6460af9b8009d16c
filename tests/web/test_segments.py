"""Compare by what authors say of their tasks: where a difference lies, over which tasks, and at what cost."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.web.conftest import Visitor


def test_a_segment_leads_to_its_tasks_and_is_an_address(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/compare?base={nightly}:poor&with={nightly}:good")
    tasks, segments = page.get_by_role("region", name="Tasks"), page.get_by_role("region", name="Segments")
    everything = tasks.get_by_role("button", name=re.compile("^All"))
    expect(everything).to_have_text("All 8")
    expect(segments).to_contain_text("p is adjusted over all")
    easy = segments.get_by_role("button", name="difficulty easy")

    easy.click()
    expect(page).to_have_url(re.compile("segment=difficulty"))
    expect(everything).to_have_text("All 3")
    page.keyboard.press("5")
    expect(tasks.get_by_role("status").first).to_contain_text("filtered, 3 of 8 tasks")
    expect(tasks.get_by_role("row")).to_have_count(4)
    page.reload()
    expect(tasks.get_by_role("row")).to_have_count(4)
    expect(easy).to_have_attribute("aria-pressed", "true")

    page.keyboard.press("Escape")
    expect(everything).to_have_text("All 8")
    expect(tasks.get_by_role("row")).to_have_count(9)
    assert "segment" not in page.url


def test_nothing_is_coloured_that_its_test_does_not_bear_out(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/compare?base={nightly}:poor&with={nightly}:good")
    claim = page.get_by_label(re.compile("against"))
    told = claim.locator("p").filter(has_text="Δ graded")
    assert "not distinguishable" in told.inner_text() or told.get_attribute("data-side") is not None
    strict = claim.locator("p").filter(has_text=re.compile(r"Δ strict .+ pp \[.*% against .*% over 8 tasks"))
    assert strict.get_attribute("data-side") is None, "it has no test"
    segments = page.get_by_role("region", name="Segments").get_by_role("listitem")
    assert segments.count() > 3
    for one in segments.all():
        coloured = one.locator("[data-side]").count() > 0
        assert coloured != ("not distinguishable" in one.inner_text()), one.inner_text()


def test_what_it_costs_stands_beside_what_it_solves(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/compare?base={nightly}:poor&with={nightly}:good")
    chart = page.get_by_role("region", name="Cost and quality")
    first, second = chart.get_by_role("listitem").all()
    expect(first).to_contain_text(re.compile(r"A .*poor: .*% of 8 cells \[.*a task over 8 tasks"))
    expect(second).to_contain_text("100.0% of 8 cells")
    expect(chart.get_by_role("img")).to_have_attribute("aria-label", re.compile("poor.*good"))


def test_tasks_of_a_segment_that_no_author_named_are_none(ada: Visitor, nightly: str) -> None:
    page = ada.go(f"/compare?base={nightly}:poor&with={nightly}:good&segment=category:%3Cb%3Enone&show=all")
    expect(page.get_by_role("region", name="Tasks")).to_contain_text("No task of this segment is among all.")
    expect(page.get_by_role("region", name="Tasks")).to_contain_text("<b>none")


def test_of_three_sides_one_pair_is_looked_at_and_said(ada: Visitor, nightly: str, gaps: str) -> None:
    page = ada.go(f"/compare?base={nightly}:poor&with={nightly}:good,{gaps}&show=all")
    pair = page.get_by_label("Tasks and segments of")
    tasks, segments = page.get_by_role("region", name="Tasks"), page.get_by_role("region", name="Segments")
    expect(pair.get_by_role("option")).to_have_count(2)
    names = pair.get_by_role("option").all_inner_texts()
    assert re.search("good against .*poor", names[0]), names
    easy = segments.get_by_role("listitem").filter(has_text="easy")
    expect(easy).to_contain_text("100.0% against")

    with page.expect_response(re.compile("comparisons/segments")):
        pair.select_option(names[1])
    expect(page).to_have_url(re.compile("pair=2"))
    expect(tasks.get_by_role("columnheader").filter(has_text="crash")).to_have_count(1)
    expect(tasks.get_by_role("button", name=re.compile("^Owed"))).not_to_have_text(re.compile(" 0$"))
    page.reload()
    expect(pair).to_have_value("2")
    page.get_by_role("button", name="Swap the base").click()
    expect(page).not_to_have_url(re.compile("pair="))
    expect(pair).to_have_value("1")
