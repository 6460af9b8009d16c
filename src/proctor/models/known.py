"""What is known of models before any is called: their providers and their prices."""

from __future__ import annotations

from dataclasses import dataclass

from proctor.models.ports import Prices
from proctor.models.providers.catalogue import Catalogue

__all__ = ["KnownModels"]


@dataclass(frozen=True, kw_only=True)
class KnownModels:
    """Of this installation."""

    catalogue: Catalogue
    prices: Prices
