"""The gateway as a library: conversations of ours, and answers that are kept."""

from __future__ import annotations

from pathlib import Path

import pytest

from proctor.models.cache import CacheKey
from proctor.models.calls import End, Purpose
from proctor.models.conversation import ChatRequest, Message, Role, Text
from proctor.models.errors import CallFailed, LimitReached
from proctor.models.gateway.sessions import Bounds
from proctor.models.wires.interfaces import Fault
from tests.models.desk import COST, desk
from tests.models.upstream import answers, provider, refuses


async def test_an_answer_is_asked_for_no_longer_than_the_model_gives(tmp_path: Path) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        ask = [Message(role=Role.USER, parts=[Text(text="hello")])]
        _, call = await one.gateway.complete(
            one.session, ChatRequest(model="one/m", messages=ask, max_output_tokens=100_000)
        )
    assert call.reserved_nano is not None
    assert call.reserved_nano < 100 * 10_000 + 1_000_000


def asking(words: str = "hello") -> ChatRequest:
    return ChatRequest(
        model="one/m", messages=[Message(role=Role.USER, parts=[Text(text=words)])], max_output_tokens=100
    )


async def test_a_conversation_of_ours_is_answered(tmp_path: Path) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        reply, call = await one.gateway.complete(one.session, asking())
    assert (reply.text, call.cost_nano, call.model) == ("hello", COST, "one/m")


async def test_a_conversation_that_a_provider_refuses_says_why(tmp_path: Path) -> None:
    async with provider(refuses(400, "context_length_exceeded")) as there, desk(tmp_path, {"one": there.url}) as one:
        with pytest.raises(CallFailed) as failed:
            await one.gateway.complete(one.session, asking())
    assert (failed.value.fault, failed.value.http_status) == (Fault.CONTEXT, 400)


async def test_a_conversation_has_the_attempts_bounds_too(tmp_path: Path) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}, bounds=Bounds(cost_nano=10)) as one:
        with pytest.raises(LimitReached):
            await one.gateway.complete(one.session, asking())
    assert there.bill.requests == 0


# --- answers that are kept --------------------------------------------------------------------------------------------


async def test_a_question_is_not_paid_for_twice_and_a_hit_says_so(tmp_path: Path) -> None:
    key = CacheKey(evaluator="judge-1")
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        first, _ = await one.gateway.complete(one.session, asking(), Purpose.JUDGE, key)
        again, call = await one.gateway.complete(one.session, asking(), Purpose.JUDGE, key)
    assert (first, there.bill.requests) == (again, 1)
    assert (call.end, call.cost_nano, call.model, call.answered) == (End.CACHED, 0, "one/m", "m")
    assert one.spending.spent_nano == COST
    assert one.session.totals.cost_nano == COST


@pytest.mark.parametrize(
    ("key", "words", "purpose"),
    [
        (CacheKey(evaluator="judge-2"), "hello", Purpose.JUDGE),
        (CacheKey(evaluator="judge-1", repeat=1), "hello", Purpose.JUDGE),
        (CacheKey(evaluator="judge-1"), "other", Purpose.JUDGE),
        (CacheKey(evaluator="judge-1"), "hello", Purpose.AGENT),
    ],
)
async def test_another_question_is_asked(tmp_path: Path, key: CacheKey, words: str, purpose: Purpose) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        await one.gateway.complete(one.session, asking(), Purpose.JUDGE, CacheKey(evaluator="judge-1"))
        await one.gateway.complete(one.session, asking(words), purpose, key)
    assert there.bill.requests == 2


async def test_another_tenant_is_not_told(tmp_path: Path) -> None:
    key = CacheKey(evaluator="judge-1")
    async with provider(answers()) as there:
        for _ in range(2):  # each desk's payer is a tenant of its own; the objects are the same
            async with desk(tmp_path, {"one": there.url}) as one:
                await one.gateway.complete(one.session, asking(), Purpose.JUDGE, key)
    assert there.bill.requests == 2


async def test_errors_are_never_kept(tmp_path: Path) -> None:
    key = CacheKey(evaluator="judge-1")
    async with provider(refuses(400), answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        with pytest.raises(CallFailed):
            await one.gateway.complete(one.session, asking(), Purpose.JUDGE, key)
        reply, _ = await one.gateway.complete(one.session, asking(), Purpose.JUDGE, key)
    assert reply.text == "hello"


# --- agents that want to bring the gateway down -----------------------------------------------------------------------
