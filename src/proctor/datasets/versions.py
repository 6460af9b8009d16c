"""Versions of a dataset: what is known of each, and what their labels may be."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal
from uuid import UUID

from proctor.datasets.errors import VersionInvalid
from proctor.kernel.canonical import Json
from proctor.objects.parquet import Part

__all__ = ["TIMESTAMP", "DatasetVersion", "Lineage", "Operation", "Parent", "check_label", "next_label"]

FIRST: str = "1.0.0"
TIMESTAMP: str = "timestamp"
"""Asks for the moment as the label."""
_SEMANTIC = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})", re.ASCII)
_MOMENT = "%Y%m%dT%H%M%SZ"

Operation = Literal["import", "filter", "merge", "relabel", "dedupe", "sample"]


@dataclass(frozen=True, kw_only=True)
class Parent:
    """A version that another was made of."""

    id: UUID
    dataset: str
    version: str


@dataclass(frozen=True, kw_only=True)
class Lineage:
    """What a version was made of, and how. ``parameters``: the operation's own; none of them is a secret."""

    operation: Operation
    parameters: Mapping[str, Json]
    parents: tuple[Parent, ...] = ()


@dataclass(frozen=True, kw_only=True)
class DatasetVersion:
    """One immutable version. ``content_hash``: sha256 over the digests of its rows, in their order, as hex."""

    tenant: UUID
    id: UUID
    dataset: str
    version: str
    rows: int
    parts: tuple[Part, ...]
    content_hash: str
    has_embeddings: bool
    created_at: datetime
    creator: str
    metadata: Mapping[str, Json]
    lineage: Lineage

    @property
    def reference(self) -> str:
        """``NAME@VERSION``."""
        return f"{self.dataset}@{self.version}"


def check_label(label: str) -> None:
    """Raises ``VersionInvalid`` for what is neither semantic nor a moment of UTC such as 20261201T102500Z."""
    if _SEMANTIC.fullmatch(label):
        return
    refusal = VersionInvalid(f"{label[:100]!r} can't be a version.", where="version")
    try:
        moment = datetime.strptime(label, _MOMENT).strftime(_MOMENT)  # noqa: DTZ007  its Z says UTC
    except ValueError:
        raise refusal from None
    if moment != label:
        raise refusal


def next_label(wanted: str | None, known: Iterable[str], now: datetime) -> str:
    """The label for a new version beside those known: the one that is wanted, else the next minor.

    Raises ``VersionInvalid``.
    """
    if wanted == TIMESTAMP:
        return now.astimezone(UTC).strftime(_MOMENT)
    if wanted is not None:
        check_label(wanted)
        return wanted
    semantic = [tuple(map(int, found.groups())) for one in known if (found := _SEMANTIC.fullmatch(one))]
    if not semantic:
        return FIRST
    major, minor, _ = max(semantic)
    return f"{major}.{minor + 1}.0"
