"""A stream is settled once, whichever end it comes to."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from proctor.models.calls import End
from proctor.models.gateway.hiding import UsageHider
from proctor.models.gateway.streams import MeteredStream
from proctor.models.gateway.upstreams import Broken
from proctor.models.wires.catalogue import WIRES
from proctor.models.wires.interfaces import WireName
from tests.models.upstream import chunks


class There:
    """An answer in pieces, which may break off."""

    status, headers = 200, {}  # type: ignore[var-annotated]

    def __init__(self, pieces: list[bytes], *, breaks: bool = False) -> None:
        self._pieces, self._breaks = pieces, breaks
        self.closed = 0

    async def pieces(self) -> AsyncIterator[bytes]:
        for piece in self._pieces:
            yield piece
        if self._breaks:
            raise Broken("gone")

    async def close(self) -> None:
        self.closed += 1


def stream(there: There, ends: list[End], *, hides: bool = False) -> MeteredStream:
    return MeteredStream(
        b"",
        there,
        there.pieces(),
        meter=WIRES[WireName.OPENAI_CHAT].meter(),
        hider=UsageHider() if hides else None,
        ended=lambda _reading, how: ends.append(how),
    )


async def test_read_to_its_end() -> None:
    there, ends = There(chunks("m", 1, 1)), list[End]()
    one = stream(there, ends)
    assert b"".join([piece async for piece in one]) == b"".join(chunks("m", 1, 1))
    await one.aclose()
    assert (ends, there.closed) == ([End.DONE], 1)


async def test_of_which_nothing_was_read() -> None:
    there, ends = There([b"x"]), list[End]()
    one = stream(there, ends)
    await one.aclose()
    await one.aclose()
    assert (ends, there.closed) == ([End.ABANDONED], 1)


async def test_left_in_the_middle() -> None:
    there, ends = There([b"x", b"y"]), list[End]()
    one = stream(there, ends)
    assert await anext(one) == b""
    assert await anext(one) == b"x"
    await one.aclose()
    assert ends == [End.ABANDONED]


async def test_that_breaks_off() -> None:
    there, ends = There([b"x"], breaks=True), list[End]()
    one = stream(there, ends)
    with pytest.raises(Broken):
        [piece async for piece in one]
    await one.aclose()
    assert ends == [End.UNAVAILABLE]


@pytest.mark.parametrize("size", [1, 2, 7, 64, 10_000])
@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
async def test_usage_is_hidden_wherever_the_stream_is_cut(size: int, newline: bytes) -> None:
    whole = b"".join(chunks("m", 1, 1)).replace(b"\n", newline)
    there, ends = There([whole[at : at + size] for at in range(0, len(whole), size)]), list[End]()
    out = b"".join([piece async for piece in stream(there, ends, hides=True)]).replace(b"\r\n", b"\n")
    assert out == b"".join(one for one in chunks("m", 1, 1) if b'"choices": []' not in one)
