"""Harbor's two kinds of dataset files, as values: ``dataset.toml`` names digests, ``registry.json`` names commits.

Nothing is fetched by them: what they name is looked for in a folder that the user has.
"""

from __future__ import annotations

import hashlib
import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from proctor.kernel.validation import words_of
from proctor.suites.errors import DatasetInvalid
from proctor.suites.files import printable

__all__ = ["DatasetToml", "RegistryDataset", "RegistryTask", "read_dataset", "read_registry"]

MAX_BYTES: int = 16 * 1024 * 1024
"""The field's registry of some hundred datasets has three."""
_SHOWN: int = 5
"""Problems of one file that are told at once."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
Digest = Annotated[str, Field(pattern=r"^sha256:[0-9a-f]{64}$")]


def _with_organisation(name: str) -> str:
    if not _NAME.fullmatch(name) or ".." in name:
        raise ValueError(f"{name!r} is not of the form organisation/name")
    return name


def _file_name(path: str) -> str:
    if not path or "/" in path or "\\" in path:
        raise ValueError(f"{path!r} is no plain file name")
    return path


def _below(path: str) -> str:
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or "\\" in path or "\x00" in path:
        raise ValueError(f"{path!r} is no path below a checkout")
    return str(parts)


def _commit(commit: str) -> str:
    if not _COMMIT.fullmatch(commit):
        raise ValueError(f"{commit!r} is no full commit id; a branch or tag can move")
    return commit


Name = Annotated[str, AfterValidator(_with_organisation)]


class _Entry(BaseModel):
    """A part of a dataset file; keys for people and for other programs are passed over."""

    model_config = ConfigDict(extra="ignore", frozen=True)


class TaskDigest(_Entry):
    """One of [[tasks]]: a name, and the content digest that its files must have."""

    name: Name
    digest: Digest


class FileDigest(_Entry):
    """One of [[files]], such as a program that computes a metric. It is named and never run."""

    path: Annotated[str, AfterValidator(_file_name)]
    digest: Annotated[Digest | None, BeforeValidator(lambda digest: digest or None)] = None


class DatasetName(_Entry):
    """[dataset]"""

    name: Name
    version: str | None = Field(default=None, min_length=1, max_length=100)


class DatasetToml(_Entry):
    """A whole dataset.toml."""

    dataset: DatasetName
    tasks: list[TaskDigest] = Field(min_length=1)
    files: list[FileDigest] = []

    @property
    def hash(self) -> str | None:
        """Harbor's hash of the dataset: of its sorted digests, and of its files where there are any.

        ``None`` where a file has no digest in dataset.toml yet, so that Harbor has no hash either.
        """
        if any(file.digest is None for file in self.files):
            return None
        text = ",".join(sorted(_hex(task.digest) for task in self.tasks))
        if self.files:
            text += ";" + ",".join(sorted(f"{file.path}:{_hex(file.digest or '')}" for file in self.files))
        return hashlib.sha256(text.encode()).hexdigest()


class RegistryTask(_Entry):
    """One task of a dataset in a registry: where its files are in which commit."""

    name: str = Field(min_length=1, max_length=200)
    git_url: str | None = None
    git_commit_id: Annotated[str, AfterValidator(_commit)]
    path: Annotated[str, AfterValidator(_below)]


class RegistryDataset(_Entry):
    """One dataset of a registry.json."""

    name: str = Field(min_length=1, max_length=100)
    version: str = Field(min_length=1, max_length=100)
    tasks: list[RegistryTask] = Field(min_length=1)


class _Heading(_Entry):
    """What a dataset of a registry is called; the others of the file need not be sound."""

    name: str
    version: str


_REGISTRY: TypeAdapter[list[dict[str, object]]] = TypeAdapter(list[dict[str, object]])
_Shape = TypeVar("_Shape")


def read_dataset(file: Path) -> DatasetToml:
    """A dataset.toml. Raises ``DatasetInvalid`` naming file and field."""
    try:
        table = tomllib.loads(_text(file))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise DatasetInvalid(f"It is not valid TOML: {error}", where=str(file)) from error
    dataset = _shaped(TypeAdapter(DatasetToml), table, file)
    _differ([task.digest for task in dataset.tasks], "tasks", file)
    _differ([task.name for task in dataset.tasks], "tasks", file)
    return dataset


def read_registry(file: Path, wanted: str | None) -> RegistryDataset:
    """The dataset ``NAME`` or ``NAME@VERSION`` of a registry.json. Raises ``DatasetInvalid``."""
    try:
        document = json.loads(_text(file))
    except (ValueError, RecursionError) as error:
        raise DatasetInvalid(f"It is not valid JSON: {error}", where=str(file)) from error
    entries = _shaped(_REGISTRY, document, file)
    headings = [_shaped(TypeAdapter(_Heading), entry, file) for entry in entries]
    fitting = [n for n, one in enumerate(headings) if wanted in (None, one.name, f"{one.name}@{one.version}")]
    if len(fitting) != 1:
        known = ", ".join(printable(f"{one.name}@{one.version}") for one in headings) or "nothing"
        asked = "Name one with --dataset NAME@VERSION" if wanted is None else f"{wanted!r} fits {len(fitting)} datasets"
        raise DatasetInvalid(f"{asked}; there is {known}.", where=str(file))
    dataset = _shaped(TypeAdapter(RegistryDataset), entries[fitting[0]], file)
    _differ([task.path for task in dataset.tasks], "tasks", file)
    return dataset


def _text(file: Path) -> str:
    try:
        with file.open("rb") as opened:
            raw = opened.read(MAX_BYTES + 1)
        if len(raw) > MAX_BYTES:
            raise DatasetInvalid(f"It is larger than {MAX_BYTES} bytes.", where=str(file))
        return raw.decode()
    except (OSError, UnicodeDecodeError) as error:
        raise DatasetInvalid(f"It can't be read as text: {error}", where=str(file)) from error


def _shaped(shape: TypeAdapter[_Shape], document: object, file: Path) -> _Shape:
    try:
        return shape.validate_python(document)
    except ValidationError as error:
        details = error.errors(include_url=False, include_context=False, include_input=False)
        told = [_told(detail["loc"], words_of(detail)) for detail in details[:_SHOWN]]
        more = f"; and {len(details) - _SHOWN} more" if len(details) > _SHOWN else ""
        raise DatasetInvalid("; ".join(told) + more + ".", where=str(file)) from error


def _told(location: Sequence[int | str], message: str) -> str:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
    return printable(f"{place.removeprefix('.') or 'the file'}: {message}")


def _differ(values: Sequence[str], field: str, file: Path) -> None:
    seen: set[str] = set()
    for number, value in enumerate(values):
        if value in seen:
            raise DatasetInvalid(f"{field}[{number}]: {printable(value)} stands twice.", where=str(file))
        seen.add(value)


def _hex(digest: str) -> str:
    return digest.removeprefix("sha256:")
