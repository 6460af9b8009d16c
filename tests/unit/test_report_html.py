"""The HTML report: every number leads to its cells, nothing from outside is markup, nothing is fetched."""

from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from html.parser import HTMLParser
from importlib.resources import files
from uuid import UUID

import pytest

from proctor.engine.gates import GateResult, GateState
from proctor.engine.leaderboards import ClassCount, LeaderboardRow, Usage, together
from proctor.engine.numbers import Rates, TaskTally, rank_intervals, rates
from proctor.engine.outcomes import CURRENT_POLICY, OutcomeClass, Owner, load_policy
from proctor.engine.planning import RunSetRow
from proctor.engine.reading import CellRow, Progress
from proctor.reports import html
from proctor.reports.html import MATRIX_CELLS, render_html
from proctor.reports.html.cells import ALL_SHOWN
from proctor.reports.html.leaderboard import ALL_PAIRS
from tests.unit.boards import RUN_SET, SILENT

HOSTILE = [
    "<script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "javascript:alert('1')",
    "a & b ' onmouseover=alert(1) \x00\ud800\u202egnp.exe",
]
VERDICTS = {"pass": True, "fail": False}
FREE = Usage(
    attempts=2,
    reported=2,
    priced=2,
    own_attempts=2,
    own_priced=2,
    cost_nano=0,
    own_cost_nano=0,
    input_tokens=0,
    output_tokens=0,
    mean_seconds=1.0,
)


@dataclass(frozen=True, kw_only=True)
class Board:
    run_set: RunSetRow
    rows: Sequence[LeaderboardRow]
    progress: Progress
    reused: int = 0
    oldest_reused: datetime | None = None
    gate: GateResult = field(default_factory=lambda: GateResult(state=GateState.MET))

    @property
    def rates(self) -> Rates:
        return together(self.rows)


@dataclass
class Sample:
    """What ``render_html`` takes, from a grid of classes: profile, task, trials."""

    board: Board
    cells: list[CellRow]
    profiles: dict[int, str]
    tasks: dict[str, str]

    def render(self) -> str:
        return render_html(self.board, self.cells, self.profiles, self.tasks)


def cell(number: int, profile: int, task: str, trial: int, outcome: str | None) -> CellRow:
    rule = load_policy(CURRENT_POLICY).classes[OutcomeClass(outcome)] if outcome else None
    verdict = VERDICTS.get(rule.verdict) if rule else None
    return CellRow(
        cell=UUID(int=number),
        profile=profile,
        content_digest=task,
        trial=trial,
        reused=False,
        withdrawn=None,
        verdict=verdict,
        reward=None if verdict is None else float(verdict),
        outcome=outcome,
        owner=rule.owner.value if rule else None,
        limit="",
        attempt=UUID(int=number + 10**9) if outcome else None,
        attempts=1 if outcome else 0,
    )


def sample(
    grid: dict[str, dict[str, list[str | None]]], usage: Usage = FREE, withdrawn: tuple[int, ...] = ()
) -> Sample:
    profiles = dict(enumerate(grid))
    names = list(dict.fromkeys(task for tasks in grid.values() for task in tasks))
    digests = {name: hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest() for name in names}
    cells: list[CellRow] = []
    for position, tasks in enumerate(grid.values()):
        for task, trials in tasks.items():
            for trial, outcome in enumerate(trials, 1):
                cells.append(cell(len(cells) + 1, position, digests[task], trial, outcome))
    for index in withdrawn:
        cells[index] = replace(cells[index], withdrawn="the task left the suite")
    rows = [row(position, name, cells, usage) for position, name in profiles.items()]
    ranks = rank_intervals(
        {one.profile: {task: t.passed / t.expected for task, t in one.tasks.items()} for one in rows}
    )
    rows = [replace(one, rank=ranks[one.profile]) for one in rows]
    rows.sort(key=lambda one: (-(one.rates.strict or 0.0), one.profile))
    return Sample(board(rows), cells, profiles, {digest: name for name, digest in digests.items()})


def board(rows: Sequence[LeaderboardRow]) -> Board:
    counts = [one.rates.counts for one in rows]
    progress = Progress(
        expected=sum(c.expected for c in counts),
        decided=sum(c.decided for c in counts),
        passed=sum(c.passed for c in counts),
        queued=0,
        waiting=0,
        running=0,
        dead=0,
    )
    return Board(run_set=RUN_SET, rows=rows, progress=progress)


def row(position: int, name: str, cells: Sequence[CellRow], usage: Usage) -> LeaderboardRow:
    all_mine = [one for one in cells if one.profile == position]
    mine = [one for one in all_mine if one.withdrawn is None]
    tasks = {
        task: TaskTally(
            expected=len(own := [one for one in mine if one.content_digest == task]),
            decided=sum(one.verdict is not None for one in own),
            passed=sum(one.verdict is True for one in own),
        )
        for task in dict.fromkeys(one.content_digest for one in mine)
    }
    rate = rates(list(tasks.values()), withdrawn=len(all_mine) - len(mine))
    missing = rate.counts.expected - rate.counts.decided
    reasons = [f"coverage: {missing} of {rate.counts.expected} cells have no verdict"] if missing else []
    reasons += [f"withdrawn: {rate.counts.withdrawn} cells"] if rate.counts.withdrawn else []
    kinds = Counter((one.outcome or "not_started", one.owner or "model", one.verdict is not None) for one in mine)
    return LeaderboardRow(
        profile=name,
        series=name,
        configuration="c" * 64,
        rates=rate,
        mean_reward=rate.graded,
        rank=(1, 1),
        usage=usage,
        classes=tuple(ClassCount(outcome=k, owner=o, decided=d, cells=n) for (k, o, d), n in kinds.items()),
        comparable=not reasons,
        reasons=tuple(reasons),
        other_trials=0,
        other_trials_mean=None,
        tasks=tasks,
    )


class Page(HTMLParser):
    """What a browser would make of a page: its elements, ids, links and words."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.words: list[str] = []
        self.style = ""
        self._inside = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._inside = tag

    def handle_data(self, data: str) -> None:
        if self._inside == "style":
            self.style += data
            self._inside = ""
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join("".join(self.words).split())

    def all(self, attribute: str) -> list[str]:
        return [str(attrs[attribute]) for _, attrs in self.elements if attribute in attrs]


def trials(spec: str) -> list[str | None]:
    """``p f i -``: passed, failed, image_error, not started."""
    letters = {"p": "passed", "f": "failed", "i": "image_error", "-": None}
    return [letters[one] for one in spec]


MIXED = {
    "alpha": {"one": trials("p"), "two": trials("i"), "three": trials("f")},
    "beta": {"one": trials("p"), "two": trials("-"), "three": trials("p")},
}


@pytest.fixture
def mixed() -> Page:
    return Page(sample(MIXED).render())


def test_exports() -> None:
    assert html.__all__ == ["MATRIX_CELLS", "render_html"]
    assert MATRIX_CELLS >= 54 * 88 * 5


def test_the_same_board_gives_the_same_bytes() -> None:
    assert sample(MIXED).render() == sample(MIXED).render()


@pytest.mark.parametrize(
    "grid",
    [
        {},
        {"only": {"one": trials("p")}},
        MIXED,
        {name: {task: trials("pfi-p") for task in HOSTILE} for name in HOSTILE},
    ],
    ids=["empty", "one", "mixed", "hostile"],
)
def test_every_link_leads_somewhere_in_the_page(grid: dict[str, dict[str, list[str | None]]]) -> None:
    page = Page(sample(grid).render())
    ids = page.all("id")
    assert len(ids) == len(set(ids))
    assert all(target.startswith("#") for target in page.all("href"))
    assert {target[1:] for target in page.all("href")} <= set(ids)


def test_nothing_from_outside_is_markup() -> None:
    made = sample({name: {task: trials("pi") for task in HOSTILE} for name in HOSTILE})
    evil = HOSTILE[1]
    rows = [replace(one, reasons=(evil,), comparable=False) for one in made.board.rows]
    run_set = replace(made.board.run_set, name=evil, reason=HOSTILE[0])
    gate = GateResult(state=GateState.MISSED, lines=(HOSTILE[0],))
    made.board = replace(made.board, rows=rows, run_set=run_set, gate=gate)
    made.cells = [replace(one, limit=evil, owner=evil) for one in made.cells]
    source = made.render()
    page = Page(source)
    assert {"script", "img", "iframe", "object", "link", "base", "form"}.isdisjoint(tag for tag, _ in page.elements)
    attributes = {name for _, attrs in page.elements for name in attrs}
    assert not {name for name in attributes if name.startswith("on")}
    assert not attributes & {"style", "src", "srcset", "action", "xlink:href"}
    assert evil in page.all("title")
    assert HOSTILE[0] in page.text
    source.encode("utf-8")
    assert "\x00" not in source
    assert "\u202e" not in source


def test_an_outcome_this_version_does_not_know_is_shown_as_unclassified() -> None:
    made = sample(MIXED)
    made.cells = [replace(one, outcome='new"><b>') if one.outcome == "image_error" else one for one in made.cells]
    page = Page(made.render())
    assert "p0-unclassified" in page.all("id")
    assert 'new"><b>' in page.text


def test_no_request_leaves_the_page(mixed: Page) -> None:
    policy = next(attrs["content"] for tag, attrs in mixed.elements if attrs.get("http-equiv"))
    digest = base64.b64encode(hashlib.sha256(mixed.style.encode()).digest()).decode()
    assert policy == (
        f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    assert "@import" not in mixed.style
    assert set(re.findall(r"url\(\"([a-z]+):", mixed.style)) == {"data"}
    assert set(re.findall(r"https?://[^'\"]*", sample(MIXED).render())) == {"http://www.w3.org/2000/svg"}


def test_light_dark_phone_and_paper_have_rules(mixed: Page) -> None:
    assert "@media screen and (prefers-color-scheme:dark)" in mixed.style
    assert "@media print" in mixed.style
    assert "@media (max-width:640px)" in mixed.style
    assert ("meta", {"name": "viewport", "content": "width=device-width, initial-scale=1"}) in mixed.elements


def test_title_and_state(mixed: Page) -> None:
    assert "nightly · 9f3a9f3a9f3a · Proctor" in mixed.text
    assert "ended with gaps: 1 cell has no verdict · 4 of 6 cells have a verdict" in mixed.text
    assert "2026-09-18T14:05:00+00:00" in mixed.all("datetime")


def test_the_four_rates_stand_together_with_their_counts(mixed: Page) -> None:
    assert "Strict50.0%3 / 6 passed" in mixed.text
    assert "Graded75.0%3 / 4 with a verdict" in mixed.text
    assert "Coverage66.7%4 / 6 have a verdict" in mixed.text
    assert "Bounds50.0–83.32 cells owed" in mixed.text


def test_a_row_s_counts_link_to_the_cells_they_count(mixed: Page) -> None:
    assert {"#p0-passed", "#p0-decided", "#p0-owed", "#p0", "#only-image_error"} <= set(mixed.all("href"))
    assert "Filtered: 1 cell in class image_error." in mixed.text
    assert "Filtered: 2 cells without a verdict." in mixed.text


def test_a_square_leads_to_its_cell_and_the_command(mixed: Page) -> None:
    squares = {attrs.get("title"): attrs for tag, attrs in mixed.elements if tag == "a" and attrs.get("title")}
    square = squares["alpha · two: image_error, owed"]
    assert square["class"] == "m image_error o"
    assert str(square["href"])[1:] in mixed.all("id")
    assert f"proctor attempt show {UUID(int=2 + 10**9)}" in mixed.text
    assert squares["beta · two: not started, owed"]["class"] == "m not_started h"


def test_trials_are_bars_and_the_rest_is_counted() -> None:
    page = Page(sample({"a": {"one": trials("ppfi"), "two": trials("p" * 40)}}).render())
    bars = [attrs["class"] for tag, attrs in page.elements if tag == "i"]
    assert sorted(map(str, bars[-4:])) == ["failed", "image_error o", "passed", "passed"]
    assert len(bars) == 4 + 12
    assert "a · one: passed 2, failed 1, image_error 1 of 4 trials, 1 owed" in page.all("title")


def test_a_pass_that_hit_a_limit_is_marked() -> None:
    made = sample({"a": {"one": trials("p")}})
    made.cells = [replace(one, limit="wall") for one in made.cells]
    assert "m passed lim" in Page(made.render()).all("class")


def test_rows_that_are_not_comparable_stand_apart_with_their_reasons() -> None:
    grid = {"whole": {"one": trials("p")}, "gaps": {"one": trials("i")}}
    page = Page(sample(grid).render())
    assert page.text.index("Not comparable") < page.text.index("coverage: 1 of 1 cells have no verdict")


def test_a_reason_of_every_row_is_said_once() -> None:
    made = sample(MIXED)
    rows = [replace(one, reasons=("timeouts doubled",), comparable=False) for one in made.board.rows]
    made.board = replace(made.board, rows=rows)
    assert Page(made.render()).text.count("timeouts doubled") == 1


def test_withdrawn_cells_are_shown_and_not_counted() -> None:
    page = Page(sample(MIXED, withdrawn=(1,)).render())
    assert "withdrawn: the task left the suite" in page.text
    assert "Filtered: 1 cell withdrawn." in page.text
    assert "3 / 5 passed" in page.text
    assert "#p0-withdrawn" in page.all("href")


def test_an_unknown_cost_is_a_dash_with_its_reason() -> None:
    page = Page(sample(MIXED, usage=SILENT).render())
    assert "Costs are unknown: no attempt reported one." in page.text
    assert "Cost — is unknown, not 0: no attempt reported its usage (every profile)." in page.text
    assert "$0.00" not in page.text


def test_a_true_zero_is_zero() -> None:
    assert "$0.00" in Page(sample(MIXED).render()).text


def test_a_partial_sum_says_at_least() -> None:
    usage = replace(FREE, attempts=4, cost_nano=1_210_000_000)
    page = Page(sample(MIXED, usage=usage).render())
    assert "≥ $1.21" in page.text
    assert "50.0% 2/4" in page.text
    assert "An arrow to the right: at least so much" in page.text


def test_a_drawing_says_in_words_what_it_shows(mixed: Page) -> None:
    assert "strict 66.7%, 95 % interval 20.8–93.9, graded 100.0%, bounds 66.7–100.0" in mixed.all("aria-label")
    unnamed = [
        attrs for tag, attrs in mixed.elements if tag == "svg" and not {"aria-label", "aria-hidden"} & attrs.keys()
    ]
    assert unnamed == []


def test_profiles_that_cannot_be_told_apart_are_named(mixed: Page) -> None:
    assert "beta and alpha: not distinguishable, +33.3 pp [−32.0, +98.7], 3 tasks" in mixed.text


def test_profiles_that_can_be_told_apart_are_named() -> None:
    tasks = [f"t{n}" for n in range(20)]
    grid = {"good": {task: trials("p") for task in tasks}, "bad": {task: trials("f") for task in tasks}}
    assert "good is above bad, +100.0 pp [+100.0, +100.0], 20 tasks" in Page(sample(grid).render()).text


def test_tasks_that_only_one_of_two_passes_are_listed_and_linked() -> None:
    grid = {"a": {"one": trials("p"), "two": trials("f"), "three": trials("p")}}
    grid["b"] = {"one": trials("f"), "two": trials("p"), "three": trials("p")}
    page = Page(sample(grid).render())
    assert "2 tasks flippedonly a: oneonly b: two" in page.text
    same = Page(sample({"a": {"one": trials("p")}, "b": {"one": trials("p")}}).render())
    assert "flipped" not in same.text


def test_many_profiles_are_compared_with_their_neighbours_only() -> None:
    names = [f"profile {n}" for n in range(ALL_PAIRS + 1)]
    page = Page(sample({name: {"one": trials("p"), "two": trials("f")} for name in names}).render())
    assert page.text.count("not distinguishable") == ALL_PAIRS


def test_rewards_have_a_column_only_where_they_say_more_than_verdicts(mixed: Page) -> None:
    assert "BoundsCost" in mixed.text
    made = sample(MIXED)
    made.board = replace(made.board, rows=[replace(one, mean_reward=0.25) for one in made.board.rows])
    assert "BoundsRewardCost" in Page(made.render()).text


def test_all_classes_have_chip_word_and_owner_in_the_legend() -> None:
    classes = load_policy(CURRENT_POLICY).classes
    page = Page(sample({"a": {name.value: [name.value] for name in classes}}).render())
    chips = {str(attrs["class"]) for tag, attrs in page.elements if tag == "span" and "chip" in str(attrs.get("class"))}
    assert chips == {f"chip {name.value}" for name in classes}
    for owner in Owner:
        assert f"owed · {owner.value}" in page.text or f"verdict · {owner.value}" in page.text


def test_an_empty_run_set_says_so() -> None:
    page = Page(sample({}).render())
    for sentence in ("expects no cell, so it has no rates", "no profile to rank", "There is no cell yet", "no task."):
        assert sentence in page.text
    assert "0.0%" not in page.text


def test_a_run_set_that_has_not_begun_has_no_graded_rate() -> None:
    page = Page(sample({"a": {"one": trials("-")}}).render())
    assert "no cell has a verdict yet" in page.all("title")
    assert "not started" in page.text


def test_cells_left_out_are_said_and_never_linked() -> None:
    made = sample(MIXED)
    made.cells = made.cells[:3]
    page = Page(made.render())
    assert "Only the first 3 of 6 cells are drawn" in page.text
    assert {target[1:] for target in page.all("href")} <= set(page.all("id"))


def test_names_that_are_missing_fall_back_to_position_and_digest() -> None:
    made = sample({"a": {"one": trials("p")}})
    made.profiles, made.tasks = {}, {}
    page = Page(made.render())
    assert "profile 0" in page.text
    assert made.cells[0].content_digest[:12] in page.text


def test_fifty_four_profiles_by_eighty_eight_tasks_stay_small() -> None:
    tasks = {f"terminal-bench/some-task-name-{n}": trials("pfi-"[n % 4]) for n in range(88)}
    made = sample({f"agent-{n:02d}-some-model": tasks for n in range(54)})
    source = made.render()
    page = Page(source)
    assert len(made.cells) > ALL_SHOWN
    assert ("body", {"class": "many"}) in page.elements
    assert len(source.encode()) < 4_000_000
    assert sum(1 for attrs in page.all("class") if attrs.startswith("m ")) == 54 * 88


def test_a_common_folder_is_left_out_of_the_matrix_heads() -> None:
    page = Page(sample({"a": {"bench/one": trials("p"), "bench/two": trials("p")}}).render())
    assert "bench/one" in page.all("title")
    assert {"one", "two"} <= set(page.words)


def test_sheet_and_page_are_package_data() -> None:
    names = {entry.name for entry in files("proctor.reports.html").iterdir()}
    assert {"report.css", "report.html"} <= names
