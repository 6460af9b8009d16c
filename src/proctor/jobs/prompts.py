"""Versions of prompts: two texts under a name, numbered from 1, never changed.

A target that names a version asks with its texts; outputs are kept under the texts themselves, so that the same words
under another name are not paid for again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, Row

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.jobs.errors import PromptInvalid, PromptUnknown, TargetInvalid
from proctor.jobs.targets import LONGEST_PROMPT, Target, check_template
from proctor.kernel.canonical import digest

__all__ = ["LONGEST_DESCRIPTION", "NewPrompt", "PromptRow", "PromptService", "PromptVersion", "read_text"]

MOST_VERSIONS: int = 10_000
"""Of a tenant: a program that makes a version for each run meets this before its list becomes unusable."""
LONGEST_DESCRIPTION: int = 2_000
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_REFERENCE = re.compile(r"(?P<name>[^@]+)(@(?P<version>[1-9][0-9]{0,8}))?")
_run = partial(run_query, "proctor.jobs")


@dataclass(frozen=True, kw_only=True)
class NewPrompt:
    """What is to be kept."""

    name: str
    prompt: str
    system: str = ""
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class PromptRow:
    """One version without its texts. ``digest``: sha256 over the RFC 8785 JSON of the two."""

    reference: str
    """As targets name it."""
    name: str
    version: int
    digest: str
    description: str
    creator: UUID | None
    created_at: datetime


@dataclass(frozen=True, kw_only=True)
class PromptVersion:
    """One version."""

    row: PromptRow
    system: str
    prompt: str


class PromptService:
    """Prompts of one tenant."""

    def __init__(self, database: Database, tenant: UUID) -> None:
        self._database, self._tenant = database, tenant

    def add(self, new: NewPrompt, *, creator: UUID | None = None) -> tuple[PromptVersion, bool]:
        """The version of a name that has these texts, and whether it is new. Raises ``PromptInvalid``."""
        _check(new)
        texts = digest({"system": new.system, "prompt": new.prompt})

        def work(connection: Connection) -> tuple[PromptVersion, bool]:
            _run(connection, "lock_prompts", tenant=str(self._tenant))
            known = _run(connection, "prompt_of_digest", tenant=self._tenant, name=new.name, digest=texts).one_or_none()
            if known is not None:
                return _version(known), False
            if _run(connection, "count_prompts", tenant=self._tenant).scalar_one() >= MOST_VERSIONS:
                raise PromptInvalid(f"There are {MOST_VERSIONS:,} versions of prompts.", where="name")
            row = _run(
                connection,
                "insert_prompt",
                tenant=self._tenant,
                name=new.name,
                system=new.system,
                prompt=new.prompt,
                digest=texts,
                description=new.description,
                creator=creator,
            ).one()
            return _version(row), True

        return self._database.as_tenant(self._tenant, work)

    def prompts(self) -> list[PromptRow]:
        """All versions by name, the newest of each first."""
        rows = self._database.as_tenant(self._tenant, lambda c: _run(c, "list_prompts", tenant=self._tenant).all())
        return [_row(row) for row in rows]

    def find(self, reference: str) -> PromptVersion:
        """A version by ``NAME@VERSION``; ``NAME`` is the newest. Raises ``PromptUnknown``."""
        return self._database.as_tenant(self._tenant, lambda c: _found(c, self._tenant, reference))

    def told(self, target: Target) -> Target:
        """A target with the texts of the version that it names. Raises ``PromptUnknown``, ``TargetInvalid``."""
        if target.prompt_version is None:
            return target
        if target.says_prompt:
            raise TargetInvalid("Its prompt is in the registry; it says none of its own.", where="prompt")
        found = self.find(target.prompt_version)
        texts = {"prompt": found.prompt, "system": found.system, "prompt_version": found.row.reference}
        return Target.model_validate({**target.model_dump(exclude_defaults=True), **texts})


def read_text(path: Path) -> str:
    """A text of a prompt from its file, without the last line's end. Raises ``PromptInvalid``."""
    try:
        with path.open("rb") as file:
            text = file.read(4 * LONGEST_PROMPT + 1).decode()
    except OSError as error:
        raise PromptInvalid(f"It can't be read: {error.strerror}.", where=str(path)) from error
    except UnicodeDecodeError as error:
        raise PromptInvalid("It is no UTF-8 text.", where=str(path)) from error
    return text.removesuffix("\n")


def _found(connection: Connection, tenant: UUID, reference: str) -> PromptVersion:
    said = _REFERENCE.fullmatch(reference)
    version = None if said is None or said["version"] is None else int(said["version"])
    wanted = {"tenant": tenant, "name": reference if said is None else said["name"], "version": version}
    row = _run(connection, "find_prompt", **wanted).one_or_none()
    if row is None:
        raise PromptUnknown(where=reference)
    return _version(row)


def _version(row: Row[Any]) -> PromptVersion:
    return PromptVersion(row=_row(row), system=row.system, prompt=row.prompt)


def _row(row: Row[Any]) -> PromptRow:
    return PromptRow(
        reference=f"{row.name}@{row.version}",
        name=row.name,
        version=row.version,
        digest=row.digest,
        description=row.description,
        creator=row.creator,
        created_at=row.created_at,
    )


def _check(new: NewPrompt) -> None:
    if _NAME.fullmatch(new.name) is None:
        told = "A name begins with a letter or digit and has at most 100 letters, digits, dots, dashes and underscores."
        raise PromptInvalid(told, where="name")
    texts: Sequence[tuple[str, str, int]] = (
        ("prompt", new.prompt, LONGEST_PROMPT),
        ("system", new.system, LONGEST_PROMPT),
        ("description", new.description, LONGEST_DESCRIPTION),
    )
    for where, text, longest in texts:
        if len(text) > longest or "\0" in text:
            raise PromptInvalid(f"It has {longest:,} characters at the most, and no NUL.", where=where)
    if not new.prompt:
        raise PromptInvalid("It is empty.", where="prompt")
    for where, text in (("prompt", new.prompt), ("system", new.system)):
        check_template(text, where)
