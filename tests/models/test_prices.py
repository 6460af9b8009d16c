"""What a model costs: the file, an operator's additions, worst cases that hold, and unknown that stays unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import proctor.models.prices
from proctor.kernel.money import NANO
from proctor.models.conversation import TokenUsage
from proctor.models.prices.book import ModelPrice, PriceBook, input_bound
from proctor.models.prices.rows import PriceRow, PriceTier
from proctor.models.wires.interfaces import RequestFacts

BOOK = PriceBook()


def price(model: str) -> ModelPrice:
    found = BOOK.of(model)
    assert found is not None, model
    return found


def used(**buckets: int | None) -> TokenUsage:
    nothing = {"input_tokens": 0, "cache_read_tokens": 0, "cache_write_tokens": 0}
    return TokenUsage(**{**nothing, "output_tokens": 0, "reasoning_tokens": 0, **buckets})


def facts(**said: object) -> RequestFacts:
    plain = {"model": "m", "stream": False, "max_output_tokens": 100, "text_bytes": 1000, "messages": 2}
    return RequestFacts(**{**plain, **said})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "dollars"),
    [
        ("openai/gpt-4o", 2.5 + 10),
        ("anthropic/claude-sonnet-4-5", 3 + 15),
        ("openai/text-embedding-3-small", 0.02),
        ("mock/whatever", 1 + 5),
    ],
)
def test_a_million_of_each_costs_what_is_published(model: str, dollars: float) -> None:
    assert price(model).cost(used(input_tokens=10**6, output_tokens=10**6)) == round(dollars * NANO)


def test_every_row_of_the_file_can_be_read() -> None:
    (path,) = Path(proctor.models.prices.__path__[0]).glob("*.json")
    document = json.loads(path.read_text())
    rows = {name: PriceRow(**row) for name, row in document["models"].items()}
    assert len(rows) > 3000
    assert path.name == f"prices-{document['version']}.json"
    assert BOOK.version == document["version"]


def test_cached_input_is_cheaper_and_written_input_dearer() -> None:
    sonnet = price("anthropic/claude-sonnet-4-5")
    assert sonnet.cost(used(cache_read_tokens=10**6)) == 300_000_000
    assert sonnet.cost(used(cache_write_tokens=10**6)) == 3_750_000_000


def test_a_long_request_is_dearer_as_a_whole() -> None:
    gemini = price("gemini/gemini-2.5-pro")
    assert gemini.cost(used(input_tokens=200_000, output_tokens=10)) == 200_000 * 1250 + 10 * 10_000
    assert gemini.cost(used(input_tokens=1, cache_read_tokens=200_000)) == 2500 + 200_000 * 250


def test_a_call_is_rounded_up_to_a_nano_dollar() -> None:
    odd = PriceBook({"a/b": PriceRow(input=1, output=1)}).of("a/b")
    assert odd is not None
    assert odd.cost(used(input_tokens=1, output_tokens=1)) == 1
    assert odd.cost(used(input_tokens=10**6, output_tokens=1)) == 2


def test_what_is_not_known_is_not_zero() -> None:
    sonnet = price("anthropic/claude-sonnet-4-5")
    assert BOOK.of("nobody/knows") is None
    assert sonnet.cost(used(input_tokens=None)) is None
    assert sonnet.cost(used(cache_write_tokens=None)) is None
    assert sonnet.cost(used(reasoning_tokens=None)) == 0, "Anthropic's thinking is among its output"
    assert sonnet.cost(used(output_tokens=2**40)) is None
    assert sonnet.cost(used(output_tokens=-1)) is None
    assert price("openai/text-embedding-3-small").cost(used(input_tokens=5, output_tokens=None)) == 100


def test_a_name_with_a_date_is_the_model_without_unless_it_has_a_row() -> None:
    assert price("openai/gpt-4o-2099-01-31").row == price("openai/gpt-4o").row
    assert price("anthropic/claude-sonnet-4-5@20990131").row == price("anthropic/claude-sonnet-4-5").row
    assert BOOK.of("openai/gpt-4o-turbo") is None
    assert BOOK.of("openai/gpt-4o-2099-99-99") is None


def test_an_operators_prices_stand_before_the_files() -> None:
    row = PriceRow.model_validate({"input": "0.50", "output": "2 USD", "max_output": 10})
    book = PriceBook({"openai/gpt-4o": row, "vllm/*": row})
    for name in ("openai/gpt-4o", "openai/gpt-4o-2024-11-20", "vllm/anything"):
        found = book.of(name)
        assert found is not None
        assert found.row.input == 500_000_000
    assert book.version.startswith(f"{BOOK.version}+")
    assert book.version != PriceBook({"vllm/*": row}).version


@pytest.mark.parametrize("wrong", [{"input": 0.5}, {"input": "-1"}, {"input": "much"}, {"inputs": "1"}, {"input": -1}])
def test_a_price_that_is_none_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        PriceRow.model_validate({"output": "1", **wrong})


def test_what_can_not_be_bounded_has_no_worst_case() -> None:
    no_end = PriceBook({"a/b": PriceRow(input=1, output=1)}).of("a/b")
    assert no_end is not None
    assert no_end.worst(facts(max_output_tokens=None)) is None
    assert price("openai/gpt-4o").worst(facts(stateful=True)) is None
    embedding = price("openai/text-embedding-3-small").worst(facts(max_output_tokens=None))
    assert embedding == 20 * input_bound(facts(), 0)


def test_the_models_own_longest_answer_counts_for_each_choice() -> None:
    one, three = (price("openai/gpt-4o").worst(facts(max_output_tokens=None, choices=n)) for n in (1, 3))
    assert one is not None
    assert three is not None
    assert three - one == 2 * 16_384 * 10_000


RATE = st.integers(0, 10**12)
TOKENS = st.integers(0, 2_000_000)


def prices(kind: type[PriceRow] | type[PriceTier], **more: st.SearchStrategy[object]) -> st.SearchStrategy[object]:
    maybe = st.none() | RATE
    others = dict.fromkeys(("cache_read", "cache_write", "cache_write_long", "reasoning"), maybe)
    return st.builds(kind, input=RATE, output=RATE, **others, **more)


TIERS = st.lists(prices(PriceTier, above=st.integers(1, 3_000_000)), max_size=3).map(tuple)


@given(
    row=prices(PriceRow, tiers=TIERS, max_output=st.integers(0, 100_000)),
    asked=st.builds(
        RequestFacts,
        model=st.just("m"),
        stream=st.booleans(),
        max_output_tokens=st.none() | st.integers(0, 100_000),
        text_bytes=TOKENS,
        messages=st.integers(1, 100),
        images=st.integers(0, 3),
        tools=st.integers(0, 50),
        choices=st.integers(1, 4),
    ),
    data=st.data(),
)
def test_no_call_costs_more_than_its_worst_case(row: PriceRow, asked: RequestFacts, data: st.DataObject) -> None:
    bound = input_bound(asked, row.image_tokens)
    first, second = sorted(data.draw(st.tuples(st.integers(0, bound), st.integers(0, bound))))
    longest = asked.max_output_tokens if asked.max_output_tokens is not None else (row.max_output or 0) * asked.choices
    output = data.draw(st.integers(0, longest))
    price = ModelPrice(version="v", row=row)
    usage = TokenUsage(
        input_tokens=first,
        cache_read_tokens=second - first,
        cache_write_tokens=bound - second,
        output_tokens=output,
        reasoning_tokens=longest - output,
    )
    cost, worst = price.cost(usage), price.worst(asked)
    assert worst is not None
    assert cost is not None or max(longest, bound) > 2**31 - 1
    assert cost is None or cost <= worst
