"""Harbor's agents through the bridge, on a Python 3.12 of this machine in an environment of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proctor.agents.catalogue import build_agent
from proctor.agents.errors import ProfileInvalid

pytestmark = pytest.mark.timeout(900)

ROOT = Path(__file__).parents[2]
SAYS = {"analysis": "Nothing yet.", "plan": "Write it.", "task_complete": False}
WRITES = json.dumps({**SAYS, "commands": [{"keystrokes": "echo hello > /app/solution.txt\n", "duration": 1.0}]})
DONE = json.dumps({**SAYS, "commands": [], "task_complete": True})
SCRIPT = f"[[rules]]\nreplies = [{', '.join(f'{{ text = {json.dumps(one)} }}' for one in (WRITES, DONE, DONE))}]\n"


def python312() -> str | None:
    """A Python 3.12 of this machine, as of pyenv."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    found = [str(path) for path in sorted(root.glob("versions/3.12.*/bin/python3.12"))]
    return found[-1] if found else shutil.which("python3.12", path="/usr/bin:/usr/local/bin")


@pytest.fixture(scope="session")
def python(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """One that has Proctor and Harbor; ``PROCTOR_TEST_HARBOR`` names one that stays."""
    kept = os.environ.get("PROCTOR_TEST_HARBOR")
    if kept:
        yield kept
        return
    base = python312()
    if base is None:
        pytest.skip("there is no Python 3.12 on this machine")
    folder = tmp_path_factory.mktemp("harbor")
    subprocess.run([base, "-m", "venv", str(folder)], check=True)
    wanted = ["--quiet", "--editable", f"{ROOT}[models,harbor]", "pytest", "pytest-asyncio", "hypothesis"]
    subprocess.run([f"{folder}/bin/pip", "install", *wanted], check=True)
    yield f"{folder}/bin/python"


def ran(python: str, name: str, store: Any) -> dict[str, Any]:
    """What an agent left."""
    words = [python, str(ROOT / "tests/agents/harbor_run.py"), name, "openai/gpt-5", SCRIPT, str(store.folder)]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    return dict(json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.skipif(shutil.which("tmux", path="/usr/bin:/bin") is None, reason="terminus-2 needs tmux in the sandbox")
def test_terminus_2_solves_a_task_from_here(python, store):
    left = ran(python, "harbor:terminus-2", store)
    assert (left["solution"], left["exit"], left["limit"]) == ("hello\n", 0, None)
    assert left["paths"] == ["/v1/chat/completions"]
    assert left["usage"] > 0
    assert not left["token"]
    first = left["steps"][0]
    assert "solution.txt" in json.dumps(first["tool_calls"])
    assert first["observation"]["results"]


def test_an_agent_that_does_nothing_ends_well(python, store):
    left = ran(python, "harbor:nop", store)
    assert (left["exit"], left["paths"], left["solution"]) == (0, [], None)


def test_without_harbor_it_is_told_what_is_needed():
    with pytest.raises(ProfileInvalid, match=r"Python 3\.12"):
        build_agent("harbor:terminus-2", {})
