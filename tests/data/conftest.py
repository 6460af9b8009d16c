"""What tests of datasets, evaluators and jobs share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import psutil
import pytest

from proctor.settings import Settings
from tests.acceptance.conftest import cli
from tests.data.desk import LEASE_SEC, Desk
from tests.data.provider import Provider

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
    monkeypatch.setattr("proctor.sdk.evaluation_requests.chunk_rows", lambda _seconds: 10)


@pytest.fixture
def no_process_is_left() -> Iterator[None]:
    yield
    assert [one for one in psutil.Process().children(recursive=True) if "scoring_process" in _words(one)] == []


def _words(process: psutil.Process) -> str:
    """A process's command line; empty when it ended, also while one looked."""
    try:
        return " ".join(process.cmdline())
    except psutil.NoSuchProcess:
        return ""


@pytest.fixture
def provider(desk: Desk) -> Iterator[Provider]:
    found = Provider()
    (desk.platform.settings.home / "providers.toml").write_text(
        f'[providers.near]\nbase_url = "http://127.0.0.1:{found.port}"\nkeys = []\n'
        'wires = ["openai-chat", "openai-embeddings"]\n'
        '[models."near/m"]\nprice = { input = "1 USD", output = "5 USD", max_output = 100 }\n'
        '[models."near/vectors"]\nprice = { input = "1 USD", output = "0 USD" }\n'
    )
    yield found
    found.close()
