"""Agents that call models, as the how-to has a user try them: without a key and without a network."""

from __future__ import annotations

import re
import shutil

import pytest

from tests.acceptance.conftest import ROOT, Cli

pytestmark = pytest.mark.commands

HOW_TO = ROOT / "docs/how-to/use-models.md"


@pytest.fixture
def examples(cli: Cli) -> Cli:
    """The examples, with their providers' file named."""
    for name in ("models", "basics"):
        shutil.copytree(ROOT / "examples" / name, cli.folder / name)
    return cli


def named(cli: Cli) -> dict[str, str]:
    return {"PROCTOR_PROVIDERS_FILE": str(cli.folder / "models/providers.toml")}


def test_the_example_runs_as_it_is(examples: Cli) -> None:
    dry = examples("run", "models/models.toml", "--dry-run", "--task", "*proxy-config", **named(examples))
    assert "worst-case cost 1.00 USD" in dry.stdout, "its budget"
    ran = examples("run", "models/models.toml", "--task", "*proxy-config", code=3, **named(examples))
    assert "3 of 24 cells have a verdict" in ran.stderr + ran.stdout
    cells = {one["profile"]: one for one in examples.json("cells", "models")["cells"] if one["verdict"] is not None}
    verdicts = sorted(one["verdict"] for one in cells.values())
    assert verdicts == [False, True, True]
    calls = examples.json("ledger", "--run-set", "models", "--limit", "100")["calls"]
    by_second = [one for one in calls if one["profile"] == "second-choice"]
    assert {(one["model"], one["ended_as"]) for one in by_second} == {
        ("mock/rate-limited", "rate_limit"),
        ("mock/steady", "done"),
    }
    solved = next(one for one in cells.values() if one["verdict"])
    assert "I write it anew." in examples("attempt", "steps", solved["attempt"], "--follow").stdout


def test_providers_are_listed_with_the_keys_of_the_environment(examples: Cli) -> None:
    (examples.folder / "models/providers.toml").write_text(
        '[providers.vllm]\nbase_url = "http://127.0.0.1:8000"\nkeys = ["VLLM_KEY", "VLLM_KEY_2"]\nconcurrency = 16\n'
    )
    shown = examples("provider", "list", VLLM_KEY="sk-not-told", **named(examples)).stdout
    (line,) = [line for line in shown.splitlines() if "vllm" in line]
    assert "VLLM_KEY (set), VLLM_KEY_2 (not set)" in line
    assert line.split()[-1] == "16"
    assert "sk-not-told" not in shown
    checked = examples("doctor", VLLM_KEY="sk-not-told", **named(examples), code=0).stdout
    (line,) = [line for line in checked.splitlines() if " models: " in line]
    assert "keys set here for vllm" in line
    (examples.folder / "models/providers.toml").write_text('[providers.x]\nbase_url = "http://ada:hunter2@h"\n')
    refused = examples("provider", "list", code=2, **named(examples)).stderr
    assert "providers.x.base_url" in refused
    assert "hunter2" not in refused
    failing = examples("doctor", code=5, **named(examples)).stdout
    assert "FAIL models: " in failing


def test_what_the_how_to_shows_in_toml_is_taken(examples: Cli) -> None:
    run_set, providers = re.findall(r"```toml\n(.*?)```", HOW_TO.read_text(), re.DOTALL)
    examples.write("models/first.toml", run_set)
    examples.write("models/providers.toml", providers)
    keys = {"ANTHROPIC_API_KEY": "sk-ant"}
    dry = examples("run", "models/first.toml", "--dry-run", **keys, **named(examples))
    assert "worst-case cost 4.00 USD" in dry.stdout
    assert "secrets.names" in examples("run", "models/first.toml", code=2, **named(examples)).stderr
    own = run_set.replace("anthropic/claude-sonnet-4-5", "vllm/qwen3-coder")
    examples.write("models/own.toml", own)
    refused = examples("run", "models/own.toml", "--dry-run", code=2, **keys, **named(examples)).stderr
    assert "vllm needs a key" in refused
    examples.write("models/own.toml", own.replace('["ANTHROPIC', '["VLLM_KEY", "ANTHROPIC'))
    examples("run", "models/own.toml", "--dry-run", VLLM_KEY="sk-vllm", **keys, **named(examples))
