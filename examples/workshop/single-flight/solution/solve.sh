#!/bin/bash
cat > /app/cache.py <<'PY'
"""A cache for slow functions that many threads share."""

import threading
import time
from collections import OrderedDict


class _Flight:
    """One call of make: who makes it, and what came of it."""

    def __init__(self, began):
        self.maker = threading.get_ident()
        self.began = began
        self.done = threading.Event()
        self.good = False
        self.value = None


class Cache:
    def __init__(self, ttl, size, clock=time.monotonic):
        self.ttl = ttl
        self.size = size
        self.clock = clock
        self.values = OrderedDict()
        self.flights = {}
        self.waiting = {}
        self.lock = threading.Lock()

    def get(self, key, make):
        """The value of a key; make(key) makes it if it is missing or too old."""
        while True:
            with self.lock:
                if key in self.values:
                    value, began = self.values[key]
                    if self.clock() - began < self.ttl:
                        self.values.move_to_end(key)
                        return value
                    del self.values[key]
                flight = self.flights.get(key)
                if flight is None:
                    flight = self.flights[key] = _Flight(self.clock())
                    break
                self._refuse_circle(flight)
                self.waiting[threading.get_ident()] = flight
            flight.done.wait()
            with self.lock:
                self.waiting.pop(threading.get_ident(), None)
                if flight.good:
                    if key in self.values and self.values[key][0] is flight.value:
                        self.values.move_to_end(key)
                    return flight.value
        return self._make(key, make, flight)

    def drop(self, key):
        """Forget the value of a key, and the one that is being made."""
        with self.lock:
            self.values.pop(key, None)
            self.flights.pop(key, None)

    def _refuse_circle(self, flight):
        me = threading.get_ident()
        while flight is not None:
            if flight.maker == me:
                raise RuntimeError("a value is needed to make itself")
            flight = self.waiting.get(flight.maker)
            if flight is not None and flight.done.is_set():
                flight = None

    def _make(self, key, make, flight):
        try:
            value = make(key)
        except BaseException:
            with self.lock:
                if self.flights.get(key) is flight:
                    del self.flights[key]
            flight.done.set()
            raise
        with self.lock:
            if self.flights.get(key) is flight:
                del self.flights[key]
                self.values[key] = (value, flight.began)
                self.values.move_to_end(key)
                self._evict()
            flight.good, flight.value = True, value
        flight.done.set()
        return value

    def _evict(self):
        now = self.clock()
        if len(self.values) > self.size:
            for key in [key for key, (_, began) in self.values.items() if now - began >= self.ttl]:
                del self.values[key]
        while len(self.values) > self.size:
            self.values.popitem(last=False)
PY
