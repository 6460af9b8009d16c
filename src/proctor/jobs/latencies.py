"""How long evaluators take: what the next job's chunks are sized by, and what a registry shows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from uuid import UUID

from sqlalchemy import Connection

from proctor.evaluators import measures
from proctor.results.batches import Batch

__all__ = ["note_latencies"]


def note_latencies(connection: Connection, tenant: UUID, batches: Sequence[Batch]) -> None:
    """Add what finished batches took to what is known of their evaluators."""
    judged: Counter[str] = Counter()
    spent: dict[str, float] = defaultdict(float)
    for batch in batches:
        for digest, of_batch in batch.spent.items():
            judged[digest] += of_batch.evaluations
            spent[digest] += of_batch.seconds
    for digest in sorted(digest for digest, evaluations in judged.items() if evaluations):
        measures.note_latency(connection, tenant, digest, evaluations=judged[digest], seconds=spent[digest])
