"""The result store: immutable Parquet, and a manifest in PostgreSQL of which batches count."""
