"""The gateway against providers that misbehave: what agents see, what is charged, and what is said of the end."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import aiohttp
import pytest

from proctor.models.calls import End
from proctor.models.gateway.sessions import Bounds, Declared
from proctor.models.wires.interfaces import WireName
from tests.models.desk import COST, Desk, desk
from tests.models.upstream import Behaviour, answers, chunks, drops, hangs, provider, refuses, trickles

HELLO = [{"role": "user", "content": "hello"}]
CONTENTS = [{"role": "user", "parts": [{"text": "hello"}]}]


def events(body: bytes) -> list[object]:
    lines = [line[6:] for line in body.decode().splitlines() if line.startswith("data: ")]
    return [json.loads(line) for line in lines if line != "[DONE]"]


async def streamed(one: Desk, **body: object) -> tuple[int, bytes]:
    status, _, raw = await one.ask(stream=True, **body)
    return status, raw


async def test_an_answer_is_passed_on_as_it_came_and_counted(tmp_path: Path) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        status, headers, body = await one.ask()
    assert (status, json.loads(body)["choices"][0]["message"]["content"]) == (200, "hello")
    assert headers["x-proctor-model"] == "one/m"
    assert there.bill.keys == ["k1"]
    assert one.session.totals.cost_nano == one.spending.spent_nano == COST
    [call] = one.spending.calls
    assert (call.end, call.usage.input_tokens, call.usage.output_tokens, call.answered) == (End.DONE, 10, 5, "m")
    assert call.reserved_nano is not None
    assert call.reserved_nano >= COST
    assert not call.overrun


async def test_a_stream_comes_event_by_event_and_is_counted_at_its_end(tmp_path: Path) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        status, headers, body = await one.ask(stream=True, stream_options={"include_usage": True})
    assert (status, headers["x-proctor-model"]) == (200, "one/m")
    assert body == b"".join(chunks("m", 10, 5))
    assert there.bill.bodies[0]["stream_options"] == {"include_usage": True}
    assert one.spending.spent_nano == COST


async def test_a_caller_that_asked_for_no_usage_is_told_none_and_it_is_counted_all_the_same(tmp_path: Path) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        _, body = await streamed(one)
    assert all(event["choices"] for event in events(body))
    assert there.bill.bodies[0]["stream_options"] == {"include_usage": True}
    assert one.spending.spent_nano == COST


async def test_too_many_requests_are_waited_for_as_the_provider_says(tmp_path: Path) -> None:
    storm = [refuses(429, headers={"retry-after": "7"})] * 2
    async with provider(*storm, answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        status, _, _ = await one.ask()
    assert status == 200
    assert one.waited == [7, 7]
    assert one.ends == [End.RATE_LIMIT, End.RATE_LIMIT, End.DONE]
    assert one.rates.throttled_keys == ["KEY", "KEY"]
    assert one.session.failure is None
    assert one.spending.spent_nano == COST


async def test_a_storm_ends_the_call_with_the_providers_own_words_and_is_evidence(tmp_path: Path) -> None:
    async with provider(refuses(429, headers={"retry-after": "7"})) as there, desk(tmp_path, {"one": there.url}) as one:
        status, headers, body = await one.ask()
    assert (status, headers["retry-after"], headers["x-should-retry"]) == (429, "7", "false")
    assert json.loads(body)["error"]["message"] == "refused with 429"
    assert there.bill.requests == 4
    assert one.session.failure is not None
    assert (one.session.failure.end, one.session.failure.http_status) == (End.RATE_LIMIT, 429)
    assert one.session.retry_after == 7
    assert one.spending.spent_nano == 0


async def test_longer_than_a_call_may_wait_is_not_waited(tmp_path: Path) -> None:
    later = refuses(429, headers={"retry-after": "3600"})
    async with provider(later) as there, desk(tmp_path, {"one": there.url}) as one:
        status, _, _ = await one.ask()
    assert (status, one.waited, there.bill.requests) == (429, [], 1)


@pytest.mark.parametrize("status", [500, 502, 503, 529])
async def test_a_providers_fault_is_tried_again(tmp_path: Path, status: int) -> None:
    async with provider(refuses(status), answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        assert (await one.ask())[0] == 200
    assert one.ends == [End.UNAVAILABLE, End.DONE]
    assert 0.8 <= one.waited[0] <= 1.2


async def test_a_key_that_expired_is_not_tried_again_and_is_the_providers(tmp_path: Path) -> None:
    async with provider(answers(), key="other") as there, desk(tmp_path, {"one": there.url}) as one:
        status, _, _ = await one.ask()
    assert (status, there.bill.requests) == (401, 1)
    assert one.session.failure is not None
    assert one.session.failure.end is End.AUTH


async def test_without_any_key_nothing_is_asked(tmp_path: Path) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}, keys={}) as one:
        status, _, body = await one.ask()
    assert (status, there.bill.requests) == (401, 0)
    assert b"KEY" in body


async def test_a_connection_that_breaks_is_tried_again_and_charged_at_its_worst_case(tmp_path: Path) -> None:
    async with provider(drops(), answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        assert (await one.ask())[0] == 200
    broken, done = one.spending.calls
    assert (broken.end, broken.http_status, broken.cost_nano) == (End.UNAVAILABLE, None, broken.reserved_nano)
    assert done.cost_nano == COST


async def test_a_stream_that_breaks_before_its_first_piece_is_tried_again(tmp_path: Path) -> None:
    async with provider(drops(), answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        status, body = await streamed(one, stream_options={"include_usage": True})
    assert (status, body) == (200, b"".join(chunks("m", 10, 5)))


async def test_a_stream_that_breaks_in_the_middle_breaks_for_the_caller_too(tmp_path: Path) -> None:
    async with provider(drops(after=2)) as there, desk(tmp_path, {"one": there.url}) as one:
        with pytest.raises(aiohttp.ClientPayloadError):
            await streamed(one)
    [call] = one.spending.calls
    assert call.cost_nano == call.reserved_nano
    assert call.end in (End.ABANDONED, End.UNAVAILABLE)
    assert one.session.failure is not None


async def test_a_provider_that_is_not_there_costs_nothing(tmp_path: Path) -> None:
    async with desk(tmp_path, {"one": "http://127.0.0.1:9"}) as one:
        status, _, _ = await one.ask()
    assert (status, one.spending.spent_nano) == (502, 0)
    assert one.session.failure is not None
    assert one.session.failure.http_status is None


@pytest.mark.parametrize("behaviour", [hangs(), trickles()], ids=["silent", "a byte at a time"])
async def test_an_answer_has_a_deadline(tmp_path: Path, behaviour: Behaviour) -> None:
    settings = {"one": {"timeout_sec": 1.0}}
    async with provider(behaviour) as there, desk(tmp_path, {"one": there.url}, providers=settings) as one:
        status, _, _ = await asyncio.wait_for(one.ask(), 10)
    assert status == 502
    assert one.ends == [End.UNAVAILABLE]


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"choices": 3, "usage": "x"}'])
async def test_an_answer_that_is_no_answer_is_the_providers_fault(tmp_path: Path, body: bytes) -> None:
    there_says = refuses(200, body=body, headers={"Content-Type": "application/json"})
    async with provider(there_says) as there, desk(tmp_path, {"one": there.url}) as one:
        status, _, _ = await one.ask()
    assert status in (200, 502)
    assert one.session.failure is not None
    assert one.spending.spent_nano == sum(call.reserved_nano or 0 for call in one.spending.calls)


async def test_another_model_than_any_declared_is_a_providers_error(tmp_path: Path) -> None:
    async with provider(answers("cheaper-model")) as there, desk(tmp_path, {"one": there.url}) as one:
        status, _, _ = await one.ask()
        again, _, _ = await one.ask()
    assert (status, again) == (502, 401)
    assert one.session.tainted
    assert one.ends == [End.UNDECLARED]


@pytest.mark.parametrize("name", ["m-2026-01-31", "m-20260131", "m-0125", "vendor/m", "M", "m-latest"])
async def test_a_models_version_is_the_model(tmp_path: Path, name: str) -> None:
    async with provider(answers(name)) as there, desk(tmp_path, {"one": there.url}) as one:
        assert (await one.ask())[0] == 200
    assert one.session.answered == name


async def test_a_declared_fallback_answers_and_says_so(tmp_path: Path) -> None:
    declared = Declared(model="one/m", fallbacks=("two/m",))
    async with (
        provider(refuses(503)) as first,
        provider(answers()) as second,
        desk(tmp_path, {"one": first.url, "two": second.url}, declared=declared) as one,
    ):
        status, headers, _ = await one.ask()
    assert (status, headers["x-proctor-model"]) == (200, "two/m")
    assert [call.model for call in one.spending.calls] == ["one/m"] * 4 + ["two/m"]
    assert one.session.failure is None


async def test_a_budget_without_room_asks_nobody(tmp_path: Path) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}, limit_nano=1000) as one:
        status, headers, body = await one.ask()
    assert (status, there.bill.requests, headers["x-should-retry"]) == (402, 0, "false")
    assert json.loads(body)["error"]["code"] == "budget_exhausted"
    assert one.session.refusal is not None
    assert one.session.refusal.end is End.BUDGET


async def test_a_model_without_a_price_is_refused_under_a_budget_alone(tmp_path: Path) -> None:
    for limit, status in ((None, 200), (10**9, 402)):
        declared = Declared(model="one/unpriced")
        async with (
            provider(answers()) as there,
            desk(tmp_path, {"one": there.url}, declared=declared, limit_nano=limit) as one,
        ):
            assert (await one.ask(model="unpriced"))[0] == status
    assert one.session.totals.cost_nano == 0


async def test_a_provider_that_answers_more_than_it_was_asked_for_is_an_overrun(tmp_path: Path) -> None:
    async with provider(answers(completion=5000)) as there, desk(tmp_path, {"one": there.url}) as one:
        await one.ask()
    [call] = one.spending.calls
    assert call.overrun
    assert one.spending.spent_nano == 10 * 1_000 + 5000 * 10_000


async def test_an_attempts_own_bounds_hold(tmp_path: Path) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}, bounds=Bounds(tokens=30)) as one:
        assert [(await one.ask())[0] for _ in range(3)] == [200, 200, 402]
    assert one.session.limit == "tokens"
    bounds = Bounds(cost_nano=1_200_000)
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}, bounds=bounds) as one:
        statuses = [(await one.ask())[0] for _ in range(8)]
    assert set(statuses) == {200, 402}
    assert one.session.totals.cost_nano is not None
    assert one.session.totals.cost_nano <= 1_200_000
    assert one.session.limit == "cost"


async def test_a_breaker_opens_and_asks_one_first(tmp_path: Path) -> None:
    async with provider(refuses(503)) as there, desk(tmp_path, {"one": there.url}) as one:
        await one.ask()
        await one.ask()
        status, headers, _ = await one.ask()
    assert status == 503
    assert int(headers["retry-after"]) <= 30
    assert there.bill.requests == 5


@pytest.mark.parametrize(
    ("path", "body", "told"),
    [
        ("/v1/chat/completions", {"messages": HELLO}, b'"content":"hello"'),
        ("/v1/responses", {"input": "hello", "max_output_tokens": 9}, b'"text":"hello"'),
        ("/v1/messages", {"messages": HELLO}, b'"text":"hello"'),
        ("/v1beta/models/echo:generateContent", {"contents": CONTENTS}, b'"text":"hello"'),
        ("/v1beta/models/echo:streamGenerateContent?alt=sse", {"contents": CONTENTS}, b'"text":"hello"'),
        ("/v1/models/echo:generateContent", {"contents": CONTENTS}, b'"text":"hello"'),
        ("/v1/embeddings", {"input": "hello"}, b'"embedding"'),
    ],
)
async def test_every_wire_is_answered_and_counted(
    tmp_path: Path, path: str, body: dict[str, object], told: bytes
) -> None:
    async with desk(tmp_path, {"one": "http://127.0.0.1:9"}, declared=Declared(model="mock/echo")) as one:
        async with one.caller() as http:
            headers = {"x-goog-api-key": one.session.token}
            limit = {"max_tokens": 9} if "messages" in body else {}
            async with http.post(
                f"http://g{path}", json={"model": "echo", **limit, **body}, headers=headers
            ) as response:
                said = await response.read()
        assert (response.status, told in said.replace(b": ", b":")) == (200, True), said
    assert one.ends == [End.DONE]
    assert one.session.totals.usage.total is not None
    assert one.session.totals.usage.total > 0
    assert one.session.totals.cost_nano is not None


async def test_tokens_are_counted_for_nothing(tmp_path: Path) -> None:
    echo = Declared(model="mock/echo")
    async with desk(tmp_path, {"one": "http://127.0.0.1:9"}, declared=echo) as one, one.caller() as http:
        body, headers = {"model": "echo", "messages": HELLO}, {"x-api-key": one.session.token}
        async with http.post("http://g/v1/messages/count_tokens", json=body, headers=headers) as response:
            assert (await response.json())["input_tokens"] > 0
    assert one.ends == []


async def test_a_wire_that_the_models_provider_does_not_speak_is_refused(tmp_path: Path) -> None:
    async with provider(answers()) as there, desk(tmp_path, {"one": there.url}) as one:
        status, _, body = await one.ask("/v1/messages")
    assert (status, there.bill.requests) == (400, 0)
    assert b"openai-chat" in body


# --- in our own words -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "exact"),
    [
        (refuses(200, body=b'{"input_tokens": 11}'), True),
        (refuses(200, body=b"no JSON"), False),
        (refuses(200, body=b'{"input_tokens": true}'), False),
        (refuses(200, body=b" " * 200_000 + b'{"input_tokens": 11}'), False),
        (refuses(529), False),
        (drops(), False),
    ],
)
async def test_a_count_that_no_provider_gives_is_estimated(tmp_path: Path, counts: Behaviour, *, exact: bool) -> None:
    speaks = {"one": {"wires": frozenset({WireName.ANTHROPIC})}}
    async with provider(counts) as there, desk(tmp_path, {"one": there.url}, providers=speaks) as one:
        status, _, body = await one.ask("/v1/messages/count_tokens")
    assert status == 200
    assert (json.loads(body)["input_tokens"] == 11) == exact
