#!/bin/bash
# A lock for each key: one make at a time, but drop waits, circles hang, and age counts from the end.
cat > /app/cache.py <<'PY'
import threading
import time
from collections import OrderedDict, defaultdict


class Cache:
    def __init__(self, ttl, size, clock=time.monotonic):
        self.ttl, self.size, self.clock = ttl, size, clock
        self.values = OrderedDict()
        self.lock = threading.Lock()
        self.locks = defaultdict(threading.Lock)

    def _known(self, key):
        with self.lock:
            if key in self.values and self.clock() - self.values[key][1] < self.ttl:
                self.values.move_to_end(key)
                return self.values[key]
        return None

    def get(self, key, make):
        if known := self._known(key):
            return known[0]
        with self.lock:
            own = self.locks[key]
        with own:
            if known := self._known(key):
                return known[0]
            value = make(key)
            with self.lock:
                self.values[key] = (value, self.clock())
                self.values.move_to_end(key)
                while len(self.values) > self.size:
                    self.values.popitem(last=False)
            return value

    def drop(self, key):
        with self.lock:
            self.values.pop(key, None)
PY
