"""Phases as they happen: each is timed, and what ended it is written down as Proctor itself saw it."""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager

from proctor.agents.errors import AgentSetupFailed, ProfileInvalid, ProviderFailed
from proctor.agents.oracle import SolutionMissing
from proctor.engine.errors import SecretMissing, SecretsClosed
from proctor.engine.evidence import STDERR_TAIL, Evidence, Phase
from proctor.engine.secrets import scrub_detail
from proctor.kernel.canonical import Json
from proctor.kernel.clock import Clock
from proctor.kernel.errors import ProctorError
from proctor.sandboxes.errors import (
    ImagePullFailed,
    NodeLost,
    SandboxError,
    ServiceFailed,
    TransferRefused,
    UnsupportedByBackend,
)
from proctor.sandboxes.interfaces import ExecResult
from proctor.suites.errors import VariableMissing
from proctor.telemetry.spans import span

__all__ = ["HarnessFault", "PhaseFailed", "PhaseRecorder", "TaskUnsupported", "exec_detail", "hosts_fault"]

_HOSTS: frozenset[int] = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EMFILE, errno.ENFILE})
"""What the host's disk and kernel run out of; no agent is to blame for these."""


class TaskUnsupported(ProctorError):
    """The task asks for what this release or backend does not do."""

    code = "task-unsupported"
    exit_code = 2
    remedy = "Leave the task out, or run it with a sandbox backend that gives what is named."


class HarnessFault(Exception):
    """Something failed between phases, where nothing should: a bug of ours."""


class PhaseFailed(Exception):
    """A phase ended the attempt; its evidence is already recorded."""


class PhaseRecorder:
    """The evidence of one attempt, growing in order."""

    def __init__(
        self, clock: Clock, secrets: Collection[str] = (), remarks: Callable[[], Mapping[str, Json]] = dict
    ) -> None:
        """``secrets``: what must not be in the evidence, whatever a program printed, as it is at the end of each phase;
        ``remarks`` is asked then for what its evidence says besides."""
        self._clock, self._secrets, self._remarks = clock, secrets, remarks
        self.evidence: list[Evidence] = []
        self.current = ""
        """The phase that began last."""

    @contextmanager
    def phase(self, phase: Phase, *, step: str = "") -> Iterator[dict[str, Json]]:
        """Time a phase; the dict it yields becomes its detail. Raises ``PhaseFailed`` for whatever ended it.

        ``step``: which of the task's steps it belongs to; empty for a task without, and for what all steps share.
        """
        with span(f"phase.{phase.value}") as told:
            try:
                with self._timed(phase, step) as detail:
                    yield detail
            finally:
                told.set(**_facts(self.evidence[-1].detail))

    @contextmanager
    def _timed(self, phase: Phase, step: str) -> Iterator[dict[str, Json]]:
        started, self.current = self._clock.now(), phase.value
        detail: dict[str, Json] = {"step": step} if step else {}
        try:
            yield detail
        except asyncio.CancelledError:
            detail.update(failed=True, source="user", reason="cancelled")
            raise
        except Exception as error:  # whatever it was, it is evidence; the policy decides what it means
            detail.update(_told(error))
            raise PhaseFailed(str(error)) from error
        finally:
            detail.update(self._remarks())
            ended = self._clock.now()
            kept = {key: scrub_detail(value, self._secrets) for key, value in detail.items()}
            item = Evidence(phase=phase, seq=len(self.evidence) + 1, started_at=started, ended_at=ended, detail=kept)
            self.evidence.append(item)


def _facts(detail: Mapping[str, Json]) -> dict[str, str | int]:
    """What a span says of a phase's end: whose fault and of which kind, never in which words."""
    found = {name: detail.get(name) for name in ("source", "exception", "exit_code", "exec_limit")}
    return {name: value for name, value in found.items() if isinstance(value, str | int)}


def exec_detail(result: ExecResult) -> dict[str, Json]:
    """What the sandbox itself says of a command's end, and the tail of its standard error for a reader."""
    return {
        "exit_code": result.exit_code,
        "signal": result.signal,
        "oom": result.oom,
        "exec_limit": result.limit.value if result.limit else None,
        "output_truncated": result.truncated,
        "stderr_tail": result.stderr[-STDERR_TAIL:].decode("utf-8", "replace").replace("\x00", "\ufffd"),
    }


def hosts_fault(error: BaseException | None) -> bool:
    """Whether the host ran out of something, whatever the error was wrapped in."""
    return error is not None and (
        (isinstance(error, OSError) and error.errno in _HOSTS) or hosts_fault(error.__cause__)
    )


def _told(error: Exception) -> dict[str, Json]:
    detail: dict[str, Json] = {
        "failed": True,
        "source": _source(error),
        "exception": (TransferRefused if isinstance(error, TransferRefused) else type(error)).__name__,
        "message": str(error)[:STDERR_TAIL].replace("\x00", "\ufffd"),
    }
    if isinstance(error, UnsupportedByBackend | SolutionMissing):
        detail["exception"] = "TaskUnsupported"
    if isinstance(error, SecretMissing):
        detail["reason"] = "secret_missing"
    if isinstance(error, ImagePullFailed | NodeLost | ProviderFailed | ServiceFailed):
        detail.update(error.facts())
    return detail


def _source(error: Exception) -> str:
    if isinstance(error, TaskUnsupported | UnsupportedByBackend | SolutionMissing | VariableMissing):
        return "task"
    if isinstance(error, SecretMissing):
        return "user"
    if isinstance(error, ServiceFailed):
        return "task" if error.is_the_tasks else "sandbox"
    if isinstance(error, ProfileInvalid):
        return "profile"
    if isinstance(error, ProviderFailed):
        return "provider"
    if isinstance(error, ImagePullFailed):
        return "engine" if error.http_status is None else "registry"
    if isinstance(error, AgentSetupFailed):
        return "agent"
    if hosts_fault(error) or isinstance(error, SecretsClosed):
        return "sandbox"
    if isinstance(error, TransferRefused):
        return "agent"
    return "sandbox" if isinstance(error, SandboxError) else "harness"
