"""The embedded server: PostgreSQL from a wheel, one server for one data folder, its life ours."""

from proctor.database.embedded.server import Connections, EmbeddedServer, Status

__all__ = ["Connections", "EmbeddedServer", "Status"]
