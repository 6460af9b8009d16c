"""What the queue should do, in Python: rows, lanes, and which tokens are no longer live."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from uuid import UUID

from proctor.queue.service import Item, Lost

__all__ = ["Lane", "Model", "Row"]

NO_LIMIT: int = 1000


@dataclass
class Row:
    """What the queue should know of a row."""

    provider: str
    holders: dict[str, int | None]
    band: int
    state: str
    due: bool
    tries: int = 0
    losses: int = 0
    losses_alone: int = 0
    alone: bool = False
    token: int | None = None
    worker: UUID | None = None
    expired: bool = False

    @property
    def wanted(self) -> bool:
        return any(band is not None for band in self.holders.values())

    def rank(self) -> None:
        self.band = min((band for band in self.holders.values() if band is not None), default=self.band)

    def leave(self, state: str) -> None:
        self.state, self.token, self.worker, self.alone, self.expired = state, None, None, False, False

    def fresh(self) -> None:
        self.tries = self.losses = self.losses_alone = 0


@dataclass
class Lane:
    """What its rows wait for."""

    paused: bool = False
    closed: bool = False
    failures: int = 0
    max_running: int | None = None
    shut_token: int = 0
    """The last token given before it closed: of what was claimed since then one at a time is its probe."""

    def room(self, tokens: Sequence[int]) -> int:
        """How many more may run beside those with these tokens."""
        if self.paused or self.closed:
            return 0
        probes = sum(token > self.shut_token for token in tokens)
        limits = [NO_LIMIT, *([1 - probes] if self.failures else [])]
        if self.max_running is not None:
            limits.append(self.max_running - len(tokens))
        return max(0, min(limits))


@dataclass
class Model:
    """All rows of the queue."""

    rows: dict[UUID, Row] = field(default_factory=dict)
    lanes: dict[str, Lane] = field(default_factory=dict)
    dead_tokens: list[tuple[UUID, UUID, int]] = field(default_factory=list)
    """(worker, row, token)"""

    def copy(self) -> Model:
        rows = {key: replace(row, holders=dict(row.holders)) for key, row in self.rows.items()}
        return Model(rows, {key: replace(lane) for key, lane in self.lanes.items()}, list(self.dead_tokens))

    def held(self, worker: UUID) -> list[UUID]:
        return [key for key, row in self.rows.items() if row.state == "claimed" and row.worker == worker]

    def want(self, key: UUID, holder: str, item: Item, revive: bool) -> None:
        state = "waiting" if item.delay else "pending"
        row = self.rows.get(key)
        if row is None:
            self.rows[key] = Row(item.provider, {holder: int(item.band)}, int(item.band), state, due=not item.delay)
            return
        paused, revived = row.state == "paused", row.state == "dead" and revive
        if row.holders.get(holder) == int(item.band) and not (paused or revived):
            return
        row.holders[holder] = int(item.band)
        row.rank()
        if paused or revived:
            row.provider, row.due = item.provider, not item.delay and (row.due or revived)
            row.state = "pending" if row.due else "waiting"
        if revived:
            row.fresh()
        if row.state != "claimed":
            row.worker = None

    def leave(self, key: UUID, row: Row, holder: str, gone: bool) -> None:
        row.holders[holder] = None
        row.rank()
        if not row.wanted and row.state in ("pending", "waiting"):
            row.state = "paused"
        if gone:
            del row.holders[holder]
            if row.state == "paused" and not row.holders:
                del self.rows[key]

    def ready(self, scope: UUID | None) -> list[UUID]:
        return [
            key
            for key, row in self.rows.items()
            if (row.state == "pending" or (row.state == "waiting" and row.due))
            and (scope is None or row.holders.get(str(scope)) is not None)
            and self.lanes[row.provider].room(self.running(row.provider))
        ]

    def finished(self, key: UUID, how: str) -> None:
        row = self.rows[key]
        assert row.worker is not None
        assert row.token is not None
        self.dead_tokens.append((row.worker, key, row.token))
        if how == "complete" or (not row.holders and how != "bury"):
            del self.rows[key]
            return
        row.tries, row.losses, row.losses_alone = row.tries + 1, 0, 0
        row.due = row.due and how != "wait"
        state = "dead" if how == "bury" else "paused" if not row.wanted else "pending" if how == "back" else "waiting"
        row.leave(state)

    def lost(self, lost: Lost) -> None:
        row = self.rows[lost.id]
        assert (row.token, row.worker) == (lost.token, lost.worker_id)
        self.dead_tokens.append((lost.worker_id, lost.id, lost.token))
        row.losses, row.losses_alone = row.losses + 1, row.losses_alone + row.alone
        assert lost.dead == (row.losses_alone >= 3)
        if not row.holders and not lost.dead:
            del self.rows[lost.id]
            return
        row.leave("dead" if lost.dead else "pending" if row.wanted else "paused")

    def running(self, provider: str) -> list[int]:
        """The tokens of what runs from a lane."""
        running = [row for row in self.rows.values() if row.state == "claimed" and row.provider == provider]
        return [row.token for row in running if row.token is not None]
