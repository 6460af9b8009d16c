"""What can go wrong with datasets.

UsageError
├── DatasetUnknown       no dataset, version or id is meant by that
├── DatasetNameInvalid   a name that cannot be one
├── VersionInvalid       a version label that cannot be one
├── VersionTaken         the label is another content's, or somebody was faster
├── FormatUnclear        which format a file has can't be told, or it is none of ours
├── SourceInvalid        a file is not what its format says
├── RowsMalformed        rows of a file are no examples
├── DatasetEmpty         no example would be left
├── MergeConflict        an id stands for different examples
├── RelabelInvalid       new labels that do not fit the version
├── QueryInvalid         what was typed to find examples can't be read
├── SampleInvalid        a sample that can't be drawn
└── SplitInvalid         a split that can't be made
"""

from __future__ import annotations

from proctor.kernel.errors import UsageError

__all__ = [
    "DatasetEmpty",
    "DatasetNameInvalid",
    "DatasetUnknown",
    "FormatUnclear",
    "MergeConflict",
    "QueryInvalid",
    "RelabelInvalid",
    "RowsMalformed",
    "SampleInvalid",
    "SourceInvalid",
    "SplitInvalid",
    "VersionInvalid",
    "VersionTaken",
]


class DatasetUnknown(UsageError):
    """There is no such dataset or version."""

    code = "dataset-unknown"
    remedy = "`proctor dataset list` and `proctor dataset show NAME` name those there are."


class DatasetNameInvalid(UsageError):
    """That can't be a dataset's name."""

    code = "dataset-name"
    remedy = "Use letters, digits and . _ - (at most 100), not a hexadecimal number that looks like an id."


class VersionInvalid(UsageError):
    """That can't be a version."""

    code = "dataset-version"
    remedy = "Use MAJOR.MINOR.PATCH such as 1.2.0, `timestamp`, or leave it out for the next minor one."


class VersionTaken(UsageError):
    """The version is there already with other content."""

    code = "dataset-version-taken"
    remedy = "Name another version, or leave it out for the next minor one."


class FormatUnclear(UsageError):
    """Which format it has can't be told from its name."""

    code = "dataset-format"
    remedy = "Name it with --format: jsonl, csv, parquet, hf, inspect, langfuse, phoenix or promptfoo."


class SourceInvalid(UsageError):
    """It is not what its format says."""

    code = "dataset-source"
    remedy = "Correct it and import it again. Nothing was imported."


class RowsMalformed(UsageError):
    """Rows are no examples."""

    code = "dataset-rows"
    remedy = "Correct them, or leave them out with --skip-malformed. Nothing was imported."


class DatasetEmpty(UsageError):
    """No example would be in the version."""

    code = "dataset-empty"
    remedy = "Nothing was made; a version has at least one example."


class MergeConflict(UsageError):
    """An id stands for different examples."""

    code = "dataset-merge"
    remedy = "Say which is to stay with --prefer first or --prefer last. Nothing was made."


class RelabelInvalid(UsageError):
    """The new labels do not fit the version."""

    code = "dataset-relabel"
    remedy = "Give a JSONL or CSV file of rows with an id of the version and the fields to change. Nothing was made."


class QueryInvalid(UsageError):
    """That is no query for examples."""

    code = "dataset-query"
    remedy = (
        'Write words, NAME=VALUE for a field and NAME=* for any value of it, with blanks in quotes: refund note="a b".'
    )


class SampleInvalid(UsageError):
    """Such a sample can't be drawn."""

    code = "dataset-sample"
    remedy = "Ask for at least one example and at most as many as there are, by difficulty or source."


class SplitInvalid(UsageError):
    """Such splits can't be made."""

    code = "dataset-split"
    remedy = "Give names with shares above 0 that come to 1 at the most, such as train=0.8 test=0.2."
