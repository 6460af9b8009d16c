"""Errors of identity.

ProctorError
└── UsageError
    ├── Unauthenticated     who asks is not known
    ├── Forbidden           who asks may not
    ├── UserUnknown, KeyUnknown, KeyUntold, NameTaken, LastOwner, ScopeInvalid
    └── SetupDone, LinkInvalid
"""

from __future__ import annotations

from proctor.kernel.errors import UsageError

__all__ = [
    "Forbidden",
    "KeyRefused",
    "KeyUnknown",
    "KeyUntold",
    "LastOwner",
    "LinkInvalid",
    "NameTaken",
    "ScopeInvalid",
    "SetupDone",
    "Unauthenticated",
    "UserChanged",
    "UserNameInvalid",
    "UserUnknown",
]


class Unauthenticated(UsageError):
    """No valid API key came with the request."""

    code = "unauthenticated"
    remedy = "Send `Authorization: Bearer KEY`; `proctor login` stores a key, `proctor key create` makes one."


class KeyRefused(UsageError):
    """Such a key would open nothing."""

    code = "key-refused"
    remedy = "Give it a time to come, and a user who is not disabled; or leave them out."


class Forbidden(UsageError):
    """This key may not do that."""

    code = "forbidden"
    remedy = "Ask an owner or an administrator of the tenant for a role that may, or use a key with that scope."


class UserUnknown(UsageError):
    """There is no such user."""

    code = "user-unknown"
    remedy = "`proctor user list` names those there are."


class UserNameInvalid(UsageError):
    """A person is named by an e-mail address, a service account by lower-case letters, digits, dots and hyphens."""

    code = "user-name"
    remedy = "Correct the name."


class KeyUntold(UsageError):
    """The key was made, and the answer that told its text was lost on the way."""

    code = "key-untold"
    remedy = "Revoke it, `proctor key revoke`, and make another."


class UserChanged(UsageError):
    """The user was changed by somebody else in the meantime."""

    code = "user-changed"
    remedy = "Look at it again, and repeat the change if it is still wanted."


class KeyUnknown(UsageError):
    """There is no such API key, or it was revoked."""

    code = "key-unknown"
    remedy = "`proctor key list` names those there are."


class NameTaken(UsageError):
    """The name is taken."""

    code = "name-taken"
    remedy = "Choose another."


class LastOwner(UsageError):
    """A tenant keeps at least one owner who can log in."""

    code = "last-owner"
    remedy = "Make somebody else an owner first."


class ScopeInvalid(UsageError):
    """A key can't have more than its user and whoever makes it."""

    code = "scope"
    remedy = "Leave the scopes out, or name only permissions that both have."


class SetupDone(UsageError):
    """This installation has its first administrator already."""

    code = "setup-done"
    remedy = "An administrator makes further tenants and users."


class LinkInvalid(UsageError):
    """The one-time link is not the current one, or its time is over."""

    code = "link"
    remedy = "`proctor setup-link` on the server prints a new one."
