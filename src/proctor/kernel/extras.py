"""Libraries that are installed only where they are wanted, asked for before they are imported."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from proctor.kernel.errors import UsageError

__all__ = ["DataExtraMissing", "data_extra", "need_data_extra"]

_DATA: tuple[str, ...] = ("pyarrow", "duckdb")
"""What everything of the data extra stands on."""


class DataExtraMissing(UsageError):
    """Datasets, evaluators and evaluation jobs need an extra that is not installed."""

    code = "data-extra"
    remedy = "Install Proctor with it: pip install -e '.[data]' in its folder."


def need_data_extra() -> None:
    """Raises ``DataExtraMissing`` where a library of it is not installed."""
    missing = [name for name in _DATA if find_spec(name) is None]
    if missing:
        raise DataExtraMissing(f"{' and '.join(missing)} is missing.")


@contextmanager
def data_extra() -> Iterator[None]:
    """Tell a library of the extra that is not there. Raises ``DataExtraMissing``."""
    try:
        yield
    except ImportError as error:
        raise DataExtraMissing(f"The library {error.name} is not installed.") from error
