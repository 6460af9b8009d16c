"""What can go wrong with results.

ProctorError
└── UsageError
    ├── QueryRefused    the SQL is not one SELECT, or reaches for what is not the tenant's
    ├── QueryFailed     DuckDB can't run it
    └── QueryTooLong    it took longer, or more memory, than a query may
"""

from __future__ import annotations

from proctor.kernel.errors import UsageError

__all__ = ["QueryFailed", "QueryRefused", "QueryTooLong"]


class QueryRefused(UsageError):
    """The query may not be run."""

    code = "query-refused"
    remedy = "One SELECT over `results`; docs/reference/results-schema.md names its columns."


class QueryFailed(UsageError):
    """The query can't be run."""

    code = "query-failed"
    remedy = "Correct it; it is DuckDB's SQL over the columns that docs/reference/results-schema.md names."


class QueryTooLong(UsageError):
    """The query takes too long."""

    code = "query-too-long"
    remedy = "Narrow it: by job, by time, or with fewer groups."
