"""The dashboard as it is built, in a real browser, before a real server with real runs.

`make web` builds it. Chromium is Debian's; Playwright drives it and brings no browser of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from httpx2 import Client
from playwright.sync_api import Browser, BrowserContext, Page, Playwright, expect, sync_playwright

ROOT = Path(__file__).parents[2]
BUILT = ROOT / "src" / "proctor" / "dashboard" / "index.html"
SCREENSHOTS = ROOT / "report" / "dashboard"
RUNS_SEC = 240
ADDITIONS_SEC = 0.6
"""Ten million additions on the reference machine."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder are of the dashboard: they have a server and a browser of their own."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.web)
            item.add_marker(pytest.mark.timeout(RUNS_SEC + 60))


def slowness() -> float:
    """How many times longer this machine takes, now, than the reference machine; 1 at least."""
    began = time.perf_counter()
    at = 0
    while at < 10_000_000:
        at += 1
    return max(1.0, (time.perf_counter() - began) / ADDITIONS_SEC)


@dataclass(frozen=True)
class Site:
    """A server with its first tenant."""

    url: str
    key: str
    folder: Path

    def api(self, key: str | None = None) -> Client:
        """A client of its API, as the owner without a key."""
        return Client(
            base_url=f"{self.url}/api/v1/", headers={"Authorization": f"Bearer {key or self.key}"}, timeout=60
        )

    def command(self, *words: str) -> str:
        """What the command line says, against this server."""
        command = [sys.executable, "-m", "proctor", *words]
        done = subprocess.run(command, env=self._environment(), capture_output=True, text=True, timeout=RUNS_SEC)
        assert done.returncode in (0, 3), done.stderr  # 3: gaps remain
        return done.stdout

    def _environment(self) -> dict[str, str]:
        own = {"PROCTOR_SERVER": self.url, "PROCTOR_API_KEY": self.key, "PROCTOR_HOME": str(self.folder / "cli")}
        return {**os.environ, **own}

    @contextmanager
    def sleeping(self, name: str, seconds: int, *words: str, trials: int = 1) -> Iterator[None]:
        """A fresh run set whose agent only sleeps at each basic task: begun, and not waited for."""
        basics = ROOT / "examples" / "basics"
        said = f'commands = ["sleep {seconds}"]\n'
        tasks = sorted(task.parent.name for task in basics.glob("*/task.toml"))
        (self.folder / f"{name}.script").write_text("".join(f'[tasks."proctor/{task}"]\n{said}' for task in tasks))
        file = self.folder / f"{name}.toml"
        file.write_text(
            f'name = "{name}"\nsuite = "{basics}"\ntrials = {trials}\n'
            f'[[profiles]]\nname = "sleeper"\nagent = "scripted"\nscript = "{name}.script"\n'
        )
        command = [sys.executable, "-m", "proctor", "run", str(file), "--fresh", *words]
        with subprocess.Popen(command, env=self._environment(), stdout=subprocess.DEVNULL) as runs:
            yield
            runs.terminate()

    def run(self, name: str, profiles: str) -> str:
        """Run the eight basic tasks to their end; the run set's id."""
        shutil.copytree(ROOT / "examples" / "basics.scripts", self.folder / "basics.scripts", dirs_exist_ok=True)
        file = self.folder / f"{name}.toml"
        file.write_text(f'name = "{name}"\nsuite = "{ROOT / "examples" / "basics"}"\n{profiles}')
        self.command("run", str(file))
        return self.run_set(name)

    def run_set(self, name: str) -> str:
        """A run set's id."""
        with self.api() as api:
            return str(api.get("run-sets", params={"name": name}).json()["items"][0]["id"])


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    assert BUILT.is_file(), "The dashboard is not built: make web"
    folder = tmp_path_factory.mktemp("site")
    folder.chmod(0o755)
    environment = {**os.environ, "PROCTOR_HOME": str(folder / "home"), "PROCTOR_LEASE_SEC": "4"}
    command = [sys.executable, "-m", "proctor", "up", "--port", "0", "--json"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=log, text=True)
    assert process.stdout is not None
    try:
        told = json.loads("".join(iter(process.stdout.readline, "}\n")) + "}")
        with Client(base_url=told["url"], timeout=60) as http:
            said = {"token": told["setup_link"].split("#")[1], "tenant": "acme", "owner": "ada@example.org"}
            founded = http.post("/api/v1/setup", json=said).json()
        yield Site(url=told["url"], key=founded["issued"]["secret"], folder=folder)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
        process.stdout.close()


PROFILES = """
[[profiles]]
name = "good"
agent = "oracle"

[[profiles]]
name = "poor"
agent = "scripted"
script = "basics.scripts/poor.toml"
"""
FAULTY = """
[[profiles]]
name = "crash"
agent = "scripted"
script = "basics.scripts/poor.toml"

[[faults]]
kind = "verifier_crash"
profiles = ["crash"]
share = 0.5
seed = 7
"""


@pytest.fixture(scope="session")
def nightly(site: Site) -> str:
    """A run set of two profiles, complete."""
    return site.run("nightly", PROFILES)


@pytest.fixture(scope="session")
def gaps(site: Site) -> str:
    """A run set with cells that have no verdict, since their verifier crashed."""
    return site.run("gaps", FAULTY)


@pytest.fixture(scope="session")
def job(site: Site) -> str:
    """A job over a dataset of two versions, with outputs that are missing."""
    examples = [
        {
            "id": f"r{n}",
            "input": f"Order {n}: what do we owe?",
            "expected": f"refund {n % 7}",
            "tags": ["gift" if n % 2 else "late"],
        }
        for n in range(60)
    ]
    outputs = [{"id": f"r{n}", "output": f"refund {(n + (n % 3 == 0)) % 7}"} for n in range(60) if n % 11]
    first, second, answers = (site.folder / name for name in ("first.jsonl", "second.jsonl", "answers.jsonl"))
    first.write_text("".join(json.dumps(one) + "\n" for one in examples[:50]))
    second.write_text("".join(json.dumps(one) + "\n" for one in examples))
    answers.write_text("".join(json.dumps(one) + "\n" for one in outputs))
    site.command("dataset", "import", str(first), "--name", "refunds")
    site.command("dataset", "import", str(second), "--name", "refunds")
    site.command("evaluate", "refunds", "--outputs", str(answers), "-e", "exact-match", "-e", "token-f1")
    with site.api() as api:
        return str(api.get("jobs").json()["items"][0]["id"])


@pytest.fixture(scope="session")
def flawed(site: Site) -> str:
    """A dataset of 200 examples with every flaw that is counted, split in two; its name."""
    examples: list[dict[str, Any]] = [
        {
            "id": f"f{n}",
            "input": f"Order {n}: what do we owe?",
            "expected": "A refund of the whole price" if n % 3 else str(n),
            "difficulty": "hard" if n % 4 == 0 else "easy",
            "tags": ["gift"] if n % 2 else [],
            "segment": ("gift", "late", "damaged in transit")[n % 3],
            "ticket": f"T-{n}",
        }
        for n in range(180)
    ]
    examples += [
        {"id": f"again{n}", "input": f"Order {n // 2}: what do we owe?", "expected": "nothing"} for n in range(12)
    ]
    examples += [{"id": f"blank{n}", "input": " ", "expected": {"refund": n}} for n in range(3)]
    examples += [{"id": f"open{n}", "input": f"Who is owed {n}?"} for n in range(5)]
    file = site.folder / "flawed.jsonl"
    file.write_text("".join(json.dumps(one) + "\n" for one in examples))
    site.command("dataset", "import", str(file), "--name", "flawed")
    site.command("dataset", "split", "flawed", "train=0.8", "test=0.2")
    return "flawed"


@pytest.fixture(scope="session")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as made:
        yield made


@pytest.fixture(scope="session")
def browser(playwright: Playwright) -> Iterator[Browser]:
    path = shutil.which("chromium")
    assert path is not None, "Chromium is missing: apt-get install chromium"
    made = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
    yield made
    made.close()


class Visitor:
    """Somebody with a browser; what goes wrong on a page fails the test that sees it."""

    def __init__(self, site: Site, context: BrowserContext) -> None:
        self.site, self.context = site, context
        self.page: Page = context.new_page()
        self.problems: list[str] = []
        self.asked: list[str] = []
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", lambda said: self.problems.append(said.text) if said.type == "error" else None)
        self.page.on("request", lambda request: self.asked.append(request.url))

    def sign_in(self, key: str | None = None) -> Visitor:
        """As the sign-in page does it."""
        answer = self.context.request.post(f"{self.site.url}/api/v1/session", data={"key": key or self.site.key})
        assert answer.status == 201, answer.text()
        return self

    def go(self, path: str) -> Page:
        """A page, when all it asked for has come."""
        self.page.goto(f"{self.site.url}{path}")
        self.page.wait_for_selector("h1")
        expect(self.page.locator("[aria-label^=Loading]")).to_have_count(0, timeout=30_000)
        return self.page

    def serious(self, of: str = "document") -> list[str]:
        """What axe finds on the page, or a part of it, that is serious or critical: which rule, and where first."""
        self.page.evaluate((ROOT / "web" / "node_modules" / "axe-core" / "axe.min.js").read_text())
        found = self.page.evaluate(f"axe.run({of}, {{ resultTypes: ['violations'] }})")["violations"]
        return [
            f"{one['id']}: {one['nodes'][0]['html'][:200]}" for one in found if one["impact"] in ("serious", "critical")
        ]

    def measure(self, script: str) -> Any:
        """What a script says on the page."""
        return self.page.evaluate(script)


@pytest.fixture
def visitor(site: Site, browser: Browser) -> Iterator[Visitor]:
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        made = Visitor(site, context)
        yield made
        strangers = [url for url in made.asked if not url.startswith((site.url, "data:", "blob:"))]
        assert not strangers, "a page asked another server"
        assert not made.problems


@pytest.fixture
def ada(visitor: Visitor) -> Visitor:
    """The owner, signed in."""
    return visitor.sign_in()
