"""The OpenAPI document that the dashboard's types are made of is the API's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from fastapi import FastAPI

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "web" / "openapi.json"


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(ROOT / "scripts"))
    import write_openapi

    return write_openapi.document()


def test_it_is_made_of_the_routes_alone(written: str, app: FastAPI) -> None:
    assert json.loads(written) == json.loads(json.dumps(app.openapi()))


@pytest.mark.skipif(not FILE.exists(), reason="make web-api writes it, for whoever works on the dashboard")
def test_the_file_is_up_to_date(written: str) -> None:
    assert FILE.read_text(encoding="utf-8") == written, "make web-api"
