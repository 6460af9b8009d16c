"""The reference pages say what the code does."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

from proctor.engine.spec import RunSetSpec
from proctor.models.mock.answers import BUILT_IN
from proctor.models.mock.script import Script, parse_script
from proctor.settings import Settings

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"


@pytest.mark.parametrize(
    ("page", "script"),
    [("agents", "agents_page"), ("errors", "errors_page"), ("example-tasks", "examples_page")],
)
def test_a_page_is_what_its_script_writes(page: str, script: str) -> None:
    spec = importlib.util.spec_from_file_location(script, ROOT / "scripts" / f"{script}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert (REFERENCE / f"{page}.md").read_text(encoding="utf-8") == module.page()


def test_the_readme_counts_the_example_tasks() -> None:
    count = len(list((ROOT / "examples/workshop").glob("*/task.toml")))
    assert f"certified suite of {count}," in (ROOT / "README.md").read_text(encoding="utf-8").replace("\n", " ")


def test_every_setting_is_on_its_page() -> None:
    page = (REFERENCE / "settings.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"`PROCTOR_(\w+)`", page))
    assert documented == {name.upper() for name in Settings.model_fields}


def test_every_key_of_the_run_set_file_is_on_its_page() -> None:
    page = (REFERENCE / "run-set-file.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `([\w.\[\]]+)`", page, re.MULTILINE))
    assert documented == set(_keys(RunSetSpec.model_json_schema()))


def _keys(schema: dict) -> list[str]:  # type: ignore[type-arg]
    found = []
    for name, field in schema["properties"].items():
        target = field.get("$ref") or field.get("items", {}).get("$ref")
        if target is None:
            found.append(name)
            continue
        section = schema["$defs"][target.rsplit("/", 1)[-1]]
        found.extend(f"{name}.{key}" for key in section["properties"])
    return found


def test_every_key_of_the_mock_script_is_on_its_page() -> None:
    page = (REFERENCE / "mock.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(rules[\w.]+)`", page, re.MULTILINE))
    schema = Script.model_json_schema()
    assert documented == set(_deep_keys(schema, schema["$defs"]))
    models = set(re.findall(r"^\| `mock/([\w-]+)`", page, re.MULTILINE))
    assert models == {"echo", *BUILT_IN}


def test_the_example_of_the_mock_script_is_one() -> None:
    page = (REFERENCE / "mock.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(parse_script(example, "mock.md").rules[0].replies) == 3


def _deep_keys(schema: dict, definitions: dict) -> list[str]:  # type: ignore[type-arg]
    found = []
    for name, field in schema["properties"].items():
        shapes = [field, field.get("items", {}), *field.get("anyOf", [])]
        target = next((shape["$ref"] for shape in shapes if "$ref" in shape), None)
        found.append(name)
        if target is not None:
            inner = definitions[target.rsplit("/", 1)[-1]]
            found.extend(f"{name}.{key}" for key in _deep_keys(inner, definitions))
    return [name for name in found if name != "rules"]


def test_links_of_the_documentation_lead_somewhere() -> None:
    for page in [ROOT / "README.md", *ROOT.glob("docs/**/*.md")]:
        for link in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8")):
            if link.startswith("https:"):
                continue
            assert (page.parent / link).exists(), f"{page}: {link}"
