"""Keys for secrets that never come here: a program of the operator's wraps and unwraps data keys, as a KMS does.

It is started for each, gets one JSON object on standard input and answers with one on standard output:

    {"do": "current"}                                                  -> {"key_id": ID}
    {"do": "wrap", "key": BASE64, "context": BASE64}                   -> {"key_id": ID, "wrapped": BASE64}
    {"do": "unwrap", "key_id": ID, "wrapped": BASE64, "context": ...}  -> {"key": BASE64}

``context`` is what the data key is bound to; a KMS takes it as its encryption context. Exit code 3 of ``unwrap`` says
that it has no such key. What it prints on standard error goes where Proctor's own goes.
"""

from __future__ import annotations

import base64
import json
import subprocess
from collections.abc import Mapping, Sequence

from proctor.identity.vault.ciphers import KEY_BYTES
from proctor.identity.vault.errors import SecretsKeyUnknown, SecretsKeyUnusable
from proctor.identity.vault.interfaces import Wrapped

__all__ = ["CommandKeyring"]

TIMEOUT_SEC: float = 20.0
"""A KMS answers in milliseconds. Less than a transaction may stay idle, since one waits for it."""
NO_SUCH_KEY: int = 3
"""The exit code by which the program says so."""
LARGEST_ID: int = 200


class CommandKeyring:
    """Keys behind a program, given as its words."""

    def __init__(self, command: Sequence[str]) -> None:
        self._command = tuple(command)

    def current(self) -> str:
        """The key that the program would wrap with."""
        return self._id(self._asked({"do": "current"}))

    def wrap(self, data_key: bytes, bound: bytes) -> Wrapped:
        """By the program."""
        answer = self._asked({"do": "wrap", "key": _text(data_key), "context": _text(bound)})
        return Wrapped(key_id=self._id(answer), data=self._bytes(answer, "wrapped"))

    def unwrap(self, wrapped: Wrapped, bound: bytes) -> bytes:
        """By the program."""
        said = {"do": "unwrap", "key_id": wrapped.key_id, "wrapped": _text(wrapped.data), "context": _text(bound)}
        key = self._bytes(self._asked(said), "key")
        if len(key) != KEY_BYTES:
            raise self._unusable(f"It gave a key of {len(key)} bytes; a data key has {KEY_BYTES}.")
        return key

    def check(self) -> None:
        """It is asked when it is needed: a server starts also while its KMS is away."""

    def _asked(self, question: Mapping[str, str]) -> Mapping[str, object]:
        try:
            done = subprocess.run(
                self._command, input=json.dumps(question).encode(), stdout=subprocess.PIPE, timeout=TIMEOUT_SEC
            )
        except subprocess.TimeoutExpired:
            raise self._unusable(f"It did not answer in {TIMEOUT_SEC:.0f} s.") from None  # it holds what was asked
        except OSError as error:
            raise self._unusable(f"It can't be started: {error.strerror}.") from error
        if done.returncode == NO_SUCH_KEY and question["do"] == "unwrap":
            raise SecretsKeyUnknown(f"It is key {question['key_id']}.", where=self._command[0])
        if done.returncode:
            raise self._unusable(f"Asked to {question['do']}, it ended with exit code {done.returncode}.")
        try:
            answer = json.loads(done.stdout)
        except ValueError:
            answer = None
        if not isinstance(answer, dict):
            raise self._unusable(f"Asked to {question['do']}, it answered with no JSON object.")
        return answer

    def _id(self, answer: Mapping[str, object]) -> str:
        found = answer.get("key_id")
        if not isinstance(found, str) or not 0 < len(found) <= LARGEST_ID or not found.isprintable():
            raise self._unusable(f"It named no key_id of 1 to {LARGEST_ID} characters.")
        return found

    def _bytes(self, answer: Mapping[str, object], field: str) -> bytes:
        try:
            return base64.b64decode(str(answer[field]), validate=True)
        except (KeyError, ValueError):
            raise self._unusable(f"It gave no {field!r} in base64.") from None  # its words may hold a key

    def _unusable(self, told: str) -> SecretsKeyUnusable:
        return SecretsKeyUnusable(told, where=self._command[0])


def _text(value: bytes) -> str:
    return base64.b64encode(value).decode()
