"""Outputs that a job has made: by a real HTTP server that answers, refuses, is down, and by workers that are killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import text

from proctor.evaluators.statuses import Status
from proctor.jobs import generating
from proctor.jobs.errors import JobInvalid, PromptUnknown, TargetInvalid
from proctor.jobs.prompts import NewPrompt
from proctor.jobs.targets import LONGEST_PROMPT, Target, read_target, rendered
from proctor.jobs.values import Job, JobState
from proctor.kernel.errors import UsageError
from proctor.models.errors import PriceUnknown, ProviderUnknown
from proctor.sdk.prompts import Prompts
from tests.conftest import Urls
from tests.data.desk import Desk
from tests.data.programs import started, until_kept
from tests.data.provider import Provider, down, said

pytestmark = [pytest.mark.database, pytest.mark.usefixtures("clean_queue", "no_process_is_left")]

TARGET = {"model": "near/m", "prompt": "{{input}}", "max_output_tokens": 20}


def asked_for(desk: Desk, **more: Any) -> Job:
    return desk.submit(samples=None, target=Target.model_validate(TARGET), **more)


def examples(desk: Desk, count: int) -> None:
    desk.dataset([{"id": f"e{n}", "input": f"q{n}", "expected": f"q{n}"} for n in range(count)])


def test_each_example_is_asked_once_for_each_repeat_and_another_job_asks_nothing(
    desk: Desk,
    provider: Provider,
) -> None:
    examples(desk, 250)
    first = desk.work(asked_for(desk, repeats=2))
    assert (first.job.state, first.evaluators[0].mean, first.done) == (JobState.COMPLETE, 1.0, 500)
    assert set(provider.asked.values()) == {2}
    again = desk.work(asked_for(desk, repeats=2))
    assert again.done == 500
    assert set(provider.asked.values()) == {2}
    rows = desk.rows(again.job)
    assert {(row["model"], row["target"]) for row in rows} == {("m", Target.model_validate(TARGET).digest)}
    assert [row["sample"] for row in desk.rows(first.job)] == [row["sample"] for row in rows]
    more = desk.work(asked_for(desk, repeats=3))
    assert (more.done, set(provider.asked.values())) == (750, {3})


def test_a_worker_that_is_killed_repeats_no_call_but_those_under_way(
    desk: Desk,
    provider: Provider,
    urls: Urls,
) -> None:
    examples(desk, 1000)
    provider.delay = 0.02
    job = asked_for(desk)
    kept = "SELECT count(*) FROM proctor.target_output"
    platform = desk.platform
    with started(desk, urls, "target_program", job=job.id) as process:
        until_kept(desk, "target_output", 900)
        os.killpg(process.pid, signal.SIGKILL)
    with platform.database.tenant(platform.tenant) as connection:
        assert 900 <= connection.execute(text(kept)).scalar_one() < 1000
    standing = desk.work(job)
    assert (standing.job.state, standing.evaluators[0].counts) == (JobState.COMPLETE, {"scored": 1000})
    assert len(provider.asked) == 1000
    again = sum(provider.asked.values()) - 1000
    assert again <= generating.AT_ONCE, f"{again} calls were made again"


def test_what_a_provider_does_not_answer_is_asked_again_and_then_told(
    desk: Desk,
    provider: Provider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("proctor.jobs.worker.RETRY_SEC", (0.01, 0.01))
    monkeypatch.setattr("proctor.models.gateway.exchanges.wait_before", lambda *_: None)
    examples(desk, 5)

    def answer(question: str, time_asked: int) -> tuple[int, dict[str, Any]]:
        if question == "q1":
            return down(503)
        if question == "q2" and time_asked == 1:
            return down(503)
        return said("I can't.", finish="content_filter") if question == "q3" else said(question)

    provider.answer = answer
    standing = desk.work(asked_for(desk))
    assert standing.job.state is JobState.COMPLETE
    assert standing.evaluators[0].counts == {"scored": 3, "provider_error": 1, "refused": 1}
    assert provider.asked == {"q0": 1, "q1": 3, "q2": 2, "q3": 1, "q4": 1}
    by_row = {row["row"]: row for row in desk.rows(standing.job)}
    assert (by_row[1]["status"], by_row[1]["score"]) == (Status.PROVIDER_ERROR, None)
    assert "unavailable" in by_row[1]["error"]


def test_a_budget_stops_the_calls_that_it_has_no_room_for(desk: Desk, provider: Provider) -> None:
    examples(desk, 300)
    job = asked_for(desk, budget="0.003 USD")  # a call costs 0.00002 USD, and may cost 0.00012
    standing = desk.work(job)
    counts = standing.evaluators[0].counts
    assert standing.job.state is JobState.COMPLETE
    assert counts["budget"] > 0
    assert counts["scored"] + counts["budget"] == 300
    with desk.platform.database.tenant(desk.platform.tenant) as connection:
        spent = connection.execute(text("SELECT sum(cost_nano) FROM proctor.target_output")).scalar_one()
    assert job.budget_nano is not None
    assert 0 < spent <= job.budget_nano
    assert standing.spent_nano == spent
    assert sum(provider.asked.values()) == counts["scored"]


def test_what_can_t_be_asked_is_refused_before_anything_is(desk: Desk, provider: Provider) -> None:
    examples(desk, 2)
    with pytest.raises(JobInvalid, match="or a target"):
        desk.submit(samples=None)
    with pytest.raises(ProviderUnknown):
        desk.submit(samples=None, target=Target(model="nowhere/m"))
    with pytest.raises(PriceUnknown):
        desk.submit(samples=None, target=Target(model="near/unpriced"), budget="1 USD")
    with pytest.raises(JobInvalid, match="5 USD"):
        asked_for(desk, budget="much")
    with pytest.raises(TargetInvalid, match="There is no {{question}}"):
        desk.submit(samples=None, target=Target(model="near/m", prompt="{{question}}"))
    assert desk.evaluations.jobs() == []
    assert not provider.asked


def test_an_example_without_what_the_prompt_names_is_invalid_and_the_rest_goes_on(
    desk: Desk,
    provider: Provider,
) -> None:
    desk.dataset([{"id": "a", "input": "x", "lang": "en"}, {"id": "b", "input": "y"}])
    job = desk.submit("contains", samples=None, target=Target(model="near/m", prompt="{{input}} in {{metadata.lang}}"))
    desk.work(job)
    assert [row["status"] for row in desk.rows(job)] == ["invalid_example", "invalid_example"]
    assert [row["error"].split(":")[0] for row in desk.rows(job)][1] == "prompt"
    assert set(provider.asked) == {"x in en"}


def test_what_an_example_holds_is_never_read_as_a_template() -> None:
    example = {"id": "a", "input": "{{metadata.secret}} {{id}}", "metadata": '{"secret": "s", "n": [1, "é"]}'}
    assert rendered("{{ input }}|{{metadata.n}}|{{id}}", example) == '{{metadata.secret}} {{id}}|[1, "é"]|a'


def test_a_targets_digest_is_of_what_it_says_and_not_of_how(tmp_path: Path) -> None:
    short, long = tmp_path / "short.toml", tmp_path / "long.toml"
    short.write_text('model = "near/m"\n')
    long.write_text('prompt = "{{input}}"\nfallbacks = []\nmodel = "near/m"\n')
    assert read_target(short).digest == read_target(long).digest
    long.write_text('model = "near/m"\n[parameters]\ntemperature = 0\n')
    assert read_target(short).digest != read_target(long).digest
    for words, field in (
        ('model = "m"\n', "model"),
        ('model = "near/m"\ntemperature = 0\n', "temperature"),
        ("model = 3\n", "model"),
        ("model = \n", "no TOML"),
    ):
        short.write_text(words)
        with pytest.raises(TargetInvalid, match=field):
            read_target(short)


ANSWERS = """
import json, sys
for line in sys.stdin:
    row = json.loads(line)
    open("/tmp/asked", "a").write(row["id"])
    if row["input"] == "q1":
        print(json.dumps({"id": row["id"], "error": "I don't know"}))
    elif row["input"] != "q2":
        print(json.dumps({"id": row["id"], "output": row["metadata"].get("prefix", "") + str(row["input"])}))
"""


def test_a_command_makes_outputs_in_a_sandbox_and_they_are_kept(desk: Desk) -> None:
    rows = [{"id": f"e{n}", "input": f"q{n}", "expected": f"q{n}"} for n in range(4)]
    desk.dataset([*rows[:3], {"id": "e3", "input": {"deep": [1]}, "expected": "{'deep': [1]}"}])
    target = Target.model_validate({"command": {"command": ["python3", "answer.py"], "files": {"answer.py": ANSWERS}}})
    standing = desk.work(desk.submit(samples=None, target=target))
    assert standing.job.state is JobState.COMPLETE
    told = [(row["status"], row["score"], row["error"]) for row in desk.rows(standing.job)]
    assert told[0] == ("scored", 1, None)
    assert told[1] == ("evaluator_error", None, "I don't know")
    assert told[2][0] == "evaluator_error"
    assert "did not answer" in (told[2][2] or "")
    assert told[3] == ("scored", 1, None)
    with desk.platform.database.tenant(desk.platform.tenant) as connection:
        kept = connection.execute(text("SELECT count(*), count(call_id) FROM proctor.target_output")).one()
    assert tuple(kept) == (2, 0)
    assert standing.job.name == "capitals by python3 answer.py"


@pytest.mark.parametrize(
    ("said_of_it", "field"),
    [
        ({}, "model"),
        ({"model": "near/m", "command": {"command": ["true"]}}, "model"),
        ({"command": {"command": ["true"]}, "prompt": "{{input}}!"}, "prompt"),
        ({"command": {"command": ["true"]}, "max_output_tokens": 3}, "max_output_tokens"),
    ],
)
def test_a_target_is_a_model_or_a_command(desk: Desk, said_of_it: dict[str, Any], field: str) -> None:
    examples(desk, 1)
    with pytest.raises(TargetInvalid) as caught:
        desk.submit(samples=None, target=Target.model_validate(said_of_it))
    assert caught.value.where == field


def test_a_target_asks_with_the_version_of_a_prompt_that_it_names(desk: Desk, provider: Provider) -> None:
    prompts = Prompts(desk.platform)
    first, new = prompts.add(NewPrompt(name="short", prompt="{{input}}", system="Be brief."))
    assert (first.row.reference, new) == ("short@1", True)
    assert prompts.add(NewPrompt(name="short", prompt="{{input}}", system="Be brief.")) == (first, False)
    second, _ = prompts.add(NewPrompt(name="short", prompt="In a word: {{input}}"))
    assert [row.reference for row in prompts.all()] == ["short@2", "short@1"]
    assert (prompts.show("short"), prompts.show("short@1")) == (second, first)
    examples(desk, 2)
    job = desk.submit(samples=None, target=Target(model="near/m", prompt_version="short"))
    assert job.target is not None
    assert (job.target["prompt_version"], job.target["prompt"]) == ("short@2", "In a word: {{input}}")
    desk.work(job)
    assert set(provider.asked) == {"In a word: q0", "In a word: q1"}
    prompts.add(NewPrompt(name="short", prompt="three {{input}}"))
    asked = provider.asked.copy()
    desk.work(desk.submit(samples=None, target=Target(model="near/m", prompt="In a word: {{input}}")))
    assert provider.asked == asked, "the same words under no name were paid for again"
    assert desk.evaluations.job(str(job.id)).target == job.target
    with pytest.raises(PromptUnknown):
        desk.submit(samples=None, target=Target(model="near/m", prompt_version="short@9"))
    with pytest.raises(TargetInvalid, match="none of its own"):
        desk.submit(samples=None, target=Target(model="near/m", prompt_version="short", prompt="x"))


@pytest.mark.parametrize(
    ("new", "field"),
    [
        ({"name": "-x"}, "name"),
        ({"name": "x@1"}, "name"),
        ({"prompt": ""}, "prompt"),
        ({"prompt": "a" * (LONGEST_PROMPT + 1)}, "prompt"),
        ({"system": "\0"}, "system"),
        ({"system": "{{question}}"}, "system"),
        ({"description": "a" * 2001}, "description"),
    ],
)
def test_a_prompt_that_can_t_be_kept_is_refused_by_name(desk: Desk, new: dict[str, str], field: str) -> None:
    with pytest.raises(UsageError) as caught:
        Prompts(desk.platform).add(NewPrompt(**{"name": "x", "prompt": "{{input}}", **new}))
    assert caught.value.where == field
    assert Prompts(desk.platform).all() == []
