"""Reading outcome policies: those that ship with Proctor, and files of a tenant's own."""

from __future__ import annotations

import hashlib
import re
import tomllib
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic_core import ErrorDetails

from proctor.engine.errors import PolicyInvalid
from proctor.engine.evidence import Phase
from proctor.engine.policy_checks import check_policy
from proctor.engine.policy_terms import ClassRule, OutcomeClass, OutcomePolicy, Owner, Retry, Rule
from proctor.kernel.validation import words_of

__all__ = ["CURRENT_POLICY", "is_shipped", "load_policy", "parse_policy", "remember_policy"]

CURRENT_POLICY: str = "outcomes-1"
"""The policy that new run sets are pinned to."""

MAX_TRIES: int = 1_000
"""Attempts of one cell: more is a mistake in the file, and a bill."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_PHASES: frozenset[str] = frozenset({*Phase, "any", "grading"})


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _ClassFields(_Strict):
    owner: Owner
    verdict: Literal["pass", "fail", "none", "policy"]
    retry: Retry
    tries: Annotated[int, Field(strict=True, ge=1, le=MAX_TRIES)] = 1


class _RuleFields(_Strict):
    id: Annotated[str, Field(pattern=rf"^{_NAME.pattern}$")]
    outcome: Annotated[OutcomeClass, Field(alias="class")]
    phase: str
    when: dict[str, Any]


class _PolicyFile(_Strict):
    version: str
    classes: dict[OutcomeClass, _ClassFields]
    rules: list[_RuleFields]


_own: dict[str, OutcomePolicy] = {}
"""Policies of tenants' own that this process has read; their versions hold their digest, so none is another's."""


def load_policy(version: str) -> OutcomePolicy:
    """A policy that ships with Proctor, or was remembered. Raises ``PolicyInvalid`` for an unknown version."""
    return _own[version] if version in _own else _shipped(version)


def is_shipped(version: str) -> bool:
    """Whether a policy came with Proctor, so that everybody judges by the same: a tenant's own has its digest."""
    return _NAME.fullmatch(version) is not None and files("proctor.engine").joinpath(_path(version)).is_file()


def _path(version: str) -> str:
    return f"policies/{version}.toml"


@cache
def _shipped(version: str) -> OutcomePolicy:
    if not is_shipped(version):
        raise PolicyInvalid(f"There is no outcome policy {version!r}.")
    source = files("proctor.engine").joinpath(_path(version)).read_text(encoding="utf-8")
    return parse_policy(source, where=version)


def remember_policy(source: str, *, where: str) -> OutcomePolicy:
    """A file of a tenant's own as a policy: its version is its name and the beginning of its digest.

    Raises ``PolicyInvalid``, also for a name that cannot be one.
    """
    read = parse_policy(source, where=where)
    if _NAME.fullmatch(read.version) is None:
        raise PolicyInvalid("A version is letters, digits and . _ - (at most 60).", where=f"{where}: version")
    policy = replace(read, version=f"{read.version}@{hashlib.sha256(source.encode()).hexdigest()[:12]}")
    return _own.setdefault(policy.version, policy)


def parse_policy(source: str, *, where: str) -> OutcomePolicy:
    """Read a policy file and check that it keeps what no policy may change. Raises ``PolicyInvalid``.

    The error names the file, the class or rule, and the field.
    """
    document: dict[str, Any] = {}
    try:
        document = tomllib.loads(source)
        policy = _policy(_PolicyFile.model_validate(document), where)
    except tomllib.TOMLDecodeError as error:
        raise PolicyInvalid(str(error), where=where) from error
    except RecursionError as error:
        raise PolicyInvalid("It is nested too deeply.", where=where) from error
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = f"{where}: {_place(document, [*first['loc']])}"
        raise PolicyInvalid(_told(first), where=place) from error
    check_policy(policy, where=where)
    return policy


def _policy(read: _PolicyFile, where: str) -> OutcomePolicy:
    for rule in read.rules:
        if rule.phase not in _PHASES:
            known = ", ".join(sorted(_PHASES))
            raise PolicyInvalid(f"{rule.phase!r} is none of {known}.", where=f"{where}: rule {rule.id!r}: phase")
    return OutcomePolicy(
        version=read.version,
        classes={name: ClassRule(**dict(fields)) for name, fields in read.classes.items()},
        rules=tuple(Rule(**dict(fields)) for fields in read.rules),
    )


def _place(document: dict[str, Any], loc: Sequence[str | int]) -> str:
    """A rule is named by its id where it has one: nobody counts rules."""
    parts = [str(part) for part in loc if part != "[key]"]
    if len(loc) > 1 and loc[0] == "rules" and isinstance(loc[1], int):
        rule = document["rules"][loc[1]]
        name = rule.get("id") if isinstance(rule, dict) else None
        named = f"rule {name!r}" if isinstance(name, str) else f"rules[{loc[1]}]"
        return f"{named}: {'.'.join(parts[2:])}" if parts[2:] else named
    return ".".join(parts)


def _told(error: ErrorDetails) -> str:
    words = words_of(error)
    if error["type"] in ("missing", "extra_forbidden"):
        return f"{words}."
    return f"{error['input']!r}: {words[0].lower()}{words[1:]}."
