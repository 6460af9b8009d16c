"""What may be listened to, and what of an event those who may read runs get to see.

An event is shown by its kind, and of its payload only the fields named here: a new event or field is nobody's until
somebody says that it may be read with ``runs:read``.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from proctor.kernel.errors import UsageError
from proctor.notifications.outbox import Event

__all__ = ["ALL", "SHOWN", "Frame", "TopicInvalid", "checked_topics", "frame_of", "shown", "topics_of"]

ALL: str = "all"
"""The topic of everything that the tenant may see."""
MOST_TOPICS: int = 100
"""Of one connection: more than a dashboard shows."""
SHOWN: Mapping[str, frozenset[str]] = {
    "run_set": frozenset({"name"}),
    "attempt": frozenset({"run_set", "cell", "number", "phase", "class", "owner", "verdict"}),
    "job": frozenset({"name", "state", "chunks", "chunks_done"}),
}
"""By the first word of an event's name: the fields of its payload."""
_RUN_SET, _JOB = "run-set:", "job:"


class TopicInvalid(UsageError):
    """There is no such kind of topic, or there are too many at once."""

    code = "topic"
    remedy = (
        f"Use run-set:ID with a run set's whole id, job:ID with an evaluation job's, or {ALL}; at most {MOST_TOPICS}"
        " of them."
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Frame:
    """An event as its readers get it."""

    tenant: UUID
    position: int
    id: str
    name: str
    topics: tuple[str, ...]
    text: str
    """As JSON."""


def checked_topics(texts: Iterable[str]) -> frozenset[str]:
    """Topics as they are compared. Raises ``TopicInvalid``."""
    topics = frozenset(_checked(text) for text in texts)
    if len(topics) > MOST_TOPICS:
        raise TopicInvalid(where="topic")
    return topics


def shown(event: Event) -> dict[str, Any] | None:
    """An event as a document; ``None`` where nobody has said who may see it."""
    fields = SHOWN.get(event.name.partition(".")[0])
    if fields is None:
        return None
    return {
        "id": str(event.id),
        "name": event.name,
        "subject": str(event.subject),
        "created_at": event.created_at.isoformat(),
        "payload": {name: value for name, value in event.payload.items() if name in fields},
        "trace_id": event.trace_id,
    }


def frame_of(event: Event) -> Frame | None:
    """An event ready to be sent to any number of readers."""
    document = shown(event)
    if document is None:
        return None
    return Frame(
        tenant=event.tenant_id,
        position=event.position,
        id=document["id"],
        name=event.name,
        topics=topics_of(event),
        text=json.dumps(document, separators=(",", ":")),
    )


def topics_of(event: Event) -> tuple[str, ...]:
    """What an event may be listened to by."""
    kind = event.name.partition(".")[0]
    if kind == "job":
        return ALL, f"{_JOB}{event.subject}"
    run_set = event.subject if kind == "run_set" else event.payload.get("run_set")
    return (ALL,) if run_set is None else (ALL, f"{_RUN_SET}{run_set}")


def _checked(text: str) -> str:
    if text == ALL:
        return text
    for kind in (_RUN_SET, _JOB):
        if text.startswith(kind):
            return f"{kind}{_id(text.removeprefix(kind))}"
    raise TopicInvalid(where="topic")


def _id(text: str) -> UUID:
    """Raises ``TopicInvalid``."""
    try:
        return UUID(text)
    except ValueError as error:
        raise TopicInvalid(where="topic") from error
