"""A task's Compose file: the part of it that Proctor runs, and everything else refused by its path in the file.

Read are services, networks and named volumes. Of a service: ``build``, ``image``, ``command``, ``entrypoint``,
``environment``, ``volumes``, ``healthcheck``, ``depends_on``, ``networks`` and ``expose``. The main service is a
sandbox: it runs what the agent runs, so it has no program and no healthcheck of its own here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

from pydantic import JsonValue

from proctor.suites.files import printable
from proctor.suites.formats.compose_scalars import refuse_doubtful
from proctor.suites.formats.compose_values import (
    ComposeRefused,
    Dialect,
    environment,
    inside,
    items,
    known_keys,
    mapping,
    plain,
    plain_or_number,
    probe,
    settings,
    volume,
    words,
)
from proctor.suites.formats.harbor_values import check_destination
from proctor.suites.formats.yaml_values import YamlRefused, parse_yaml
from proctor.suites.services import Build, Composed, Mount, Readiness, ReadyProbe, Service, SharedVolume
from proctor.suites.tasks import TaskProblem

__all__ = ["ComposeFile", "read_compose"]

MAX_SERVICES: int = 16
"""Each may take what a sandbox may; the largest public tasks have six."""
MAX_NETWORKS: int = 8
_TOP: frozenset[str] = frozenset({"services", "networks", "volumes", "version"})
_KEYS: frozenset[str] = frozenset(
    {
        "build",
        "image",
        "command",
        "entrypoint",
        "environment",
        "volumes",
        "healthcheck",
        "depends_on",
        "networks",
        "expose",
        "container_name",
    }
)
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]{0,254}")
_PORT = re.compile(r"\d{1,5}(-\d{1,5})?(/(tcp|udp))?")
_IDLE: frozenset[tuple[str, ...]] = frozenset(
    {
        ("sleep", "infinity"),
        ("sh", "-c", "sleep infinity"),
        ("/bin/sh", "-c", "sleep infinity"),
        ("bash", "-c", "sleep infinity"),
        ("/bin/bash", "-c", "sleep infinity"),
        ("tail", "-f", "/dev/null"),
    }
)
"""What a main container is told in order to do nothing; a sandbox does that by itself."""
_DEFAULT: str = "default"
_Part = TypeVar("_Part")
_Shared = tuple[Mount | SharedVolume, ...]


@dataclass(frozen=True, kw_only=True)
class ComposeFile:
    """What a Compose file declares, or everything in it that can't be had."""

    composed: Composed | None = None
    problems: tuple[TaskProblem, ...] = ()


@dataclass(frozen=True, kw_only=True)
class _Context:
    """What a service's keys may refer to."""

    dialect: Dialect
    paths: frozenset[str]
    """The task's files."""
    services: frozenset[str]
    networks: frozenset[str]
    volumes: frozenset[str]
    problems: list[ComposeRefused]


def read_compose(text: str, paths: frozenset[str], dialect: Dialect) -> ComposeFile:
    """``paths``: the task's files. Never raises for what the text holds."""
    problems: list[ComposeRefused] = []
    composed = None
    try:
        composed = _read(text, paths, dialect, problems)
    except YamlRefused as error:
        problems.append(ComposeRefused(error.field or "", error.reason))
    except ComposeRefused as error:
        problems.append(error)
    told = (
        TaskProblem(file=dialect.file, field=printable(one.place) or None, reason=printable(one.reason))
        for one in problems
    )
    return ComposeFile(problems=tuple(told), composed=None if problems else composed)


def _read(text: str, paths: frozenset[str], dialect: Dialect, problems: list[ComposeRefused]) -> Composed:
    document = mapping(parse_yaml(text) or {}, "services")
    refuse_doubtful(text)
    if not isinstance(document.get("version", ""), str):
        problems.append(ComposeRefused("version", "is no text; put it in quotes"))
    problems.extend(ComposeRefused(key, "is not supported") for key in document if key not in _TOP)
    tables = _named(document.get("services", {}), "services", MAX_SERVICES)
    inward = _networks(document.get("networks", {}))
    context = _Context(
        dialect=dialect,
        paths=paths,
        services=frozenset({dialect.main, *tables}),
        networks=frozenset({_DEFAULT, *inward}),
        volumes=frozenset(_volumes(document.get("volumes", {}))),
        problems=problems,
    )
    services = {name: _service(name, table, context) for name, table in tables.items()}
    main = services.setdefault(dialect.main, Service(name=dialect.main))
    ordered = [] if problems else _ordered(services)
    return Composed(
        main=main,
        beside=tuple(service for service in ordered if service is not main),
        inward=tuple(name for name, internal in inward.items() if internal),
    )


def _named(value: JsonValue, place: str, most: int) -> Mapping[str, JsonValue]:
    table = mapping(value, place)
    if len(table) > most:
        raise ComposeRefused(place, f"are more than {most}")
    for name in table:
        if not _NAME.fullmatch(name):
            raise ComposeRefused(place, f"{name!r} is no name")
    return table


def _networks(value: JsonValue) -> dict[str, bool]:
    """Whether each is internal."""
    found: dict[str, bool] = {}
    for name, given in _named(value, "networks", MAX_NETWORKS).items():
        place = f"networks.{name}"
        table = settings(given, place)
        known_keys(table, place, frozenset({"internal"}))
        internal = table.get("internal", False)
        if not isinstance(internal, bool):
            raise ComposeRefused(f"{place}.internal", "is neither true nor false")
        found[name] = internal
    return found


def _volumes(value: JsonValue) -> Iterable[str]:
    for name, given in _named(value, "volumes", MAX_SERVICES).items():
        known_keys(settings(given, f"volumes.{name}"), f"volumes.{name}", frozenset())
        yield name


class _Keys:
    """The keys of one service, each read by itself: what is wrong with one goes to the context's problems."""

    def __init__(self, name: str, value: JsonValue, context: _Context) -> None:
        self.place = f"services.{name}"
        self.table = settings(value, self.place)
        self._context = context
        unknown = (key for key in self.table if key not in _KEYS)
        context.problems.extend(ComposeRefused(f"{self.place}.{key}", "is not supported") for key in unknown)

    def read(self, key: str, reader: Callable[[JsonValue, str, _Context], _Part], missing: _Part) -> _Part:
        """What a key says; ``missing`` where it is not there or can't be had."""
        if key not in self.table:
            return missing
        try:
            return reader(self.table[key], f"{self.place}.{key}", self._context)
        except ComposeRefused as error:
            self._context.problems.append(error)
            return missing


def _service(name: str, value: JsonValue, context: _Context) -> Service:
    keys = _Keys(name, value, context)
    keys.read("expose", _expose, None)
    keys.read("container_name", _container_name, None)
    build = keys.read("build", _build, None)
    common = Service(
        name=name,
        image=keys.read("image", _image, None) if "build" not in keys.table else None,
        build=build,
        env=keys.read("environment", _environment, {}),
        needs=keys.read("depends_on", _needs, {}),
        networks=keys.read("networks", _networks_of, (_DEFAULT,)),
    )
    if name == context.dialect.main:
        keys.read("command", _idle, None)
        keys.read("entrypoint", _no_program, None)
        keys.read("healthcheck", _no_healthcheck, None)
        return _sharing(common, keys.read("volumes", _shared_of_main, ()))
    if not keys.table.keys() & {"build", "image"}:
        context.problems.append(ComposeRefused(keys.place, "has neither build nor image"))
    with_program = replace(
        common,
        entrypoint=keys.read("entrypoint", _words, None),
        command=keys.read("command", _words, None),
        probe=keys.read("healthcheck", _probe, None),
    )
    return _sharing(with_program, keys.read("volumes", _shared, ()))


def _sharing(service: Service, shared: _Shared) -> Service:
    return replace(
        service,
        mounts=tuple(one for one in shared if isinstance(one, Mount)),
        volumes=tuple(one for one in shared if isinstance(one, SharedVolume)),
    )


# --- the keys of a service --------------------------------------------------------------------------------------------


def _build(value: JsonValue, place: str, context: _Context) -> Build:
    table = value if isinstance(value, dict) else {"context": value}
    known_keys(table, place, frozenset({"context", "dockerfile"}))
    folder = inside(table.get("context", "."), f"{place}.context", context.dialect)
    dockerfile = inside(table.get("dockerfile", "Dockerfile"), f"{place}.dockerfile", context.dialect)
    wanted = "/".join(part for part in ("environment", folder, dockerfile) if part != ".")
    if wanted not in context.paths:
        raise ComposeRefused(place, f"there is no {wanted}")
    return Build(context=folder, dockerfile=dockerfile)


def _image(value: JsonValue, place: str, context: _Context) -> str | None:
    """``None`` for the task's own."""
    if value == f"${{{context.dialect.own_image}}}":
        return None
    name = plain(value, place, context.dialect)
    if not _IMAGE.fullmatch(name):
        raise ComposeRefused(place, f"{name!r} is no name of an image")
    return name


def _words(value: JsonValue, place: str, context: _Context) -> tuple[str, ...] | None:
    return None if value is None else words(value, place, context.dialect)


def _environment(value: JsonValue, place: str, context: _Context) -> Mapping[str, str]:
    return environment(value, place, context.dialect)


def _probe(value: JsonValue, place: str, context: _Context) -> ReadyProbe:
    return probe(value, place, context.dialect)


def _shared(value: JsonValue, place: str, context: _Context) -> _Shared:
    """Mounts and volumes; what is said of a place that is a service's own alone needs nothing."""
    found: list[Mount | SharedVolume] = []
    for inner, item in items(value, place):
        if isinstance(item, str) and item in context.dialect.given:
            raise ComposeRefused(inner, "is a folder of the machine that runs Compose, which only the main service has")
        one = volume(item, inner, context.dialect)
        if isinstance(one, SharedVolume) and one.name not in context.volumes:
            raise ComposeRefused(inner, f"the volume {one.name!r} is not among the file's volumes")
        if isinstance(one, Mount) and not _is_there(one.source, context.paths):
            raise ComposeRefused(inner, f"there is no environment/{one.source}")
        if one is not None and any(one.target == other.target for other in found):
            raise ComposeRefused(inner, f"{one.target} is named twice")
        found.extend([] if one is None else [one])
    return tuple(found)


def _shared_of_main(value: JsonValue, place: str, context: _Context) -> _Shared:
    """Without what a sandbox has by itself; its own places for tests, solutions and logs are nobody else's."""
    if not isinstance(value, list):
        return _shared(value, place, context)
    found = _shared([item for item in value if item not in context.dialect.given], place, context)
    for one in found:
        try:
            check_destination(one.target)
        except ValueError as error:
            raise ComposeRefused(place, str(error)) from error
    return found


def _is_there(source: str, paths: frozenset[str]) -> bool:
    path = "environment" if source == "." else f"environment/{source}"
    return path in paths or any(other.startswith(f"{path}/") for other in paths)


def _needs(value: JsonValue, place: str, context: _Context) -> Mapping[str, Readiness]:
    if isinstance(value, list):
        named = dict.fromkeys(_names(value, place, context), Readiness.STARTED)
    else:
        named = {name: _readiness(item, f"{place}.{name}") for name, item in mapping(value, place).items()}
    for name, readiness in named.items():
        if name not in context.services:
            raise ComposeRefused(f"{place}.{name}", "there is no such service")
        if name == context.dialect.main and readiness is not Readiness.STARTED:
            raise ComposeRefused(f"{place}.{name}", "the main service is started, and nothing else can be waited for")
    return named


def _readiness(value: JsonValue, place: str) -> Readiness:
    table = mapping(value, place)
    known_keys(table, place, frozenset({"condition"}))
    try:
        return Readiness(str(table.get("condition")))
    except ValueError as error:
        raise ComposeRefused(f"{place}.condition", f"is none of {', '.join(Readiness)}") from error


def _networks_of(value: JsonValue, place: str, context: _Context) -> tuple[str, ...]:
    if isinstance(value, list):
        names = _names(value, place, context)
    else:
        names = list(mapping(value, place))
        for name in names:
            known_keys(settings(mapping(value, place)[name], f"{place}.{name}"), f"{place}.{name}", frozenset())
    for name in names:
        if name not in context.networks:
            raise ComposeRefused(f"{place}.{name}", "is not among the file's networks")
    return tuple(names) or (_DEFAULT,)


def _names(value: JsonValue, place: str, context: _Context) -> list[str]:
    """A list of names, none of them twice."""
    names: list[str] = []
    for inner, item in items(value, place):
        name = plain(item, inner, context.dialect)
        if name in names:
            raise ComposeRefused(inner, f"{name!r} stands twice")
        names.append(name)
    return names


def _expose(value: JsonValue, place: str, context: _Context) -> None:
    """Services see all of each other's ports; this only says which are meant."""
    for inner, item in items(value, place):
        if not _PORT.fullmatch(plain_or_number(item, inner, context.dialect)):
            raise ComposeRefused(inner, "is no port")


def _container_name(value: JsonValue, place: str, context: _Context) -> None:
    """Only where it is made up from a format's own prefix, so that nobody can look for it."""
    prefix = context.dialect.name_prefix
    if prefix is None or not isinstance(value, str) or not value.startswith(prefix):
        raise ComposeRefused(place, "is not supported")


# --- the main service -------------------------------------------------------------------------------------------------


def _idle(value: JsonValue, place: str, context: _Context) -> None:
    if value is not None and words(value, place, context.dialect) not in _IDLE:
        raise ComposeRefused(place, "is not supported: the main service runs what the agent runs; make it a service")


def _no_program(value: JsonValue, place: str, context: _Context) -> None:
    if value is not None:
        raise ComposeRefused(place, "is not supported: the main service runs what the agent runs; make it a service")


def _no_healthcheck(value: JsonValue, place: str, context: _Context) -> None:
    raise ComposeRefused(place, "is not supported: the main service's is [environment.healthcheck] of task.toml")


# --- the order --------------------------------------------------------------------------------------------------------


def _ordered(services: Mapping[str, Service]) -> list[Service]:
    """Each after those that it needs. Raises ``ComposeRefused`` where they go round."""
    done: dict[str, Service] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            circle = " -> ".join((*path[path.index(name) :], name))
            raise ComposeRefused(f"services.{name}.depends_on", f"goes round: {circle}")
        if name in done:
            return
        for needed in services[name].needs:
            visit(needed, (*path, name))
        done[name] = services[name]

    for name in services:
        visit(name, ())
    return list(done.values())
