"""A stream as it passes to whoever asked: metered on its way, and settled once, whichever end it comes to."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Self

from proctor.models.calls import End
from proctor.models.gateway.hiding import UsageHider
from proctor.models.gateway.upstreams import Broken, Incoming
from proctor.models.wires.interfaces import Meter, Reading

__all__ = ["MeteredStream"]


class MeteredStream:
    """The pieces of an answer. ``aclose`` it, also where nothing of it was read: only then is it settled for sure."""

    def __init__(
        self,
        first: bytes,
        incoming: Incoming,
        rest: AsyncIterator[bytes],
        *,
        meter: Meter,
        hider: UsageHider | None,
        ended: Callable[[Reading, End], object],
    ) -> None:
        """``ended`` is told what the answer said of itself, and ``DONE``, ``UNAVAILABLE`` or ``ABANDONED``."""
        self._first: bytes | None = first
        self._incoming, self._rest = incoming, rest
        self._meter, self._hider, self._tell = meter, hider, ended
        self._over = False

    def __aiter__(self) -> Self:
        """Itself."""
        return self

    async def __anext__(self) -> bytes:
        """The next piece; it may be empty. Raises ``Broken``."""
        if self._over:
            raise StopAsyncIteration
        try:
            piece, self._first = (self._first if self._first is not None else await anext(self._rest)), None
        except StopAsyncIteration:
            await self._end(End.DONE)
            return self._hider.finish() if self._hider is not None else b""
        except Broken:
            await self._end(End.UNAVAILABLE)
            raise
        except BaseException:
            await self._end(End.ABANDONED)
            raise
        self._meter.feed(piece)
        return piece if self._hider is None else self._hider.feed(piece)

    async def aclose(self) -> None:
        """No more of it is wanted. Safe to repeat."""
        if not self._over:
            await self._end(End.ABANDONED)

    async def _end(self, how: End) -> None:
        self._over = True
        self._tell(self._meter.reading(), how)
        await self._incoming.close()
