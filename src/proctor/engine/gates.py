"""Whether a run set reached its gate. With gaps the bounds decide: what can't be known is not claimed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from proctor.engine.reading import LeaderboardRow
from proctor.engine.spec import Gate

__all__ = ["GateResult", "GateState", "judge_gate"]


class GateState(StrEnum):
    """What is known of a gate."""

    MET = "met"
    MISSED = "missed"
    OPEN = "open"


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """The gate's state, and one line for each profile and threshold that is not met."""

    state: GateState
    lines: tuple[str, ...] = ()


def judge_gate(gate: Gate, rows: Sequence[LeaderboardRow]) -> GateResult:
    """Every named profile (or every one) must reach every threshold that is set."""
    judged = [row for row in rows if not gate.profiles or row.profile in gate.profiles]
    states: list[GateState] = []
    lines: list[str] = []
    for row in judged:
        for name, wanted in (("strict", gate.strict), ("graded", gate.graded)):
            if wanted is None:
                continue
            state = _state(row, name, wanted)
            states.append(state)
            if state is not GateState.MET:
                lines.append(_line(row, name, wanted, state))
    if GateState.MISSED in states:
        return GateResult(state=GateState.MISSED, lines=tuple(lines))
    return GateResult(state=GateState.OPEN if GateState.OPEN in states else GateState.MET, lines=tuple(lines))


def _state(row: LeaderboardRow, name: str, wanted: float) -> GateState:
    low, high = _range(row, name)
    if low >= wanted:
        return GateState.MET
    return GateState.MISSED if high < wanted else GateState.OPEN


def _range(row: LeaderboardRow, name: str) -> tuple[float, float]:
    """What the rate can still become: the bounds for strict; graded moves with every verdict that is missing."""
    bounds = row.rates.bounds
    if bounds is None:
        return 0.0, 1.0
    if name == "strict" or row.rates.counts.decided == row.rates.counts.expected:
        return bounds.low, bounds.high
    return 0.0 if row.rates.graded is None else min(bounds.low, row.rates.graded), bounds.high


def _line(row: LeaderboardRow, name: str, wanted: float, state: GateState) -> str:
    low, high = _range(row, name)
    shown = f"{low:.1%}" if low == high else f"between {low:.1%} and {high:.1%}"
    return f"{row.profile}: {name} {shown}, gate {wanted:.1%}: {state.value}"
