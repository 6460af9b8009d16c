"""A user looks at the agents there are, and asks for one that there is not."""

from __future__ import annotations

import pytest

from tests.acceptance.conftest import Cli


def test_the_agents_there_are_are_told_with_what_each_needs(cli: Cli) -> None:
    agents = {one["name"]: one for one in cli.json("agents")["agents"]}
    assert {"oracle", "claude-code", "codex", "gemini-cli", "opencode", "mini-swe-agent", "aider"} <= set(agents)
    assert agents["oracle"]["prepared"] is None
    codex = agents["codex"]
    assert (codex["installed_from"], codex["keys"], codex["prepared"]) == (
        "npm: @openai/codex",
        ["OPENAI_API_KEY"],
        False,
    )
    assert agents["aider"]["installed_from"] == "PyPI: aider-chat"
    shown = cli("agents").stdout
    assert "not yet" in shown
    assert codex["version"] in shown


def test_an_agent_that_there_is_not_is_told_with_those_there_are(cli: Cli) -> None:
    refused = cli("agents", "prepare", "copilot", code=2)
    assert "mini-swe-agent" in refused.stderr


@pytest.mark.parametrize("agent", ["codex", "loop"])
def test_an_agent_without_a_model_is_refused_before_anything_runs(cli: Cli, agent: str) -> None:
    cli("task", "new", "tasks/mine")
    cli.write("own.toml", f'name = "x"\nsuite = "tasks"\n[[profiles]]\nname = "p"\nagent = "{agent}"\n')
    refused = cli("run", "own.toml", code=2)
    assert f"profiles[0].model: {agent} needs a model" in refused.stderr
