"""Links that need no key: who has one may fetch one operation's download until a moment, and nothing else.

A link is the tenant, the operation and the moment with an HMAC over them under the installation's secret. One that was
forged, that has run out or that is of nothing is answered in the same words.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import struct
from dataclasses import dataclass
from datetime import UTC, datetime
from uuid import UUID

from proctor.operations.errors import DownloadUnknown

__all__ = ["LONGEST_SEC", "Link", "read_link", "sign_link"]

LONGEST_SEC: int = 3600
"""A link ends up in histories and chats: an hour is enough to click on it."""

_PURPOSE = b"proctor download link\0"
_BODY = struct.Struct(">16s16sQ")
_TAG_BYTES = 32


@dataclass(frozen=True, kw_only=True)
class Link:
    """What a link opens, and until when."""

    tenant: UUID
    operation: UUID
    until: datetime


def sign_link(link: Link, secret: bytes) -> str:
    """The link's text, for a URL."""
    body = _BODY.pack(link.tenant.bytes, link.operation.bytes, int(link.until.timestamp()))
    return base64.urlsafe_b64encode(body + _tag(body, secret)).decode().rstrip("=")


def read_link(text: str, secret: bytes, *, now: datetime) -> Link:
    """What a text opens. Raises ``DownloadUnknown`` for one that we did not write, or whose time is over."""
    try:
        raw = base64.urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
    except (ValueError, binascii.Error):
        raise DownloadUnknown() from None
    body, tag = raw[: _BODY.size], raw[_BODY.size :]
    if len(raw) != _BODY.size + _TAG_BYTES or not hmac.compare_digest(tag, _tag(body, secret)):
        raise DownloadUnknown()
    tenant, operation, until = _BODY.unpack(body)
    if until <= now.timestamp():
        raise DownloadUnknown()
    return Link(tenant=UUID(bytes=tenant), operation=UUID(bytes=operation), until=datetime.fromtimestamp(until, UTC))


def _tag(body: bytes, secret: bytes) -> bytes:
    return hmac.digest(secret, _PURPOSE + body, hashlib.sha256)
