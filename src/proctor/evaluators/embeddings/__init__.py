"""Embeddings: vectors of texts, and how like one another they are."""
