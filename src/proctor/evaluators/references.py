"""How people name an evaluator: a type by its name, or a registered one by its own, with a version or without."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import NamedTuple

from proctor.evaluators.catalogue import TYPES
from proctor.evaluators.errors import EvaluatorNameInvalid, EvaluatorUnknown

__all__ = ["Reference", "check_name", "parse_reference", "unknown_evaluator"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_REFERENCE = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]{0,99})(@(?P<version>[1-9][0-9]{0,8}))?")
_SHOWN: int = 3


class Reference(NamedTuple):
    """What a reference says. ``version``: ``None`` for the newest, and for a type."""

    name: str
    version: int | None


def check_name(name: str) -> None:
    """Raises ``EvaluatorNameInvalid`` for a name that is malformed or a type's."""
    if _NAME.fullmatch(name) is None:
        raise EvaluatorNameInvalid(f"{name[:200]!r} can't name an evaluator.", where="name")
    if name in TYPES:
        raise EvaluatorNameInvalid(f"{name!r} is the name of a type.", where="name", remedy="Choose another name.")


def parse_reference(text: str) -> Reference:
    """``name`` or ``name@version``. Raises ``EvaluatorUnknown`` for what is neither."""
    found = _REFERENCE.fullmatch(text)
    if found is None:
        raise EvaluatorUnknown(f"{text[:200]!r} is no NAME or NAME@VERSION.")
    return Reference(found["name"], None if found["version"] is None else int(found["version"]))


def unknown_evaluator(text: str, known: Iterable[str]) -> EvaluatorUnknown:
    """The error for a reference that leads nowhere, naming the nearest that don't."""
    near = difflib.get_close_matches(text, list(known), n=_SHOWN, cutoff=0.5)
    hint = f" Did you mean {' or '.join(near)}?" if near else ""
    return EvaluatorUnknown(f"There is no evaluator {text[:200]!r}.{hint}")
