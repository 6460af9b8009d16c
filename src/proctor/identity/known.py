"""Who asked a moment ago: a key that makes many requests is looked up once a second, not for each of them.

What this process changes of a tenant's keys and users holds at once, since it forgets that tenant; what another process
of the server changes holds within the second.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from proctor.database.engine import Database
from proctor.identity.authentication import authenticate
from proctor.identity.keys import hash_of
from proctor.identity.principals import Principal

__all__ = ["KNOWN_SEC", "KnownPrincipals"]

KNOWN_SEC: float = 1.0
_MOST: int = 10_000
"""Keys that are remembered; the least recently looked up go first."""


@dataclass(frozen=True)
class _Known:
    principal: Principal
    until: float


class KnownPrincipals:
    """By the keyed hash of their keys; no key's text is kept."""

    def __init__(self, database: Database, secret: bytes, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._database, self._secret, self._clock = database, secret, clock
        self._guard = threading.Lock()
        self._known: OrderedDict[bytes, _Known] = OrderedDict()
        self._forgotten = 0

    def known(self, text: str) -> Principal | None:
        """Whose key it is, where it was looked up within the last second."""
        found = self._known.get(hash_of(text, self._secret))
        return found.principal if found is not None and self._clock() < found.until else None

    def look(self, text: str) -> Principal:
        """Whose key it is, from the database. Raises ``Unauthenticated``."""
        until, before = self._clock() + KNOWN_SEC, self._forgotten
        principal = authenticate(self._database, self._secret, text)
        with self._guard:
            if before == self._forgotten:  # else what was read may be what has been changed
                digest = hash_of(text, self._secret)
                self._known[digest] = _Known(principal, until)
                self._known.move_to_end(digest)
                if len(self._known) > _MOST:
                    self._known.popitem(last=False)
        return principal

    def forget(self, tenant: UUID) -> None:
        """Look up every key of a tenant's anew."""
        with self._guard:
            self._forgotten += 1
            for digest in [digest for digest, one in self._known.items() if one.principal.tenant == tenant]:
                del self._known[digest]
