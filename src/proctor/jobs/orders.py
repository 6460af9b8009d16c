"""What a process is told to score a chunk, and what others said before: plain values, so that they can be sent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from proctor.evaluators.catalogue import is_local
from proctor.evaluators.configuration import Definition
from proctor.evaluators.samples import Score
from proctor.jobs.chunks import Chunk
from proctor.jobs.replies import Made
from proctor.jobs.routing import Route
from proctor.kernel.canonical import Json
from proctor.objects.parquet import Part
from proctor.results.batches import Place

__all__ = ["Judge", "Judged", "Order", "in_turn"]


@dataclass(frozen=True, kw_only=True)
class Judge:
    """An evaluator as a job uses it."""

    name: str
    """As it is called: of a registered one name@version."""
    digest: str
    type: str
    implementation: int
    configuration: Mapping[str, Json]
    route: Route | None = None
    """Which outputs it judges; ``None``: all."""

    @property
    def definition(self) -> Definition:
        """All that decides its numbers."""
        return Definition(type=self.type, implementation=self.implementation, configuration=self.configuration)

    @property
    def waits(self) -> bool:
        """Whether it judges with the help of a sandbox or a model, before the chunk is scored."""
        return not is_local(self.definition)


def in_turn(judges: Sequence[Judge]) -> list[Judge]:
    """Those that judge everything first, then those that are routed by what they say."""
    return sorted(judges, key=lambda judge: judge.route is not None)


@dataclass(frozen=True, kw_only=True)
class Judged:
    """What an evaluator that waits for others said of a chunk. ``rows``: a score for each row that it judges, in their
    order; ``seconds`` and ``cost_nano``: of all of them, the latter ``None`` where it is not known."""

    rows: tuple[Score, ...]
    seconds: float
    cost_nano: int | None


@dataclass(frozen=True, kw_only=True)
class Order:
    """All that is needed to score one chunk."""

    place: Place
    tries: int
    """That were used up before this one."""
    chunk: Chunk
    store: str
    """Where the objects are."""
    rows: int
    """Of the dataset version."""
    version: UUID | None
    """``None``: the rows are a stream's."""
    examples: tuple[Part, ...]
    outputs: tuple[Part, ...]
    """Empty where a target makes them."""
    judges: tuple[Judge, ...]
    target: Mapping[str, Json] | None
    target_digest: str | None
    made: tuple[Made, ...] | None
    """What the target made, an output for each row; ``None``: it did not yet, or there is none."""
    judged: Mapping[str, Judged]
    """What evaluators said that wait for others, by their digest."""
    creator: str
    """Whose budget pays for models; empty: nobody's."""
    model: str | None
    """What made the outputs, where they do not say so themselves."""
    trace_id: str
    first: int = 0
    """Which row the parts begin with: of a stream's chunk they hold its own alone."""

    @property
    def waiting(self) -> list[Judge]:
        """Its evaluators that wait for others."""
        return [judge for judge in self.judges if judge.waits]

    @property
    def can_be_scored(self) -> bool:
        """Whether nobody else has to be asked before."""
        return (self.target is None or self.made is not None) and all(one.digest in self.judged for one in self.waiting)
