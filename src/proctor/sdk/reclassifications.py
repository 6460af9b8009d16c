"""``proctor reclassify``: what another outcome policy makes of the evidence there is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from proctor.app import Platform
from proctor.engine import leaderboards, reclassifying
from proctor.engine.errors import PolicyInvalid
from proctor.engine.imports.bringing import is_imported
from proctor.engine.numbers import Rates
from proctor.engine.planning import RunSetRow
from proctor.engine.reclassifying import ClassMove

__all__ = ["Reclassification", "move_pin", "read_policy_file", "reclassify"]


@dataclass(frozen=True, kw_only=True)
class Reclassification:
    """One run set under its own policy and under another. Nothing counts by the other until the pin is moved."""

    run_set: RunSetRow
    before: str
    after: str
    moves: tuple[ClassMove, ...]
    rates_before: Mapping[str, Rates]
    """By profile."""
    rates_after: Mapping[str, Rates]
    imported: bool
    """Results that others made: what they owe can't be run here."""


def read_policy_file(file: Path) -> str:
    """A policy file's text. Raises ``PolicyInvalid`` where there is none to read."""
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise PolicyInvalid(f"The file can't be read: {error}.", where=str(file)) from error


def reclassify(
    platform: Platform, row: RunSetRow, source: str, *, where: str, on_page: Callable[[int], None] = lambda _: None
) -> Reclassification:
    """Derive a run set's outcomes under a policy file's text. Raises ``PolicyInvalid`` naming the place."""
    policy = platform.engine.keep_policy(source, where=where)
    platform.engine.reclassify(row, policy, on_page)
    moves = platform.engine.read(
        lambda connection: reclassifying.moves(connection, platform.tenant, row, policy.version)
    )
    return Reclassification(
        run_set=row,
        before=row.policy_version,
        after=policy.version,
        moves=tuple(moves),
        rates_before=_rates(platform, row),
        rates_after=_rates(platform, replace(row, policy_version=policy.version)),
        imported=is_imported(platform.engine.read(lambda c: platform.engine.stored_plan(c, row)).profiles),
    )


def move_pin(platform: Platform, done: Reclassification) -> int:
    """Let the run set count by the other policy from now on; returns how many cells are owed now."""
    return platform.engine.pin(done.run_set, done.after)


def _rates(platform: Platform, row: RunSetRow) -> dict[str, Rates]:
    board = platform.engine.read(lambda connection: leaderboards.leaderboard(connection, platform.tenant, row, []))
    return {one.profile: one.rates for one in board}
