"""The model gateway: every LLM call of the platform goes through it."""
