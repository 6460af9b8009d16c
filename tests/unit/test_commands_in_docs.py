"""What the documentation and the example workflow tell people to type is what the command line takes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.main import get_command

from proctor.cli.main import app

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "examples" / "github-workflow.yml", ROOT / "docs" / "how-to" / "gate-in-ci.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.name)
def test_every_option_exists(page: Path) -> None:
    text = page.read_text(encoding="utf-8").replace("\\\n", " ")
    typed = re.findall(r"^\s*(?:run: )?proctor (\w+)(.*)$", text, re.MULTILINE)
    assert len(typed) > 2
    for name, rest in typed:
        command = get_command(app).get_command(None, name)  # type: ignore[attr-defined,arg-type]
        assert command is not None, name
        known = {option for parameter in command.params for option in parameter.opts}
        assert set(re.findall(r"(--[a-z-]+)", rest.split("#")[0])) <= known, (name, rest)
