"""The columns of outputs that are kept to be judged.

A set of outputs is as long as its dataset version for each repeat, in the order (repeat, row): where an output lies
follows from its position, and a row without one says so.
"""

from __future__ import annotations

import hashlib
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["sample_digest", "sample_schema"]

_JSON = b"\x01"
_TEXT = b"\x00"


@cache
def sample_schema() -> pa.Schema:
    """The Arrow schema: ``status`` and ``error`` say why there is no output; ``digest`` is null where there is none."""
    import pyarrow as pa

    word = pa.dictionary(pa.int32(), pa.string())
    return pa.schema(
        [
            pa.field("output", pa.string()),
            pa.field("output_is_json", pa.bool_(), nullable=False),
            pa.field("digest", pa.binary(16)),
            pa.field("status", word),
            pa.field("error", pa.string()),
            pa.field("model", word),
            pa.field("seconds", pa.float32()),
            pa.field("cost_nano", pa.int64()),
        ],
        metadata={"proctor.samples": "1"},
    )


def sample_digest(example: bytes, output: str, *, is_json: bool) -> bytes:
    """What identifies an output of an example: the first 16 bytes of sha256 over the example's digest and the output.

    ``example``: the digest of its row; ``output``: as kept, RFC 8785 JSON where it ``is_json``.
    """
    return hashlib.sha256(example + (_JSON if is_json else _TEXT) + output.encode()).digest()[:16]
