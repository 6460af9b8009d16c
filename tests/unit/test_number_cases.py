"""How numbers are written: the cases that the dashboard's own rules are held by too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from proctor.reports import formats

CASES: dict[str, list[list[Any]]] = json.loads((Path(__file__).parents[1] / "fixtures" / "numbers.json").read_text())


def cases(name: str) -> list[Any]:
    return [pytest.param(value, text, id=text) for value, text in CASES[name]]


@pytest.mark.parametrize(("value", "text"), cases("percent"))
def test_percent(value: float | None, text: str) -> None:
    assert formats.percent(value) == text


@pytest.mark.parametrize(("ends", "text"), cases("interval"))
def test_interval(ends: list[float], text: str) -> None:
    assert formats.interval(*ends) == text


@pytest.mark.parametrize(("said", "text"), cases("cost"))
def test_cost(said: list[Any], text: str) -> None:
    assert formats.cost(*said) == text


@pytest.mark.parametrize(("value", "text"), cases("points"))
def test_points(value: float | None, text: str) -> None:
    assert formats.points(value) == text


@pytest.mark.parametrize(("value", "text"), cases("p_value"))
def test_p_value(value: float | None, text: str) -> None:
    assert formats.p_value(value) == text


@pytest.mark.parametrize(("value", "text"), cases("tokens"))
def test_tokens(value: int | None, text: str) -> None:
    assert formats.tokens(value) == text


@pytest.mark.parametrize(("value", "text"), cases("duration"))
def test_duration(value: float | None, text: str) -> None:
    assert formats.duration(value) == text
