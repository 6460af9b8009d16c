"""The port to whatever holds the installation's keys for secrets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

__all__ = ["Keyring", "Wrapped"]


@dataclass(frozen=True, kw_only=True)
class Wrapped:
    """A data key as it is kept: under which of the installation's keys, and its wrapped bytes."""

    key_id: str
    data: bytes


class Keyring(Protocol):
    """Wraps data keys under its current key and unwraps them under any that it has.

    Every method raises ``SecretsKeyUnset`` or ``SecretsKeyUnusable`` where there is no usable key.
    """

    def current(self) -> str:
        """The id of the key that ``wrap`` takes now."""
        ...

    def wrap(self, data_key: bytes, bound: bytes) -> Wrapped:
        """Wrap a data key, bound to those words: it is unwrapped with the same words alone."""
        ...

    def unwrap(self, wrapped: Wrapped, bound: bytes) -> bytes:
        """The data key. Raises ``SecretsKeyUnknown`` for a key that is not there, ``SecretBroken`` for other words."""
        ...

    def check(self) -> None:
        """Find out what is plainly wrong before anything needs a key: at a server's start."""
        ...
