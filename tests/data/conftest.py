"""The command line, as the tests of users' journeys have it."""

from tests.acceptance.conftest import cli

__all__ = ["cli"]
