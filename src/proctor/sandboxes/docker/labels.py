"""Whose a container is: its labels, by which any later process finds, keeps or removes it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from proctor.sandboxes.interfaces import Labels

__all__ = ["CELL", "OURS", "labels_of", "written"]

OURS = "dev.proctor.sandbox"
"""On everything that we make; its value is the installation's own mark, so that none reaps another's."""
CELL = f"{OURS}.cell"
"""The name of the sandbox that a thing belongs to, itself or a service, network or volume beside it."""


def written(labels: Labels, mark: str, cell: str) -> dict[str, str]:
    """Labels as an engine keeps them, on everything of the sandbox ``cell``."""
    return {
        OURS: mark,
        CELL: cell,
        f"{OURS}.tenant": str(labels.tenant),
        f"{OURS}.run-set": str(labels.run_set),
        f"{OURS}.attempt": str(labels.attempt),
        f"{OURS}.owner": labels.owner,
        f"{OURS}.expires-at": labels.expires_at.isoformat(),
    }


def labels_of(found: Mapping[str, str]) -> Labels | None:
    """``None`` where they are not such as we write: somebody else's, who has to see to it."""
    try:
        return Labels(
            tenant=UUID(found[f"{OURS}.tenant"]),
            run_set=UUID(found[f"{OURS}.run-set"]),
            attempt=UUID(found[f"{OURS}.attempt"]),
            owner=found[f"{OURS}.owner"],
            expires_at=datetime.fromisoformat(found[f"{OURS}.expires-at"]),
        )
    except (KeyError, ValueError):
        return None
