"""Layers: what they are made from, that each is made once and whole, and the bridge in them."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

import pytest

from proctor.agents.adapters.catalogue import RECIPES, refuse_unheard
from proctor.agents.adapters.versions import default_version, layers_of
from proctor.agents.catalogue import build_agent
from proctor.agents.errors import ProfileInvalid
from proctor.agents.layers import bridge
from proctor.agents.layers import store as stores
from proctor.agents.layers.locks import Layer, LayerKind
from proctor.agents.layers.node import node_layer
from proctor.agents.layers.npm import resolve_npm
from proctor.agents.layers.pypi import requirement_lines
from proctor.agents.layers.python import find_interpreter, python_layer
from proctor.agents.layers.registries import LayerFailed, Registries
from proctor.agents.layers.store import LayerStore
from proctor.settings import clean_environment, registry_environment

NOWHERE = Registries(
    {
        **clean_environment(),
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_INDEX_URL": "http://127.0.0.1:1/simple",
        "PIP_RETRIES": "0",
        "PIP_NO_CACHE_DIR": "1",
        "HOME": "/nonexistent",
    }
)


@pytest.mark.parametrize("name", RECIPES)
def test_the_default_version_needs_no_registry(name: str):
    agent = build_agent(name, {})
    assert agent.identity.version == default_version(RECIPES[name])
    assert re.fullmatch(r"[0-9a-f]{64}", agent.identity.layer_digest or "")
    assert [layer.name for layer in agent.layers] == ["python" if RECIPES[name].pythons else "node", name]
    assert build_agent(name, {"agent_version": agent.identity.version}).identity == agent.identity


@pytest.mark.parametrize("name", RECIPES)
def test_every_file_of_a_shipped_lock_has_a_hash(name: str):
    text = files("proctor.agents.adapters").joinpath("locks", f"{name}.json").read_text(encoding="utf-8")
    assert "http" not in text.replace("httpx", "").replace("httpcore", "").replace("aiohttp", "").replace("http2", "")
    for lock in json.loads(text)["locks"].values():
        for path, entry in lock["packages"].items():
            pinned = entry[1:] if isinstance(entry, list) else [entry.get("integrity", "")]
            assert all(one.startswith(("sha256:", "sha512-")) for one in pinned), path


def test_another_version_is_not_known_without_a_store():
    with pytest.raises(ProfileInvalid) as refused:
        build_agent("codex", {"agent_version": "0.1.0"})
    assert refused.value.where == "agent_version"
    with pytest.raises(ProfileInvalid):
        build_agent("noop", {"agent_version": "1"})


def test_no_python_for_an_agent_is_the_users_to_know():
    with pytest.raises(ProfileInvalid, match=r"aider runs on Python 2\.0"):
        find_interpreter(["2.0"], "aider")


def test_a_layer_is_what_it_is_made_from():
    one = Layer(name="a", kind=LayerKind.NPM, version="1", lock={"packages": {}})
    assert one.digest == replace(one, version="2", needs=("x",)).digest
    assert len({one.digest, replace(one, name="b").digest, replace(one, lock={"packages": {"x": {}}}).digest}) == 3


def test_a_layer_is_made_once_and_is_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    made = []

    def install(self: LayerStore, layer: Layer, draft: Path, _: object) -> None:
        made.append(layer.name)
        (draft / "bin").mkdir(mode=0o700)
        (draft / "bin/tool").write_text("x")
        (draft / "bin/tool").chmod(0o700)

    monkeypatch.setattr(LayerStore, "_install", install)
    layer = Layer(name="tool", kind=LayerKind.NPM, version="1", lock={}, needs=("bin/tool",))
    store = LayerStore(folder=tmp_path / "layers", registries=NOWHERE)
    assert store.path(layer) is None
    (tmp_path / f"layers/{layer.digest}.partial/half").mkdir(parents=True)
    told: list[str] = []
    with ThreadPoolExecutor() as pool:
        trees = list(pool.map(lambda _: store.prepare([layer], told.append), range(4)))
    assert (made, told) == (["tool"], ["preparing tool 1"])
    assert {place for tree in trees for place in tree} == {"/proctor-layers/tool"}
    tree = store.path(layer)
    assert tree == trees[0]["/proctor-layers/tool"]
    assert (tree.stat().st_mode & 0o777, (tree / "bin/tool").stat().st_mode & 0o777) == (0o755, 0o755)
    assert not (tree / "half").exists()
    lacking = replace(layer, lock={"more": 1}, needs=("bin/other",))
    with pytest.raises(LayerFailed, match="came without bin/other"):
        store.prepare([lacking])
    assert store.path(lacking) is None


def test_a_registry_that_is_not_there_is_told_with_what_to_do(tmp_path: Path):
    store = LayerStore(folder=tmp_path, registries=NOWHERE)
    with pytest.raises(LayerFailed, match="pip ended with 1") as failed:
        store.prepare([node_layer()])
    assert "proctor agents prepare" in failed.value.remedy
    assert failed.value.code == "agent-layer"
    with pytest.raises(LayerFailed):
        store.resolve(LayerKind.PYPI, "mini-swe-agent", "latest", sys.executable)


def test_a_lock_that_was_resolved_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    asked = []

    def resolve(package: str, version: str, *_: object) -> tuple[str, dict[str, object]]:
        asked.append(version)
        return "9.9.9", {"package": package, "packages": {"node_modules/x": {"version": "9.9.9"}}}

    monkeypatch.setattr(stores, "resolve_npm", resolve)
    monkeypatch.setattr(LayerStore, "_prepared", lambda *_: tmp_path)
    store = LayerStore(folder=tmp_path, registries=NOWHERE)
    first, layers = layers_of(RECIPES["codex"], "latest", store)
    again, same = layers_of(RECIPES["codex"], "9.9.9", store)
    assert (first, again, asked) == ("9.9.9", "9.9.9", ["latest"])
    assert [layer.digest for layer in layers] == [layer.digest for layer in same]


def test_a_lock_of_npm_s_keeps_what_is_for_us(tmp_path: Path):
    lock = {
        "": {"dependencies": {"a": "1"}},
        "node_modules/a": {
            "version": "1",
            "integrity": "sha512-x",
            "license": "MIT",
            "resolved": "somewhere",
            "optionalDependencies": {"a-linux": "1", "a-darwin": "1", "a-musl": "1"},
        },
        "node_modules/a-linux": {"version": "1", "os": ["linux"], "libc": ["glibc"], "optional": True},
        "node_modules/a-darwin": {"version": "1", "os": ["darwin"], "optional": True},
        "node_modules/a-musl": {"version": "1", "os": ["linux"], "libc": ["musl"], "optional": True},
    }

    class Npm(Registries):
        def npm(self, node: object, cli: Path, folder: Path, *words: str) -> str:
            (folder / "package-lock.json").write_text(json.dumps({"packages": lock}))
            return ""

    version, found = resolve_npm("a", "latest", tmp_path, Npm({}))
    assert version == "1"
    assert found["packages"] == {
        "node_modules/a": {"version": "1", "integrity": "sha512-x", "optionalDependencies": {"a-linux": "1"}},
        "node_modules/a-linux": {"version": "1", "os": ["linux"], "libc": ["glibc"], "optional": True},
    }


def test_requirements_have_every_hash():
    assert requirement_lines({"a": ["1", "sha256:x", "sha256:y"]}) == "a==1 --hash=sha256:x --hash=sha256:y\n"


def test_clients_see_their_own_variables_alone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PIP_INDEX_URL", "x")
    monkeypatch.setenv("npm_config_registry", "y")
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("https_proxy", "z")
    seen = registry_environment()
    assert {"PIP_INDEX_URL", "npm_config_registry", "https_proxy"} <= set(seen)
    assert "OPENAI_API_KEY" not in seen


# --- Python's runtime and its bridge ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def runtime() -> Path:
    """A copy of this very Python."""
    with tempfile.TemporaryDirectory(prefix="layers-") as name:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        store = LayerStore(folder=Path(name), registries=NOWHERE)
        yield next(iter(store.prepare([python_layer(find_interpreter([version], "test"))]).values()))


def command(runtime: Path, *words: str) -> list[str]:
    """That Python, started as in a sandbox."""
    return [f"{runtime}/lib/loader", "--library-path", f"{runtime}/lib", f"{runtime}/bin/python", "-I", *words]


def test_a_copied_python_has_what_programs_need(runtime: Path):
    program = "import ssl, sqlite3, ctypes, asyncio, lzma, hashlib, zoneinfo, sys; print(sys.prefix)"
    done = subprocess.run(command(runtime, "-c", program), env={}, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(runtime)


ASKS = """
import os, socket, sys
port = int(os.environ["BASE"].rpartition(":")[2])
assert sys.argv[1] == f"--base={port}", sys.argv
s = socket.create_connection(("127.0.0.1", port)); s.sendall(b"x" * 100_000); s.shutdown(socket.SHUT_WR)
got = b""
while piece := s.recv(65536): got += piece
print(len(got)); sys.exit(7)
"""


async def test_the_bridge_leads_to_the_socket_and_ends_as_its_agent_does(runtime: Path, tmp_path: Path):
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.read())
        await writer.drain()
        writer.close()

    socket = str(tmp_path / "s")
    async with await asyncio.start_unix_server(echo, socket):
        words = command(runtime, bridge.__file__, socket, sys.executable, "-c", ASKS, "--base=@PROCTOR_PORT@")
        child = await asyncio.create_subprocess_exec(
            *words, env={"BASE": "http://127.0.0.1:@PROCTOR_PORT@"}, stdout=subprocess.PIPE
        )
        out, _ = await child.communicate()
    assert (out, child.returncode) == (b"100000\n", 7)


async def test_the_bridge_tells_a_signal_and_closes_on_a_gateway_that_is_gone(runtime: Path, tmp_path: Path):
    program = (
        "import os, socket; s = socket.create_connection(('127.0.0.1', int(os.environ['P']))); assert s.recv(1) == b'';"
        "os.kill(os.getpid(), 9)"
    )
    words = command(runtime, bridge.__file__, str(tmp_path / "none"), sys.executable, "-c", program)
    child = await asyncio.create_subprocess_exec(*words, env={"P": "@PROCTOR_PORT@"})
    assert await child.wait() == 128 + 9


def test_what_an_agent_could_not_be_told_is_refused():
    refuse_unheard("codex", thinking="high", sampling={})
    refuse_unheard("noop", thinking="high", sampling={"temperature": 0})
    for name, words in (
        ("gemini-cli", {"thinking": "high", "sampling": {}}),
        ("codex", {"thinking": None, "sampling": {"t": 1}}),
    ):
        with pytest.raises(ProfileInvalid):
            refuse_unheard(name, **words)
