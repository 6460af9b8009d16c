"""One model's prices as they are written: in the price file, and in an operator's additions."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from proctor.kernel.money import parse_usd

__all__ = ["IMAGE_TOKENS", "MILLION", "PriceRow", "PriceTier", "Rate", "Rates"]

MILLION: int = 1_000_000
"""Prices are for so many tokens: no price that is known is finer than a nano-dollar then."""

IMAGE_TOKENS: int = 16_384
"""The most that one picture counts where its model says nothing else. The dearest way of counting that is widely used
cuts a picture into at most 10,000 patches, some models count a patch up to one and a half times."""

_MOST_USD: int = 1_000_000 * 10**9
"""For a million tokens: a dearer price is mistyped, and would not fit the database's integers times many tokens."""


def _nano(value: object) -> object:
    """Dollars are written as text, so that no float is ever money; a whole number is nano-dollars already."""
    if isinstance(value, float):
        raise ValueError(f"write dollars as text: '{value:g}'")
    return parse_usd(value) if isinstance(value, str) else value


Rate = Annotated[int, BeforeValidator(_nano), Field(strict=True, ge=0, le=_MOST_USD)]
"""Nano-dollars for a million tokens; written as dollars, such as ``"2.50"``."""


class Rates(BaseModel):
    """What each bucket costs."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    input: Rate
    output: Rate
    cache_read: Rate | None = Field(default=None, description="Unset: as input.")
    cache_write: Rate | None = Field(default=None, description="Unset: as input.")
    cache_write_long: Rate | None = Field(
        default=None, description="Of what is kept longer than usual: worst cases alone count with it."
    )
    reasoning: Rate | None = Field(default=None, description="Unset: as output.")


class PriceTier(Rates):
    """What holds for the whole of a request whose input is longer."""

    above: int = Field(strict=True, ge=1, le=10**9, description="Tokens of input, cached or not.")


class PriceRow(Rates):
    """What a model costs, for a million tokens."""

    tiers: tuple[PriceTier, ...] = Field(default=(), description="For long requests.")
    context: int | None = Field(default=None, strict=True, ge=1, le=10**9)
    max_output: int | None = Field(
        default=None, strict=True, ge=0, le=10**9, description="The longest answer, where a request sets no limit."
    )
    image_tokens: int = Field(default=IMAGE_TOKENS, strict=True, ge=0, le=10**7, description="Of one at the most.")
