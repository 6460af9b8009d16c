"""A socket that listens inside another process's network namespace and is served out here.

A socket belongs for ever to the namespace it was made in, so a thread goes there, makes one, and ends. Needs root on
the machine that the process is on (setns(2): CAP_SYS_ADMIN).
"""

from __future__ import annotations

import ctypes
import os
import socket
import threading

from proctor.sandboxes.files.confined import descriptor

__all__ = ["listener_in"]

_CLONE_NEWNET = 0x40000000


def listener_in(pid: int, address: tuple[str, int]) -> socket.socket:
    """A listening socket at ``address`` of that process's network. Raises ``OSError``."""
    made: list[socket.socket] = []
    failed: list[OSError] = []

    def work() -> None:
        try:
            made.append(_listen(pid, address))
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=work, name="egress")  # its namespace ends with it
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return made[0]


def _listen(pid: int, address: tuple[str, int]) -> socket.socket:
    libc = ctypes.CDLL(None, use_errno=True)
    with descriptor(os.open(f"/proc/{pid}/ns/net", os.O_RDONLY | os.O_CLOEXEC)) as namespace:
        if libc.setns(namespace, _CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    return socket.create_server(address, backlog=128)
