"""Pieces of a stream that come close together are passed on as one; the first never waits."""

from __future__ import annotations

import asyncio
from typing import Any, cast

import aiohttp
import pytest
from aiohttp.base_protocol import BaseProtocol

from proctor.models.gateway.upstreams import Broken, HttpIncoming

LONG_SEC: float = 0.2
"""Longer than any pause of a test's own."""


class Response:
    """As much of one as is read."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.content = aiohttp.StreamReader(BaseProtocol(loop), 2**16, loop=loop)

    def release(self) -> None:
        """Nothing."""


def incoming(response: Response, gather_sec: float) -> HttpIncoming:
    return HttpIncoming(cast("Any", response), aiohttp.ClientError, gather_sec=gather_sec)


async def test_the_first_comes_at_once_and_what_follows_it_closely_together() -> None:
    response, loop = Response(), asyncio.get_running_loop()
    pieces = incoming(response, LONG_SEC).pieces()
    response.content.feed_data(b"a")
    begun = loop.time()
    assert await anext(pieces) == b"a"
    assert loop.time() - begun < LONG_SEC / 2
    response.content.feed_data(b"b")
    loop.call_later(LONG_SEC / 4, response.content.feed_data, b"c")
    assert await anext(pieces) == b"bc"
    await asyncio.sleep(LONG_SEC * 1.1)
    response.content.feed_data(b"d")
    begun = loop.time()
    assert await anext(pieces) == b"d"
    assert loop.time() - begun < LONG_SEC / 2
    response.content.feed_eof()
    assert await anext(pieces, None) is None


async def test_what_came_before_it_broke_off_is_passed_on() -> None:
    response, loop = Response(), asyncio.get_running_loop()
    pieces = incoming(response, LONG_SEC).pieces()
    response.content.feed_data(b"a")
    assert await anext(pieces) == b"a"
    response.content.feed_data(b"b")
    loop.call_later(LONG_SEC / 4, response.content.set_exception, aiohttp.ClientPayloadError())
    assert await anext(pieces) == b"b"
    with pytest.raises(Broken):
        await anext(pieces)
