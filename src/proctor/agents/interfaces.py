"""The agent port: who sits the exam.

An agent sees a task through ``AgentContext`` only: the instruction, the sandbox, a deadline, and where its
log and trajectory go. It never sees tests; the reference solution is handed to ``oracle`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from proctor.agents.layers.locks import Layer
from proctor.agents.trajectory import Step
from proctor.kernel.canonical import Json
from proctor.kernel.sums import added
from proctor.models.calls import Call
from proctor.models.conversation import ChatRequest, Reply
from proctor.sandboxes.interfaces import ExecResult, Sandbox

__all__ = [
    "Agent",
    "AgentContext",
    "AgentIdentity",
    "AgentLimit",
    "AgentRun",
    "Asks",
    "ModelAccess",
    "StepMaker",
    "Usage",
]

StepMaker = Callable[[int], Step]
"""Makes a trajectory step, given its number: whoever gathers the steps of an attempt numbers them."""


class Asks(StrEnum):
    """Where an agent asks models from."""

    NOTHING = "nothing"
    """It calls none."""
    HERE = "here"
    """From the worker: its tools alone run in the sandbox."""
    SANDBOX = "sandbox"
    """From within: the sandbox needs a way to the gateway."""


class AgentLimit(StrEnum):
    """The limits that can end an agent; the verifier still runs."""

    TIME = "time"
    TOKENS = "tokens"
    TURNS = "turns"
    COST = "cost"
    CONTEXT = "context"
    STORAGE = "storage"


@dataclass(frozen=True, kw_only=True)
class Usage:
    """Tokens in disjoint buckets and money in nano-dollars; ``None`` is unknown, never 0."""

    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    cost_nano: int | None = None

    @classmethod
    def none(cls) -> Usage:
        """Known to be nothing: an agent that calls no model."""
        return cls(input_tokens=0, cache_read_tokens=0, cache_write_tokens=0, output_tokens=0, cost_nano=0)

    @classmethod
    def total(cls, parts: Iterable[Usage]) -> Usage:
        """The sum, bucket by bucket; a bucket that one part does not know is unknown."""
        known = list(parts)
        sums = {field.name: added(*(getattr(part, field.name) for part in known)) for field in fields(cls)}
        return cls(**sums)


@dataclass(frozen=True, kw_only=True)
class AgentIdentity:
    """What of the agent can change a result, hashed into the configuration."""

    name: str
    version: str
    layer_digest: str | None = None


class ModelAccess(Protocol):
    """What an attempt reaches of models: those that its profile declares, for as long as it lasts."""

    @property
    def model(self) -> str:
        """The profile's model, ``provider/name``."""
        ...

    @property
    def thinking(self) -> str | None:
        """How much it is to think, as the profile says."""
        ...

    @property
    def sampling(self) -> Mapping[str, Json]:
        """``temperature`` and the like, as the profile says."""
        ...

    @property
    def token(self) -> str:
        """By which programs in the sandbox are let through; it is the attempt's own and dies with it."""
        ...

    @property
    def socket(self) -> str:
        """The path in the sandbox of the Unix socket behind which the gateway speaks HTTP on every wire."""
        ...

    async def complete(self, request: ChatRequest) -> tuple[Reply, Call]:
        """Ask a model from here. Raises ``CallFailed``, ``BudgetExhausted``, ``LimitReached``, ``RequestInvalid``."""
        ...

    def usage(self) -> Usage:
        """What the attempt has used so far, by the gateway's own count."""
        ...


@dataclass(frozen=True, kw_only=True)
class AgentContext:
    """All that an agent gets."""

    task_name: str
    step: str = ""
    """The name of the task's step that is to be worked on; empty where the task has none."""
    instruction: str
    sandbox: Sandbox
    workdir: str
    timeout_sec: float | None
    """Wall seconds it may take, ``None`` for no limit."""
    env: Mapping[str, str] = field(default_factory=dict)
    user: str | None = None
    solution: Path | None = None
    """The folder of the task's or step's reference solution, for ``oracle`` only."""
    solution_env: Mapping[str, str] = field(default_factory=dict)
    models: ModelAccess | None = None
    """``None``: its profile names no model."""
    on_output: Callable[[str, bytes], None] | None = None
    on_step: Callable[[StepMaker], None] | None = None
    """Called for each trajectory step as it happens, in order, with what makes it from its number."""


@dataclass(frozen=True, kw_only=True)
class AgentRun:
    """How the agent ended. What ended it is evidence; nothing it printed is."""

    exec: ExecResult | None = None
    """The last command's result, where the agent is a command; its raw exit code is kept."""
    limit: AgentLimit | None = None
    refused: bool = False
    usage: Usage | None = None
    model_returned: str | None = None
    final_message: str = ""


class Agent(Protocol):
    """One kind of agent, set up from a profile."""

    @property
    def identity(self) -> AgentIdentity:
        """Name, resolved version and layer."""
        ...

    @property
    def asks(self) -> Asks:
        """Where it asks models from, if its profile names one."""
        ...

    @property
    def layers(self) -> tuple[Layer, ...]:
        """What its sandbox has to have of programs; empty where it brings none."""
        ...

    async def setup(self, context: AgentContext) -> None:
        """Bring what the agent needs into the sandbox, once an attempt; its time is a phase of its own."""
        ...

    async def run(self, context: AgentContext) -> AgentRun:
        """Work on the task until done, out of time or failed. Raises only sandbox and infrastructure errors.

        Of a task with steps it is called once a step, in the same sandbox, with that step's context.
        """
        ...

    async def close(self) -> None:
        """Let go of what it holds on this machine; called once, at the end of its attempt, however that went."""
        ...
