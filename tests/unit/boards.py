"""Parts of leaderboards, for tests of what is made of them."""

from __future__ import annotations

from datetime import UTC, datetime
from uuid import UUID

from proctor.engine.leaderboards import Usage
from proctor.engine.outcomes import CURRENT_POLICY
from proctor.engine.planning import RunSetRow

__all__ = ["BEGUN", "RUN_SET", "SILENT"]

SILENT = Usage(
    attempts=2,
    reported=0,
    priced=0,
    own_attempts=2,
    own_priced=0,
    cost_nano=None,
    own_cost_nano=None,
    input_tokens=None,
    output_tokens=None,
    mean_seconds=None,
)
"""Of attempts that say nothing of what they used."""
BEGUN = datetime(2026, 9, 18, 14, 5, tzinfo=UTC)
RUN_SET = RunSetRow(
    id=UUID(int=7),
    name="nightly",
    spec_digest="d" * 64,
    suite_id="9f3a" * 16,
    continued=0,
    policy_version=CURRENT_POLICY,
    state="ended_with_gaps",
    reason="1 cell has no verdict",
    trace_id="0" * 32,
    reuse_sec=None,
    created_at=BEGUN,
    ended_at=None,
    running_since=BEGUN,
)
