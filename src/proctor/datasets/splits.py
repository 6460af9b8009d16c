"""Splits by rule: an example belongs to the split into whose range its id hashes, in every version that has the rule.

The hash is over seed and id alone, so an example stays in its split while others come and go; a split has its share
of the examples up to chance.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from proctor.datasets.errors import SplitInvalid

__all__ = ["WHOLE", "Split", "cut"]

WHOLE: int = 1_000_000
"""Ranges are in millionths: finer than any dataset needs, and exact as whole numbers."""
SPLITS: int = 100
"""Of one version: more are folds of folds."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


@dataclass(frozen=True, kw_only=True)
class Split:
    """A rule: ids whose hash, in millionths, is at least ``low_ppm`` and below ``high_ppm``."""

    name: str
    seed: int
    low_ppm: int
    high_ppm: int

    def holds(self, example_id: str) -> bool:
        """Whether an example belongs to it: the first 8 bytes of sha256 over ``SEED:ID``, modulo a million."""
        hashed = hashlib.sha256(f"{self.seed}:{example_id}".encode()).digest()[:8]
        return self.low_ppm <= int.from_bytes(hashed, "big") % WHOLE < self.high_ppm


def cut(shares: Mapping[str, float], seed: int) -> Sequence[Split]:
    """Splits side by side with those shares of all examples, in their order. Raises ``SplitInvalid``."""
    if not 1 <= len(shares) <= SPLITS:
        raise SplitInvalid(f"There must be 1 to {SPLITS} splits.", where="shares")
    found: list[Split] = []
    low = 0
    for name, share in shares.items():
        if not _NAME.fullmatch(name):
            raise SplitInvalid(f"{name[:100]!r} can't be a split's name.", where="shares")
        high = low + round(share * WHOLE) if 0 < share <= 1 else low
        if not low < high <= WHOLE:
            raise SplitInvalid(f"{name}: {share} is no share above 0, or all come to more than 1.", where="shares")
        found.append(Split(name=name, seed=seed, low_ppm=low, high_ppm=high))
        low = high
    return found
