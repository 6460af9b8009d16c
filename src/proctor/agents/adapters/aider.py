"""aider, from PyPI: edits files from the model's words, on litellm. It tells nothing that a program could read."""

from __future__ import annotations

from proctor.agents.adapters.litellm_env import LITELLM_MODELS, litellm_environment
from proctor.agents.adapters.recipes import HOME, INSTRUCTION, PROVIDER_WIRES, THINKING, Recipe, Start
from proctor.agents.layers.locks import LayerKind
from proctor.models.wires.interfaces import WireName

__all__ = ["AIDER"]

_PRICES: str = '{"none": {}}'
"""It would fetch a list of prices from GitHub where it finds none, or an empty one."""


def _start(wire: WireName) -> Start:
    model = LITELLM_MODELS[wire]
    return Start(
        words=(
            *("--yes-always", "--no-git", "--no-auto-commits", "--no-stream", "--no-pretty", "--no-fancy-input"),
            *("--no-check-update", "--no-show-release-notes", "--no-show-model-warnings", "--no-detect-urls"),
            *("--no-analytics", "--analytics-disable", "--no-gitignore", "--no-suggest-shell-commands"),
            *("--model", model, "--weak-model", model, "--editor-model", model, "--timeout", "600"),
            *("--input-history-file", f"{HOME}/aider/input", "--chat-history-file", f"{HOME}/aider/chat"),
            *("--message", INSTRUCTION),
        ),
        env={
            **litellm_environment(wire),
            # It starts no command of its own accord, so nothing of the task's sees this home.
            "HOME": f"{HOME}/aider",
        },
        files={f"{HOME}/aider/.aider/caches/model_prices_and_context_window.json": _PRICES},
    )


AIDER = Recipe(
    name="aider",
    summary="aider",
    kind=LayerKind.PYPI,
    package="aider-chat",
    program="aider.main:main",
    pythons=("3.10", "3.11", "3.12"),
    starts={wire: _start(wire) for wire in LITELLM_MODELS},
    wires=PROVIDER_WIRES,
    thinking=("--reasoning-effort", THINKING),
    reports="no steps; tokens and cost by the gateway",
    unproved=("the formats of edits that it chooses for models that it knows",),
)
