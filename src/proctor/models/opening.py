"""Where what the gateway needs is put together: for ``app.py``, which alone says with which database and keys."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from proctor.database.engine import Database
from proctor.kernel.clock import SystemClock
from proctor.kernel.validation import words_of
from proctor.models.cache import ReplyCache
from proctor.models.errors import ProvidersInvalid
from proctor.models.gateway.breakers import Breakers
from proctor.models.gateway.gateway import Gateway
from proctor.models.gateway.mocking import MockUpstream
from proctor.models.gateway.parts import GatewayParts
from proctor.models.gateway.upstreams import Upstream
from proctor.models.known import KnownModels
from proctor.models.mock.script import NO_SCRIPT, Script, read_script
from proctor.models.ports import Budgets
from proctor.models.prices.book import PriceBook
from proctor.models.prices.rows import PriceRow
from proctor.models.providers.catalogue import Catalogue, Provider
from proctor.models.providers.files import ProvidersFile, read_providers
from proctor.models.rates.service import RateBook
from proctor.models.spending.service import Spender
from proctor.objects.store import ObjectStore

__all__ = ["Installation", "known_models"]


def known_models(path: Path) -> KnownModels:
    """What a providers' file and the shipped price file say. Raises ``ProvidersInvalid``."""
    file = read_providers(path)
    return KnownModels(catalogue=Catalogue(file.providers), prices=PriceBook(_prices(file, path)))


def _prices(file: ProvidersFile, path: Path) -> Mapping[str, PriceRow]:
    rows = {}
    for model, said in file.prices.items():
        try:
            rows[model] = PriceRow.model_validate(said)
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False, include_context=False)[0]
            field = ".".join(("models", f'"{model}"', "price", *map(str, first["loc"])))
            raise ProvidersInvalid(f"{words_of(first)}.", where=f"{path}: {field}") from error
    return rows


class Installation:
    """The gateway of one process, and what it is made of when it is first used."""

    def __init__(
        self,
        database: Database,
        objects: ObjectStore,
        budgets: Budgets,
        *,
        providers: Path,
        journals: Path,
    ) -> None:
        """``providers``: the operator's file; ``journals``: the folder of what was spent and is not yet written."""
        self._database, self._objects, self._budgets = database, objects, budgets
        self._file, self._journals = providers, journals
        self._upstreams: dict[str, Upstream] = {}
        self._script: Script = NO_SCRIPT
        self.gateway = Gateway(self._made, self._closed)

    def _made(self) -> GatewayParts:
        file, known = read_providers(self._file), known_models(self._file)
        self._script = NO_SCRIPT if file.mock is None else read_script(file.mock)
        return GatewayParts(
            catalogue=known.catalogue,
            prices=known.prices,
            spending=Spender(self._database, self._budgets, self._journals),
            rates=RateBook(self._database),
            upstream=self._upstream,
            clock=SystemClock(),
            breakers=Breakers(SystemClock()),
            cache=ReplyCache(self._objects),
        )

    def _upstream(self, provider: Provider) -> Upstream:
        kind = "mock" if provider.is_mock else "litellm" if provider.through_litellm else "http"
        if kind not in self._upstreams:
            self._upstreams[kind] = self._new_upstream(kind)
        return self._upstreams[kind]

    def _new_upstream(self, kind: str) -> Upstream:
        if kind == "mock":
            return MockUpstream(self._script)
        if kind == "litellm":
            from proctor.models.gateway.litellm import LitellmUpstream

            return LitellmUpstream()
        from proctor.models.gateway.upstreams import HttpUpstream

        return HttpUpstream()

    async def _closed(self, parts: GatewayParts) -> None:
        for upstream in self._upstreams.values():
            await upstream.close()
        self._upstreams.clear()
        await parts.rates.close()
        await parts.spending.close()
