"""Answers that are kept: the same question of the same tenant, asked for the same repeat, is not paid for twice.

A key is the tenant, the evaluator's version, which repeat it is (so that repeats differ, as they are meant to), and the
whole request with its model. Nothing but whole answers is kept: no error, none that was cut off, none of a model that
was not asked. Agents' calls are never answered from here: an attempt is an attempt.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from uuid import UUID

from proctor.kernel.canonical import Json, digest
from proctor.objects.store import ObjectMissing, ObjectStore

__all__ = ["KIND", "CacheKey", "Kept", "ReplyCache"]

KIND: str = "model-cache"
"""Below the tenant, where its objects are."""


@dataclass(frozen=True, kw_only=True)
class CacheKey:
    """What an answer is for, besides the request."""

    evaluator: str
    """Its version's id: another version asks anew."""
    repeat: int = 0


@dataclass(frozen=True, kw_only=True)
class Kept:
    """An answer as it is kept: the body on its wire, and the model that gave it."""

    body: Mapping[str, Json]
    model: str
    """``provider/name``, of the chain."""
    answered: str


class ReplyCache:
    """Of all tenants; each sees its own alone."""

    def __init__(self, objects: ObjectStore) -> None:
        self._objects = objects

    def get(self, tenant: UUID, key: CacheKey, request: Mapping[str, Json]) -> Kept | None:
        """The answer, if there is one that can be read."""
        with suppress(ObjectMissing, ValueError, KeyError, TypeError):
            return Kept(**json.loads(self._objects.get(_place(tenant, key, request))))
        return None

    def put(self, tenant: UUID, key: CacheKey, request: Mapping[str, Json], answer: Kept) -> None:
        """Keep it. Of two that are kept at once either is as good."""
        document = {"body": dict(answer.body), "model": answer.model, "answered": answer.answered}
        self._objects.put(_place(tenant, key, request), json.dumps(document).encode())


def _place(tenant: UUID, key: CacheKey, request: Mapping[str, Json]) -> str:
    found = digest({"evaluator": key.evaluator, "repeat": key.repeat, "request": dict(request)})
    return f"{tenant}/{KIND}/{found[:2]}/{found}.json"
