"""Events as they happen, as server-sent events, and those that are kept, as pages."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import structlog
from fastapi import APIRouter, Header, Query, Request, Response
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from proctor.api.answers import answered
from proctor.api.asking import Asked, key_of, needs
from proctor.api.lists import Page, Paging
from proctor.api.live import BEGINNING, HEARTBEAT_SEC, Live, Standing, id_of, live_of, place_of_id
from proctor.identity.permissions import Permission
from proctor.kernel.errors import ProctorError, UsageError
from proctor.notifications import outbox
from proctor.notifications.readers import Ended, Overflow, Reader
from proctor.notifications.topics import ALL, MOST_TOPICS, Frame, checked_topics, shown, topics_of

__all__ = ["router"]

router = APIRouter(tags=["events"])
_log = structlog.get_logger(__name__)
RETRY_MS: int = 2_000
"""How long a browser waits before it comes back."""
LONGEST_WAIT_SEC: int = 86_400

Topics = Annotated[
    list[str], Query(max_length=MOST_TOPICS, description="run-set:ID or job:ID, repeated for several; without: all.")
]
After = Annotated[
    str | None, Query(max_length=64, description=f"The id of the event to go on after; {BEGINNING}: all that are kept.")
]
Wait = Annotated[
    float | None, Query(ge=0, le=LONGEST_WAIT_SEC, description="End after so many seconds; 0: after what is kept.")
]
LastEventId = Annotated[str | None, Header(max_length=64, description="As `after`, and before it.")]
_Reads = Annotated[Asked, needs(Permission.RUNS_READ)]


class EventForgotten(UsageError):
    """That event is not kept, or never was."""

    code = "event-forgotten"
    remedy = f"Events are kept for a week. Go on after {BEGINNING} to have all that are kept."


class EventDocument(BaseModel):
    """Something that happened; docs/reference/live.md says what there is."""

    id: UUID
    name: str
    subject: UUID = Field(description="The run set, attempt or job that it happened to.")
    created_at: datetime
    payload: dict[str, Any]
    trace_id: str | None


@dataclass(frozen=True, kw_only=True)
class _Wish:
    topics: frozenset[str]
    after: str | None
    wait: float | None


@router.get(
    "/events",
    response_class=StreamingResponse,
    responses={200: {"content": {"text/event-stream": {}}, "description": "One after the other, until one leaves."}},
)
async def stream_events(
    request: Request,
    asked: _Reads,
    topic: Topics = [ALL],  # noqa: B006  FastAPI copies it
    after: After = None,
    wait: Wait = None,
    last_event_id: LastEventId = None,
) -> Response:
    """What happens to the tenant's run sets, attempts and jobs, from now on or from an event on that one has seen."""
    live = live_of(request)
    wish = _Wish(topics=checked_topics(topic), after=last_event_id or after, wait=wait)
    standing = Standing(live, key_of(request), Permission.RUNS_READ)
    stream = _Stream(live, asked, standing)
    chunks = stream.chunks(wish)
    first = await anext(chunks)  # what is refused is refused before there is an answer
    return StreamingResponse(
        _beginning(first, chunks), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"}
    )


@router.get("/events/history", response_model=Page[EventDocument])
async def list_events(
    request: Request,
    asked: _Reads,
    paging: Paging,
    after: After = None,
    topic: Topics = [ALL],  # noqa: B006  FastAPI copies it
    name: Annotated[str | None, Query(max_length=100, description="Only those of this name.")] = None,
) -> Response:
    """Events that are kept, the oldest first.

    `next` is an event's id, and goes on as `cursor`, or as `after` here and in the stream. A page may hold fewer than
    it could, or none, and have a `next` all the same.
    """
    where, begin = ("after", after) if paging.cursor is None else ("cursor", paging.cursor)
    wish, limit = checked_topics(topic), paging.limit
    place = await place_of_id(live_of(request), asked.tenant, begin or BEGINNING, where=where)
    if place is None:
        raise EventForgotten(where=where)
    found = await asyncio.to_thread(
        asked.server.database.as_tenant,
        asked.tenant,
        lambda c: outbox.published_of(c, asked.tenant, place, limit),
    )
    wanted = [one for one in found if name in (None, one.name) and not wish.isdisjoint(topics_of(one))]
    items = [document for document in map(shown, wanted) if document is not None]
    following = str(found[-1].id) if len(found) == limit else None
    return answered({"items": paging.narrowed(items), "next": following})


async def _beginning(first: str, rest: AsyncIterator[str]) -> AsyncIterator[str]:
    """Once an answer has begun, a stream that can't go on ends; its reader comes back with its last id."""
    yield first
    try:
        async for chunk in rest:
            yield chunk
    except ProctorError as error:
        _log.warning("stream.ended", error=str(error))


class _Stream:
    """One connection."""

    def __init__(self, live: Live, asked: Asked, standing: Standing) -> None:
        self._live, self._tenant, self._standing = live, asked.tenant, standing
        self._last = BEGINNING

    async def chunks(self, wish: _Wish) -> AsyncIterator[str]:
        """The stream's text. Raises ``CursorInvalid``, ``DatabaseUnavailable``, ``TooManyStreams`` at its start."""
        until = None if wish.wait is None else asyncio.get_running_loop().time() + wish.wait
        with self._live.feed.reader(self._tenant) as reader:
            try:
                async for chunk in self._kept(reader, wish):
                    yield chunk
                async with aclosing(self._coming(reader, until)) as coming:
                    async for chunk in coming:
                        yield chunk
            except Overflow:
                yield _control("overflow", {"after": self._last})
            except Ended:
                return

    async def _kept(self, reader: Reader, wish: _Wish) -> AsyncIterator[str]:
        """From where one was, up to now."""
        if wish.after is None:
            self._last = id_of(await self._live.feed.join(reader, wish.topics))
            yield _head(self._last)
            return
        place = await place_of_id(self._live, self._tenant, wish.after)
        self._last = BEGINNING if place is None else wish.after
        yield _head(self._last) + ("" if place is not None else _control("gap", {"after": wish.after}))
        async for frames in self._live.feed.follow(reader, wish.topics, place or 0):
            if frames:
                yield self._written(frames)

    async def _coming(self, reader: Reader, until: float | None) -> AsyncGenerator[str]:
        now = asyncio.get_running_loop().time
        while until is None or now() < until:
            frames = await reader.take(HEARTBEAT_SEC if until is None else min(HEARTBEAT_SEC, until - now()))
            if not await self._standing.holds():
                yield _control("closed", {"code": "unauthenticated"})
                return
            yield self._written(frames) if frames else ":\n\n"

    def _written(self, frames: Sequence[Frame]) -> str:
        self._last = frames[-1].id
        return "".join(f"id: {one.id}\nevent: {one.name}\ndata: {one.text}\n\n" for one in frames)


def _head(last: str) -> str:
    """A block without data: it sets what a browser sends when it comes back, and is no event."""
    return f"retry: {RETRY_MS}\nid: {last}\n\n"


def _control(name: str, document: dict[str, str]) -> str:
    return f"event: {name}\ndata: {json.dumps(document)}\n\n"
