"""Whether a run set reached its gate. With gaps the bounds decide: what can't be known is not claimed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from proctor.analysis.multiple import holm
from proctor.engine.errors import GateInvalid
from proctor.engine.leaderboards import LeaderboardRow
from proctor.engine.pairs import Comparison, Extreme, Pair
from proctor.engine.spec import Gate

__all__ = ["Against", "GateCheck", "GateResult", "GateState", "gate_with", "judge_gate"]


class GateState(StrEnum):
    """What is known of a gate."""

    MET = "met"
    MISSED = "missed"
    OPEN = "open"


@dataclass(frozen=True, kw_only=True)
class GateCheck:
    """One profile against one threshold, or against its partner. ``measure``: strict, graded or against."""

    profile: str
    measure: str
    state: GateState
    line: str


@dataclass(frozen=True, kw_only=True)
class GateResult:
    """The gate's state, one line for each check that is not met, every check, and what was compared for them."""

    state: GateState
    lines: tuple[str, ...] = ()
    checks: tuple[GateCheck, ...] = ()
    comparison: Comparison | None = None


@dataclass(frozen=True, kw_only=True)
class Against:
    """What came of comparing with ``gate.against``: a comparison whose sides ``a`` are the gate's own, or why none."""

    comparison: Comparison | None = None
    same_run_set: bool = False
    problem: str = ""


def gate_with(
    gate: Gate, fail_under: Sequence[str] = (), *, against: str | None = None, alpha: float | None = None
) -> Gate:
    """A file's gate with what the command line sets instead. Raises ``GateInvalid``."""
    changed: dict[str, object] = {}
    for text in fail_under:
        name, value = _threshold(text)
        if name in changed:
            raise GateInvalid(f"{name} is given twice.", where="--fail-under")
        changed[name] = value
    if against is not None:
        changed["against"] = against
    if alpha is not None:
        if not 0 < alpha < 1:
            raise GateInvalid(f"{alpha:g} is not between 0 and 1.", where="--alpha")
        changed["alpha"] = alpha
    return gate.model_copy(update=changed)


def _threshold(text: str) -> tuple[str, float]:
    name, equals, number = text.partition("=")
    name = name.strip()
    if not equals or name not in ("strict", "graded"):
        raise GateInvalid(f"{text!r} is not strict=NUMBER or graded=NUMBER.", where="--fail-under")
    try:
        value = float(number)
    except ValueError:
        raise GateInvalid(f"{number!r} is not a number.", where="--fail-under") from None
    if not 0 <= value <= 1:
        raise GateInvalid(f"{number.strip()} is not a rate from 0 to 1.", where="--fail-under")
    return name, value


def judge_gate(gate: Gate, rows: Sequence[LeaderboardRow], against: Against | None = None) -> GateResult:
    """Every named profile (or every one) must reach every threshold that is set, and be no worse than its partner."""
    checks = [check for row in rows if _named(gate, row.profile) for check in _thresholds(gate, row)]
    if gate.against is not None:
        checks.extend(_against(gate, against or Against(problem="nothing was compared")))
    if not checks and (gate.strict, gate.graded) != (None, None):
        line = f"no profile is named {' or '.join(gate.profiles)}: open"
        checks.append(GateCheck(profile="", measure="profiles", state=GateState.OPEN, line=line))
    states = {check.state for check in checks}
    worst = next((state for state in (GateState.MISSED, GateState.OPEN) if state in states), GateState.MET)
    return GateResult(
        state=worst,
        lines=tuple(check.line for check in checks if check.state is not GateState.MET),
        checks=tuple(checks),
        comparison=against.comparison if against else None,
    )


def _named(gate: Gate, profile: str) -> bool:
    return not gate.profiles or profile in gate.profiles


def _thresholds(gate: Gate, row: LeaderboardRow) -> Iterator[GateCheck]:
    for name, wanted in (("strict", gate.strict), ("graded", gate.graded)):
        if wanted is not None:
            state = _state(row, name, wanted)
            line = _line(row, name, wanted, state)
            yield GateCheck(profile=row.profile, measure=name, state=state, line=line)


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


# --- against a partner ------------------------------------------------------------------------------------------------


def _against(gate: Gate, against: Against) -> Iterator[GateCheck]:
    if against.same_run_set:
        line = f"against {gate.against}: it is this run set itself: met"
        yield GateCheck(profile="", measure="against", state=GateState.MET, line=line)
        return
    if against.comparison is None:
        line = f"against {gate.against}: {against.problem}: open"
        yield GateCheck(profile="", measure="against", state=GateState.OPEN, line=line)
        return
    pairs = against.comparison.pairs
    yield from _partners(gate, pairs)
    compared = {pair.a.profile for pair in pairs}
    for profile in gate.profiles:
        if profile not in compared:
            line = f"{profile}: no partner in {gate.against}: open"
            yield GateCheck(profile=profile, measure="against", state=GateState.OPEN, line=line)


def _partners(gate: Gate, pairs: Sequence[Pair]) -> Iterator[GateCheck]:
    """Missed if worse however the missing verdicts fall, met if worse in no case, else open.

    A p is adjusted (Holm) with the others' at their largest to find it worse for sure, at their smallest to find that
    it can't be.
    """
    for pair in (one for one in pairs if one.same_cells):
        line = f"{pair.a.profile}: the very same cells as {pair.b.title}: met"
        yield GateCheck(profile=pair.a.profile, measure="against", state=GateState.MET, line=line)
    tested = [pair for pair in pairs if not pair.same_cells]
    lows = [_p_range(pair)[0] for pair in tested]
    highs = [_p_range(pair)[1] for pair in tested]
    for place, pair in enumerate(tested):
        sure = _worse(pair.best, highs, place, gate.alpha)
        possible = _worse(pair.worst, lows, place, gate.alpha)
        state = GateState.MISSED if sure else GateState.OPEN if possible or pair.worst is None else GateState.MET
        line = _against_line(pair, gate, state)
        yield GateCheck(profile=pair.a.profile, measure="against", state=state, line=line)


def _p_range(pair: Pair) -> tuple[float, float]:
    """The smallest and largest p that the missing verdicts leave; where the sign may change, up to 1."""
    if pair.best is None or pair.worst is None:
        return 0.0, 1.0
    both = (pair.best.p, pair.worst.p)
    crosses = pair.worst.difference < 0 < pair.best.difference
    return min(both), 1.0 if crosses else max(both)


def _worse(extreme: Extreme | None, ps: Sequence[float], place: int, alpha: float) -> bool:
    if extreme is None or extreme.difference >= 0:
        return False
    adjusted = holm([*ps[:place], extreme.p, *ps[place + 1 :]])
    return adjusted[place] < alpha


def _against_line(pair: Pair, gate: Gate, state: GateState) -> str:
    """``a: -12.5 points against label:main:a, p 0.012: missed``."""
    if pair.worst is None or pair.best is None:
        return f"{pair.a.profile}: no task in common with {pair.b.title}: open"
    low, high = pair.worst, pair.best
    shown = f"{_points(low.difference)}" if low == high else f"{_points(low.difference)} to {_points(high.difference)}"
    word = {
        GateState.MISSED: "worse",
        GateState.MET: "not worse",
        GateState.OPEN: "the missing verdicts decide whether it is worse",
    }[state]
    p = "" if pair.p_adjusted is None else f", p {pair.p_adjusted:.3g} (alpha {gate.alpha:g})"
    return f"{pair.a.profile}: {shown} points against {pair.b.title}{p}, {word}: {state.value}"


def _points(difference: float) -> str:
    return f"{difference * 100:+.1f}"
