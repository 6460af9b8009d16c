"""What can go wrong with streams; ``jobs/errors.py`` has what is of their jobs.

ProctorError
├── UsageError
│   ├── RowsInvalid       what was sent can't be taken as rows
│   ├── KeyReused         a key came with other rows before
│   ├── SourceUnusable    rows can't be got from where they are to come
│   └── NatsExtraMissing  the library of NATS is not installed
└── OwnFault
    └── StreamBusy        more rows wait to be written than may
"""

from __future__ import annotations

from proctor.kernel.errors import OwnFault, UsageError

__all__ = ["KeyReused", "NatsExtraMissing", "RowsInvalid", "SourceUnusable", "StreamBusy"]


class RowsInvalid(UsageError):
    """These can't be taken as rows."""

    code = "rows-invalid"
    remedy = "Send JSON objects, a line each; docs/how-to/judge-a-stream.md says what a row holds."


class KeyReused(UsageError):
    """This key came with other rows before."""

    code = "stream-key-reused"
    remedy = "Take a new key for new rows."


class SourceUnusable(UsageError):
    """Rows can't be got from there."""

    code = "source-unusable"
    remedy = "Correct what is named; docs/how-to/judge-a-stream.md has an example."


class NatsExtraMissing(UsageError):
    """NATS as a source needs an extra that is not installed."""

    code = "nats-extra"
    remedy = "Install Proctor with it: pip install -e '.[nats]' in its folder."


class StreamBusy(OwnFault):
    """Too many rows wait to be written."""

    code = "stream-busy"
    remedy = "Send them again, with the same key, after the time in Retry-After."
