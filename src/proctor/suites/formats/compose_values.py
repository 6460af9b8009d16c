"""Single values of a Compose file. Each function takes where the value stands, and refuses it by that place.

Compose fills ``$NAME`` in from the machine that it runs on. A task has no machine: what its format gives has a fixed
text, a whole value of ``environment`` may name a secret of the run set, and everything else is refused.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from pydantic import JsonValue

from proctor.suites.services import Mount, ReadyProbe, SharedVolume
from proctor.suites.variables import variable_reference

__all__ = [
    "ComposeRefused",
    "Dialect",
    "environment",
    "inside",
    "items",
    "known_keys",
    "mapping",
    "plain",
    "plain_or_number",
    "probe",
    "settings",
    "volume",
    "words",
]

_VARIABLE = re.compile(r"\$(?:(?P<dollar>\$)|\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)\}|(?P<other>[^$]?))")
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:us|ms|s|m|h))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(us|ms|s|m|h)")
_SECONDS: Mapping[str, float] = {"us": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*")
_SECRET = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*(:-[^$}]*)?\}")
"""A whole value; in a default Compose would look for more names, and for where it ends."""
_WORDS = re.compile(r"""(?:[^\\"'`;&|<>()]|\\.|'[^']*'|"(?:[^"\\]|\\["\\])*")*""", re.DOTALL)
"""A text that splits into the same words here and in Compose, which stops in silence where a shell would do more."""
_LONGEST_SEC: float = 3600.0
"""No service takes longer to be ready, or is asked more seldom."""
_MOST_RETRIES: int = 1000
_OF_THE_SYSTEM: tuple[str, ...] = ("/proc", "/sys", "/dev")
_PROBE_KEYS: frozenset[str] = frozenset({"test", "interval", "timeout", "retries", "start_period"})


class ComposeRefused(Exception):
    """Something of a Compose file that can't be had; ``place`` is its path in the file."""

    def __init__(self, place: str, reason: str) -> None:
        super().__init__(f"{place}: {reason}")
        self.place, self.reason = place, reason


@dataclass(frozen=True, kw_only=True)
class Dialect:
    """What one format of tasks has of its own in its Compose files."""

    file: str
    main: str
    """The service that the agent is in."""
    own_image: str
    """The variable that names the main service's image."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """Variables that mean the same in every sandbox."""
    given: frozenset[str] = frozenset()
    """Volumes of the main service that a sandbox has by itself."""
    name_prefix: str | None = None
    """What a ``container_name`` begins with where it names nothing that anybody could look for."""


def plain(value: JsonValue, place: str, dialect: Dialect) -> str:
    """A text, its variables filled in."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ComposeRefused(place, f"{value} is no text; put it in quotes")
    if not isinstance(value, str):
        raise ComposeRefused(place, "is no text")
    return _VARIABLE.sub(lambda found: _filled(found, place, dialect), value)


def _filled(found: re.Match[str], place: str, dialect: Dialect) -> str:
    if found["dollar"]:
        return "$"
    text = dialect.texts.get(found["name"] or "")
    if text is None:
        shown = f"${{{found['name']}}}" if found["name"] else f"{found[0]}…"
        raise ComposeRefused(
            place, f"{shown} is of the machine that runs Compose, and a task has none; write $$ for a $ of its own"
        )
    return text


def plain_or_number(value: JsonValue, place: str, dialect: Dialect) -> str:
    """A number as a text, or what ``plain`` says."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return str(value) if is_number else plain(value, place, dialect)


def settings(value: JsonValue, place: str) -> Mapping[str, JsonValue]:
    """A table of what a name may be given besides; nothing is an empty one."""
    return {} if value is None else mapping(value, place)


def mapping(value: JsonValue, place: str) -> Mapping[str, JsonValue]:
    """A table."""
    if not isinstance(value, dict):
        raise ComposeRefused(place, "is no table")
    return value


def items(value: JsonValue, place: str) -> Iterator[tuple[str, JsonValue]]:
    """Each item of a list with its own place."""
    if not isinstance(value, list):
        raise ComposeRefused(place, "is no list")
    for number, item in enumerate(value):
        yield f"{place}[{number}]", item


def known_keys(table: Mapping[str, JsonValue], place: str, known: frozenset[str]) -> None:
    """Refuse the first key that is none of those that are known."""
    for key in table:
        if key not in known:
            raise ComposeRefused(f"{place}.{key}", "is not supported")


def words(value: JsonValue, place: str, dialect: Dialect) -> tuple[str, ...]:
    """A command: a list of words, or a text that is split as a shell would split it."""
    if isinstance(value, list):
        return tuple(plain(item, inner, dialect) for inner, item in items(value, place))
    text = plain(value, place, dialect)
    if not _WORDS.fullmatch(text):
        raise ComposeRefused(place, "can't be split into words without a shell; write a list, such as [sh, -c, …]")
    return tuple(shlex.split(text))


def environment(value: JsonValue, place: str, dialect: Dialect) -> dict[str, str]:
    """A table, or a list of ``NAME=value``. A value may be ``${NAME}`` or ``${NAME:-default}`` as a whole."""
    if isinstance(value, list):
        pairs = [_pair(item, inner) for inner, item in items(value, place)]
    else:
        pairs = [(name, item, f"{place}.{name}") for name, item in mapping(value, place).items()]
    return {name: _variable(name, item, inner, dialect) for name, item, inner in pairs}


def _pair(item: JsonValue, place: str) -> tuple[str, JsonValue, str]:
    if not isinstance(item, str):
        raise ComposeRefused(place, "is no NAME=value")
    name, equals, text = item.partition("=")
    return name, text if equals else None, place


def _variable(name: str, value: JsonValue, place: str, dialect: Dialect) -> str:
    if not _NAME.fullmatch(name):
        raise ComposeRefused(place, f"{name!r} is no name of a variable")
    if value is None:
        raise ComposeRefused(place, "has no value; Compose would take the machine's, and a task has none")
    if isinstance(value, str) and _SECRET.fullmatch(value) and variable_reference(value) not in dialect.texts:
        return value
    text = plain_or_number(value, place, dialect)
    if variable_reference(text) is not None:
        raise ComposeRefused(place, "would be taken for the name of a secret")
    return text


def inside(value: JsonValue, place: str, dialect: Dialect) -> str:
    """A path below ``environment/``, in its plain form; ``.`` is all of it."""
    text = plain(value, place, dialect)
    path = PurePosixPath(text)
    if not text or path.is_absolute() or ".." in path.parts or text.startswith("~") or "\\" in text:
        raise ComposeRefused(place, f"{text!r} is no path inside the task's environment folder")
    return str(path)


def volume(value: JsonValue, place: str, dialect: Dialect) -> Mount | SharedVolume | None:
    """What a service shares or is given; ``None`` for a folder that is its own alone."""
    source, target, read_only = (
        _short(value, place, dialect) if isinstance(value, str) else _long(value, place, dialect)
    )
    path = PurePosixPath(target)
    if not path.is_absolute() or ".." in path.parts or len(path.parts) < 2:
        raise ComposeRefused(place, f"{target!r} is no absolute path of a folder in the container")
    if any(path.is_relative_to(own) for own in _OF_THE_SYSTEM):
        raise ComposeRefused(place, f"{target!r} is the system's")
    if source is None:
        return None
    if source.startswith((".", "/", "~")):
        return Mount(source=inside(source, place, dialect), target=str(path))
    return SharedVolume(name=source, target=str(path), read_only=read_only)


def _short(value: str, place: str, dialect: Dialect) -> tuple[str | None, str, bool]:
    parts = plain(value, place, dialect).split(":")
    if len(parts) == 1:
        return None, parts[0], False
    if len(parts[0]) == 1 and parts[0].isalpha():
        raise ComposeRefused(place, f"Compose takes {parts[0]} for a drive of Windows; give the volume a longer name")
    if len(parts) > 3 or (len(parts) == 3 and parts[2] not in ("ro", "rw")) or not parts[0]:
        raise ComposeRefused(place, "is none of SOURCE:TARGET, SOURCE:TARGET:ro and TARGET")
    return parts[0], parts[1], parts[2:] == ["ro"]


def _long(value: JsonValue, place: str, dialect: Dialect) -> tuple[str | None, str, bool]:
    table = mapping(value, place)
    known_keys(table, place, frozenset({"type", "source", "target", "read_only"}))
    read_only = table.get("read_only", False)
    if table.get("type") not in ("bind", "volume"):
        raise ComposeRefused(f"{place}.type", "is neither bind nor volume")
    if not isinstance(read_only, bool):
        raise ComposeRefused(f"{place}.read_only", "is neither true nor false")
    source = plain(table.get("source"), f"{place}.source", dialect) if "source" in table else None
    bind = table["type"] == "bind"
    if bind and source is None:
        raise ComposeRefused(f"{place}.source", "is missing")
    if source is not None and bind is not source.startswith((".", "/", "~")):
        raise ComposeRefused(f"{place}.source", "begins with . exactly where type is bind")
    return source, plain(table.get("target"), f"{place}.target", dialect), read_only


def probe(value: JsonValue, place: str, dialect: Dialect) -> ReadyProbe:
    """A healthcheck, its times as Compose has them where they are not given."""
    table = mapping(value, place)
    known_keys(table, place, _PROBE_KEYS)
    usual = ReadyProbe()
    retries = table.get("retries", usual.retries)
    if isinstance(retries, bool) or not isinstance(retries, int) or not 0 < retries <= _MOST_RETRIES:
        raise ComposeRefused(f"{place}.retries", f"is no number from 1 to {_MOST_RETRIES}")
    return ReadyProbe(
        argv=_test(table.get("test"), f"{place}.test", dialect),
        interval_sec=_seconds(table, "interval", place) or usual.interval_sec,
        timeout_sec=_seconds(table, "timeout", place) or usual.timeout_sec,
        start_period_sec=_seconds(table, "start_period", place) or usual.start_period_sec,
        retries=retries,
    )


def _test(value: JsonValue, place: str, dialect: Dialect) -> tuple[str, ...]:
    if isinstance(value, str):
        return ("/bin/sh", "-c", plain(value, place, dialect))
    kind, *argv = [plain(item, inner, dialect) for inner, item in items(value, place)] or [""]
    if kind == "NONE" and not argv:
        return ()
    if kind == "CMD" and argv:
        return tuple(argv)
    if kind == "CMD-SHELL" and len(argv) == 1:
        return ("/bin/sh", "-c", argv[0])
    raise ComposeRefused(place, "is none of a text, [CMD, …], [CMD-SHELL, text] and [NONE]")


def _seconds(table: Mapping[str, JsonValue], key: str, place: str) -> float | None:
    if key not in table:
        return None
    value = table[key]
    if not isinstance(value, str) or not _DURATION.fullmatch(value):
        raise ComposeRefused(f"{place}.{key}", "is no time such as 1m30s")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _PART.findall(value))
    if seconds > _LONGEST_SEC:
        raise ComposeRefused(f"{place}.{key}", f"is more than {_LONGEST_SEC:.0f} s")
    return seconds
