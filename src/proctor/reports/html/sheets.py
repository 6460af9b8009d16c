"""What pages are made of that no report changes: their templates and their style sheet."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from string import Template

__all__ = ["document", "resource"]


@cache
def resource(name: str) -> str:
    """A file beside this one."""
    return files("proctor.reports.html").joinpath(name).read_text(encoding="utf-8")


def document(title: str, style: str, body: str) -> str:
    """A whole page of parts that are markup already. Its policy allows that one style sheet and nothing else."""
    page = Template(resource("page.html"))
    return page.substitute(title=title, style=style, style_hash=_hash_of(style), body=body.rstrip("\n"))


def _hash_of(style: str) -> str:
    return base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
