"""What takes long to count is kept for a while, in proportion to how long it took: counting is a twentieth of the work
at the most, however many ask, and what is counted in a moment is as good as never old. Where nothing has happened since
it is kept for longer."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

__all__ = ["Counted"]

T = TypeVar("T")
KEPT_TIMES: int = 20
"""How many times as long as counting took its result is good."""
KEPT_TIMES_STILL: int = 400
"""The same while nothing happens: not for ever, since not all that changes a count is an event."""
_LARGEST: int = 10_000
"""Results that are kept; the least recently asked for go first."""


@dataclass
class _Place:
    """One result, and whoever counts it anew."""

    counting: threading.Lock = field(default_factory=threading.Lock)
    value: Any = None
    moment: Hashable = None
    counted: float = 0.0
    took: float = 0.0

    def is_good(self, now: float, moment: Hashable) -> bool:
        """Whether it need not be counted again yet."""
        times = KEPT_TIMES_STILL if moment == self.moment else KEPT_TIMES
        return self.value is not None and now < self.counted + times * self.took


class Counted:
    """Results of one process by what was counted. While one counts anew the others are told what there is."""

    def __init__(self, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._guard = threading.Lock()
        self._places: OrderedDict[Hashable, _Place] = OrderedDict()

    def of(self, what: Hashable, moment: Hashable, count: Callable[[], T]) -> T:
        """What ``count`` says of it, or said a short while ago. What it raises is raised to whoever counts.

        ``moment``: the same as long as nothing happens that would change it.
        """
        place = self._place(what)
        if not place.is_good(self._clock(), moment) and place.counting.acquire(blocking=place.value is None):
            try:
                if not place.is_good(self._clock(), moment):
                    self._count(place, moment, count)
            finally:
                place.counting.release()
        return cast("T", place.value)

    def _count(self, place: _Place, moment: Hashable, count: Callable[[], Any]) -> None:
        began = self._clock()
        place.value, place.moment = count(), moment
        place.counted = self._clock()
        place.took = place.counted - began

    def _place(self, what: Hashable) -> _Place:
        with self._guard:
            place = self._places.setdefault(what, _Place())
            self._places.move_to_end(what)
            if len(self._places) > _LARGEST:
                self._places.popitem(last=False)
            return place
