"""From where on a secret is masked: one rule for what is stored, what is logged and what may be kept as a secret."""

from __future__ import annotations

__all__ = ["SHORTEST_MASKED"]

SHORTEST_MASKED: int = 6
"""Characters: shorter values are words of everyday text; masking them would garble lines and protect nothing."""
