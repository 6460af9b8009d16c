"""What pages are made of that no report changes: their templates and their style sheet."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files

__all__ = ["hash_of", "resource"]


@cache
def resource(name: str) -> str:
    """A file beside this one."""
    return files("proctor.reports.html").joinpath(name).read_text(encoding="utf-8")


def hash_of(style: str) -> str:
    """What a page's policy allows as its only style sheet."""
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
