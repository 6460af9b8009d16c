"""Evaluators of every kind judge in jobs: code in real sandboxes, models through the gateway, some of it by routing."""

from __future__ import annotations

import os
import signal
from collections import Counter
from typing import Any

import numpy as np
import pytest
import statsmodels.api as sm

from proctor.analysis.means import mean
from proctor.evaluators.service import Registration
from proctor.jobs import judging
from proctor.jobs.errors import JobInvalid
from proctor.jobs.values import JobState
from proctor.models.errors import PriceUnknown, ProviderUnknown
from tests.conftest import Urls
from tests.data.desk import Desk
from tests.data.programs import started, until_kept
from tests.data.provider import Provider, down

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clean_queue", "no_process_is_left")]

LENGTHS = """
def evaluate(input, expected, output):
    if output == "raise":
        raise ValueError("no such word")
    return {"score": 1 / len(output), "label": output[0]}
"""
COMMAND = """
import json, sys
for line in sys.stdin:
    row = json.loads(line)
    print(json.dumps({"id": row["id"], "score": 0.5 if row["output"] == row["expected"] else 0}))
"""


def register(desk: Desk, name: str, kind: str, **configuration: Any) -> str:
    wanted = Registration(name=name, type=kind, configuration=configuration)
    return desk.platform.evaluators.register(desk.platform.tenant, wanted).row.reference


def vectors(desk: Desk) -> str:
    return register(desk, "meaning", "embedding-similarity", model="near/vectors")


def words(desk: Desk, outputs: list[str]) -> None:
    desk.dataset([{"id": f"e{n}", "input": "?", "expected": output} for n, output in enumerate(outputs)])
    desk.outputs([{"id": f"e{n}", "output": output} for n, output in enumerate(outputs)])


def test_a_function_and_a_command_of_the_users_judge_beside_a_metric(desk: Desk) -> None:
    words(desk, ["ab", "raise", "x"])
    function = register(desk, "lengths", "python", source=LENGTHS)
    command = register(desk, "same", "command", command=["python3", "judge.py"], files={"judge.py": COMMAND})
    standing = desk.work(desk.submit("exact-match", function, command))
    assert standing.job.state is JobState.COMPLETE
    rows = {(row["evaluator"], row["row"]): row for row in desk.rows(standing.job)}
    assert [rows[function, n]["score"] for n in range(3)] == [0.5, None, 1]
    assert [rows[function, n]["label"] for n in range(3)] == ["a", None, "x"]
    assert (rows[function, 1]["status"], "no such word" in rows[function, 1]["error"]) == ("evaluator_error", True)
    assert [rows[command, n]["score"] for n in range(3)] == [0.5, 0.5, 0.5]
    assert [rows["exact-match", n]["score"] for n in range(3)] == [1, 1, 1]
    assert {row["probability"] for row in rows.values()} == {1.0}


def test_rows_without_an_output_are_not_shown_to_a_function(desk: Desk) -> None:
    desk.dataset([{"id": f"e{n}", "input": "?", "expected": "a"} for n in range(3)])
    desk.outputs([{"id": "e1", "output": "ab"}])
    function = register(desk, "lengths", "python", source=LENGTHS)
    standing = desk.work(desk.submit(function))
    assert standing.evaluators[0].counts == {"scored": 1, "invalid_example": 2}
    assert [row["score"] for row in desk.rows(standing.job)] == [None, 0.5, None]


def test_a_function_that_does_not_end_is_told_for_its_rows_alone(desk: Desk) -> None:
    words(desk, ["ab", "cd"])
    slow = register(desk, "slow", "python", source="def evaluate(*_):\n    while True: pass\n", time_limit_sec=0.5)
    standing = desk.work(desk.submit("exact-match", slow))
    counts = {one.evaluator: one.counts for one in standing.evaluators}
    assert counts == {"exact-match": {"scored": 2}, slow: {"timeout": 2}}


def test_an_embedding_is_paid_for_once_whoever_asks_again(desk: Desk, provider: Provider) -> None:
    words(desk, [f"q{n}" for n in range(150)])
    meaning = vectors(desk)
    first = desk.work(desk.submit(meaning))
    assert (first.evaluators[0].mean, first.evaluators[0].scored) == (1.0, 150)
    asked = Counter(provider.asked)
    assert set(asked.values()) == {1}
    cost = sum(row["cost_nano"] for row in desk.rows(first.job))
    assert cost == 150 * 1000  # a token each, at a dollar a million
    again = desk.work(desk.submit("exact-match", meaning))
    assert again.evaluators[1].mean == 1.0
    assert provider.asked == asked
    assert sum(row["cost_nano"] for row in desk.rows(again.job)) == 0


def test_a_worker_that_is_killed_pays_for_no_batch_again_but_those_under_way(
    desk: Desk, provider: Provider, urls: Urls
) -> None:
    words(desk, [f"q{n}" for n in range(1000)])
    provider.delay = 0.05
    job = desk.submit(vectors(desk))
    with started(desk, urls, "target_program", job=job.id) as process:
        until_kept(desk, "judgement", 600)
        os.killpg(process.pid, signal.SIGKILL)
    standing = desk.work(job)
    assert standing.evaluators[0].counts == {"scored": 1000}
    again = sum(provider.asked.values()) - 1000
    assert again <= judging.CALLS * judging.TO_MODEL
    assert again < 400, "what was kept was asked again"


def test_what_a_model_does_not_answer_is_asked_again_and_then_told(
    desk: Desk, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("proctor.jobs.worker.RETRY_SEC", (0.01, 0.01))
    monkeypatch.setattr("proctor.models.gateway.exchanges.wait_before", lambda *_: None)
    words(desk, ["q0", "q1"])
    provider.answer = lambda _question, _time: down(503)
    standing = desk.work(desk.submit(vectors(desk)))
    assert standing.evaluators[0].counts == {"provider_error": 2}
    assert provider.requests == 3
    provider.answer = lambda _question, _time: (200, {})
    again = desk.work(desk.submit("meaning"))
    assert again.evaluators[0].counts == {"scored": 2}


def test_a_budget_holds_for_evaluators_too(desk: Desk, provider: Provider) -> None:
    words(desk, [f"q{n}" for n in range(640)])
    job = desk.submit(vectors(desk), budget="0.0003 USD")
    standing = desk.work(job)
    counts = standing.evaluators[0].counts
    assert counts["budget"] > 0
    assert sum(counts.values()) == 640
    spent = sum(row["cost_nano"] or 0 for row in desk.rows(job))
    assert job.budget_nano is not None
    assert 0 <= spent <= job.budget_nano


def test_a_dear_evaluator_judges_what_a_cheap_one_is_not_certain_of(desk: Desk, provider: Provider) -> None:
    desk.dataset([{"id": f"e{n}", "input": "?", "expected": "a b c d"} for n in range(4)])
    outputs = ["a b c d", "a b x y", "x y z w", None]
    desk.outputs([{"id": f"e{n}", "output": one} for n, one in enumerate(outputs) if one])
    route = {"evaluator": "meaning", "after": "token-f1", "low": 0.2, "high": 0.8}
    vectors(desk)
    job = desk.submit("token-f1", "meaning", routes=[route])
    standing = desk.work(job)
    rows = [row for row in desk.rows(job) if row["evaluator"] == "meaning@1"]
    assert [row["status"] for row in rows] == ["not_chosen", "scored", "not_chosen", "invalid_example"]
    assert [row["probability"] for row in rows] == [0, 1, 0, 1]
    assert set(provider.asked) == {"a b c d", "a b x y"}
    assert standing.evaluators[1].counts == {"not_chosen": 2, "scored": 1, "invalid_example": 1}
    assert standing.done == standing.expected
    with pytest.raises(JobInvalid, match="routing chose"):
        _ = list(_distribution(desk, str(job.id), "meaning@1"))


def _distribution(desk: Desk, job: str, evaluator: str) -> Any:
    from proctor.sdk.analyses import JobAnalyses

    return JobAnalyses(desk.platform).distribution(job, evaluators=[evaluator])


def test_a_sample_of_the_certain_ones_makes_the_mean_that_of_all(desk: Desk) -> None:
    """The weighted mean and its error are those of a regression of the scores on a constant, weighted the same."""
    count = 2000
    desk.dataset([{"id": f"e{n}", "input": "?", "expected": "w b c d"} for n in range(count)])
    kinds = ["w b c d", "w b x y", "w x y z"]
    desk.outputs([{"id": f"e{n}", "output": kinds[n % 3]} for n in range(count)])
    route = {"evaluator": "rouge-l", "after": "token-f1", "low": 0.4, "high": 0.6, "otherwise": 0.25}
    job = desk.submit("token-f1", "rouge-l", routes=[route])
    whole = desk.work(desk.submit("rouge-l")).evaluators[0]
    part = desk.work(job).evaluators[1]
    assert part.scored < 0.6 * count
    assert part.counts["not_chosen"] == count - part.scored
    assert part.mean is not None
    assert whole.mean is not None
    assert part.error is not None
    assert abs(part.mean - whole.mean) < 4 * part.error
    rows = [row for row in desk.rows(job, status="scored") if row["evaluator"] == "rouge-l"]
    assert {row["probability"] for row in rows} == {1.0, 0.25}
    scores = np.array([row["score"] for row in rows])
    weights = 1 / np.array([row["probability"] for row in rows])
    fitted = sm.WLS(scores, np.ones(len(scores)), weights=weights).fit(cov_type="HC1")
    assert part.mean == pytest.approx(fitted.params[0])
    assert part.error == pytest.approx(fitted.bse[0], rel=1e-3)
    again = desk.work(desk.submit("token-f1", "rouge-l", routes=[route]))
    assert [row["status"] for row in desk.rows(again.job)] == [row["status"] for row in desk.rows(job)]


def test_what_routes_may_itself_be_waited_for(desk: Desk, provider: Provider) -> None:
    words(desk, ["ab", "x"])
    register(desk, "lengths", "python", source=LENGTHS)
    vectors(desk)
    route = {"evaluator": "meaning", "after": "lengths", "low": 0, "high": 0.9}
    standing = desk.work(desk.submit("lengths", "meaning", routes=[route]))
    assert standing.evaluators[1].counts == {"scored": 1, "not_chosen": 1}
    assert set(provider.asked) == {"ab"}


@pytest.mark.parametrize(
    ("route", "field", "told"),
    [
        ({"evaluator": "bleu"}, "routes.0.evaluator", "none of the job's evaluators"),
        ({"after": "bleu"}, "routes.0.after", "none of the job's evaluators"),
        ({"after": "rouge-l"}, "routes.0.after", "judges everything"),
        ({"low": 0.9, "high": 0.1}, "routes.0.low", "above"),
    ],
)
def test_a_route_that_makes_no_sense_is_refused(desk: Desk, route: dict[str, Any], field: str, told: str) -> None:
    words(desk, ["a"])
    said = {"evaluator": "rouge-l", "after": "token-f1", "low": 0.2, "high": 0.8, **route}
    with pytest.raises(JobInvalid, match=told) as caught:
        desk.submit("token-f1", "rouge-l", routes=[said])
    assert caught.value.where == field
    assert desk.evaluations.jobs() == []


def test_a_model_that_can_t_be_asked_is_refused_before_anything_is(desk: Desk, provider: Provider) -> None:
    words(desk, ["a"])
    register(desk, "far", "embedding-similarity", model="nowhere/m")
    register(desk, "unpriced", "embedding-similarity", model="near/unpriced")
    with pytest.raises(ProviderUnknown):
        desk.submit("far")
    with pytest.raises(PriceUnknown):
        desk.submit("unpriced", budget="1 USD")
    with pytest.raises(JobInvalid, match="no model is asked"):
        desk.submit("exact-match", budget="1 USD")
    assert desk.evaluations.jobs() == []
    assert provider.requests == 0


@pytest.mark.parametrize("repeats", [1, 3])
@pytest.mark.parametrize("routed", [False, True])
def test_what_is_added_up_is_what_the_statistics_say_of_the_column(desk: Desk, repeats: int, routed: bool) -> None:
    """DuckDB's sums and numpy's columns give one mean, one error and one interval."""
    desk.dataset([{"id": f"e{n}", "input": "?", "expected": "w b c d"} for n in range(200)])
    kinds = ["w b c d", "w b x y", "w x y z", "q"]
    desk.outputs(
        [{"id": f"e{n}", "repeat": r, "output": kinds[(n + r * n) % 4]} for n in range(200) for r in range(repeats)]
    )
    route = {"evaluator": "rouge-l", "after": "exact-match", "low": 0.4, "high": 1, "otherwise": 0.3}
    standing = desk.work(desk.submit("exact-match", "rouge-l", routes=[route] if routed else []))
    for one in standing.evaluators:
        rows = [row for row in desk.rows(standing.job, status="scored") if row["evaluator"] == one.evaluator]
        found = mean(
            [row["score"] for row in rows],
            clusters=[row["row"] for row in rows] if repeats > 1 else None,
            weights=[1 / row["probability"] for row in rows] if one.evaluator == "rouge-l" and routed else None,
        )
        assert one.mean == pytest.approx(found.value, rel=1e-12)
        assert one.error == pytest.approx(found.error, rel=1e-6)
        assert one.interval is not None
        assert found.interval is not None
        assert one.interval.low == pytest.approx(found.interval.low, rel=1e-6)
        assert one.scored == found.items
