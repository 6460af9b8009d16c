"""Which outputs a dear evaluator judges: those of which a cheap one is not certain, and a sample of the others.

Each row is stored with the probability with which it was chosen, so that a mean over the chosen ones can say what it
would be over all of them (the inverse of the probability is its weight: Horvitz and Thompson 1952).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from proctor.evaluators.interfaces import Scores

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["Drawn", "Route", "draw"]

_BYTES: int = 8
"""Of a hash, as a number from 0 to 1: finer than any probability that somebody declares."""


@dataclass(frozen=True, kw_only=True)
class Route:
    """When an evaluator is asked. An output is uncertain where the cheap evaluator gave it no score, or one from
    ``low`` to ``high``; it is judged for certain, another with the probability ``otherwise``."""

    after: str
    """The evaluator that judges everything first, as the job names it."""
    low: float
    high: float
    otherwise: float


@dataclass(frozen=True, kw_only=True, eq=False)
class Drawn:
    """The rows that are judged, as pyarrow arrays of one length. ``probability``: float64, of being chosen."""

    chosen: pa.Array
    probability: pa.Array


def draw(route: Route, first: Scores, evaluator: str, samples: Iterable[bytes | None], repeat: int) -> Drawn:
    """Who is chosen. The same output is always chosen alike, by whichever job: what was judged once is there.

    ``first``: what the cheap evaluator said of each row; ``evaluator``: the digest of the dear one; ``samples``: the
    digest of each row's output.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    inside = pc.and_(pc.greater_equal(first.score, route.low), pc.less_equal(first.score, route.high))
    uncertain = pc.fill_null(inside, True)
    probability = pc.if_else(uncertain, 1.0, route.otherwise)
    if route.otherwise in (0.0, 1.0):
        return Drawn(chosen=pc.equal(probability, 1.0), probability=probability)
    salt = f"{evaluator} {repeat} ".encode()
    lots = pa.array([_lot(salt, sample) for sample in samples], pa.float64())
    return Drawn(chosen=pc.less(lots, probability), probability=probability)


def _lot(salt: bytes, sample: bytes | None) -> float:
    """From 0 to below 1."""
    number = int.from_bytes(blake2b(salt + (sample or b""), digest_size=_BYTES).digest(), "big")
    return number / (1 << 8 * _BYTES)
