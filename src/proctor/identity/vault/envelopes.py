"""A secret as it is kept: its value under a data key of its own, and that key wrapped by the installation's.

Both are bound to the tenant, the name and the version of the row: a row that is copied to another place, or put
together from two, opens nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from uuid import UUID

from proctor.identity.vault.ciphers import decrypt, encrypt, new_key
from proctor.identity.vault.interfaces import Keyring, Wrapped

__all__ = ["Envelope", "Place", "rewrapped", "seal", "unseal"]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a secret belongs, and nowhere else."""

    tenant: UUID
    name: str
    version: int

    @property
    def words(self) -> bytes:
        """What it is bound to: fixed lengths first, so that no two places have the same."""
        return b"proctor secret 1\0" + self.tenant.bytes + self.version.to_bytes(8, "big") + self.name.encode()


@dataclass(frozen=True, kw_only=True)
class Envelope:
    """A sealed value with its wrapped key."""

    wrapped: Wrapped
    sealed: bytes


def seal(keyring: Keyring, place: Place, value: str) -> Envelope:
    """Seal a value for a place. Raises what the keyring raises."""
    data_key = new_key()
    sealed = encrypt(data_key, value.encode(), place.words)
    return Envelope(wrapped=keyring.wrap(data_key, place.words), sealed=sealed)


def unseal(keyring: Keyring, place: Place, envelope: Envelope) -> str:
    """The value. Raises ``SecretBroken`` where anything was changed or moved, and what the keyring raises."""
    data_key = keyring.unwrap(envelope.wrapped, place.words)
    return decrypt(data_key, envelope.sealed, place.words).decode()


def rewrapped(keyring: Keyring, place: Place, envelope: Envelope) -> Envelope:
    """The same value, its data key wrapped by the current key. Raises as ``unseal`` does."""
    data_key = keyring.unwrap(envelope.wrapped, place.words)
    decrypt(data_key, envelope.sealed, place.words)  # what is broken stays as it was found
    return replace(envelope, wrapped=keyring.wrap(data_key, place.words))
