"""The users of an image, read from its own ``/etc/passwd``: who commands run as and whom files belong to.

An engine reads that file again for every command, and ``/etc/group`` with it: a user's further groups are its to say.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from proctor.sandboxes.errors import UnsupportedByBackend

__all__ = ["ROOT", "User", "default_user", "names_group", "read_groups", "read_users"]

_NUMBER = re.compile(r"[0-9]{1,10}")
_MOST = 2**32 - 2
"""The largest id of Linux; the one after it means nobody's."""
_MOST_SAID = 2**31 - 1
"""The largest number that an engine takes for a user or a group."""


@dataclass(frozen=True, kw_only=True)
class User:
    """One user. ``name`` may be a number that has no name."""

    name: str
    uid: int
    gid: int
    home: str
    said: str = ""
    """How an engine is told of him; empty: by his name."""

    @property
    def told(self) -> str:
        """What an engine is to run commands as."""
        return self.said or self.name

    def environment(self) -> Mapping[str, str]:
        """What tells a program who it is."""
        return {"HOME": self.home, "USER": self.name, "LOGNAME": self.name}


ROOT = User(name="root", uid=0, gid=0, home="/root")


def read_users(passwd: bytes) -> dict[str, User]:
    """By name, ``root`` always among them. Lines that are none are passed over, as the C library does."""
    users = {ROOT.name: ROOT}
    for line in passwd.decode(errors="replace").splitlines():
        fields = line.split(":")
        if len(fields) < 6:
            continue
        uid, gid = _number(fields[2]), _number(fields[3])
        if uid is not None and gid is not None:
            users[fields[0]] = User(name=fields[0], uid=uid, gid=gid, home=fields[5] or "/")
    return users


def read_groups(group: bytes) -> dict[str, int]:
    """The number of each group, by name. Of two lines for one name the first counts, as for an engine."""
    groups: dict[str, int] = {}
    for line in group.decode(errors="replace").splitlines():
        fields = line.split(":")
        gid = _number(fields[2]) if len(fields) >= 3 else None
        if gid is not None:
            groups.setdefault(fields[0], gid)
    return groups


def names_group(said: str) -> bool:
    """Whether an image's ``USER`` has a group that must be looked up."""
    group = said.partition(":")[2]
    return bool(group) and _number(group) is None


def default_user(said: str, users: Mapping[str, User], groups: Mapping[str, int]) -> User:
    """Of an image's ``USER``, which may be a name or numbers, with a group or without; nothing is root.

    Raises ``UnsupportedByBackend`` for one that the image does not have.
    """
    name, _, group = said.partition(":")
    known = _known(name, users) if name else ROOT
    gid = known.gid if not group else groups.get(group, _number(group, _MOST_SAID))
    if gid is None:
        raise UnsupportedByBackend(f"the image's USER is {said[:_SHOWN]!r}, and it has no such group", where="user")
    return User(name=known.name, uid=known.uid, gid=gid, home=known.home, said=said if name else f"{ROOT.name}{said}")


_SHOWN = 100
"""Letters of an image's USER in words about it."""


def _known(name: str, users: Mapping[str, User]) -> User:
    known = users.get(name) or next((user for user in users.values() if str(user.uid) == name), None)
    if known is not None:
        return known
    uid = _number(name, _MOST_SAID)
    if uid is None:
        raise UnsupportedByBackend(f"the image's USER is {name[:_SHOWN]!r}, and it has no such user", where="user")
    return User(name=name, uid=uid, gid=0, home="/")


def _number(text: str, most: int = _MOST) -> int | None:
    """An id; ``None`` for what is none."""
    return int(text) if _NUMBER.fullmatch(text) and int(text) <= most else None
