"""Leave to ask, shared by processes through the database: each here is a book of its own."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import pytest

from proctor.database.engine import Database
from proctor.kernel.ids import new_id
from proctor.models.ports import Admission, RateLimit
from proctor.models.rates.buckets import full
from proctor.models.rates.service import RateBook

pytestmark = pytest.mark.database


@pytest.fixture
def owner() -> str:
    return new_id().hex


async def ask(book: RateBook, owner: str, limit: RateLimit, *keys: str, tokens: int = 1, wait: float = 0) -> Admission:
    return await book.admit(owner, "openai", keys or ("default",), limit, tokens, wait_sec=wait)


def closed(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_work: Callable[..., object]) -> object:
        raise AssertionError("the database was asked")

    monkeypatch.setattr(database, "as_scheduler", refuse)


async def test_without_a_limit_the_database_is_not_asked(
    database: Database, owner: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed(database, monkeypatch)
    book = RateBook(database)
    for _ in range(1000):
        book.done(await ask(book, owner, RateLimit()), tokens=5)
    await book.close()


async def test_several_processes_together_keep_to_a_limit_and_use_it(database: Database, owner: str) -> None:
    limit, over = RateLimit(requests=1200), time.monotonic() + 3
    started = time.monotonic()

    async def process() -> int:
        book, count = RateBook(database), 0
        while time.monotonic() < over:
            try:
                book.done(await ask(book, owner, limit, wait=max(0.0, over - time.monotonic())), tokens=1)
            except TimeoutError:
                break
            count += 1
        return count

    counts = await asyncio.gather(*(process() for _ in range(3)))
    allowed = full(limit).requests + (limit.requests or 0) / 60 * (time.monotonic() - started)
    print(f"{counts} of {allowed:.0f}")
    assert 0.7 * allowed < sum(counts) <= allowed + 1
    assert min(counts) > 0


async def test_tokens_count_as_they_were_really_used(database: Database, owner: str) -> None:
    limit, book = RateLimit(tokens=6000), RateBook(database)
    first = await ask(book, owner, limit, tokens=700)
    with pytest.raises(TimeoutError, match="no key of openai has room"):
        await ask(book, owner, limit, tokens=700)
    book.done(first, tokens=10)
    book.done(await ask(book, owner, limit, tokens=690), tokens=690)


async def test_the_key_that_has_room_is_taken_and_one_that_rests_is_passed_over(database: Database, owner: str) -> None:
    limit, book, other = RateLimit(requests=60_000), RateBook(database), RateBook(database)
    first = await ask(book, owner, limit, "a", "b")
    assert first.key == "a"
    book.throttled(first, retry_after=30.0)
    assert (await ask(book, owner, limit, "a", "b")).key == "b"
    await book.close()
    assert (await ask(other, owner, limit, "a", "b")).key == "b", "another process was told"
    with pytest.raises(TimeoutError):
        await ask(other, owner, limit, "a")
    assert (await ask(other, owner, limit, "c")).key == "c"
    assert (await ask(other, new_id().hex, limit, "a")).key == "a", "another's key of that name is another"


async def test_headers_of_a_reply_are_learnt_from(database: Database, owner: str) -> None:
    book = RateBook(database)
    admission = await ask(book, owner, RateLimit())
    book.learn(admission, {"x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "20ms"})
    book.done(admission, tokens=1)
    with pytest.raises(TimeoutError):
        await ask(book, owner, RateLimit())
    book.done(await ask(book, owner, RateLimit(), wait=5), tokens=1)
    book.learn(admission, None)
    await book.close()


async def test_who_waits_for_a_place_gets_it_when_another_ends(database: Database, owner: str) -> None:
    book = RateBook(database)
    one, two = await ask(book, owner, RateLimit()), await ask(book, owner, RateLimit())
    book.throttled(one, retry_after=0.01)
    waiting = asyncio.create_task(ask(book, owner, RateLimit(), wait=30))
    await asyncio.sleep(0.05)
    assert not waiting.done()
    book.done(two, tokens=1)
    book.done(await waiting, tokens=1)
    await book.close()
