"""Which encodings of an answer its reader takes."""

from __future__ import annotations

from starlette.requests import HTTPConnection

__all__ = ["takes"]


def takes(connection: HTTPConnection, encoding: str) -> bool:
    """Whether Accept-Encoding names it, or all, and not with a weight of nothing."""
    weights: dict[str, bool] = {}
    for one in ",".join(connection.headers.getlist("accept-encoding")).split(","):
        name, _, words = one.partition(";")
        weights[name.strip().lower()] = not _is_nothing(words)
    return weights.get(encoding, weights.get("*", False))


def _is_nothing(words: str) -> bool:
    name, _, weight = words.partition("=")
    return name.strip().lower() == "q" and not weight.strip().strip("0.")
