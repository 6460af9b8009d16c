#!/bin/bash
# Reads everything first, copies the whole store for each transaction, and counts by looking at every value.
cat > /app/store.py <<'PY'
import sys


def split(data):
    words = []
    while data:
        size, _, rest = data.partition(b":")
        size = int(size)
        if rest[size : size + 1] != b",":
            raise ValueError
        words.append(rest[:size])
        data = rest[size + 1 :]
    return words


def net(data):
    return str(len(data)).encode() + b":" + data + b","


stack, code = [{}], 0
data, at = sys.stdin.buffer.read(), 0
while at < len(data):
    try:
        colon = data.index(b":", at)
        size = int(data[at:colon])
        message = data[colon + 1 : colon + 1 + size]
        if data[colon + 1 + size : colon + 2 + size] != b",":
            raise ValueError
        at = colon + 2 + size
    except ValueError:
        sys.stdout.buffer.write(net(b"!frame"))
        sys.exit(2)
    store = stack[-1]
    try:
        match split(message):
            case []:
                reply = b"!words"
            case [b"SET", key, value]:
                store[key] = value
                reply = b"+"
            case [b"GET", key]:
                reply = b"=" + store[key] if key in store else b"-"
            case [b"DEL", _, *_] as words:
                reply = b"+%d" % sum(store.pop(key, None) is not None for key in words[1:])
            case [b"INCR", key, number]:
                try:
                    store[key] = b"%d" % (int(store.get(key, b"0")) + int(number))
                    reply = b"=" + store[key]
                except ValueError:
                    reply = b"!number"
            case [b"COUNT", value]:
                reply = b"+%d" % list(store.values()).count(value)
            case [b"KEYS", prefix, limit]:
                reply = b"+" + b"".join(map(net, sorted(key for key in store if key.startswith(prefix))[: int(limit)]))
            case [b"BEGIN"]:
                stack.append(dict(store))
                reply = b"+%d" % (len(stack) - 1)
            case [b"COMMIT"] | [b"ROLLBACK"] if len(stack) == 1:
                reply = b"!transaction"
            case [b"COMMIT"]:
                stack[-2:] = [store]
                reply = b"+%d" % (len(stack) - 1)
            case [b"ROLLBACK"]:
                stack.pop()
                reply = b"+%d" % (len(stack) - 1)
            case _:
                reply = b"!command"
    except ValueError:
        reply = b"!words"
    sys.stdout.buffer.write(net(reply))
PY
