#!/bin/bash
cat > /app/store.py <<'PY'
"""A store of keys and values that talks in netstrings over standard input and output."""

import re
import sys
from collections import Counter

LIMIT = 1_048_576
INTEGER = re.compile(rb"0|-?[1-9][0-9]{0,999}")


class Refused(Exception):
    pass


class Store:
    """``undo`` has a list for each open transaction: keys with what they were before, None where they were missing."""

    def __init__(self):
        self.values, self.counts, self.undo = {}, Counter(), []

    def put(self, key, value):
        old = self.values.get(key)
        if self.undo:
            self.undo[-1].append((key, old))
        if old is not None:
            self.counts[old] -= 1
            if not self.counts[old]:
                del self.counts[old]
        if value is None:
            self.values.pop(key, None)
        else:
            self.values[key] = value
            self.counts[value] += 1

    def set(self, key, value):
        self.put(key, value)
        return b"+"

    def get(self, key):
        return b"-" if key not in self.values else b"=" + self.values[key]

    def delete(self, *keys):
        there = {key for key in keys if key in self.values}
        for key in there:
            self.put(key, None)
        return b"+%d" % len(there)

    def incr(self, key, number):
        value = self.values.get(key, b"0")
        if not INTEGER.fullmatch(number) or not INTEGER.fullmatch(value):
            raise Refused(b"!number")
        total = b"%d" % (int(value) + int(number))
        if len(total.lstrip(b"-")) > 1000:
            raise Refused(b"!number")
        self.put(key, total)
        return b"=" + total

    def count(self, value):
        return b"+%d" % self.counts[value] if value in self.counts else b"+0"

    def keys(self, prefix, limit):
        if not INTEGER.fullmatch(limit) or limit.startswith(b"-"):
            raise Refused(b"!number")
        found = sorted(key for key in self.values if key.startswith(prefix))
        return b"+" + b"".join(map(netstring, found[: int(limit)]))

    def begin(self):
        self.undo.append([])
        return b"+%d" % len(self.undo)

    def commit(self):
        changes = self._last()
        if self.undo:
            around = self.undo[-1]
            if len(changes) > len(around):  # the shorter list is copied, never the longer one again and again
                self.undo[-1] = around + changes
            else:
                around.extend(changes)
        return b"+%d" % len(self.undo)

    def rollback(self):
        changes, kept = self._last(), self.undo
        self.undo = []
        for key, old in reversed(changes):
            self.put(key, old)
        self.undo = kept
        return b"+%d" % len(self.undo)

    def _last(self):
        if not self.undo:
            raise Refused(b"!transaction")
        return self.undo.pop()


def netstring(data):
    return b"%d:%b," % (len(data), data)


def words_of(data):
    words, at = [], 0
    while at < len(data):
        colon = data.find(b":", at, at + 8)
        digits = data[at:colon] if colon > 0 else b""
        if not re.fullmatch(rb"0|[1-9][0-9]*", digits):
            return []
        end = colon + 1 + int(digits)
        if data[end : end + 1] != b",":
            return []
        words.append(data[colon + 1 : end])
        at = end + 1
    return words


def frame(stream):
    """The next message; None at the end. Raises ValueError where a frame is wrong."""
    digits = b""
    while (byte := stream.read(1)) != b":":
        if not byte and not digits:
            return None
        digits += byte
        if not byte or not re.fullmatch(rb"0|[1-9][0-9]{0,6}", digits):
            raise ValueError
    if not digits or int(digits) > LIMIT:
        raise ValueError
    data = stream.read(int(digits) + 1)
    if len(data) != int(digits) + 1 or data[-1:] != b",":
        raise ValueError
    return data[:-1]


def main():
    store, out = Store(), sys.stdout.buffer
    commands = {
        b"SET": (store.set, 2, 2), b"GET": (store.get, 1, 1), b"DEL": (store.delete, 1, LIMIT), b"INCR": (store.incr, 2, 2),
        b"COUNT": (store.count, 1, 1), b"KEYS": (store.keys, 2, 2), b"BEGIN": (store.begin, 0, 0),
        b"COMMIT": (store.commit, 0, 0), b"ROLLBACK": (store.rollback, 0, 0),
    }
    while True:
        try:
            data = frame(sys.stdin.buffer)
        except ValueError:
            out.write(netstring(b"!frame"))
            out.flush()
            sys.exit(2)
        if data is None:
            return
        words = words_of(data)
        command, least, most = commands.get(words[0], (None, 1, 0)) if words else (None, 0, 0)
        try:
            if not words:
                reply = b"!words"
            elif not least <= len(words) - 1 <= most:
                reply = b"!command"
            else:
                reply = command(*words[1:])
        except Refused as refused:
            reply = refused.args[0]
        out.write(netstring(reply))
        out.flush()


main()
PY
