"""The Parquet schema that every version of every dataset has; ``objects/parquet.py`` says how its rows lie in parts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from proctor.datasets.examples import DIGEST_BYTES, Example

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["COLUMNS", "ID_CHARACTERS", "schema", "table_of"]

ID_CHARACTERS: int = 512
"""Of an id at the most: longer ones are contents, and each is held by joins."""
COLUMNS: tuple[str, ...] = (
    *("id", "input", "input_is_json", "expected", "expected_is_json"),
    *("difficulty", "source", "tags", "embedding", "metadata", "digest"),
)


@cache
def schema() -> pa.Schema:
    """The columns, in the order of ``COLUMNS``."""
    import pyarrow as pa

    return pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("input", pa.string(), nullable=False),
            pa.field("input_is_json", pa.bool_(), nullable=False),
            pa.field("expected", pa.string()),
            pa.field("expected_is_json", pa.bool_(), nullable=False),
            pa.field("difficulty", pa.string()),
            pa.field("source", pa.string()),
            pa.field("tags", pa.list_(pa.string()), nullable=False),
            pa.field("embedding", pa.list_(pa.float32())),
            pa.field("metadata", pa.string()),
            pa.field("digest", pa.binary(DIGEST_BYTES), nullable=False),
        ]
    )


def table_of(examples: Sequence[Example]) -> pa.Table:
    """Examples as rows."""
    import pyarrow as pa

    columns = {name: [getattr(one, name) for one in examples] for name in COLUMNS if name != "digest"}
    columns["digest"] = [one.digest() for one in examples]
    arrays = [pa.array(columns[name], type=schema().field(name).type) for name in COLUMNS]
    return pa.Table.from_arrays(arrays, schema=schema())
