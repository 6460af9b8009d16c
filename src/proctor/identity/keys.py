"""API keys: what one looks like, and the keyed hash by which it is known.

``proctor_TENANT_PREFIX_SECRET``: the tenant's id (26 letters, base32), ten letters to find the key by, and 32 random
bytes. The tenant stands in the key so that one can be looked for under row-level security as everything else is, with
no table of all tenants' keys. A key that names a tenant proves nothing by it; it is its hash that has to be there.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import secrets
from dataclasses import dataclass
from uuid import UUID

__all__ = ["KeyParts", "hash_of", "new_key", "read_key"]

_KEY = re.compile(r"proctor_([a-z2-7]{26})_([a-z2-7]{10})_([A-Za-z0-9_-]{43})")
_PURPOSE = b"proctor api key\0"


@dataclass(frozen=True, kw_only=True)
class KeyParts:
    """Of a key what is no secret."""

    tenant: UUID
    prefix: str


def new_key(tenant: UUID) -> tuple[KeyParts, str]:
    """A new key of a tenant's: its parts and its text, which is told once and kept nowhere."""
    prefix = _letters(secrets.token_bytes(7))[:10]
    text = f"proctor_{_letters(tenant.bytes)}_{prefix}_{secrets.token_urlsafe(32)}"
    return KeyParts(tenant=tenant, prefix=prefix), text


def read_key(text: str) -> KeyParts | None:
    """``None`` for what is no key."""
    found = _KEY.fullmatch(text)
    if found is None:
        return None
    try:
        tenant = UUID(bytes=base64.b32decode(found[1].upper() + "======"))
    except ValueError:
        return None
    return KeyParts(tenant=tenant, prefix=found[2])


def hash_of(text: str, secret: bytes) -> bytes:
    """HMAC-SHA256 under the installation's secret: a stolen table holds nothing that can be tried out elsewhere."""
    return hmac.digest(secret, _PURPOSE + text.encode(), hashlib.sha256)


def _letters(raw: bytes) -> str:
    return base64.b32encode(raw).decode().rstrip("=").lower()
