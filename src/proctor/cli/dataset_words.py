"""What the commands on datasets share: how a version is named, what is to be made, and what became of it."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from proctor.cli.output import show

if TYPE_CHECKING:
    from pydantic import BaseModel

    from proctor.datasets.derivations import NewVersion
    from proctor.datasets.service import Made

__all__ = [
    "Metadata",
    "NewLabel",
    "OnRows",
    "Reference",
    "SearchQuery",
    "chosen",
    "new_version",
    "seldom",
    "tell_made",
]

E = TypeVar("E", bound=StrEnum)
D = TypeVar("D", bound="BaseModel")
OnRows = Callable[[int], None]
TOLD_ROWS: int = 100_000
"""Between two lines of progress: a few seconds."""

Reference = Annotated[str, typer.Argument(metavar="DATASET", help="NAME, NAME@VERSION, or an id's first 8 characters.")]
NewLabel = Annotated[
    str | None, typer.Option("--version", metavar="V", help="1.2.0, or timestamp; the next minor one without.")
]
Metadata = Annotated[
    list[str] | None, typer.Option("--metadata", metavar="KEY=VALUE", help="What to say of the version; repeat it.")
]

SearchQuery = Annotated[
    str | None,
    typer.Option(
        "--query",
        metavar="QUERY",
        help="Words and terms that all fit: refund tag=billing segment=gift -difficulty=easy is:duplicate.",
    ),
]


def chosen(kind: type[E], text: str | None, option: str) -> E | None:
    """The value of an option that has few. Raises ``BadParameter`` naming them."""
    if text is None:
        return None
    try:
        return kind(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is none of {', '.join(kind)}", param_hint=option) from None


def new_version(name: str, version: str | None, metadata: list[str] | None) -> NewVersion:
    """What is to be made. Raises ``BadParameter``, ``DatasetNameInvalid``, ``VersionInvalid``."""
    from proctor.datasets.derivations import NewVersion
    from proctor.datasets.references import check_name
    from proctor.datasets.versions import TIMESTAMP, check_label

    check_name(name)
    if version is not None and version != TIMESTAMP:
        check_label(version)
    pairs = dict(_pair(one, "--metadata") for one in metadata or [])
    return NewVersion(dataset=name, version=version, metadata=pairs)


def _pair(text: str, option: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not key or not equals or len(key) > 200 or len(value) > 2000 or "\0" in text:
        raise typer.BadParameter(
            f"{text[:100]!r} is no KEY=VALUE of at most 200 and 2,000 characters", param_hint=option
        )
    return key, value


def seldom(told: OnRows) -> OnRows:
    """Tells of many at once: a line for every portion would be thousands of lines."""
    kept = 0

    def more(number: int) -> None:
        nonlocal kept
        kept += number
        if kept >= TOLD_ROWS:
            told(kept)
            kept = 0

    return more


def tell_made(done: Made) -> None:
    """Say what version has the content now, and whether it is new."""
    from proctor.kernel.words import counted

    name = f"{done.dataset}@{done.label}"
    size = counted(done.rows, "example")
    if not done.made:
        show(f"{name}: {size}, the same as before; nothing was made")
    elif done.version is None:
        show(f"{name} would be made: {size}")
    else:
        show(f"{name}: {size}, id {done.version.id}")
