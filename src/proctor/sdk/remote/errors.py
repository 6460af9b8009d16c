"""What a server, or the way to it, may answer instead."""

from __future__ import annotations

from proctor.kernel.errors import OwnFault, UsageError

__all__ = ["NotOnServer", "ServerFault", "ServerRefused", "ServerUnreachable"]


class ServerUnreachable(OwnFault):
    """The server does not answer."""

    code = "server-unreachable"
    remedy = "Check its address (--server, PROCTOR_SERVER, `proctor login`) and that `proctor serve` runs there."


class ServerFault(OwnFault):
    """The server answered with a fault of its own."""

    code = "server-fault"
    remedy = "Its log has the request's id."


class NotOnServer(UsageError):
    """This command works on this machine alone."""

    code = "not-on-server"
    remedy = "Say `--server local` for this machine's own data."


class ServerRefused(UsageError):
    """The server refused it."""

    code = "server-refused"

    def __init__(self, code: str, message: str, *, where: str | None, remedy: str | None) -> None:
        """``code``: the server's own, which its catalogue of errors explains."""
        super().__init__(message, where=where, remedy=remedy or "")
        self.code = code  # type: ignore[misc]  # an error's code as if it had been raised here
