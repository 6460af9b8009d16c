"""Names as a caller wrote them: fields of a run set, and what is nearest to a name that is not there."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from proctor.engine.spec import RunSetSpec
from proctor.kernel.errors import UsageError

__all__ = ["at_once", "list_of", "placed"]


@contextmanager
def placed(place: Callable[[str], str]) -> Iterator[None]:
    """An error that names a field of the run set names it as the caller wrote it."""
    try:
        yield
    except UsageError as error:
        if error.where is not None and _FIELD.match(error.where):
            error.where = place(error.where)
        raise


_FIELD = re.compile(r"suite\b|execution\.sandbox\b|profiles\[")


def at_once(spec: RunSetSpec, concurrency: int | None) -> RunSetSpec:
    """The spec with another concurrency: it is routing, so its digest stays."""
    if concurrency is None:
        return spec
    return spec.model_copy(update={"execution": spec.execution.model_copy(update={"concurrency": concurrency})})


def list_of(known: Sequence[str], wanted: str) -> str:
    """What to tell of the names there are to whoever gave one that there is not."""
    if not known:
        return "there is none yet"
    near = difflib.get_close_matches(wanted, known, n=_SHOWN)
    more = "" if len(known) <= _SHOWN else f" and {len(known) - _SHOWN} more"
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(sorted(known)[:_SHOWN])}{more}"


_SHOWN: int = 10
"""Names listed in an error: enough to find one's own, not a page of them."""
