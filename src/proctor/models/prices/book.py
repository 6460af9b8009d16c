"""The price book: which prices a model has, what a request can cost at the most, and what a call did cost."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from proctor.kernel.canonical import digest
from proctor.models.conversation import TokenUsage
from proctor.models.prices.rows import MILLION, PriceRow, Rates
from proctor.models.wires.interfaces import RequestFacts

__all__ = ["MESSAGE_TOKENS", "TOOLS_TOKENS", "TOOL_TOKENS", "ModelPrice", "PriceBook", "input_bound"]

MESSAGE_TOKENS: int = 16
"""For each message, beside its bytes: the marks that a provider puts around it are 3 to 7 tokens."""
TOOLS_TOKENS: int = 1_024
"""Once, where there are tools: the words by which a provider tells its model of them; 159 to 735 are published."""
TOOL_TOKENS: int = 32
"""For each tool, beside its bytes: marks around its name and its parameters."""

_MOST_TOKENS: int = 2**31
"""A call that is said to have used more of a kind is not believed: no model reads or writes so much at once."""

_DATED = re.compile(r"(?P<model>.+?)[-@](?:20\d{2}-[01]\d-[0-3]\d|20\d{2}[01]\d[0-3]\d)")
"""The one rule of aliases: a name that ends in a date costs what it costs without, unless it has a row of its own."""


@dataclass(frozen=True, kw_only=True)
class _File:
    version: str
    rows: Mapping[str, Mapping[str, Any]]


@cache
def _shipped() -> _File:
    """The newest price file of the package; its rows are checked one by one, as they are asked for."""
    found = max((one for one in files(__package__).iterdir() if one.name.endswith(".json")), key=lambda one: one.name)
    document = json.loads(found.read_text(encoding="utf-8"))
    return _File(version=document["version"], rows=document["models"])


class PriceBook:
    """The shipped price file under an operator's additions."""

    def __init__(self, extra: Mapping[str, PriceRow] | None = None) -> None:
        """``extra``: rows by ``provider/model`` or ``provider/*``, which stand before the file's."""
        self._extra = dict(extra or {})
        self._file = _shipped()
        self._known: dict[str, ModelPrice | None] = {}
        said = {name: row.model_dump(mode="json") for name, row in self._extra.items()}
        self.version = f"{self._file.version}+{digest(said)[:8]}" if said else self._file.version

    def of(self, model: str) -> ModelPrice | None:
        """By ``provider/model``; ``None``: its price is not known."""
        if model not in self._known:
            if len(self._known) > len(self._file.rows):  # names come from outside
                self._known.clear()
            row = self._row(model)
            self._known[model] = None if row is None else ModelPrice(version=self.version, row=row)
        return self._known[model]

    def _row(self, model: str) -> PriceRow | None:
        names = list(_names(model))
        for name in names:
            if name in self._extra:
                return self._extra[name]
        return next((PriceRow(**self._file.rows[name]) for name in names if name in self._file.rows), None)


def _names(model: str) -> Iterable[str]:
    """Under which names a model's row may stand, the closest first."""
    yield model
    if dated := _DATED.fullmatch(model):
        yield dated["model"]
    provider, slash, _ = model.partition("/")
    if slash:
        yield f"{provider}/*"


def input_bound(facts: RequestFacts, image_tokens: int) -> int:
    """The most tokens that a request can be: none is less than a byte of text; the rest by declared table."""
    tools = TOOLS_TOKENS + TOOL_TOKENS * facts.tools if facts.tools else 0
    return facts.text_bytes + MESSAGE_TOKENS * facts.messages + image_tokens * facts.images + tools


@dataclass(frozen=True, kw_only=True)
class ModelPrice:
    """What one model costs."""

    version: str
    row: PriceRow

    @property
    def max_output(self) -> int | None:
        """See ``Price``."""
        return self.row.max_output

    def worst(self, facts: RequestFacts) -> int | None:
        """The most that a request can cost, in nano-dollars; ``None``: it can't be bounded."""
        answer = self._longest_answer(facts)
        if facts.stateful or answer is None:
            return None
        bound = input_bound(facts, self.row.image_tokens)
        reached = [self.row, *(tier for tier in self.row.tiers if tier.above < bound)]
        dearest = max(_dearest_input(prices) for prices in reached)
        return _whole(bound * dearest + answer * max(_dearest_output(prices) for prices in reached))

    def cost(self, usage: TokenUsage) -> int | None:
        """What was used, in nano-dollars; ``None`` where a bucket that costs something is not known or not believed."""
        known = [usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens]
        prices = self._holding(sum(tokens or 0 for tokens in known))
        buckets = (
            (usage.input_tokens, prices.input, True),
            (usage.cache_read_tokens, _or(prices.cache_read, prices.input), prices.cache_read is not None),
            (usage.cache_write_tokens, _or(prices.cache_write, prices.input), prices.cache_write is not None),
            (usage.output_tokens, prices.output, True),
            (usage.reasoning_tokens, _or(prices.reasoning, prices.output), prices.reasoning is not None),
        )
        total = 0
        for tokens, rate, own in buckets:
            if tokens is None and not own:
                continue  # the model has no such bucket: its tokens are in the one that the rate is borrowed from
            if tokens is None or not 0 <= tokens <= _MOST_TOKENS:
                if rate == 0:
                    continue
                return None
            total += tokens * rate
        return _whole(total)

    def _longest_answer(self, facts: RequestFacts) -> int | None:
        if facts.max_output_tokens is not None:
            return facts.max_output_tokens
        if _free_output(self.row):
            return 0
        return None if self.row.max_output is None else self.row.max_output * max(1, facts.choices)

    def _holding(self, tokens: int) -> Rates:
        """The prices for a request of so much input."""
        reached = [tier for tier in self.row.tiers if tier.above < tokens]
        return max(reached, key=lambda tier: tier.above) if reached else self.row


def _or(rate: int | None, otherwise: int) -> int:
    return otherwise if rate is None else rate


def _dearest_input(prices: Rates) -> int:
    written = (prices.cache_write, prices.cache_write_long, prices.cache_read)
    return max(prices.input, *(_or(rate, 0) for rate in written))


def _dearest_output(prices: Rates) -> int:
    return max(prices.output, _or(prices.reasoning, 0))


def _free_output(row: PriceRow) -> bool:
    """As of embeddings: nothing is written."""
    return not any(_dearest_output(prices) for prices in (row, *row.tiers))


def _whole(millionths: int) -> int:
    """Whole nano-dollars, rounded up."""
    return -(-millionths // MILLION)
