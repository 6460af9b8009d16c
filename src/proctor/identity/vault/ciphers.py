"""AES-256-GCM, as far as secrets need it: a fresh nonce before what it sealed, and words that it is bound to."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from proctor.identity.vault.errors import SecretBroken, SecretsExtraMissing

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM

__all__ = ["KEY_BYTES", "decrypt", "encrypt", "new_key"]

KEY_BYTES: int = 32
_NONCE_BYTES: int = 12
"""GCM's own size. A data key seals one value; a wrapping key would have to wrap 2^32 before two were likely alike."""


def new_key() -> bytes:
    """256 random bits."""
    return os.urandom(KEY_BYTES)


def encrypt(key: bytes, plain: bytes, bound: bytes) -> bytes:
    """Sealed under a key and bound to words that are not kept with it. Raises ``SecretsExtraMissing``."""
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + _cipher(key).encrypt(nonce, plain, bound)


def decrypt(key: bytes, sealed: bytes, bound: bytes) -> bytes:
    """What was sealed under that key and bound to those words. Raises ``SecretBroken`` where any of it differs."""
    cipher = _cipher(key)
    from cryptography.exceptions import InvalidTag

    try:
        return cipher.decrypt(sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:], bound)
    except (InvalidTag, ValueError) as error:
        raise SecretBroken() from error


def _cipher(key: bytes) -> AESGCM:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM
    except ModuleNotFoundError as error:
        raise SecretsExtraMissing() from error
    return AESGCM(key)
