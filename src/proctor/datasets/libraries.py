"""The libraries of the data extra, asked for before they are imported."""

from __future__ import annotations

from importlib.util import find_spec

from proctor.datasets.errors import DataExtraMissing

__all__ = ["need_data_extra"]


def need_data_extra() -> None:
    """Raises ``DataExtraMissing`` where a library of it is not installed."""
    missing = [name for name in ("pyarrow", "duckdb") if find_spec(name) is None]
    if missing:
        raise DataExtraMissing(f"Datasets need {' and '.join(missing)}.")
