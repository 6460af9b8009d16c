"""Two sides compared: pairing, difference, flips, costs, what differs, what is left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proctor.engine.comparing import compare_groups, compare_pair
from proctor.engine.errors import NothingToCompare
from proctor.engine.gates import Against, GateState, gate_with, judge_gate
from proctor.engine.pairs import Side, Tally, TaskCells
from proctor.engine.spec import Gate
from proctor.reports.comparison import difference_lines

PASS = Tally(outcome="passed", owner="model", verdict=True, cells=1)
FAIL = Tally(outcome="failed", owner="model", verdict=False, cells=1)
OWED = Tally(outcome="provider_rate_limit", owner="provider", verdict=None, cells=1)
WITHDRAWN = Tally(outcome="failed", owner="model", verdict=False, cells=1, withdrawn="wrong data")
DOCUMENT: dict[str, Any] = {"agent": {"name": "loop", "version": "1"}, "model": "m/1", "options": {}}


def cells(name: str, *tallies: Tally, cost: int | None = 0) -> TaskCells:
    return TaskCells(name=name, tallies=tallies, cost_nano=cost, seconds=1.0)


def side(
    reference: str,
    tasks: Mapping[str, TaskCells],
    *,
    profile: str = "p",
    run_set: UUID | None = None,
    document: Mapping[str, Any] = DOCUMENT,
    policy: str = "1",
    cells: str = "",
) -> Side:
    return Side(
        reference=reference,
        run_set=run_set or uuid4(),
        name=reference,
        profile=profile,
        configuration=str(sorted(document.items())),
        document=document,
        policy_version=policy,
        tasks={(f"agent of {name}", f"verifier of {name}"): task for name, task in tasks.items()},
        cells=cells or str(uuid4()),
    )


def of(reference: str, marks: str, **more: Any) -> Side:
    """A side from a word such as ``pf-``: passed, failed, owed."""
    meaning = {"p": PASS, "f": FAIL, "-": OWED}
    tasks = {f"t{place:02}": cells(f"t{place:02}", meaning[mark]) for place, mark in enumerate(marks)}
    return side(reference, tasks, **more)


def test_nine_to_none_is_better_and_names_the_flips() -> None:
    pair = compare_groups([[of("new", "p" * 9)], [of("old", "f" * 9)]], alpha=0.05).pairs[0]
    assert pair.test is not None
    assert (pair.test.name, pair.test.p) == ("McNemar, exact", 0.00390625)
    assert (pair.difference, pair.finding) == (1.0, "new:p is better")
    assert (len(pair.only_a), pair.only_b) == (9, ())
    assert pair.worst == pair.best


def test_the_other_way_round_is_the_mirror() -> None:
    pair = compare_groups([[of("new", "f" * 9 + "p")], [of("old", "p" * 9 + "f")]], alpha=0.05).pairs[0]
    assert pair.finding == "old:p is better"
    assert pair.difference == pytest.approx(-0.8)
    assert pair.only_a == ("t09",)
    assert len(pair.only_b) == 9


def test_few_tasks_are_not_distinguishable_in_words() -> None:
    pair = compare_groups([[of("a", "pppp")], [of("b", "ffff")]], alpha=0.05).pairs[0]
    assert pair.finding == "not distinguishable"


def test_trials_are_one_mean_a_task() -> None:
    a = side("a", {f"t{i}": cells(f"t{i}", PASS, PASS, FAIL) for i in range(6)})
    b = side("b", {f"t{i}": cells(f"t{i}", PASS, FAIL, FAIL) for i in range(6)})
    pair = compare_pair(a, b)
    assert pair.test is not None
    assert pair.test.name.startswith("sign-flip permutation")
    assert pair.test.p == 2 / 64
    assert pair.difference == pytest.approx(1 / 3)
    assert len(pair.only_a) == 6


def test_undecided_trials_do_not_count_as_failures_in_the_mean() -> None:
    pair = compare_pair(side("a", {"t": cells("t", PASS, OWED)}), side("b", {"t": cells("t", PASS)}))
    assert pair.difference == 0.0
    assert pair.worst is not None
    assert pair.worst.difference == -0.5
    assert [(one.side, one.cells) for one in pair.unpaired] == [("a:p", 1)]


def test_everything_left_out_is_listed_with_its_reason() -> None:
    a = of("a", "pp-")
    b = of("b", "pf")
    changed = dict(b.tasks)
    changed["agent of x", "old verifier"] = cells("x", PASS)
    changed["agent of t02", "other"] = cells("t02", PASS)
    changed["agent of w", "w"] = cells("w", WITHDRAWN)
    b = side("b", {}).__class__(**{**vars(b), "tasks": changed})
    a = side("a", {}).__class__(
        **{**vars(a), "tasks": {**a.tasks, ("agent of w", "w"): cells("w", PASS), ("other", "x"): cells("x", PASS)}}
    )
    seen = {(one.task, one.side): one.reason for one in compare_pair(a, b).unpaired}
    assert seen == {
        ("t02", "b:p"): "its task of this name has another verifier (see proctor regrade)",
        ("t02", "a:p"): "its task of this name has another verifier (see proctor regrade)",
        ("x", "b:p"): "its task of this name shows the agent something else",
        ("x", "a:p"): "its task of this name shows the agent something else",
        ("w", "b:p"): "withdrawn: wrong data",
    }
    (lost,) = compare_pair(of("a", "p-"), of("b", "pp")).unpaired
    assert (lost.side, lost.reason, lost.cells) == ("a:p", "no verdict: provider_rate_limit (provider)", 1)
    (absent,) = compare_pair(of("a", "p"), of("b", "pp")).unpaired
    assert (absent.side, absent.reason) == ("a:p", "the task is not in its suite")


def test_one_field_that_differs_may_be_named_and_several_forbid_a_claim() -> None:
    model = {**DOCUMENT, "model": "m/2"}
    both = {**model, "agent": {"name": "other", "version": "1"}}
    assert compare_pair(of("a", "p"), of("b", "p")).fields == ()
    one = compare_pair(of("a", "p"), of("b", "p", document=model))
    assert [(field.field, field.a, field.b) for field in one.fields] == [("model", "m/1", "m/2")]
    assert one.claim == "Only model differs: a difference found is a difference of it."
    two = compare_pair(of("a", "p"), of("b", "p", document=both))
    assert [field.field for field in two.fields] == ["agent.name", "model"]
    assert "no claim about the agent, or about any single field, follows" in two.claim
    policy = compare_pair(of("a", "p"), of("b", "p", policy="2"))
    assert [field.field for field in policy.fields] == ["outcome_policy"]


def test_unknown_cost_stays_unknown() -> None:
    a = side("a", {"t": cells("t", PASS, cost=5), "u": cells("u", PASS, cost=2)})
    b = side("b", {"t": cells("t", PASS, cost=3), "u": cells("u", PASS, cost=None)})
    assert compare_pair(a, a).cost.difference_nano == 0
    cost = compare_pair(a, b).cost
    assert (cost.a_nano, cost.b_nano, cost.difference_nano) == (7, None, None)


def test_profiles_pair_by_name_and_the_rest_is_named() -> None:
    run_set, other = uuid4(), uuid4()
    left = [of("a", "pp", profile=name, run_set=run_set) for name in ("x", "y")]
    right = [of("b", "pf", profile=name, run_set=other) for name in ("y", "z")]
    made = compare_groups([left, right], alpha=0.05)
    assert [(pair.a.title, pair.b.title) for pair in made.pairs] == [("a:y", "b:y")]
    assert made.without_partner == ("a:x has no partner in b", "b:z has no partner in a")
    single = compare_groups([left[:1], right[1:]], alpha=0.05)
    assert [(pair.a.title, pair.b.title) for pair in single.pairs] == [("a:x", "b:z")]
    with pytest.raises(NothingToCompare, match="no partner"):
        compare_groups([left, right[1:]], alpha=0.05)
    with pytest.raises(NothingToCompare, match="same profile of the same run set"):
        compare_groups([left, left], alpha=0.05)


def test_several_pairs_are_adjusted_together() -> None:
    groups = [[of("a", "p" * 9)], [of("b", "f" * 9)], [of("c", "p" * 3 + "f" * 6)]]
    made = compare_groups(groups, alpha=0.05)
    ps = [(pair.test.p if pair.test else None, pair.p_adjusted) for pair in made.pairs]
    assert ps == [(0.00390625, 0.01171875), (0.03125, 0.0625), (0.25, 0.25)]
    assert [pair.finding for pair in made.pairs] == ["a:p is better", "not distinguishable", "not distinguishable"]


def test_a_missing_verdict_has_not_passed_in_the_strict_difference() -> None:
    """a: 2 of 4, b: 3 of 4; the difference of each task is 0, 0, 0, −1: mean −1/4, standard error 1/4."""
    strict = compare_pair(of("a", "pp--"), of("b", "pp-p")).strict
    assert strict is not None
    assert (strict.tasks, strict.a, strict.b, strict.difference) == (4, 0.5, 0.75, -0.25)
    assert strict.interval is not None
    assert (strict.interval.low, strict.interval.high) == pytest.approx((-0.25 - 1.959964 / 4, -0.25 + 1.959964 / 4))


def test_strict_and_graded_are_the_same_where_every_verdict_is_there() -> None:
    pair = compare_pair(of("a", "pfpf"), of("b", "pppf"))
    assert pair.strict is not None
    assert (pair.strict.difference, pair.strict.interval) == (pair.difference, pair.interval)
    assert compare_pair(of("a", ""), of("b", "p")).strict is None


def test_both_differences_are_named_on_the_command_line() -> None:
    graded, strict = difference_lines(compare_pair(of("a", "pp--"), of("b", "pp-p")))
    assert graded == "graded 100.0% (2 cells) and 100.0% (2 cells): +0.0 points, 95 % +0.0 to +0.0"
    assert strict == "strict 50.0% and 75.0% over 4 tasks: −25.0 points, 95 % −74.0 to +24.0"


def test_no_task_in_common_is_said() -> None:
    pair = compare_groups([[of("a", "-")], [of("b", "p")]], alpha=0.05).pairs[0]
    assert (pair.difference, pair.test, pair.p_adjusted) == (None, None, None)
    assert pair.finding == "no task has a verdict on both sides"


# --- the gate -------------------------------------------------------------------------------------------------------


def judged(mine: str, theirs: str, **gate: Any) -> Any:
    comparison = compare_groups([[of("mine", mine)], [of("label:main", theirs)]], alpha=0.05)
    return judge_gate(Gate(against="label:main", **gate), [], Against(comparison=comparison))


@pytest.mark.parametrize(
    ("mine", "theirs", "state"),
    [
        ("f" * 9, "p" * 9, GateState.MISSED),
        ("f" * 5, "p" * 5, GateState.MET),  # p .0625
        ("p" * 9, "f" * 9, GateState.MET),  # better is not worse
        ("f" * 6 + "-" * 3, "p" * 9, GateState.MISSED),  # p .03125 at best
        ("f" * 5 + "-" * 4, "p" * 9, GateState.OPEN),
        ("p" * 5 + "-" * 4, "p" * 9, GateState.MET),  # p .125 at worst
        ("p" * 9, "-" * 9, GateState.MET),
        ("f" * 9, "-" * 9, GateState.OPEN),
        ("-" * 9, "p" * 9, GateState.OPEN),
    ],
)
def test_a_gate_against_a_partner_is_decided_on_the_bounds(mine: str, theirs: str, state: GateState) -> None:
    result = judged(mine, theirs)
    assert result.state is state
    assert result.checks[0].line.endswith(f": {state.value}")
    assert bool(result.lines) is (state is not GateState.MET)


@given(
    st.lists(st.sampled_from(["pp", "pf", "fp", "ff", "-p", "-f", "p-", "f-", "--"]), min_size=1, max_size=45),
    st.data(),
)
def test_no_way_the_missing_verdicts_fall_contradicts_the_gate(tasks: list[str], data: st.DataObject) -> None:
    mine, theirs = ("".join(task[place] for task in tasks) for place in (0, 1))
    state = judged(mine, theirs).state
    fallen = [
        "".join(data.draw(st.sampled_from("pf")) if mark == "-" else mark for mark in side) for side in (mine, theirs)
    ]
    later = judged(*fallen).state
    assert later in (GateState.MET, GateState.MISSED)
    assert state in (later, GateState.OPEN)


def test_tasks_that_the_other_side_has_not_say_nothing_of_being_worse() -> None:
    assert judged("p" * 9 + "f", "p" * 9).state is GateState.MET


def test_holm_counts_in_the_gate_too() -> None:
    run_set, other = uuid4(), uuid4()
    mine = [of("mine", "f" * 6 + "p" * 3, profile=name, run_set=run_set) for name in "xy"]
    theirs = [of("main", "p" * 9, profile=name, run_set=other) for name in "xy"]
    comparison = compare_groups([mine, theirs], alpha=0.05)
    assert judge_gate(Gate(against="main"), [], Against(comparison=comparison)).state is GateState.MET  # .0625
    worse = [of("mine", "f" * 9, profile="x", run_set=run_set), mine[1]]
    result = judge_gate(
        Gate(against="main"), [], Against(comparison=compare_groups([worse, theirs], alpha=0.05))
    )  # .0078 and .0313
    assert [check.state for check in result.checks] == [GateState.MISSED, GateState.MISSED]


def test_what_could_not_be_compared_leaves_the_gate_open() -> None:
    result = judge_gate(Gate(against="label:x"), [], Against(problem="No run set has the label 'x'"))
    assert (result.state, result.lines) == (
        GateState.OPEN,
        ("against label:x: No run set has the label 'x': open",),
    )
    assert judge_gate(Gate(against="label:x"), []).state is GateState.OPEN
    assert judge_gate(Gate(against="label:x"), [], Against(same_run_set=True)).state is GateState.MET
    comparison = compare_groups([[of("mine", "p")], [of("main", "p")]], alpha=0.05)
    named = judge_gate(Gate(against="main", profiles=["p", "q"]), [], Against(comparison=comparison))
    assert (named.state, named.lines) == (GateState.OPEN, ("q: no partner in main: open",))


def test_a_gate_that_judges_nobody_is_not_met() -> None:
    result = judge_gate(Gate(strict=0.5, profiles=["gone"]), [])
    assert (result.state, result.lines) == (GateState.OPEN, ("no profile is named gone: open",))
    assert judge_gate(Gate(), []).state is GateState.MET


def test_the_command_line_changes_the_files_gate() -> None:
    gate = gate_with(Gate(strict=0.5, graded=0.6), ["strict=0.8"], against="label:main", alpha=0.01)
    assert (gate.strict, gate.graded, gate.against, gate.alpha) == (0.8, 0.6, "label:main", 0.01)
    assert gate_with(Gate(strict=0.5)) == Gate(strict=0.5)


@pytest.mark.parametrize(
    "text", ["0.8", "strict", "strict=", "strict=x", "strict=1.2", "strict=nan", "strict=-1", "cost=1"]
)
def test_a_bad_threshold_is_refused(text: str) -> None:
    from proctor.engine.errors import GateInvalid

    with pytest.raises(GateInvalid):
        gate_with(Gate(), [text])


def test_a_threshold_twice_and_a_bad_alpha_are_refused() -> None:
    from proctor.engine.errors import GateInvalid

    with pytest.raises(GateInvalid, match="twice"):
        gate_with(Gate(), ["strict=0.1", "strict=0.2"])
    with pytest.raises(GateInvalid, match="between 0 and 1"):
        gate_with(Gate(), alpha=1.0)


def test_the_very_same_cells_are_no_test_and_weigh_on_no_other() -> None:
    new = [of("new", "f" * 6, profile="agent"), of("new", "pf", profile="noop", cells="2:7")]
    old = [of("old", "p" * 6, profile="agent"), of("old", "pf", profile="noop", cells="2:7")]
    found = compare_groups([new, old], alpha=0.05)
    agent, noop = found.pairs
    assert agent.test is not None
    assert agent.p_adjusted == agent.test.p == pytest.approx(0.03125)
    assert (noop.same_cells, noop.test, noop.finding) == (True, None, "not distinguishable")
    gate = Gate(profiles=["agent", "noop"], against="old")
    state = {check.profile: check.state for check in judge_gate(gate, [], Against(comparison=found)).checks}
    assert state == {"agent": GateState.MISSED, "noop": GateState.MET}


def test_the_base_alone_is_compared_with_the_others_and_p_is_adjusted_over_these() -> None:
    groups = [[of("base", "p" * 9)], [of("one", "f" * 9)], [of("two", "f" * 9)]]
    every, base = (compare_groups(groups, alpha=0.05, base_only=base_only).pairs for base_only in (False, True))
    assert [(pair.a.title, pair.b.title) for pair in base] == [("base:p", "one:p"), ("base:p", "two:p")]
    assert len(every) == 3
    assert base[0].test is not None
    assert base[0].p_adjusted == 2 * base[0].test.p
