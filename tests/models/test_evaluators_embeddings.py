"""Embeddings of models through the gateway: in order, paid for, and failures as the statuses that rows get."""

from __future__ import annotations

from pathlib import Path

import pytest
from aiohttp import web

from proctor.evaluators.embeddings import remote
from proctor.evaluators.embeddings.remote import GatewayEmbedder
from proctor.evaluators.embeddings.similarity import EmbeddingSimilarity
from proctor.evaluators.errors import EmbeddingFailed
from proctor.evaluators.samples import Sample, rows_of, samples_of
from proctor.evaluators.statuses import Status
from proctor.models.calls import Purpose
from proctor.models.errors import ReplyInvalid
from proctor.models.gateway.embedding import read_vectors
from proctor.models.gateway.sessions import Bounds, Declared
from proctor.models.mock.vectors import vector
from proctor.models.wires.interfaces import WireName
from tests.models.desk import desk
from tests.models.upstream import provider, refuses

WIRES = {"one": {"wires": frozenset({WireName.OPENAI_EMBEDDINGS})}}


async def replies(request: web.BaseRequest, body: dict[str, object]) -> web.StreamResponse:
    """Vectors in another order than they were asked for, as a provider may send them."""
    texts = body["input"]
    assert isinstance(texts, list)
    data = [{"index": number, "embedding": [float(len(text)), 1.0]} for number, text in enumerate(texts)]
    usage = {"prompt_tokens": 10, "total_tokens": 10}
    return web.json_response({"data": data[::-1], "model": body["model"], "usage": usage})


async def test_vectors_come_in_order_over_several_requests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "TEXTS_AT_ONCE", 2)
    texts = ["a", "bb", "", "ccc", "dddd", "eeeee"]
    async with provider(replies) as there, desk(tmp_path, {"one": there.url}, providers=WIRES) as one:
        embedder = GatewayEmbedder(one.gateway, one.session)
        found = await embedder.embed(texts)
    assert [numbers[0] for numbers in found.vectors] == [1, 2, 0, 3, 4, 5]
    assert embedder.dimensions == 2
    assert [call.purpose for call in one.spending.calls] == [Purpose.EMBEDDING] * 3
    assert one.spending.spent_nano == 3 * 10 * 1_000


async def test_the_mock_provider_gives_vectors_without_a_network(tmp_path: Path) -> None:
    declared = Declared(model="mock/embedding")
    async with provider(refuses(500)) as there, desk(tmp_path, {"one": there.url}, declared=declared) as one:
        evaluator = EmbeddingSimilarity(GatewayEmbedder(one.gateway, one.session))
        samples = [Sample(input="", expected="same", output=output) for output in ("same", "other")]
        same, other = rows_of(await evaluator.score(samples_of(samples)))
    assert same.score == pytest.approx(1)
    expected = sum(a * b for a, b in zip(vector("same"), vector("other"), strict=True))
    assert other.score == pytest.approx(max(0, expected))


@pytest.mark.parametrize(
    ("status", "code", "told"),
    [
        (401, "invalid_api_key", Status.PROVIDER_AUTH),
        (429, "rate_limit_exceeded", Status.RATE_LIMITED),
        (404, "model_not_found", Status.PROVIDER_ERROR),
    ],
)
async def test_what_a_provider_refuses_is_the_status_of_the_rows(
    tmp_path: Path, status: int, code: str, told: Status
) -> None:
    async with provider(refuses(status, code)) as there, desk(tmp_path, {"one": there.url}, providers=WIRES) as one:
        evaluator = EmbeddingSimilarity(GatewayEmbedder(one.gateway, one.session))
        (row,) = rows_of(await evaluator.score(samples_of([Sample(input="", expected="a", output="b")])))
    assert (row.score, row.status) == (None, told)
    assert row.error


async def test_where_a_budget_has_no_room_nothing_is_asked(tmp_path: Path) -> None:
    bounds = Bounds(cost_nano=1)
    async with provider(replies) as there, desk(tmp_path, {"one": there.url}, providers=WIRES, bounds=bounds) as one:
        with pytest.raises(EmbeddingFailed) as caught:
            await GatewayEmbedder(one.gateway, one.session).embed(["a"])
    assert caught.value.status is Status.BUDGET
    assert there.bill.requests == 0


@pytest.mark.parametrize(
    "data",
    [
        None,
        [],
        [{"embedding": [1.0]}],
        [{"embedding": [1.0]}, {"embedding": [1.0, 2.0]}],
        [{"index": 0, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}],
        [{"index": 2, "embedding": [1.0]}, {"index": 0, "embedding": [1.0]}],
        [{"index": "0", "embedding": [1.0]}, {"embedding": [1.0]}],
        [{"embedding": []}, {"embedding": []}],
        [{"embedding": [True]}, {"embedding": [1.0]}],
        [{"embedding": ["1"]}, {"embedding": [1.0]}],
        [{"embedding": [float("inf")]}, {"embedding": [1.0]}],
        [{"embedding": "AAAA"}, {"embedding": [1.0]}],
        [1, 2],
    ],
)
def test_a_reply_that_is_none_is_refused(data: object) -> None:
    with pytest.raises(ReplyInvalid):
        read_vectors({"data": data}, 2)  # type: ignore[dict-item]
