"""The judges as fixtures; a judge whose Python is not on this machine is skipped, and says so."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.foreign.environments import (
    CHDB,
    COMPOSE,
    HARBOR,
    HUGGING_FACE,
    JCS,
    JSONSCHEMA,
    JUNITPARSER,
    LITELLM,
    MODEL_CLIENTS,
    STATSMODELS,
    Foreign,
    NotMade,
    PythonMissing,
)

JUDGES = Path(__file__).parent / "judges"
COLD_SEC: int = 360
"""A test that comes first may have to install its judge."""

Ask = Callable[[Foreign, str, object], Any]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(JUDGES.parent):
            item.add_marker(pytest.mark.timeout(COLD_SEC))


@pytest.fixture(scope="session")
def made() -> None:
    """Most judges installed, side by side: one after the other would take twice as long on an empty cache.

    Those of exports are left to the test that first asks them: all at once take longer than a test may.
    """

    def make(foreign: Foreign) -> None:
        with suppress(NotMade):  # the test that asks says so
            foreign.interpreter()

    judges = (CHDB, COMPOSE, HARBOR, HUGGING_FACE, STATSMODELS, JSONSCHEMA, JCS, JUNITPARSER, LITELLM, MODEL_CLIENTS)
    with ThreadPoolExecutor() as pool:
        list(pool.map(make, judges))


@pytest.fixture(scope="session")
def ask(made: None) -> Ask:
    """Put a question to a judge."""

    def put(foreign: Foreign, judge: str, question: object) -> Any:
        try:
            return foreign.ask(JUDGES / f"{judge}{foreign.suffix}", question)
        except PythonMissing as missing:
            pytest.skip(f"{foreign.name} {missing}")

    return put
