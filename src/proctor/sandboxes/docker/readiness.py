"""Whether a service that was started is ready: its healthcheck succeeds, or its program has ended well.

As long is waited as Docker would wait: through the start period and then for ``retries`` intervals. It is asked every
second at the least, so that what is ready waits for nothing; and no more when it was ready once.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from typing import Any

from proctor.sandboxes.docker.engine import Engine
from proctor.sandboxes.docker.sandbox import DockerSandbox
from proctor.sandboxes.errors import ServiceFailed, ServiceFault, ServiceStopped, UnsupportedByBackend
from proctor.sandboxes.interfaces import Condition, ExecRequest, Probe, ServiceSpec

__all__ = ["Started", "probe_of", "unframed"]

_ASKED_EVERY_SEC: float = 1.0
_STAYS_SEC: float = 1.0
"""A program that can't work ends sooner than this, and a look at its very start would take it for one that can."""
_NANOSECONDS = 1e9
_SHELL = ("/bin/sh", "-c")
_BY_OTHERS: frozenset[int] = frozenset({137, 143})
"""Killed or told to stop: the kernel does so when memory runs out, and an engine when it is shut down."""
_LAST_LINES: int = 15
_LAST_CHARACTERS: int = 1500


class Started:
    """One service that was started."""

    def __init__(
        self, engine: Engine, container: str, spec: ServiceSpec, sandbox: DockerSandbox, image: Mapping[str, Any]
    ) -> None:
        self._engine, self._container, self._name = engine, container, spec.place.name
        self.sandbox = sandbox
        self._probe = probe_of(image["Config"].get("Healthcheck")) if spec.probe is None else spec.probe
        self._healthy, self._began = False, time.monotonic()

    async def reaches(self, condition: Condition) -> None:
        """Wait until others may go on. Raises ``ServiceFailed``, ``UnsupportedByBackend``."""
        if condition is Condition.COMPLETED:
            await self._completes()
        elif not self._probe.argv:
            reason = "others wait until it is healthy, and neither it nor its image has a healthcheck"
            raise UnsupportedByBackend(reason, where=f"services.{self._name}")
        else:
            await self._becomes_healthy()

    async def settles(self) -> None:
        """Wait until it is healthy, if that can be asked. Raises ``ServiceFailed``."""
        if self._probe.argv and (await self._state())["Running"]:
            await self._becomes_healthy()

    async def has_not_failed(self) -> None:
        """Raise ``ServiceFailed`` where its program has ended, and not well. One of which nothing can be asked is given
        the time to."""
        state = await self._state()
        if state["Running"] and not self._probe.argv:
            await asyncio.sleep(max(0.0, self._began + _STAYS_SEC - time.monotonic()))
            state = await self._state()
        if not state["Running"] and state["ExitCode"] != 0:
            raise await self._ended("")

    async def was_not_ready(self, seconds: float) -> ServiceFailed:
        """Others waited for it as long as anybody may."""
        return await self._failed(f"was not ready within {seconds:.0f} s", ServiceFault.UNHEALTHY)

    async def _completes(self) -> None:
        answer = await self._engine.ask(
            "POST", f"containers/{self._container}/wait", within=None, condition="not-running"
        )
        if answer["StatusCode"] != 0:
            raise await self._ended(", and others wait for its success")

    async def _becomes_healthy(self) -> None:
        if self._healthy:
            return
        probe, began = self._probe, time.monotonic()
        given = probe.start_period_sec + probe.retries * probe.interval_sec
        request = ExecRequest(argv=probe.argv, timeout_sec=probe.timeout_sec, session="health")
        while True:
            try:
                result = await self.sandbox.exec(request)
            except ServiceStopped as error:
                raise await self._ended(" before it was healthy") from error
            if result.exit_code == 0:
                self._healthy = True
                return
            if time.monotonic() - began >= given:
                words = (result.stdout + result.stderr)[-200:].decode("utf-8", "replace").strip()
                how = f"was not healthy within {given:.0f} s ({words})"
                raise await self._failed(how, ServiceFault.UNHEALTHY)
            await asyncio.sleep(min(probe.interval_sec, _ASKED_EVERY_SEC))

    async def _state(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = (await self._engine.ask("GET", f"containers/{self._container}/json"))["State"]
        return found

    async def _ended(self, more: str) -> ServiceFailed:
        state = await self._state()
        code = int(state["ExitCode"])
        by_itself = not state.get("OOMKilled") and code not in _BY_OTHERS
        fault = ServiceFault.EXITED if by_itself else ServiceFault.KILLED
        return await self._failed(f"ended with exit code {code}{more}", fault, code)

    async def _failed(self, how: str, fault: ServiceFault, ended_with: int | None = None) -> ServiceFailed:
        words = f"service {self._name!r} {how}: {await self._last_words()}"
        return ServiceFailed(words, service=self._name, fault=fault, ended_with=ended_with)

    async def _last_words(self) -> str:
        async with self._engine.send(
            "GET", f"containers/{self._container}/logs", stdout=True, stderr=True, tail=_LAST_LINES
        ) as answer:
            text = unframed(await answer.read()).decode("utf-8", "replace").strip()
        return " | ".join(text.splitlines())[-_LAST_CHARACTERS:] or "it printed nothing"


def probe_of(check: Mapping[str, Any] | None) -> Probe:
    """An image's own healthcheck; times that it does not give are Docker's."""
    kind, *argv = (check or {}).get("Test") or ["NONE"]
    if check is None or kind not in ("CMD", "CMD-SHELL"):
        return Probe()
    usual = Probe()
    return Probe(
        argv=tuple(argv) if kind == "CMD" else (*_SHELL, *argv),
        interval_sec=check.get("Interval", 0) / _NANOSECONDS or usual.interval_sec,
        timeout_sec=check.get("Timeout", 0) / _NANOSECONDS or usual.timeout_sec,
        start_period_sec=check.get("StartPeriod", 0) / _NANOSECONDS,
        retries=check.get("Retries", 0) or usual.retries,
    )


def unframed(stream: bytes) -> bytes:
    """An engine's log without the eight bytes before each piece that tell its stream and length."""
    text, place = b"", 0
    while place + 8 <= len(stream):
        length = int.from_bytes(stream[place + 4 : place + 8], "big")
        text += stream[place + 8 : place + 8 + length]
        place += 8 + length
    return text
