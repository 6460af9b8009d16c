"""Two profiles compared task by task: what differs, whether it could be chance, and what can't be said.

Pure. Tasks are paired where the agent saw the same and the same verifier judged (agent-visible and verifier digests);
everything that found no partner is listed with its reason, so that no cell drops out unseen.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from uuid import UUID

from proctor.analysis.multiple import holm
from proctor.analysis.significance import paired_test
from proctor.engine.errors import NothingToCompare
from proctor.engine.numbers import compare
from proctor.engine.pairs import (
    Comparison,
    Cost,
    Extreme,
    FieldDifference,
    Pair,
    Side,
    SideSummary,
    Tally,
    TaskCells,
    TaskKey,
    Unpaired,
)
from proctor.kernel.canonical import Json

__all__ = ["compare_groups", "compare_pair", "fields_that_differ"]

NOT_DISTINGUISHABLE: str = "not distinguishable"
SAME_CELLS: str = "the very same cells on both sides: nothing to tell apart"
NOTHING_PAIRED: str = "no task has a verdict on both sides"


def compare_groups(groups: Sequence[Sequence[Side]], *, alpha: float) -> Comparison:
    """Compare each reference's profiles with every later reference's. Raises ``NothingToCompare``.

    Two references of one profile each are a pair, whatever the profiles are called; else profiles of the same name.
    """
    made: list[Pair] = []
    lonely: list[str] = []
    for place, left in enumerate(groups):
        for right in groups[place + 1 :]:
            couples, alone = _couples(left, right)
            made.extend(compare_pair(a, b) for a, b in couples)
            lonely.extend(alone)
    if not made:
        raise NothingToCompare("; ".join(dict.fromkeys(lonely)))
    return Comparison(alpha=alpha, pairs=_judged(made, alpha), without_partner=tuple(dict.fromkeys(lonely)))


def _couples(left: Sequence[Side], right: Sequence[Side]) -> tuple[list[tuple[Side, Side]], list[str]]:
    if len(left) == len(right) == 1:
        couples = [(left[0], right[0])]
    else:
        of_right = {side.profile: side for side in right}
        couples = [(side, of_right[side.profile]) for side in left if side.profile in of_right]
    paired = {id(side) for couple in couples for side in couple}
    alone = [
        f"{_title(side)} has no partner in {other[0].reference}"
        for sides, other in ((left, right), (right, left))
        for side in sides
        if id(side) not in paired
    ]
    same = [couple for couple in couples if _identity(couple[0]) == _identity(couple[1])]
    alone.extend(f"{_title(a)} and {_title(b)} are the same profile of the same run set" for a, b in same)
    return [couple for couple in couples if _identity(couple[0]) != _identity(couple[1])], alone


def _identity(side: Side) -> tuple[UUID, str]:
    return side.run_set, side.profile


def _title(side: Side) -> str:
    return side.reference if side.reference.endswith(f":{side.profile}") else f"{side.reference}:{side.profile}"


def compare_pair(a: Side, b: Side) -> Pair:
    """Two sides compared; the finding waits for the other pairs' p values."""
    both = sorted(key for key in a.tasks.keys() & b.tasks.keys() if a.tasks[key].expected and b.tasks[key].expected)
    paired = [key for key in both if a.tasks[key].decided and b.tasks[key].decided]
    means = {key: (_mean(a.tasks[key]), _mean(b.tasks[key])) for key in paired}
    known = compare(
        {str(key): float(one) for key, (one, _) in means.items()},
        {str(key): float(other) for key, (_, other) in means.items()},
    )
    single = all(side.tasks[key].decided == 1 for side in (a, b) for key in paired)
    same = a.cells == b.cells and a.policy_version == b.policy_version
    test = paired_test(list(means.values()), single=single) if paired and not same else None
    difference = _difference(list(means.values()))
    observed = Extreme(difference=difference, p=test.p if test else 1.0) if difference is not None else None
    settled = same or all(side.tasks[key].decided == side.tasks[key].expected for side in (a, b) for key in both)
    fields = tuple(fields_that_differ(a, b))
    unpaired = tuple(_unpaired(a, b))
    return Pair(
        a=_summary(a, paired, [one for one, _ in means.values()]),
        b=_summary(b, paired, [other for _, other in means.values()]),
        tasks=len(paired),
        difference=difference,
        interval=known.interval if known else None,
        test=test,
        p_adjusted=None,
        worst=observed if settled else _extreme(a, b, both, a_passes=False),
        best=observed if settled else _extreme(a, b, both, a_passes=True),
        finding=NOTHING_PAIRED,
        claim=SAME_CELLS if same else _claim(fields),
        fields=fields,
        only_a=_names(a, [key for key, (one, other) in means.items() if _solved(one) and not _solved(other)]),
        only_b=_names(b, [key for key, (one, other) in means.items() if _solved(other) and not _solved(one)]),
        cost=_cost(a, b, paired),
        unpaired=unpaired,
        unpaired_cells=sum(one.cells for one in unpaired),
        same_cells=same,
    )


def _mean(task: TaskCells) -> Fraction:
    return Fraction(task.passed, task.decided)


def _solved(mean: Fraction) -> bool:
    return mean > Fraction(1, 2)


def _names(side: Side, keys: Sequence[TaskKey]) -> tuple[str, ...]:
    return tuple(sorted(side.tasks[key].name for key in keys))


def _difference(means: Sequence[tuple[Fraction, Fraction]]) -> float | None:
    return float(sum((a - b for a, b in means), Fraction()) / len(means)) if means else None


def _summary(side: Side, paired: Sequence[TaskKey], means: Sequence[Fraction]) -> SideSummary:
    return SideSummary(
        title=_title(side),
        run_set=side.run_set,
        profile=side.profile,
        configuration=side.configuration,
        policy_version=side.policy_version,
        mean=float(sum(means, Fraction()) / len(means)) if means else None,
        decided=sum(side.tasks[key].decided for key in paired),
    )


def _extreme(a: Side, b: Side, both: Sequence[TaskKey], *, a_passes: bool) -> Extreme | None:
    """Over the tasks expected on both sides, every missing verdict as it helps a most, or least."""
    means = [(_filled(a.tasks[key], passes=a_passes), _filled(b.tasks[key], passes=not a_passes)) for key in both]
    single = all(side.tasks[key].expected == 1 for side in (a, b) for key in both)
    return Extreme(difference=_difference(means) or 0.0, p=paired_test(means, single=single).p)


def _filled(task: TaskCells, *, passes: bool) -> Fraction:
    missing = task.expected - task.decided if passes else 0
    return Fraction(task.passed + missing, task.expected)


def _judged(pairs: Sequence[Pair], alpha: float) -> tuple[Pair, ...]:
    """The pairs with their p values adjusted together (Holm), and what follows in words."""
    tested = [pair for pair in pairs if pair.test is not None]
    adjusted = dict(zip(map(id, tested), holm([pair.test.p for pair in tested if pair.test]), strict=True))
    return tuple(
        replace(pair, p_adjusted=adjusted.get(id(pair)), finding=_finding(pair, adjusted.get(id(pair)), alpha))
        for pair in pairs
    )


def _finding(pair: Pair, p: float | None, alpha: float) -> str:
    if pair.same_cells:
        return NOT_DISTINGUISHABLE
    if p is None or pair.difference is None:
        return NOTHING_PAIRED
    if p >= alpha or not pair.difference:
        return NOT_DISTINGUISHABLE
    return _better(pair.a if pair.difference > 0 else pair.b)


def _better(side: SideSummary) -> str:
    return f"{side.title} is better"


def _claim(fields: Sequence[FieldDifference]) -> str:
    sections = list(dict.fromkeys(one.field.split(".", 1)[0] for one in fields))
    if not sections:
        return "The configurations are the same: what differs is chance, or the tasks' own instability."
    if len(sections) == 1:
        return f"Only {sections[0]} differs: a difference found is a difference of it."
    names = ", ".join(sections)
    return (
        f"{len(sections)} fields differ ({names}): no claim about the agent, or about any single field, follows; "
        "only the whole configurations are compared."
    )


def fields_that_differ(a: Side, b: Side) -> Iterator[FieldDifference]:
    """What of the configurations is not the same, and the outcome policy where it is another."""
    if a.configuration != b.configuration:
        yield from _fields(a.document, b.document, "")
    if a.policy_version != b.policy_version:
        yield FieldDifference(field="outcome_policy", a=a.policy_version, b=b.policy_version)


def _fields(a: Json, b: Json, path: str) -> Iterator[FieldDifference]:
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        for key in sorted({*a, *b}):
            yield from _fields(a.get(key), b.get(key), f"{path}.{key}" if path else key)
    elif a != b:
        yield FieldDifference(field=path, a=a, b=b)


def _cost(a: Side, b: Side, paired: Sequence[TaskKey]) -> Cost:
    ours, theirs = (_sum([side.tasks[key].cost_nano for key in paired]) for side in (a, b))
    return Cost(
        a_nano=ours,
        b_nano=theirs,
        difference_nano=None if ours is None or theirs is None else ours - theirs,
        a_cells=sum(a.tasks[key].expected for key in paired),
        b_cells=sum(b.tasks[key].expected for key in paired),
    )


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _unpaired(a: Side, b: Side) -> Iterator[Unpaired]:
    for side, other in ((a, b), (b, a)):
        by_name = {task.name: key for key, task in other.tasks.items()}
        for key, task in sorted(side.tasks.items(), key=lambda item: item[1].name):
            if key not in other.tasks:
                reason = _why_absent(key, by_name.get(task.name))
                yield Unpaired(task=task.name, side=_title(other), cells=task.expected, reason=reason)
                continue
            for gap in task.gaps:
                yield Unpaired(task=task.name, side=_title(side), cells=gap.cells, reason=_why_missing(gap))


def _why_absent(key: TaskKey, namesake: TaskKey | None) -> str:
    if namesake is None:
        return "the task is not in its suite"
    if namesake[0] != key[0]:
        return "its task of this name shows the agent something else"
    return "its task of this name has another verifier (see proctor regrade)"


def _why_missing(gap: Tally) -> str:
    if gap.withdrawn is not None:
        return f"withdrawn: {gap.withdrawn}"
    return f"no verdict: {gap.outcome} ({gap.owner})"
