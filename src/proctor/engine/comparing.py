"""Two profiles compared task by task: what differs, whether it could be chance, and what can't be said.

Pure. Tasks are paired where the agent saw the same and the same verifier judged (agent-visible and verifier digests);
everything that found no partner is listed with its reason, so that no cell drops out unseen.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from operator import attrgetter
from uuid import UUID

from proctor.analysis.multiple import holm
from proctor.analysis.significance import PairedTest, mcnemar, paired_test
from proctor.engine.errors import NothingToCompare
from proctor.engine.numbers import mean_of_amounts, paired_interval, share_interval
from proctor.engine.pairs import (
    CellCounts,
    Comparison,
    Cost,
    Extreme,
    FieldDifference,
    Pair,
    PairedTasks,
    Side,
    SideSummary,
    StrictDifference,
    Tally,
    TaskCost,
    TaskCounts,
    TaskKey,
    Unpaired,
)
from proctor.kernel.canonical import Json

__all__ = [
    "compare_groups",
    "compare_pair",
    "cost_by_task",
    "couples_of",
    "fields_that_differ",
    "finding_of",
    "put_together",
    "solved",
    "title_of",
    "why_absent",
    "why_missing",
]

NOT_DISTINGUISHABLE: str = "not distinguishable"
SAME_CELLS: str = "the very same cells on both sides: nothing to tell apart"
NOTHING_PAIRED: str = "no task has a verdict on both sides"


def compare_groups(
    groups: Sequence[Sequence[Side]],
    *,
    alpha: float,
    together: Callable[[Side, Side], PairedTasks] | None = None,
    base_only: bool = False,
) -> Comparison:
    """Compare each reference's profiles with every later reference's; ``base_only``: only the first's with the others'.

    Raises ``NothingToCompare``.

    Two references of one profile each are a pair, whatever the profiles are called; else profiles of the same name.
    ``together``: puts the tasks of two sides together, where they were not read.
    """
    made: list[Pair] = []
    lonely: list[str] = []
    for place, left in enumerate(groups[:1] if base_only else groups):
        for right in groups[place + 1 :]:
            couples, alone = couples_of(left, right)
            made.extend(compare_pair(a, b, together and together(a, b)) for a, b in couples)
            lonely.extend(alone)
    if not made:
        raise NothingToCompare("; ".join(dict.fromkeys(lonely)))
    return Comparison(alpha=alpha, pairs=_judged(made, alpha), without_partner=tuple(dict.fromkeys(lonely)))


def couples_of(left: Sequence[Side], right: Sequence[Side]) -> tuple[list[tuple[Side, Side]], list[str]]:
    """The sides of two references that are compared, and what is said of those that are not."""
    if len(left) == len(right) == 1:
        couples = [(left[0], right[0])]
    else:
        of_right = {side.profile: side for side in right}
        couples = [(side, of_right[side.profile]) for side in left if side.profile in of_right]
    paired = {id(side) for couple in couples for side in couple}
    alone = [
        f"{title_of(side)} has no partner in {other[0].reference}"
        for sides, other in ((left, right), (right, left))
        for side in sides
        if id(side) not in paired
    ]
    same = [couple for couple in couples if _identity(couple[0]) == _identity(couple[1])]
    alone.extend(f"{title_of(a)} and {title_of(b)} are the same profile of the same run set" for a, b in same)
    return [couple for couple in couples if _identity(couple[0]) != _identity(couple[1])], alone


def _identity(side: Side) -> tuple[UUID, str]:
    return side.run_set, side.profile


def title_of(side: Side) -> str:
    """A side as a comparison names it."""
    return side.reference if side.reference.endswith(f":{side.profile}") else f"{side.reference}:{side.profile}"


def compare_pair(a: Side, b: Side, tasks: PairedTasks | None = None) -> Pair:
    """Two sides compared; the finding waits for the other pairs' p values. ``tasks``: theirs, if already put together.

    Tasks with the same counts say the same, so each group is looked at once and weighs as often as it occurs.
    """
    put = tasks or put_together(a, b)
    both = {
        (one, other): n for (one, other), n in put.groups.items() if one and other and one.expected and other.expected
    }
    paired = {pair: n for pair, n in both.items() if pair[0].decided and pair[1].decided}
    count = sum(paired.values())
    same = a.cells == b.cells and a.policy_version == b.policy_version
    test = _test(paired, put, _observed, tried=_DECIDED) if paired and not same else None
    difference = _difference(paired, _observed)
    observed = Extreme(difference=difference, p=test.p if test else 1.0) if difference is not None else None
    settled = same or all(one.decided == one.expected for pair in both for one in pair)
    fields = tuple(fields_that_differ(a, b))
    return Pair(
        a=_summary(a, [(one, n) for (one, _), n in paired.items()], put.by_task[0]),
        b=_summary(b, [(other, n) for (_, other), n in paired.items()], put.by_task[1]),
        tasks=count,
        difference=difference,
        interval=paired_interval(_float_differences(paired, _observed)),
        test=test,
        p_adjusted=None,
        strict=_strict_difference(both),
        worst=observed if settled else _extreme(both, put, _worst),
        best=observed if settled else _extreme(both, put, _best),
        finding=NOTHING_PAIRED,
        claim=SAME_CELLS if same else _claim(fields),
        fields=fields,
        only_a=put.only_a,
        only_b=put.only_b,
        cost=_cost(put.cost, paired),
        unpaired=put.unpaired,
        unpaired_cells=put.unpaired_cells,
        kinds=_kinds(put.groups),
        same_cells=same,
    )


def put_together(a: Side, b: Side) -> PairedTasks:
    """The tasks of two sides that have been read."""
    counts = [{key: task.counts for key, task in side.tasks.items()} for side in (a, b)]
    keys = sorted(counts[0].keys() | counts[1].keys())
    found = [(key, counts[0].get(key), counts[1].get(key)) for key in keys]
    both = [(key, one, other) for key, one, other in found if one and other and one.expected and other.expected]
    paired = [(key, one, other) for key, one, other in both if one.decided and other.decided]
    unpaired = tuple(_unpaired(a, b))
    return PairedTasks(
        groups=Counter((one, other) for _, one, other in found),
        ordered=lambda: [(one, other) for _, one, other in both],
        only_a=_names(a, [key for key, one, other in paired if solved(one) and not solved(other)]),
        only_b=_names(b, [key for key, one, other in paired if solved(other) and not solved(one)]),
        cost=(
            _sum([a.tasks[key].cost_nano for key, _, _ in paired]),
            _sum([b.tasks[key].cost_nano for key, _, _ in paired]),
        ),
        by_task=(_by_task(a), _by_task(b)),
        unpaired=unpaired,
        unpaired_cells=sum(one.cells for one in unpaired),
    )


def _by_task(side: Side) -> TaskCost:
    attempted = [task.cost_nano for task in side.tasks.values() if task.seconds is not None]
    known = [cost for cost in attempted if cost is not None]
    return cost_by_task(len(known), len(attempted) - len(known), sum(known), sum(cost * cost for cost in known))


def cost_by_task(tasks: int, unknown: int, total: int, squares: int) -> TaskCost:
    """Of tasks whose costs, and the squares of them, were added up."""
    mean, interval = mean_of_amounts(tasks, total, squares)
    return TaskCost(tasks=tasks, unknown=unknown, mean_nano=mean, interval=interval)


def solved(task: CellCounts) -> bool:
    """Whether more than half of its trials passed."""
    return 2 * task.passed > task.decided


def _names(side: Side, keys: Sequence[TaskKey]) -> tuple[str, ...]:
    return tuple(sorted(side.tasks[key].name for key in keys))


_Couple = tuple[CellCounts, CellCounts]
_DECIDED = attrgetter("decided")
_EXPECTED = attrgetter("expected")


def _observed(a: CellCounts, b: CellCounts) -> tuple[Fraction, Fraction]:
    return Fraction(a.passed, a.decided), Fraction(b.passed, b.decided)


def _worst(a: CellCounts, b: CellCounts) -> tuple[Fraction, Fraction]:
    """Every missing verdict as it helps a least."""
    return Fraction(a.passed, a.expected), Fraction(b.passed + b.expected - b.decided, b.expected)


def _strict(a: CellCounts, b: CellCounts) -> tuple[Fraction, Fraction]:
    """Every missing verdict as not passed."""
    return Fraction(a.passed, a.expected), Fraction(b.passed, b.expected)


def _best(a: CellCounts, b: CellCounts) -> tuple[Fraction, Fraction]:
    return Fraction(a.passed + a.expected - a.decided, a.expected), Fraction(b.passed, b.expected)


_Means = Callable[[CellCounts, CellCounts], tuple[Fraction, Fraction]]


def _float_differences(groups: Mapping[_Couple, int], means: _Means) -> Mapping[float, int]:
    found: Counter[float] = Counter()
    for pair, n in groups.items():
        a, b = means(*pair)
        found[float(a) - float(b)] += n
    return found


def _test(
    groups: Mapping[_Couple, int], put: PairedTasks, means: _Means, *, tried: Callable[[CellCounts], int]
) -> PairedTest:
    """McNemar's where every task has one trial a side, which needs no more than how often each difference occurs."""
    made = {pair: means(*pair) for pair in groups}
    if all(tried(one) == 1 for pair in groups for one in pair):
        better, worse = (sum(n for pair, n in groups.items() if _sign(made[pair]) == sign) for sign in (1, -1))
        return mcnemar(better, worse)
    return paired_test([made[pair] for pair in put.ordered() if pair in made], single=False)


def _sign(means: tuple[Fraction, Fraction]) -> int:
    return (means[0] > means[1]) - (means[0] < means[1])


def _difference(groups: Mapping[_Couple, int], means: _Means) -> float | None:
    total = sum(groups.values())
    made = ((means(*pair), n) for pair, n in groups.items())
    return float(sum(((a - b) * n for (a, b), n in made), Fraction()) / total) if total else None


def _summary(side: Side, tasks: Sequence[tuple[CellCounts, int]], cost: TaskCost | None) -> SideSummary:
    tallies: Counter[tuple[int, int]] = Counter()
    for one, n in tasks:
        tallies[one.decided, one.passed] += n
    total = sum(n for _, n in tasks)
    passed = sum((Fraction(one.passed, one.decided) * n for one, n in tasks), Fraction())
    return SideSummary(
        title=title_of(side),
        run_set=side.run_set,
        name=side.name,
        profile=side.profile,
        configuration=side.configuration,
        policy_version=side.policy_version,
        mean=float(passed / total) if total else None,
        decided=sum(one.decided * n for one, n in tasks),
        interval=share_interval(tallies),
        cost=cost,
    )


def _strict_difference(both: Mapping[_Couple, int]) -> StrictDifference | None:
    tasks = sum(both.values())
    if not tasks:
        return None
    made = [(_strict(*pair), n) for pair, n in both.items()]
    a = sum((one * n for (one, _), n in made), Fraction()) / tasks
    b = sum((other * n for (_, other), n in made), Fraction()) / tasks
    interval = paired_interval(_float_differences(both, _strict))
    return StrictDifference(tasks=tasks, a=float(a), b=float(b), difference=float(a - b), interval=interval)


def _extreme(both: Mapping[_Couple, int], put: PairedTasks, means: _Means) -> Extreme:
    """Over the tasks expected on both sides, with every missing verdict falling one way."""
    return Extreme(difference=_difference(both, means) or 0.0, p=_test(both, put, means, tried=_EXPECTED).p)


def _kinds(groups: Mapping[tuple[CellCounts | None, CellCounts | None], int]) -> TaskCounts:
    found: Counter[str] = Counter()
    for (a, b), n in groups.items():
        found[_kind(a, b)] += n
    return TaskCounts(**found)


def _kind(a: CellCounts | None, b: CellCounts | None) -> str:
    if not (a and b and a.whole and b.whole):
        return "owed"
    more = b.passed * a.expected - a.passed * b.expected
    if more:
        return "better" if more > 0 else "worse"
    if a.passed == 0:
        return "both_fail"
    return "both_pass" if a.passed == a.expected else "mixed"


def _judged(pairs: Sequence[Pair], alpha: float) -> tuple[Pair, ...]:
    """The pairs with their p values adjusted together (Holm), and what follows in words."""
    tested = [pair for pair in pairs if pair.test is not None]
    adjusted = dict(zip(map(id, tested), holm([pair.test.p for pair in tested if pair.test]), strict=True))
    return tuple(
        replace(pair, p_adjusted=adjusted.get(id(pair)), finding=finding_of(pair, adjusted.get(id(pair)), alpha))
        for pair in pairs
    )


def finding_of(pair: Pair, p: float | None, alpha: float) -> str:
    """What follows of a pair in words. ``p``: after all adjustment."""
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


def _cost(cost: tuple[int | None, int | None], paired: Mapping[_Couple, int]) -> Cost:
    ours, theirs = cost
    return Cost(
        a_nano=ours,
        b_nano=theirs,
        difference_nano=None if ours is None or theirs is None else ours - theirs,
        a_cells=sum(a.expected * n for (a, _), n in paired.items()),
        b_cells=sum(b.expected * n for (_, b), n in paired.items()),
    )


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if known and len(known) == len(values) else None


def _unpaired(a: Side, b: Side) -> Iterator[Unpaired]:
    for side, other in ((a, b), (b, a)):
        by_name = {task.name: key for key, task in other.tasks.items()}
        for key, task in sorted(side.tasks.items(), key=lambda item: item[1].name):
            if key not in other.tasks:
                reason = why_absent(key, by_name.get(task.name))
                yield Unpaired(task=task.name, side=title_of(other), cells=task.expected, reason=reason)
                continue
            for gap in task.gaps:
                yield Unpaired(task=task.name, side=title_of(side), cells=gap.cells, reason=why_missing(gap))


def why_absent(key: TaskKey, namesake: TaskKey | None) -> str:
    """Why a task has no partner. ``namesake``: the other side's task of its name."""
    if namesake is None:
        return "the task is not in its suite"
    if namesake[0] != key[0]:
        return "its task of this name shows the agent something else"
    return "its task of this name has another verifier (see proctor regrade)"


def why_missing(gap: Tally) -> str:
    """Why cells have no verdict that counts."""
    if gap.withdrawn is not None:
        return f"withdrawn: {gap.withdrawn}"
    return f"no verdict: {gap.outcome} ({gap.owner})"
