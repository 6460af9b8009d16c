"""The matrix at its largest: soon there, few nodes, drawn anew at once, and what is owed told apart without colour.

Its rows are put into the database, as no agent is needed for a picture. Times are those of the page's own marks. A
machine that is busy or slow is given as much more as it takes longer for ten million additions than the reference
machine, and of several tries the best counts: what is promised is the page's work, not its neighbours'.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect
from sqlalchemy import create_engine, text

from proctor.app import Server
from proctor.database.engine import Database
from proctor.engine.outcomes import OutcomeClass, Owner, load_policy
from proctor.engine.planning import RunSetRow
from proctor.identity.audit_log import Actor
from proctor.identity.service import tenant_id
from proctor.identity.setup import found_tenant
from proctor.kernel.ids import new_id
from proctor.objects.store import ObjectStore
from proctor.settings import Settings
from tests.api.conftest import SECRET
from tests.api.listening import INSERT, Live, relaying, row, serving
from tests.bench import Bench, write_tasks
from tests.conftest import Urls
from tests.web.conftest import SCREENSHOTS, Site, Visitor, slowness

PROFILES, TASKS, TRIALS = 54, 88, 5
CELLS = PROFILES * TASKS * TRIALS
PAINTED_MS = 300
REPAINTED_MS = 16
NODES = 3000
CHANGES = 500
TRIES = 4
SOLID = ("passed", "failed", "agent_limit", "agent_refused", "agent_error", "out_of_memory")
"""Classes with a verdict."""
HOLLOW = ("profile_invalid", "budget_exhausted", "cancelled")
"""Somebody's decision: an outline, neither solid nor open."""
WORDS = {Owner.POLICY: "by policy", Owner.USER: "operator"}
"""Of owners that the page calls otherwise."""


@dataclass
class Stage:
    """A server over the tests' database, with a tenant whose run sets are made of rows."""

    live: Live
    bench: Bench
    site: Site

    def made(self, name: str, profiles: int, tasks: int, trials: int, classes: Sequence[str]) -> RunSetRow:
        """A run set whose cells take these classes in turn, each after one attempt."""
        folder = self.bench.folder / f"tasks-{tasks}"
        if not folder.exists():
            write_tasks(folder, tasks)
        each = "".join(
            f'\n[[profiles]]\nname = "profile-{n:03d}"\nagent = "noop"\nenv = {{ N = "{name}-{n}" }}'
            for n in range(profiles)
        )
        opened = self.bench.open(f'name = "{name}"\nsuite = "{folder.name}"\ntrials = {trials}{each}')
        self._fill(opened.run_set, classes)
        return opened.run_set

    def _fill(self, run_set: RunSetRow, classes: Sequence[str]) -> None:
        rules = load_policy(run_set.policy_version).classes
        values = {
            "tenant": str(self.bench.tenant),
            "run_set": str(run_set.id),
            "policy": run_set.policy_version,
            "classes": list(classes),
            "owners": [rules[OutcomeClass(one)].owner.value for one in classes],
            "solid": list(SOLID),
        }
        engine = create_engine(self.bench.owner)
        with engine.begin() as connection:
            connection.execute(text("SELECT set_config('proctor.tenant', CAST(:tenant AS text), true)"), values)
            for statement in FILLING:
                connection.execute(text(statement), values)
        engine.dispose()

    def ids(self, run_set: RunSetRow) -> list[str]:
        """Of its cells, in the order of its classes."""
        return [str(one) for (one,) in self.bench.sql(ORDERED, tenant=self.bench.tenant, run_set=run_set.id)]

    def change(self, run_set: RunSetRow, cells: Sequence[str], outcome: str) -> None:
        """What the server says of cells whose attempts end, in one commit: they come to the page together."""
        said = [{"cell": one, "class": outcome, "verdict": outcome == "passed"} for one in cells]
        events = [row(self.bench.tenant, new_id(), run_set.id, "attempt.ended", one) for one in said]
        self.bench.database.as_tenant(self.bench.tenant, lambda c: c.execute(INSERT, events))


ORDERED = """
SELECT e.cell_id FROM proctor.expected_cell e JOIN proctor.cell c ON c.tenant_id = e.tenant_id AND c.id = e.cell_id
WHERE e.tenant_id = CAST(:tenant AS uuid) AND e.run_set_id = CAST(:run_set AS uuid)
ORDER BY e.profile, e.content_digest COLLATE "C", c.trial
"""
FILLING = (
    f"""
    CREATE TEMPORARY TABLE filling ON COMMIT DROP AS
    WITH said AS (SELECT CAST(:classes AS text[]) AS classes, CAST(:owners AS text[]) AS owners),
         numbered AS (SELECT o.cell_id, row_number() OVER () - 1 AS n FROM ({ORDERED}) o)
    SELECT n.cell_id, gen_random_uuid() AS attempt, classes[1 + n % cardinality(classes)] AS class,
           owners[1 + n % cardinality(classes)] AS owner,
           classes[1 + n % cardinality(classes)] = ANY(CAST(:solid AS text[])) AS decided
    FROM numbered n, said
    """,
    """
    INSERT INTO proctor.attempt (tenant_id, id, cell_id, number, run_set_id, content_digest, token, worker_id, backend,
                                 trace_id, ended_at)
    SELECT e.tenant_id, f.attempt, f.cell_id, 1, e.run_set_id, e.content_digest, 0, gen_random_uuid(), 'fake', '', now()
    FROM filling f JOIN proctor.expected_cell e ON e.cell_id = f.cell_id
    WHERE e.tenant_id = CAST(:tenant AS uuid) AND e.run_set_id = CAST(:run_set AS uuid)
    """,
    """
    INSERT INTO proctor.outcome (tenant_id, attempt_id, grading, policy_version, class, owner, rule, verdict)
    SELECT CAST(:tenant AS uuid), attempt, 0, :policy, class, owner, 'test-01',
           CASE WHEN decided THEN class = 'passed' END
    FROM filling
    """,
    """
    INSERT INTO proctor.result (tenant_id, cell_id, policy_version, attempt_id, grading, class, verdict)
    SELECT CAST(:tenant AS uuid), cell_id, :policy, attempt, 0, class, class = 'passed' FROM filling WHERE decided
    """,
    """
    DELETE FROM proctor.queue_item q USING filling f
    WHERE q.tenant_id = CAST(:tenant AS uuid) AND q.id = f.cell_id AND f.decided
    """,
    "SELECT proctor.refresh_statistics()",
)
"""Attempts, outcomes, results; what is decided is not queued; and what the database learns of its tables meanwhile."""


@pytest.fixture(scope="module")
def stage(urls: Urls, shared_database: Database, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("matrix")
    objects = ObjectStore(folder / "objects")
    server = Server(settings=Settings(home=folder / "home"), database=shared_database, objects=objects, secret=SECRET)
    name = f"acme-{new_id().hex[-6:]}"
    founded = server.database.as_tenant(
        tenant_id(name), lambda c: found_tenant(c, SECRET, Actor(), name=name, owner="ada@example.org")
    )
    bench = Bench(database=shared_database, tenant=founded.tenant, objects=objects, folder=folder, owner=urls.owner)
    with relaying(server), serving(server) as live:
        yield Stage(live=live, bench=bench, site=Site(url=live.url, key=founded.issued.secret, folder=folder))


@pytest.fixture(scope="module")
def large(stage: Stage) -> RunSetRow:
    """As large ones look: better and worse profiles, a provider that refused one of them, a task without its image."""
    return stage.made("large", PROFILES, TASKS, TRIALS, list(likely()))


def likely() -> Iterator[str]:
    """A class for each cell, by profile, task and trial."""
    drawn = random.Random(7)
    ease = [drawn.random() for _ in range(TASKS)]
    for profile in range(PROFILES):
        strength = 0.25 + 0.7 * drawn.random()
        for task in range(TASKS):
            for _ in range(TRIALS):
                luck = drawn.random()
                if task in (11, 60):
                    yield "image_error"
                elif profile in (5, 31) and luck < 0.8:
                    yield "provider_rate_limit"
                elif luck < 0.05:
                    yield ("provider_error", "sandbox_error", "verifier_error")[task % 3]
                else:
                    passes = drawn.random() < (strength + ease[task]) / 2
                    yield "passed" if passes else ("failed", "failed", "agent_limit")[drawn.randrange(3)]


@pytest.fixture(scope="module")
def legend(stage: Stage) -> RunSetRow:
    """One cell of each class."""
    return stage.made("legend", 1, len(OutcomeClass), 1, list(OutcomeClass))


@pytest.fixture
def eve(stage: Stage, browser: Browser) -> Iterator[Visitor]:
    """The owner, signed in, with what the page measures and what it is told by its socket kept."""
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        made = Visitor(stage.site, context).sign_in()
        made.page.add_init_script(KEEPING)
        yield made
        assert not made.problems


KEEPING = """
window.kept = [];
new PerformanceObserver((list) => window.kept.push(...list.getEntries())).observe({ entryTypes: ["mark", "measure"] });
const OwnSocket = WebSocket;
window.sockets = [];
window.WebSocket = class extends OwnSocket {
  constructor(url) { super(url); window.sockets.push(this); }
};
"""
BLOWN_UP = """
const own = window.fetch;
window.fetch = async (request, more) => {
  const answer = await own(request, more);
  if (!String(request.url ?? request).endsWith("/matrix")) return answer;
  const said = await answer.json();
  const [rows, tasks] = [500, 2000];
  const column = (of) => Array.from({ length: rows * tasks }, (_, at) => of(at));
  said.profiles = Array.from({ length: rows }, (_, at) => `profile-${at}`);
  said.tasks = Array.from({ length: tasks }, (_, at) => ({ ...said.tasks[0], digest: `${at}`, name: `task-${at}` }));
  said.cells = {
    profile: column((at) => Math.floor(at / tasks)), task: column((at) => at % tasks),
    trial: column(() => 1), place: column(() => 0),
    state: column((at) => at % 20), decided: column((at) => Number(at % 20 < 5)),
    passed: column(() => 0), given_up: column(() => 0), attempts: column(() => 1),
    limit: column(() => null), waits_until: column(() => null), phase: column(() => null),
  };
  return Response.json(said);
};
"""
PAINTED = """
async () => {
  while (!window.kept.some((one) => one.name === "matrix-paint")) await new Promise(requestAnimationFrame);
}
"""
FIRST_PAINT = """
() => {
  const read = window.kept.find((one) => one.name === "matrix-read");
  const painted = window.kept.find((one) => one.name === "matrix-paint");
  return { after: painted.startTime + painted.duration - read.startTime, painting: painted.duration };
}
"""
CHANGE = """
async ([run_set, cells, outcome]) => {
  const socket = window.sockets.at(-1);
  const before = window.kept.filter((one) => one.name === "matrix-repaint").length;
  const told = cells.map((cell) => JSON.stringify({ event: {
    id: crypto.randomUUID(), name: "attempt.ended", subject: cell, created_at: "",
    payload: { run_set, cell, class: outcome, verdict: outcome === "passed" },
  } }));
  const began = performance.now();
  for (const data of told) socket.onmessage({ data });
  const taken = performance.now() - began;
  const drawn = () => window.kept.filter((one) => one.name === "matrix-repaint").slice(before);
  while (drawn().length === 0) await new Promise(requestAnimationFrame);
  return { taken, drawn: drawn().reduce((sum, one) => sum + one.duration, 0) };
}
"""


BYTES_A_CELL = 1.5
"""As it is sent, with the names of profiles and tasks."""


def test_ids_come_when_a_cell_is_looked_at(eve: Visitor, large: RunSetRow) -> None:
    sizes: dict[str, int] = {}
    eve.page.on(
        "requestfinished", lambda one: sizes.update({one.url.rpartition("/")[2]: one.sizes()["responseBodySize"]})
    )
    page = shown(eve, large)
    page.wait_for_timeout(500)
    assert "ids" not in sizes
    assert sizes["matrix"] < BYTES_A_CELL * CELLS
    page.get_by_role("gridcell").focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("cell=[0-9a-f-]{13}"))
    expect(page.get_by_role("complementary", name="Cell").get_by_role("link", name="Open attempt")).to_be_visible()
    page.keyboard.press("o")
    expect(page).to_have_url(re.compile("/attempts/"))


def shown(visitor: Visitor, run_set: RunSetRow, search: str = "") -> Page:
    """A run set's page, with its matrix drawn and its socket open."""
    page = visitor.go(f"/run-sets/{run_set.id}{search}")
    expect(page.get_by_role("grid")).to_be_visible(timeout=60_000)
    expect(page.get_by_role("status").filter(has_text="live")).to_be_visible()
    page.evaluate(PAINTED)
    return page


def within(found: Sequence[float], promised: float, what: str) -> None:
    """The best of several tries, on a machine as slow as this one is now."""
    allowed = promised * slowness()
    print(f"{what}: {', '.join(f'{one:.1f}' for one in found)} ms; allowed here {allowed:.0f} ms")
    assert min(found) <= allowed, what


def test_the_largest_is_painted_soon_after_its_data_with_few_nodes(eve: Visitor, large: RunSetRow) -> None:
    found = []
    for _ in range(TRIES):
        page = shown(eve, large)
        one = page.evaluate(FIRST_PAINT)
        print(f"of {one['after']:.1f} ms {one['painting']:.1f} are painting")
        found.append(one["after"])
    within(found, PAINTED_MS, "first paint after the data")
    expect(page.get_by_text(f"of {CELLS:,} cells")).to_be_visible()
    nodes = eve.measure("document.querySelectorAll('*').length")
    print(f"{nodes} nodes")
    assert nodes <= NODES
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)
    shown(eve, large, "?sort=file")  # in which a provider's stripe and a task's are seen
    page.get_by_role("grid").hover(position={"x": 300, "y": 300})
    page.screenshot(path=str(SCREENSHOTS / "run-set-large-1440-light.png"))


def test_five_hundred_changes_are_drawn_in_a_frame(eve: Visitor, stage: Stage, large: RunSetRow) -> None:
    page = shown(eve, large)
    cells = stage.ids(large)
    taken, drawn = [], []
    for n in range(TRIES):
        outcome = ("lease_lost", "passed")[n % 2]
        one = page.evaluate(CHANGE, [str(large.id), cells[n::47][:CHANGES], outcome])
        taken.append(one["taken"])
        drawn.append(one["taken"] + one["drawn"])
    within(taken, REPAINTED_MS, f"{CHANGES} events taken")
    within(drawn, REPAINTED_MS, f"{CHANGES} events taken and drawn")


def test_changes_come_by_the_socket_and_none_is_missed(eve: Visitor, stage: Stage, large: RunSetRow) -> None:
    page = shown(eve, large)
    expect(page.get_by_role("button", name="node lost")).to_have_count(0)
    stage.change(large, stage.ids(large)[:CHANGES], "node_lost")
    pill = page.get_by_role("button", name="node lost").last
    expect(pill).to_contain_text(str(CHANGES), timeout=20_000)


def test_a_million_cells_are_panned(eve: Visitor, large: RunSetRow) -> None:
    eve.page.add_init_script(BLOWN_UP)
    eve.page.set_default_timeout(120_000)
    page = shown(eve, large, "?pitch=12")
    times = []
    for n in range(1, 9):
        page.evaluate("window.kept.length = 0")
        page.evaluate("([x, y]) => document.querySelector('[role=grid]').scrollTo(x, y)", [n * 2900, n * 700])
        page.evaluate(PAINTED)
        times.append(page.evaluate("window.kept.at(-1).duration"))
    within(times, 3 * REPAINTED_MS, "a window of a million cells")
    page.evaluate("document.querySelector('[role=grid]').scrollTo(1e6, 1e6)")
    box = page.get_by_role("grid").bounding_box()
    assert box is not None
    page.get_by_role("grid").hover(position={"x": box["width"] - 30, "y": box["height"] - 30})
    expect(page.get_by_label("Cell", exact=True)).to_contain_text("task-199")
    assert eve.measure("document.querySelectorAll('*').length") <= NODES


GREY = """
async () => {
  await new Promise((shown) => requestAnimationFrame(() => requestAnimationFrame(shown)));  // also what came into view
  const cursor = document.querySelector("[role=gridcell]");
  const canvas = document.querySelector("[role=grid] canvas");
  const scroller = document.querySelector("[role=grid]");
  const [x, y, width, height] = ["left", "top", "width", "height"].map((one) => parseFloat(cursor.style[one]));
  const strip = width >= 13 ? 3 : width; // beside the glyph
  const found = canvas.getContext("2d").getImageData(
    x - scroller.scrollLeft, y - scroller.scrollTop, Math.floor(strip), Math.floor(height)).data;
  const grey = [];
  for (let at = 0; at < found.length; at += 4) {
    grey.push(0.2126 * found[at] + 0.7152 * found[at + 1] + 0.0722 * found[at + 2]);
  }
  const mean = grey.reduce((sum, one) => sum + one, 0) / grey.length;
  const variance = grey.reduce((sum, one) => sum + (one - mean) ** 2, 0) / grey.length;
  return { name: cursor.getAttribute("aria-label"), mean, variance };
}
"""


def greys(page: Page, cells: int) -> dict[str, list[tuple[float, float]]]:
    """Mean and variance of grey within each of the first cells, by its class."""
    page.get_by_role("gridcell").focus()
    found: dict[str, list[tuple[float, float]]] = {}
    for _ in range(cells):
        page.keyboard.press("ArrowRight")
        one = page.evaluate(GREY)
        state = one["name"].split(", ")[3].replace(" ", "_")
        found.setdefault(state, []).append((one["mean"], one["variance"]))
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("pitch", [12, 18, 28])
def test_owed_and_verdict_are_told_apart_without_colour(
    eve: Visitor, legend: RunSetRow, large: RunSetRow, theme: Any, pitch: int
) -> None:
    eve.page.emulate_media(color_scheme=theme)
    for run_set, count in ((legend, len(OutcomeClass)), (large, 40)):
        found = greys(shown(eve, run_set, f"?pitch={pitch}&sort=file"), count)
        solid = [variance for name in SOLID for _, variance in found.get(name, [])]
        owed = [v for name, each in found.items() if name not in (*SOLID, *HOLLOW, "unclassified") for _, v in each]
        assert solid
        assert owed
        print(f"{theme} {pitch} px: solid at most {max(solid):.1f}, open at least {min(owed):.1f}")
        assert max(solid) < 1
        assert min(owed) > 100


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_legend_has_every_class_with_its_glyph_word_and_owner(eve: Visitor, legend: RunSetRow, theme: Any) -> None:
    eve.page.emulate_media(color_scheme=theme)
    page = shown(eve, legend)
    rules = load_policy(legend.policy_version).classes
    pills = page.locator("button[aria-pressed][data-class]")
    expect(pills).to_have_count(len(OutcomeClass))
    shapes = set()
    for outcome in OutcomeClass:
        pill = page.locator(f"button[aria-pressed][data-class={outcome}]")
        expect(pill).to_contain_text(outcome.replace("_", " "))
        owner = rules[outcome].owner
        expect(pill).to_have_attribute("title", re.compile(rf"\({WORDS.get(owner, owner)}\)"))
        shapes.add(pill.locator("svg path").get_attribute("d"))
    assert len(shapes) == len(OutcomeClass)
    page.get_by_role("button", name="Table").click()
    for outcome in OutcomeClass:
        line = page.get_by_role("row").filter(has=page.locator(f"[data-class={outcome}]"))
        owner = rules[outcome].owner
        expect(line).to_contain_text(WORDS.get(owner, owner))
    page.set_viewport_size({"width": 1440, "height": 900})
    cut = "it => [it, ...it.querySelectorAll('th, td')].filter(one => one.scrollWidth > one.clientWidth).length"
    assert page.get_by_role("region", name=re.compile("cells$")).evaluate(cut) == 0, "every column is there, whole"


def test_an_owner_is_a_filter_and_an_address(eve: Visitor, legend: RunSetRow) -> None:
    page = eve.go(f"/run-sets/{legend.id}")
    bar = page.get_by_role("region", name="Cells by class")
    provider = bar.get_by_role("button", name="provider", exact=True).first
    provider.click()
    expect(page).to_have_url(re.compile("owner=.*provider"))
    rules = load_policy(legend.policy_version).classes
    theirs = {str(one) for one, rule in rules.items() if rule.owner == "provider"}
    pressed = bar.locator("button[data-group][aria-pressed=true]")
    assert {one.get_attribute("data-class") for one in pressed.all()} == theirs
    expect(page.get_by_role("status").filter(has_text="filtered, ")).to_contain_text(f"filtered, {len(theirs)} of")
    page.goto(f"{page.url}&class=passed")
    expect(page.get_by_role("status").filter(has_text="filtered, ")).to_contain_text("filtered, 0 of")
    page.keyboard.press("Escape")
    expect(provider).to_have_attribute("aria-pressed", "false")
    expect(page.get_by_role("status").filter(has_text="filtered, ")).to_have_count(0)


def test_the_name_of_a_row_or_a_column_is_a_filter(eve: Visitor, legend: RunSetRow) -> None:
    page = eve.go(f"/run-sets/{legend.id}")
    told = page.get_by_role("status").filter(has_text="filtered")
    grid = page.get_by_role("grid")
    box = grid.bounding_box()
    assert box is not None
    cell = page.get_by_role("gridcell").bounding_box()
    assert cell is not None
    grid.click(position={"x": cell["x"] - box["x"] + 4, "y": 20})
    expect(told).to_contain_text(f"filtered, 1 of {len(OutcomeClass)} cells")
    assert "task=" in page.url
    page.keyboard.press("Escape")
    expect(told).to_have_count(0)
    grid.click(position={"x": 10, "y": cell["y"] - box["y"] + 4})
    expect(told).to_contain_text(f"filtered, {len(OutcomeClass)} of {len(OutcomeClass)} cells")
    page.get_by_label("Profile", exact=True).select_option("")
    expect(told).to_have_count(0)
