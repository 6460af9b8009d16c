"""How people name a version: ``NAME``, ``NAME@1.2.0``, ``NAME@latest``, an id or its beginning."""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from dataclasses import dataclass

from proctor.datasets.errors import DatasetNameInvalid, DatasetUnknown

__all__ = ["LATEST", "Named", "check_name", "id_prefix", "named", "unknown"]

LATEST: str = "latest"
MIN_PREFIX: int = 8
"""Characters of an id that must be given; fewer would soon fit several versions."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_PREFIX = re.compile(rf"[0-9a-f-]{{{MIN_PREFIX},36}}")
_SHOWN: int = 3


@dataclass(frozen=True, kw_only=True)
class Named:
    """A dataset by its name. ``version``: ``None`` for the newest."""

    dataset: str
    version: str | None


def id_prefix(reference: str) -> str | None:
    """The hexadecimal beginning of a version's id; ``None`` of what can't be one."""
    return reference.replace("-", "") if _PREFIX.fullmatch(reference) else None


def check_name(name: str) -> None:
    """Raises ``DatasetNameInvalid`` for a name that is malformed or could be taken for an id."""
    if not _NAME.fullmatch(name) or id_prefix(name) is not None:
        raise DatasetNameInvalid(f"{name[:100]!r} can't be a dataset's name.", where="name")


def named(reference: str) -> Named:
    """What a reference says, whether or not there is such a dataset."""
    dataset, at, version = reference.partition("@")
    return Named(dataset=dataset, version=None if not at or version == LATEST else version)


def unknown(reference: str, known: Sequence[str]) -> DatasetUnknown:
    """The error for a reference that leads nowhere, naming the nearest of those known."""
    near = difflib.get_close_matches(reference, known, n=_SHOWN, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return DatasetUnknown(f"There is no dataset or version {reference[:200]!r}.{hint}")
