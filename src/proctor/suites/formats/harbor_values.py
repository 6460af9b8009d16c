"""Checks of single values in Harbor's task.toml. Each raises ValueError with a reason a person can act on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address, ip_network
from pathlib import PurePosixPath

from proctor.suites.tasks import NetworkMode
from proctor.suites.variables import malformed_reference

__all__ = [
    "check_destination",
    "check_headers",
    "check_source",
    "check_url",
    "host",
    "internet",
    "no_boolean",
    "references",
    "rename_size",
    "service",
]

_HOST_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
_SERVICE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_SIZE = re.compile(r"(?P<number>[0-9]+(?:\.[0-9]+)?)\s*(?P<unit>[KMG])", re.IGNORECASE)
_MEGABYTES: dict[str, float] = {"K": 1 / 1024, "M": 1, "G": 1024}
_HEADER_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_CREDENTIAL_HEADER = re.compile(r"key|secret|token(?!s)|password|credential|auth|cookie", re.IGNORECASE)
_VARIABLE = r"\$\{[A-Za-z_][A-Za-z0-9_]*(?::-)?\}"
_ONLY_VARIABLES = re.compile(rf"\s*(?:[A-Za-z]+\s+)?{_VARIABLE}(?:[\s:-]*{_VARIABLE})*\s*")
_SANDBOX_OWN: tuple[str, ...] = ("/proc", "/sys", "/dev", "/tests", "/solution", "/logs")
"""Places in a sandbox that the backend or the verifier fills; a task can't copy files there."""


def no_boolean(value: object) -> object:
    """Refuse true and false where a number is wanted; pydantic would read them as 1 and 0."""
    if isinstance(value, bool):
        raise ValueError("is true or false, a number is wanted")
    return value


def references(table: dict[str, str]) -> dict[str, str]:
    """Variables in an environment table are well formed."""
    wrong = malformed_reference(table.values())
    if wrong is not None:
        name = next(key for key, value in table.items() if value == wrong)
        raise ValueError(f"{name} has a '${{' that begins no ${{NAME}} or ${{NAME:-default}}")
    return table


def service(name: str) -> str:
    """The name of a compose service."""
    if not _SERVICE.fullmatch(name.strip()):
        raise ValueError(f"{name!r} is no name of a compose service")
    return name.strip()


def host(host: str) -> str:
    """One entry of an allowlist in its normal form: a host name, ``*.name``, an address or a network."""
    name = host.strip().lower().rstrip(".")
    try:
        if "/" in name:
            return ip_network(name).compressed
        if ":" in name:
            return ip_address(name).compressed
    except ValueError as error:
        raise ValueError(f"{host!r} is no host, address or network; URLs, ports and paths are not allowed") from error
    labels = name.removeprefix("*.")
    if name.startswith("*.") and _is_address(labels):
        raise ValueError(f"{host!r}: a wildcard goes before a host name, not an address")
    if not all(_HOST_LABEL.fullmatch(label) for label in labels.split(".")):
        raise ValueError(f"{host!r} is no host name")
    return name


def _is_address(text: str) -> bool:
    try:
        ip_address(text)
    except ValueError:
        return False
    return True


def rename_size(table: dict[str, object], old: str, present: str) -> None:
    """Replace an old key with a unit (``memory = '2G'``) by the present one in megabytes."""
    if old not in table:
        return
    text = table.pop(old)
    match = _SIZE.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f"{old} = {text!r} is no size such as '2G' or '512M'")
    size = int(float(match["number"]) * _MEGABYTES[match["unit"].upper()])
    if table.setdefault(present, size) != size:
        raise ValueError(f"{old} = {text!r} contradicts {present} = {table[present]!r}")


def internet(allowed: object) -> NetworkMode:
    """The network mode that ``allow_internet`` meant."""
    if not isinstance(allowed, bool):
        raise ValueError(f"allow_internet = {allowed!r} is neither true nor false")
    return NetworkMode.PUBLIC if allowed else NetworkMode.NONE


def check_headers(headers: Mapping[str, str]) -> None:
    """HTTP headers of a tool server hold names of variables, never a credential itself."""
    for name, value in headers.items():
        if not _HEADER_NAME.fullmatch(name) or "\n" in value or "\r" in value:
            raise ValueError(f"{name!r} is no valid HTTP header")
        if _CREDENTIAL_HEADER.search(name) and value.strip() and not _ONLY_VARIABLES.fullmatch(value):
            raise ValueError(f"{name} holds a literal credential; write ${{NAME}}, such as 'Bearer ${{TOKEN}}'")
        if malformed_reference((value,)) is not None:
            raise ValueError(f"{name} has a '${{' that begins no ${{NAME}} or ${{NAME:-default}}")


def check_url(url: str) -> None:
    """A tool server's address holds names of variables, never a user's name or password itself."""
    user, at, _ = url.partition("://")[2].partition("/")[0].rpartition("@")
    if at and not _ONLY_VARIABLES.fullmatch(user.replace(":", " ")):
        raise ValueError("url holds a literal credential before '@'; write ${NAME}, such as '${USER}:${PASSWORD}@'")
    if malformed_reference((url,)) is not None:
        raise ValueError("url has a '${' that begins no ${NAME} or ${NAME:-default}")


def check_source(source: str) -> None:
    """A path below ``environment/``."""
    path = PurePosixPath(source)
    if not source or path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{source!r} is no path below environment/")


def check_destination(destination: str) -> None:
    """An absolute path in a sandbox that nothing else fills."""
    path = PurePosixPath(destination)
    if not path.is_absolute() or ".." in path.parts or path == PurePosixPath("/"):
        raise ValueError(f"{destination!r} is no absolute path of a folder in the sandbox")
    if any(path.is_relative_to(own) for own in _SANDBOX_OWN):
        raise ValueError(f"{destination!r} is filled by the sandbox itself")
