"""What every ``PullTurns`` keeps to, whoever counts: no more pulls of a registry in any minute than it bears."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence

from proctor.sandboxes.pulls import PULLS_PER_MINUTE, PullTurns

__all__ = ["PullTurnsContract"]


class PullTurnsContract(ABC):
    """``turns``, a fixture, has given none yet."""

    registry = "a.example"

    @abstractmethod
    async def later(self, seconds: float) -> None:
        """So many seconds go by."""

    @abstractmethod
    def now(self) -> float:
        """The time that the turns are counted by, in seconds since some moment."""

    async def test_no_minute_has_more_than_its_pulls_and_most_are_used(self, turns: PullTurns) -> None:
        began, taken = self.now(), list[float]()
        while self.now() < began + 200:
            wait = await turns.take(self.registry)
            if wait == 0:
                taken.append(self.now())
            else:
                await self.later(wait)
        assert most_in_a_minute(taken) <= PULLS_PER_MINUTE
        assert len(taken) >= 160

    async def test_a_few_wait_for_nothing(self, turns: PullTurns) -> None:
        assert {await turns.take(self.registry) for _ in range(12)} == {0.0}

    async def test_registries_have_turns_of_their_own(self, turns: PullTurns) -> None:
        while await turns.take(self.registry) == 0:
            pass
        assert await turns.take(f"other.{self.registry}") == 0

    async def test_to_be_turned_away_costs_nothing(self, turns: PullTurns) -> None:
        while (first := await turns.take(self.registry)) == 0:
            pass
        again = [await turns.take(self.registry) for _ in range(50)]
        assert max(again) <= first + 1
        await self.later(first)
        assert await turns.take(self.registry) == 0


def most_in_a_minute(times: Sequence[float]) -> int:
    """The most of these within any one minute but for its last moment: they are noted a little after they are given."""
    return max(sum(start <= one < start + 59.9 for one in times) for start in times)
