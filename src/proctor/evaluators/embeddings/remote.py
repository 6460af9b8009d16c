"""Embeddings of a model, through the gateway: paid for, limited and written down like every call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proctor.evaluators.errors import EmbeddingFailed
from proctor.evaluators.interfaces import Embedded
from proctor.evaluators.statuses import Status
from proctor.kernel.errors import ProctorError
from proctor.kernel.money import total
from proctor.models.errors import BudgetExhausted, CallFailed, LimitReached, ModelsExtraMissing, PriceUnknown
from proctor.models.gateway.gateway import Gateway
from proctor.models.gateway.sessions import Session
from proctor.models.wires.interfaces import Fault

__all__ = ["TEXTS_AT_ONCE", "GatewayEmbedder"]

TEXTS_AT_ONCE: int = 256
"""Of one request: an eighth of what providers take, so that a failed one costs little to ask again."""
_FAULTS: Mapping[Fault, Status] = {Fault.AUTH: Status.PROVIDER_AUTH, Fault.RATE_LIMIT: Status.RATE_LIMITED}


class GatewayEmbedder:
    """Implements ``Embedder`` by the model that a session declares."""

    def __init__(self, gateway: Gateway, session: Session) -> None:
        self._gateway, self._session = gateway, session
        self._dimensions: int | None = None

    @property
    def dimensions(self) -> int | None:
        """As many as the first answer had."""
        return self._dimensions

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """Empty texts, which providers refuse, are all zeros. Raises ``EmbeddingFailed``."""
        asked = [text for text in texts if text]
        batches = [asked[begin : begin + TEXTS_AT_ONCE] for begin in range(0, len(asked), TEXTS_AT_ONCE)]
        answers = [await self._asked(batch) for batch in batches]
        found = iter([vector for answer in answers for vector in answer.vectors])
        empty = [0.0] * (self._dimensions or 1)
        return Embedded(
            vectors=[next(found) if text else empty for text in texts],
            cost_nano=total(answer.cost_nano for answer in answers),
        )

    async def _asked(self, texts: Sequence[str]) -> Embedded:
        try:
            vectors, call = await self._gateway.embed(self._session, texts)
        except ProctorError as error:
            raise EmbeddingFailed(error.message, status=_status(error)) from error
        if self._dimensions not in (None, len(vectors[0])):
            raise EmbeddingFailed("the model's vectors changed their length", status=Status.PROVIDER_ERROR)
        self._dimensions = len(vectors[0])
        return Embedded(vectors=vectors, cost_nano=call.cost_nano)


def _status(error: ProctorError) -> Status:
    if isinstance(error, ModelsExtraMissing):
        raise error  # whoever asked has to install it
    if isinstance(error, BudgetExhausted | LimitReached | PriceUnknown):
        return Status.BUDGET
    return _FAULTS.get(error.fault, Status.PROVIDER_ERROR) if isinstance(error, CallFailed) else Status.PROVIDER_ERROR
