"""The root of every error a user may see, and the one catalogue they are listed in.

    ProctorError
    ├── UsageError          the caller's words are off: exit code 2
    ├── OwnFault            a fault of ours or of the machine: exit code 5
    └── IntegrityError      stored facts contradict each other; nothing was written

Every package has its own subclasses in its ``errors.py``. A subclass sets ``code`` (stable, never
reused), its docstring is the default of what happened, and ``remedy`` says what to do.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = ["FAULT_WORDS", "IntegrityError", "OwnFault", "ProctorError", "UsageError", "catalogue"]

FAULT_WORDS: str = "A fault of ours."
"""All that a server tells of one; its log has the rest."""

_CATALOGUE: dict[str, type[ProctorError]] = {}


class ProctorError(Exception):
    """Something went wrong."""

    code: ClassVar[str] = "proctor"
    remedy: str = ""
    exit_code: ClassVar[int] = 5

    def __init__(self, message: str = "", *, where: str | None = None, remedy: str | None = None) -> None:
        """``where`` names the file, field or cell; ``remedy`` replaces the class's own."""
        self.message = message or (self.__doc__ or "").strip().splitlines()[0]
        self.where = where
        if remedy is not None:
            self.remedy = remedy
        super().__init__(self.message)

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        if "code" not in cls.__dict__:
            return
        known = _CATALOGUE.get(cls.code)
        if known is not None and known.__qualname__ != cls.__qualname__:
            raise TypeError(f"error code {cls.code!r} is taken by {known.__qualname__}")
        _CATALOGUE[cls.code] = cls

    def __str__(self) -> str:
        where = f"{self.where}: " if self.where else ""
        remedy = f" {self.remedy}" if self.remedy else ""
        return f"{where}{self.message}{remedy}"

    def as_dict(self) -> dict[str, str | None]:
        """The error as every ``--json`` output carries it."""
        return {"code": self.code, "message": self.message, "where": self.where, "remedy": self.remedy or None}


class UsageError(ProctorError):
    """The command or file says something that can't be done."""

    code = "usage"
    exit_code = 2
    remedy = "`proctor --help` and `proctor COMMAND --help` say what there is."


class OwnFault(ProctorError):
    """A fault of Proctor or of this machine."""

    code = "own-fault"
    exit_code = 5


class IntegrityError(ProctorError):
    """Stored facts contradict each other; nothing was written."""

    code = "integrity"
    exit_code = 5
    remedy = "Keep the data folder as it is and report this."


def catalogue() -> dict[str, type[ProctorError]]:
    """Every error class known so far, by its stable code."""
    return dict(sorted(_CATALOGUE.items()))
