"""Waiting for a notification, on a connection of one's own (``Database.apart``)."""

from __future__ import annotations

from typing import cast

import psycopg
from sqlalchemy import Connection

__all__ = ["listen", "notified"]


def listen(connection: Connection, channel: str) -> None:
    """Have notifications of a channel come to this connection. ``channel``: a plain word of ours."""
    connection.exec_driver_sql(f"LISTEN {channel}")


def notified(connection: Connection, seconds: float) -> bool:
    """Wait until one comes, or so long; whether one came. Raises the driver's error where the connection breaks."""
    driver = cast("psycopg.Connection", connection.connection.dbapi_connection)
    return any(True for _ in driver.notifies(timeout=seconds, stop_after=1))
