"""What the built-in agent is held to: it is small, and knows no other agent."""

from __future__ import annotations

import ast
from pathlib import Path

import proctor.agents.loop

MOST_LINES = 300
FOLDER = Path(proctor.agents.loop.__file__).parent
NOT_AGENTS = frozenset({"interfaces", "shell", "loop", "trajectory", "turns", "layers"})


def test_it_has_few_lines() -> None:
    assert sum(len(path.read_text().splitlines()) for path in FOLDER.rglob("*.py")) <= MOST_LINES


def test_it_imports_no_other_agent() -> None:
    for path in FOLDER.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names += [one.name for one in node.names] if isinstance(node, ast.Import) else []
            for name in names:
                parts = name.split(".")
                assert parts[:2] != ["proctor", "agents"] or parts[2] in NOT_AGENTS, name
