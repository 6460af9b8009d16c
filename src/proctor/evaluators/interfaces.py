"""What goes into an evaluator and what comes out, and the ports that evaluators implement.

Whatever judges does so in batches of columns: ``Samples`` in, ``Scores`` of the same length and order out. What needs
nobody else is an ``Evaluator`` and answers at once; a model, a sandbox or a person is waited for.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from proctor.evaluators.statuses import Status

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Embedded", "Embedder", "Evaluator", "HumanReview", "Judge", "Samples", "Scores", "WaitingEvaluator"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Samples:
    """Outputs to be judged, a row each, as pyarrow arrays of one length.

    Where ``X_is_json`` is true, ``X`` is the RFC 8785 JSON of a value that is no string; else it is the text itself.
    Raises ValueError where the columns are not so.
    """

    input: pa.Array
    """string"""
    input_is_json: pa.Array
    """bool"""
    expected: pa.Array
    """string; null: the example says nothing of what is expected"""
    expected_is_json: pa.Array
    """bool"""
    output: pa.Array
    """string, without nulls"""
    output_is_json: pa.Array
    """bool"""

    def __post_init__(self) -> None:
        columns = {name: getattr(self, name) for name in self.__dataclass_fields__}
        for name, column in columns.items():
            kind = "bool" if name.endswith("_is_json") else "string"
            if str(column.type) != kind or len(column) != len(self.output):
                raise ValueError(f"{name} has to be {len(self.output)} values of type {kind}")
            if column.null_count and name != "expected":
                raise ValueError(f"{name} has nulls")

    def __len__(self) -> int:
        return len(self.output)


@dataclass(frozen=True, kw_only=True, eq=False)
class Scores:
    """What became of each row of some ``Samples``, in their order, as pyarrow arrays of one length.

    Raises ValueError where the columns are not so.
    """

    score: pa.Array
    """float64 from 0 (worst) to 1; null exactly where the status is not ``scored``"""
    label: pa.Array | None
    """string, nullable: a class that the evaluator put the output in; ``None``: it has no classes"""
    status: pa.Array
    """dictionary<int8, string> over all of ``Status``, in its order, without nulls"""
    error: pa.Array | None
    """string, nullable: why there is no score; ``None``: every row has one"""
    cost_nano: int | None = 0
    """What all of them cost together, in nano-dollars; ``None``: not known."""

    def __post_init__(self) -> None:
        kinds = {"score": "double", "label": "string", "error": "string"}
        for name, kind in kinds.items():
            column = getattr(self, name)
            if column is not None and (str(column.type) != kind or len(column) != len(self.status)):
                raise ValueError(f"{name} has to be {len(self.status)} values of type {kind}")
        if str(self.status.type.index_type) != "int8" or self.status.null_count:
            raise ValueError("status has to be dictionary<int8, string> without nulls")

    def __len__(self) -> int:
        return len(self.status)

    def statuses(self) -> list[Status]:
        """The status of each row."""
        return [Status(one) for one in self.status.to_pylist()]


class Evaluator(Protocol):
    """Judges on this machine, from the samples alone."""

    def score(self, samples: Samples) -> Scores:
        """A row for each sample, in their order; the same samples always get the same. Raises for no sample's sake."""
        ...


class WaitingEvaluator(Protocol):
    """Judges with the help of somebody else. What ``Judge``, ``HumanReview`` and code in sandboxes have in common."""

    async def score(self, samples: Samples) -> Scores:
        """A row for each sample, in their order, once all have ended: what failed is a status, never an exception.

        Cancelled, it ends what it started and writes nothing. Asked again, it may answer otherwise."""
        ...


class Judge(WaitingEvaluator, Protocol):
    """A model that judges."""

    @property
    def model(self) -> str:
        """Which, as ``provider/name``: what its answers cost is counted by."""
        ...


class HumanReview(WaitingEvaluator, Protocol):
    """People who judge. ``score`` waits for them, which may take days; until then nothing of the batch is told."""

    async def withdraw(self, samples: Samples) -> int:
        """Ask nobody any more about those that nobody has judged yet; how many they were. Safe to repeat."""
        ...


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """Vectors, and what they cost together; ``None``: not known."""

    vectors: Sequence[Sequence[float]]
    cost_nano: int | None


class Embedder(Protocol):
    """Turns texts into vectors, of which similar texts have similar ones."""

    @property
    def dimensions(self) -> int | None:
        """Numbers of each vector; ``None``: not known before the first answer."""
        ...

    async def embed(self, texts: Sequence[str]) -> Embedded:
        """A vector for each text, in their order, all of one length and finite; of length 1 or all zeros.

        Raises ``EmbeddingFailed`` with the status that rows get."""
        ...
