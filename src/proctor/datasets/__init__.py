"""The dataset registry: immutable versions of examples, kept as Parquet, with where they came from."""
