"""Scalars of a Compose file that are one thing to us and another to Compose, whose YAML is of another version.

``1:30`` is 90 to one reader and a text to the other, ``yes`` a truth or a word, ``1.0`` is written out as ``1``. Such a
scalar is refused where it has no quotes; with them it is a text to all.
"""

from __future__ import annotations

import re

import yaml

from proctor.suites.formats.yaml_values import YamlRefused

__all__ = ["refuse_doubtful"]

_AGREED = re.compile(
    r"-?(0|[1-9]\d{0,17})|-?(0|[1-9]\d{0,5})\.\d*[1-9]\d*|true|True|TRUE|false|False|FALSE|~|null|Null|NULL|"
)
_NUMBER = re.compile(r"[-+]?(0[xXoObB][0-9a-fA-F_]+|(?=\.?\d)[\d_]*(\.[\d_]*)?([eE][-+]?\d+)?)")
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([Tt ].*)?")
_TIME_OF_DAY = re.compile(r"[-+]?\d[\d_]*(:\d{1,2})+(\.[\d_]*)?")
_WORD = re.compile(r"(?i:yes|no|on|off|[-+]?\.inf|\.nan)|=|<<")
_DOUBTFUL = (_NUMBER, _DATE, _TIME_OF_DAY, _WORD)
_TEXT = "tag:yaml.org,2002:str"


def refuse_doubtful(text: str) -> None:
    """Raise ``YamlRefused`` for the first of them in a text that can be read."""
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        if not isinstance(event, yaml.ScalarEvent):
            continue
        line = "" if event.start_mark is None else f" (line {event.start_mark.line + 1})"
        if event.tag is not None and event.tag != _TEXT:
            raise YamlRefused(f"tags are not read{line}")
        if event.implicit[0] and _is_doubtful(event.value):
            raise YamlRefused(f"{event.value} is not the same to all readers of YAML{line}; put it in quotes")


def _is_doubtful(value: str) -> bool:
    return not _AGREED.fullmatch(value) and any(form.fullmatch(value) for form in _DOUBTFUL)
