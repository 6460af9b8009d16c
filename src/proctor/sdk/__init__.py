"""The typed client that the CLI and scripts use."""
