"""The operator's file of providers, in TOML: others than those that ship, their keys, limits and prices.

[providers.gateway]                       # a model is named gateway/NAME
base_url = "http://10.1.2.3:4000"         # a LiteLLM proxy, vLLM, ...; with or without /v1
wires = ["openai-chat"]
keys = ["GATEWAY_KEY"]                    # names of secrets, not keys
requests_per_minute = 500                 # of each key
tokens_per_minute = 200000
concurrency = 32                          # of each key, in one process

[providers.openai]                        # one that ships: only what is said here is another
keys = ["OPENAI_KEY_1", "OPENAI_KEY_2"]

[models."gateway/large"]
answers_as = ["large-v2"]                 # other names under which it may answer
price = { input = "3 USD", output = "15 USD" }    # for a million tokens
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator

from proctor.kernel.validation import words_of
from proctor.models.errors import ProvidersInvalid
from proctor.models.ports import RateLimit
from proctor.models.providers.catalogue import AT_ONCE, MOCK, SHIPPED, Provider
from proctor.models.wires.interfaces import WireName

__all__ = ["ProvidersFile", "read_providers"]

LARGEST_BYTES: int = 1024 * 1024
"""Of a providers' file; what is larger is something else."""

_SECRET = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
_NAME = re.compile(r"[a-z0-9][a-z0-9_.-]{0,63}")
_URL = re.compile(r"https?://[A-Za-z0-9.:\[\]_-]+(?:/[A-Za-z0-9._~/-]*)?")


class _Provider(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    base_url: str | None = None
    wires: list[WireName] | None = Field(default=None, min_length=1)
    keys: list[_SECRET] | None = None
    requests_per_minute: int | None = Field(default=None, strict=True, ge=1, le=10_000_000)
    tokens_per_minute: int | None = Field(default=None, strict=True, ge=1, le=10_000_000_000)
    concurrency: int | None = Field(default=None, strict=True, ge=1, le=10_000)
    timeout_sec: float | None = Field(default=None, gt=0, le=3600)
    litellm: bool = False

    @field_validator("base_url")
    @classmethod
    def _is_http(cls, url: str | None) -> str | None:
        if url is not None and not _URL.fullmatch(url):
            raise ValueError("it must be http://HOST... or https://HOST..., without a login or a query")
        return url.rstrip("/") if url else url


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    answers_as: list[str] = Field(default_factory=list)
    price: dict[str, JsonValue] | None = None


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    providers: dict[str, _Provider] = Field(default_factory=dict)
    models: dict[str, _Model] = Field(default_factory=dict)
    mock: str | None = Field(default=None, description="The file of the mock provider's answers.")


@dataclass(frozen=True, kw_only=True)
class ProvidersFile:
    """What a providers' file says."""

    providers: Mapping[str, Provider] = field(default_factory=dict)
    prices: Mapping[str, Mapping[str, JsonValue]] = field(default_factory=dict)
    """By ``provider/model``, as ``prices.book`` takes them."""
    mock: Path | None = None


def read_providers(path: Path) -> ProvidersFile:
    """What a file says; one that is not there says nothing. Raises ``ProvidersInvalid`` naming the field."""
    try:
        raw = path.read_bytes() if path.exists() else b""
    except OSError as error:
        raise ProvidersInvalid(f"It can't be read: {error.strerror}.", where=str(path)) from error
    if len(raw) > LARGEST_BYTES:
        raise ProvidersInvalid(f"It has more than {LARGEST_BYTES:,} bytes.", where=str(path))
    try:
        file = _File.model_validate(tomllib.loads(raw.decode()))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ProvidersInvalid(f"It is not TOML: {error}.", where=str(path)) from error
    except ValidationError as error:
        raise _told(error, path) from error
    return ProvidersFile(
        providers=_providers(file, path),
        prices={name: one.price for name, one in file.models.items() if one.price is not None},
        mock=None if file.mock is None else (path.parent / file.mock).resolve(),
    )


def _told(error: ValidationError, path: Path) -> ProvidersInvalid:
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return ProvidersInvalid(f"{words_of(first)}.", where=f"{path}: {place}")


def _providers(file: _File, path: Path) -> dict[str, Provider]:
    known = {one.name: one for one in SHIPPED}
    found = {name: _provider(name, one, known.get(name), path) for name, one in file.providers.items()}
    for model, said in file.models.items():
        if said.answers_as:
            name, _, rest = model.partition("/")
            base = found.get(name) or known.get(name)
            if base is None or not rest:
                raise ProvidersInvalid(
                    "No provider of this file or of those that ship.", where=f"{path}: models.{model}"
                )
            found[name] = replace(base, answers_as={**base.answers_as, rest: tuple(said.answers_as)})
    return found


def _provider(name: str, said: _Provider, shipped: Provider | None, path: Path) -> Provider:
    where = f"{path}: providers.{name}"
    if not _NAME.fullmatch(name):
        raise ProvidersInvalid("A provider is named by lower-case letters, digits, '.', '_' and '-'.", where=where)
    if name == MOCK:
        raise ProvidersInvalid("The mock provider is as it ships; `mock` names its file of answers.", where=where)
    base = shipped or Provider(name=name, base_url="", wires=frozenset({WireName.OPENAI_CHAT}))
    url = said.base_url or base.base_url
    if not url and not said.litellm:
        raise ProvidersInvalid("It needs a base_url, or litellm = true.", where=where)
    return replace(
        base,
        base_url=url,
        wires=frozenset(said.wires) if said.wires is not None else base.wires,
        keys=tuple(said.keys) if said.keys is not None else base.keys,
        limit=RateLimit(
            requests=said.requests_per_minute, tokens=said.tokens_per_minute, at_once=said.concurrency or AT_ONCE
        ),
        timeout_sec=said.timeout_sec or base.timeout_sec,
        through_litellm=said.litellm,
    )
