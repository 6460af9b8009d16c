"""A cache for slow functions that many threads share."""

import threading
import time


class Cache:
    def __init__(self, ttl, size, clock=time.monotonic):
        self.ttl = ttl
        self.size = size
        self.clock = clock
        self.values = {}
        self.lock = threading.Lock()

    def get(self, key, make):
        """The value of a key; make(key) makes it if it is missing or too old."""
        with self.lock:
            if key in self.values:
                value, made = self.values[key]
                if self.clock() - made < self.ttl:
                    return value
        value = make(key)
        with self.lock:
            if len(self.values) >= self.size:
                del self.values[next(iter(self.values))]
            self.values[key] = (value, self.clock())
        return value

    def drop(self, key):
        """Forget the value of a key."""
        del self.values[key]
