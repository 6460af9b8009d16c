"""Reading a verifier's reward files, strictly: ``reward.json`` first, else ``reward.txt``.

The format is Harbor's: a flat object of finite numbers by name, or one number, which is named ``reward``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping

from proctor.engine.evidence import VerifierProblem

__all__ = ["MAX_REWARD_BYTES", "parse_rewards"]

MAX_REWARD_BYTES: int = 64 * 1024
"""A reward file is a few numbers; a larger one is not read."""
_NUMBER = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")


def parse_rewards(json_file: bytes | None, text_file: bytes | None) -> Mapping[str, float] | VerifierProblem:
    """Rewards by name, or what is wrong with the files. ``None`` stands for a file that is not there."""
    if json_file is not None:
        return _from_json(json_file)
    if text_file is not None:
        return _from_text(text_file)
    return VerifierProblem.MISSING


def _from_json(raw: bytes) -> Mapping[str, float] | VerifierProblem:
    if not raw.strip():
        return VerifierProblem.EMPTY
    try:
        document = json.loads(raw, object_pairs_hook=_no_repeats, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return VerifierProblem.UNPARSABLE
    if not isinstance(document, dict):
        return VerifierProblem.UNPARSABLE
    if not document:
        return VerifierProblem.EMPTY
    if not all(_is_finite(value) for value in document.values()):
        return VerifierProblem.UNPARSABLE
    return {name: float(value) for name, value in document.items()}


def _from_text(raw: bytes) -> Mapping[str, float] | VerifierProblem:
    text = raw.decode("utf-8", "replace").strip()
    if not text:
        return VerifierProblem.EMPTY
    if _NUMBER.fullmatch(text) is None or not math.isfinite(float(text)):
        return VerifierProblem.UNPARSABLE
    return {"reward": float(text)}


def _is_finite(value: object) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    try:
        return math.isfinite(float(value))
    except OverflowError:
        return False


def _no_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    document = dict(pairs)
    if len(document) != len(pairs):
        raise ValueError("a name stands twice")
    return document


def _refuse(constant: str) -> float:
    raise ValueError(constant)
