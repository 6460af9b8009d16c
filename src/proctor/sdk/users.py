"""Who asks, where no server says so."""

from __future__ import annotations

import os
import pwd
import socket

__all__ = ["this_user"]


def this_user() -> str:
    """The user of this machine that asked."""
    uid = os.geteuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:  # a container may run as a user that its image does not know
        name = str(uid)
    return f"{name}@{socket.gethostname()}"
