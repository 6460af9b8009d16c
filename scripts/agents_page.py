"""Writes docs/reference/agents.md from what is declared of each: ``.venv/bin/python scripts/agents_page.py``."""

from __future__ import annotations

from pathlib import Path

from proctor.agents.adapters.catalogue import RECIPES
from proctor.agents.adapters.recipes import Recipe
from proctor.agents.adapters.versions import default_version
from proctor.agents.layers.locks import LayerKind

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "agents.md"

HEAD = """# Agents

`proctor agents` lists them, and says which are on this machine. A profile names one, its model and, if it likes, its
version:

```toml
[[profiles]]
name = "claude"
agent = "claude-code"
agent_version = "2.1.332"   # left out: the one below; "latest": what the registry calls so when the run set is planned
model = "anthropic/claude-sonnet-4-5"
```

Part of Proctor: `oracle` (the reference solution), `noop` and `scripted`, without a model; `command`, any program of
yours, with or without; and `loop`, a model of any provider with five tools. On a server the list is the server's.

## Those that others made

| agent | version | installed from | wires | reports |
|---|---|---|---|---|
"""
MIDDLE = """
An agent with several wires uses Anthropic's for `anthropic/...`, Google's for `gemini/...` and `google/...`, and
OpenAI's chat for every other provider. It gets the model's name without the provider.

`thinking` is passed on to {thinking}; for the others, and `sampling` for all of them, a profile is refused. Claude Code
works in 512 MB of memory; OpenCode needs 1 GB.

**Keys.** The provider's key is the gateway's. In the sandbox there is a token that is the attempt's own and dies with
it, and a port on the sandbox's own loopback that leads to the gateway.

**Layers.** An agent's programs are a read-only tree that is prepared once on each machine: when its first attempt
starts, or with `proctor agents prepare NAME[@VERSION]`. It brings its runtime: Node from its wheel, or a copy of the
worker's Python with the libraries it needs. The time is a phase `agent_setup` of its own, before the image's, and never
the agent's. The registries are those that pip and npm of the machine are set up with. Where one can't be reached the
attempt ends as `agent_setup_error` and is tried again.

**Versions.** The versions above come with their locks, so that nothing is resolved and their digest is part of the
release. Of any other version the lock is made when a run set is planned, and kept below the data folder
(`cache/layers/locks`). The digest of the lock, of the runtime and of the command line is part of the configuration: a
worker that would run something else under the same version refuses.

**What they leave.** Their own files are below `/var/tmp/proctor-agent`, apart from the task's folder and from the home
that the task's commands see. Updates, telemetry and other calls home are switched off.

**Python.** {pythons} A worker uses its own Python where it is one of these, else one on its path. `openhands` needs
Python 3.12 and is not part of this release; ask for it and you are told so. Harbor's is `harbor:openhands`.

**Images.** Claude Code and OpenCode are programs that need glibc: an image on musl, such as Alpine's, can't run them,
and the attempt ends as `agent_setup_error` before the agent starts. Codex is static; the others bring their own glibc.

## Harbor's agents

With Proctor on Python 3.12 or later and its extra (`pip install -e '.[harbor]'`), `agent = "harbor:NAME"` runs any of
Harbor's agents, such as `harbor:terminus-2`, in our sandboxes. Harbor itself needs Python 3.12, hence the extra's
marker. Its models are behind the gateway, its trajectory and what it says it used become ours, and its exceptions map
to our classes: a full context and a time limit are the agent's limits, a refusal is a refusal, what fails while it is
set up is `agent_setup_error`, and everything else ends the agent as a crash. What an exception says of a provider is
no evidence; the gateway's own log is.

Agents that Harbor installs in the sandbox are fetched there by Harbor's own scripts, each time, and need a public
network. Those that it runs beside the sandbox run in the worker's own process: use them as you would a library.

## What was shown, and what not

Each agent is installed from its registry and run in a sandbox without a network against our gateway, with a scripted
provider behind it, on each of its wires (`make test-agents`): it calls its tool, writes the solution and ends; its
steps come out with the tool's answer. aider edits files from the model's words and calls no tool. A provider that
refuses every call (401, 429) ends each of them or leaves it to its time limit.

Of Harbor's agents `harbor:terminus-2` and `harbor:nop` were shown so, with Harbor 0.26.0; not those that it installs in
a sandbox, which the tests have no network for.

Without keys of providers these could not be shown:

| agent | not shown |
|---|---|
"""


def page() -> str:
    """The page's text."""
    rows = "".join(_row(recipe) for recipe in RECIPES.values())
    unproved = "".join(f"| `{one.name}` | {'; '.join(one.unproved)} |\n" for one in RECIPES.values())
    pythons = " ".join(f"`{one.name}` runs on {', '.join(one.pythons)}." for one in RECIPES.values() if one.pythons)
    thinking = ", ".join(f"`{one.name}`" for one in RECIPES.values() if one.thinking)
    return HEAD + rows + MIDDLE.format(pythons=pythons, thinking=thinking) + unproved


def _row(recipe: Recipe) -> str:
    source = "npm" if recipe.kind is LayerKind.NPM else "PyPI"
    wires = ", ".join(wire.value for wire in recipe.starts)
    version = default_version(recipe)
    return f"| `{recipe.name}` | {version} | {source}: `{recipe.package}` | {wires} | {recipe.reports} |\n"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
