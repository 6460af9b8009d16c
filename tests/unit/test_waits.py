"""What cells wait for, in words: the scope, until when, and the class counts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from proctor.engine.waits import wait_of
from proctor.queue.service import Blocked
from proctor.reports.waits import wait_line

UNTIL = datetime(2026, 1, 1, 14, 5, 10, tzinfo=UTC)
LINES: list[tuple[str, dict[str, Any], str]] = [
    (
        "acme",
        {"until": UNTIL, "failures": 1, "counts": {"provider_rate_limit": 3}, "pending": 143},
        "blocked on provider acme until 14:05:10 UTC (provider_rate_limit 3) · 143 cells",
    ),
    (
        "registry/docker.io",
        {"failures": 2, "counts": {"image_error": 1200, "agent_setup_error": 2}},
        "one at a time on registry docker.io until it works (image_error 1,200, agent_setup_error 2)",
    ),
    (
        "node/h1",
        {"paused": True, "reason": "by hand"},
        "blocked on node h1 until it is opened by hand: by hand",
    ),
    ("acme", {"most": 2}, "provider acme is at its limit: 2 at once"),
    (
        "limit/00000000-0000-0000-0000-000000000001/profile/fast",
        {"most": 2, "per_minute": 30},
        "profile fast is at its limit: 2 at once, 30 starts a minute",
    ),
    ("pulls/ghcr.io", {"per_minute": 60}, "images of ghcr.io wait for their turn: 60 pulls a minute"),
    ("", {"until": UNTIL, "failures": 1}, "blocked on no provider until 14:05:10 UTC"),
]


@pytest.mark.parametrize(("key", "fields", "line"), LINES)
def test_a_line(key: str, fields: dict[str, Any], line: str) -> None:
    known = {"paused": False, "reason": "", "failures": 0, "counts": {}, "until": None, "running": 0, "pending": 0}
    limits = {"most": None, "per_minute": None}
    assert wait_line(wait_of(Blocked(key=key, **{**known, **limits, **fields}))) == line
