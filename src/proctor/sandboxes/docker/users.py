"""The users of an image, read from its own ``/etc/passwd``: who commands run as and whom files belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["ROOT", "User", "default_user", "read_users"]


@dataclass(frozen=True, kw_only=True)
class User:
    """One user. ``name`` may be a number that has no name."""

    name: str
    uid: int
    gid: int
    home: str

    def environment(self) -> Mapping[str, str]:
        """What tells a program who it is."""
        return {"HOME": self.home, "USER": self.name, "LOGNAME": self.name}


ROOT = User(name="root", uid=0, gid=0, home="/root")


def read_users(passwd: bytes) -> dict[str, User]:
    """By name, ``root`` always among them. Lines that are none are passed over, as the C library does."""
    users = {ROOT.name: ROOT}
    for line in passwd.decode(errors="replace").splitlines():
        fields = line.split(":")
        if len(fields) >= 6 and fields[2].isdigit() and fields[3].isdigit():
            users[fields[0]] = User(name=fields[0], uid=int(fields[2]), gid=int(fields[3]), home=fields[5] or "/")
    return users


def default_user(said: str, users: Mapping[str, User]) -> User:
    """Of an image's ``USER``, which may be a name or numbers, with a group or without; nothing is root."""
    name, _, group = said.partition(":")
    if not name:
        return ROOT
    known = users.get(name)
    if known is None:
        known = next((user for user in users.values() if str(user.uid) == name), None)
    if known is None:
        uid = int(name) if name.isdigit() else 0
        known = User(name=name, uid=uid, gid=0, home="/")
    gid = int(group) if group.isdigit() else known.gid
    return User(name=known.name, uid=known.uid, gid=gid, home=known.home)
