"""YAML from strangers: plain data only, no aliases, bounded before anything is built, no key twice.

The events of a document are counted before it is composed: a document that is nested deeply or names a part of itself
again (the way a few lines become gigabytes) is refused while it still is a stream of a few small events.
"""

from __future__ import annotations

from collections.abc import Iterator

import yaml
from pydantic import JsonValue

from proctor.suites.formats.json_values import MAX_DEPTH, NotJson, as_json

__all__ = ["MAX_YAML_BYTES", "YamlRefused", "parse_yaml"]

MAX_YAML_BYTES: int = 256 * 1024
"""The largest public task.yaml has 20 KiB, and a second of parsing is an attack on an import of a hundred."""
MAX_EVENTS: int = 20_000
"""Values and brackets in one document; a task has some dozens."""


class YamlRefused(Exception):
    """A text that is not read; ``field`` is the place, where it is known."""

    def __init__(self, reason: str, field: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.field = reason, field


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # type: ignore[misc]
    """PyYAML's safe loader (in C where the wheel has it), refusing a key that stands twice and merge keys."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[object, object]:
        """A table whose keys differ. Raises ``yaml.YAMLError``."""
        seen: set[object] = set()
        for name, _ in node.value:
            if name.tag == "tag:yaml.org,2002:merge":
                raise yaml.constructor.ConstructorError(None, None, "merge keys (<<) are not read", name.start_mark)
            key = self.construct_object(name, deep=True)
            if not isinstance(key, str | int | float | bool | None):
                raise yaml.constructor.ConstructorError(None, None, "a key is no text", name.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key!r} stands twice", name.start_mark)
            seen.add(key)
        built: dict[object, object] = super().construct_mapping(node, deep=deep)
        return built


def parse_yaml(text: str) -> JsonValue:
    """The one document of a text as JSON. Raises ``YamlRefused`` for whatever else a text may be."""
    if len(text.encode()) > MAX_YAML_BYTES:
        raise YamlRefused(f"is larger than {MAX_YAML_BYTES} bytes")
    try:
        _bound(yaml.parse(text, Loader=_Loader))
        return as_json(yaml.load(text, Loader=_Loader), "", 1)  # noqa: S506  a subclass of the safe loader
    except NotJson as error:
        raise YamlRefused(error.reason, error.field.removeprefix(".")) from error
    except yaml.YAMLError as error:
        raise YamlRefused(f"is not valid YAML: {_told(error)}") from error
    except (ValueError, TypeError, RecursionError) as error:  # a date of month 13, a number of 5,000 digits
        raise YamlRefused(f"is not valid YAML: {error}") from error


def _bound(events: Iterator[yaml.Event]) -> None:
    depth, documents = 0, 0
    for number, event in enumerate(events, start=1):
        if isinstance(event, yaml.AliasEvent):
            raise YamlRefused(f"uses an alias (*{event.anchor}); write the value itself")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        documents += isinstance(event, yaml.DocumentStartEvent)
        if depth > MAX_DEPTH:
            raise YamlRefused(f"is nested more than {MAX_DEPTH} deep")
        if number > MAX_EVENTS:
            raise YamlRefused(f"holds more than {MAX_EVENTS} values")
        if documents > 1:
            raise YamlRefused("holds several documents")


def _told(error: yaml.YAMLError) -> str:
    """What is wrong and in which line, without the excerpt that PyYAML draws."""
    if not isinstance(error, yaml.MarkedYAMLError):
        return str(error).splitlines()[0]
    mark = error.problem_mark or error.context_mark
    return f"{error.problem or error.context}" + ("" if mark is None else f" (line {mark.line + 1})")
