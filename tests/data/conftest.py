"""The command line, as the tests of users' journeys have it, and a tenant with something to judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from proctor.settings import Settings
from tests.acceptance.conftest import cli
from tests.data.desk import LEASE_SEC, Desk

__all__ = ["cli"]


@pytest.fixture
def desk(database: Any, tenant: UUID, objects: Any, tmp_path: Path) -> Desk:
    from proctor.app import _of_tenant

    home = tmp_path / "home"
    home.mkdir()
    settings = Settings(home=home, lease_sec=LEASE_SEC)
    return Desk(_of_tenant(settings, database, objects, tenant), tmp_path)


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten rows to a chunk, so that a small dataset has many."""
    monkeypatch.setattr("proctor.sdk.evaluations.chunk_rows", lambda _seconds: 10)
