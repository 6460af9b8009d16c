"""The run-set file: what a person writes. The sections say what is identity and what is not.

An unknown key is an error that names the nearest known one. The JSON Schema is ``run-set.schema.json`` beside this
file (a test keeps them equal), for editors.
"""

from __future__ import annotations

import difflib
import hashlib
import math
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails

from proctor.engine.errors import SpecInvalid
from proctor.engine.faults.plan import DEFAULT_RETRY_AFTER_SEC, FaultKind
from proctor.kernel.canonical import Json
from proctor.kernel.money import parse_usd
from proctor.kernel.validation import words_of
from proctor.suites.variables import malformed_reference, variable_names

__all__ = ["Fault", "Limit", "Profile", "RunSetSpec", "check_spec", "parse_duration", "parse_spec", "read_spec"]

_UNITS: dict[str, int] = {"s": 1, "m": 60, "h": 3600, "d": 86400}
_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
_AGENT = r"^(harbor:)?[A-Za-z0-9][A-Za-z0-9._-]{0,99}$"
MAX_INTEGER: int = 2**53 - 1
"""The largest integer that JSON, and so a digest, carries exactly."""
_AS_TEXT: str = "Correct the file; `proctor init` writes a commented example."
MAX_TRIALS: int = 100_000
"""A run set of more trials than this is a mistyped number."""
MAX_CELLS: int = 1_000_000
"""So is one of more cells: all of a run set is planned in one transaction, while others wait to be planned."""


def parse_duration(text: str) -> int:
    """Seconds of ``"90s"``, ``"15m"``, ``"6h"`` or ``"30d"``. Raises ValueError for anything else."""
    match = re.fullmatch(r"\s*([0-9]{1,9})\s*([smhd])\s*", text)
    if match is None:
        raise ValueError(f"{text!r} is not a duration such as '30d', '6h', '15m' or '90s'")
    return int(match[1]) * _UNITS[match[2]]


def _duration(value: object) -> object:
    if isinstance(value, str):
        parse_duration(value)
    return value


def _amount(value: object) -> object:
    if isinstance(value, str):
        parse_usd(value)
    return value


def _reuse(value: object) -> object:
    if isinstance(value, str) and value != "off":
        try:
            parse_duration(value)
        except ValueError as error:
            raise ValueError(f"{error}, and not 'off'") from error
    return value


Duration = Annotated[str, BeforeValidator(_duration)]
Reuse = Annotated[str, BeforeValidator(_reuse)]
Amount = Annotated[str, BeforeValidator(_amount)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, str_strip_whitespace=True)


class AgentLimits(_Section):
    """What one attempt of an agent may use of its model; beyond it the agent is ended, and what it left is graded."""

    cost: Amount | None = Field(default=None, description="Of all its calls, each at its worst case until it ended.")
    tokens: int | None = Field(default=None, strict=True, ge=1, le=10**12, description="Of all its calls, in and out.")
    turns: int | None = Field(default=None, strict=True, ge=1, le=100_000, description="agent = 'loop': 100.")
    context_tokens: int | None = Field(
        default=None, strict=True, ge=1000, le=10**8, description="agent = 'loop': summed up from here on; 100,000."
    )
    output_tokens: int | None = Field(
        default=None, strict=True, ge=16, le=10**7, description="agent = 'loop': of one answer; 16,384."
    )


class Profile(_Section):
    """One agent-and-model setting."""

    name: str = Field(pattern=_NAME, description="A label, shown in every table.")
    series: str | None = Field(default=None, pattern=_NAME, description="History follows the series; unset: the name.")
    agent: str = Field(pattern=_AGENT, description="oracle, noop, scripted, command, ..., or harbor:NAME.")
    agent_version: str | None = Field(
        default=None,
        pattern=r"^[A-Za-z0-9][A-Za-z0-9.+_-]{0,63}$",
        description="Of an agent from PyPI or npm: a version, or latest; unset: the one this release was made with.",
    )
    model: str | None = Field(default=None, description="As the provider names it: provider/model.")
    thinking: str | None = None
    variant: str | None = None
    sampling: dict[str, float | int | str | bool] = Field(default_factory=dict)
    fallbacks: list[str] = Field(default_factory=list, description="Declared fallback models, in order.")
    command: str | None = Field(default=None, description="agent = 'command': a shell command run in the sandbox.")
    script: str | None = Field(default=None, description="agent = 'scripted': a file of commands per task.")
    env: dict[str, str] = Field(default_factory=dict, description="${VAR} resolves names of [secrets] only.")
    max_cost: Amount | None = Field(
        default=None, description="The most one attempt may cost, for the worst case of a dry run."
    )
    budget: Amount | None = Field(default=None, description="The most it may spend in this run set.")

    @field_validator("env")
    @classmethod
    def _env_can_be_set(cls, env: dict[str, str]) -> dict[str, str]:
        for name in env:
            if re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name) is None:
                raise ValueError(f"{name!r} can't name a variable")
        if (wrong := malformed_reference(env.values())) is not None:
            raise ValueError(f"{wrong!r}: a reference is the whole value, such as ${{NAME}}")
        return env

    limits: AgentLimits = Field(default_factory=lambda: AgentLimits(), description="Part of the configuration hash.")

    @property
    def provider(self) -> str:
        """Whose model it is; empty where it has none."""
        return self.model.split("/")[0] if self.model else ""

    @model_validator(mode="after")
    def _options_fit(self) -> Profile:
        for option, agent in (("command", "command"), ("script", "scripted")):
            given = getattr(self, option) is not None
            if given and self.agent != agent:
                raise ValueError(f"{option!r} belongs to agent = {agent!r}, not {self.agent!r}")
            if not given and self.agent == agent:
                raise ValueError(f"agent = {agent!r} needs {option!r}")
        for option in ("turns", "context_tokens", "output_tokens"):
            if self.agent != "loop" and getattr(self.limits, option) is not None:
                raise ValueError(f"'limits.{option}' belongs to agent = 'loop', not {self.agent!r}")
        return self


_RESOURCES: dict[str, tuple[float, float]] = {
    "memory_mb": (16, 16 * 2**20),
    "cpus": (0.01, 4096),
    "storage_mb": (1, 2**30),
    "request_memory_mb": (16, 16 * 2**20),
    "request_cpus": (0.01, 4096),
    "request_storage_mb": (1, 2**30),
}
"""Below, no shell starts; above, a number is mistyped."""
_Resource = Literal["memory_mb", "cpus", "storage_mb", "request_memory_mb", "request_cpus", "request_storage_mb"]
"""A limit ends or slows an attempt that goes beyond it; a request is what the attempt is promised of the node."""


class Policy(_Section):
    """Part of the configuration hash."""

    agent_timeout: Literal["task"] | Annotated[float, Field(gt=0, le=604_800)] = "task"
    verifier_timeout: Literal["task"] | Annotated[float, Field(gt=0, le=604_800)] = "task"
    resources: Literal["task"] | dict[_Resource, float] = "task"
    network: Literal["task", "no-network", "public"] = "task"
    verification: Literal["task", "snapshot", "separate", "live"] = "task"
    out_of_memory: Literal["model", "infrastructure"] = "model"

    @field_validator("resources")
    @classmethod
    def _can_be_had(cls, resources: object) -> object:
        for name, value in resources.items() if isinstance(resources, dict) else ():
            low, high = _RESOURCES[name]
            if not low <= value <= high:
                raise ValueError(f"{name} is {value:g}, and has to be {low:g} to {high:g}")
            limit = resources.get(name.removeprefix("request_")) if isinstance(resources, dict) else None
            if limit is not None and value > limit:
                raise ValueError(f"{name} is {value:g}, more than its own limit of {limit:g}")
        return resources


class Budget(_Section):
    """Never part of the configuration hash."""

    cost: Amount | None = None
    wall: Duration | None = None


class Execution(_Section):
    """Routing."""

    sandbox: str = "local"
    concurrency: int = Field(default=4, strict=True, ge=1, le=1024)
    priority: Literal["critical", "high", "normal", "low"] = "normal"


class Limit(_Section):
    """Routing: what of the run set's cells may run at once, and start in a minute."""

    provider: str | None = Field(default=None, min_length=1, description="What stands before / in a profile's model.")
    profile: str | None = Field(default=None, min_length=1, description="A profile's name.")
    concurrency: int | None = Field(default=None, strict=True, ge=1, le=1024, description="Attempts at once.")
    per_minute: int | None = Field(
        default=None, strict=True, ge=1, le=100_000, description="Starts a minute, spread evenly."
    )

    @model_validator(mode="after")
    def _limits_something(self) -> Limit:
        if (self.provider is None) == (self.profile is None):
            raise ValueError("a limit is of a 'provider' or of a 'profile', one of them")
        if self.concurrency is None and self.per_minute is None:
            raise ValueError("a limit says 'concurrency', 'per_minute' or both")
        return self


class Secrets(_Section):
    """The only names that a ``${VAR}`` may resolve."""

    names: list[Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]] = Field(default_factory=list)


class Gate(_Section):
    """What the run set must reach for exit code 0."""

    strict: float | None = Field(default=None, ge=0, le=1)
    graded: float | None = Field(default=None, ge=0, le=1)
    profiles: list[str] = Field(default_factory=list, description="Who must reach it; empty: every profile.")
    against: str | None = Field(
        default=None, min_length=1, description="RUN_SET or label:NAME: no profile may be significantly worse."
    )
    alpha: float = Field(default=0.05, gt=0, lt=1, description="The level of that test.")


class Fault(_Section):
    """A fault made on purpose. Part of the configuration hash of the profiles that it can hit."""

    kind: FaultKind
    tasks: str = Field(default="*", min_length=1, description="A shell pattern of task names.")
    profiles: list[str] = Field(default_factory=list, description="Who is hit; empty: every profile.")
    attempts: list[Annotated[int, Field(strict=True, ge=1, le=1000)]] = Field(
        default=[1], min_length=1, description="Which attempts of a cell are hit, by number."
    )
    share: float = Field(default=1.0, strict=True, gt=0, le=1, description="Of the cells, chosen by seed.")
    seed: int = Field(default=0, strict=True, ge=0, le=2**53 - 1)
    retry_after_sec: float | None = Field(
        default=None, gt=0, le=3600, description=f"kind = 'rate_limit': default {DEFAULT_RETRY_AFTER_SEC:g}."
    )

    @model_validator(mode="after")
    def _options_fit(self) -> Fault:
        if self.retry_after_sec is not None and self.kind is not FaultKind.RATE_LIMIT:
            raise ValueError(f"'retry_after_sec' belongs to kind = 'rate_limit', not {self.kind.value!r}")
        for name, chosen in (("attempts", self.attempts), ("profiles", self.profiles)):
            if len(set(chosen)) < len(chosen):
                raise ValueError(f"{name!r} names the same twice")
        if self.seed and self.share == 1.0:
            raise ValueError("'seed' chooses a 'share' of the cells, and there is none")
        return self


class RunSetSpec(_Section):
    """A run-set file."""

    name: str = Field(pattern=_NAME)
    suite: str = Field(min_length=1, description="A path, a label or a suite id.")
    trials: int = Field(default=1, strict=True, ge=1, le=MAX_TRIALS)
    reuse: Reuse = Field(default="30d", description="The age of verdicts to accept, or 'off'.")
    profiles: list[Profile] = Field(min_length=1, max_length=1000)
    policy: Policy = Policy()
    budget: Budget = Budget()
    execution: Execution = Execution()
    secrets: Secrets = Secrets()
    gate: Gate = Gate()
    limits: list[Limit] = Field(default_factory=list, max_length=1000, description="What providers and profiles bear.")
    faults: list[Fault] = Field(default_factory=list, max_length=1000, description="What is made to fail on purpose.")

    @field_validator("profiles")
    @classmethod
    def _names_differ(cls, profiles: list[Profile]) -> list[Profile]:
        names = [profile.name for profile in profiles]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"two profiles are named {name!r}")
        return profiles

    @model_validator(mode="after")
    def _variables_are_listed(self) -> RunSetSpec:
        """What profiles refer to: found out before anything is run."""
        for position, profile in enumerate(self.profiles):
            if unlisted := variable_names(profile.env) - set(self.secrets.names):
                name = min(unlisted)
                raise ValueError(f"profiles[{position}].env: ${{{name}}} is not among secrets.names")
        return self

    @property
    def reuse_sec(self) -> int | None:
        """The age of verdicts to accept, in seconds; ``None`` when off."""
        return None if self.reuse == "off" else parse_duration(self.reuse)


def read_spec(path: Path) -> tuple[RunSetSpec, str]:
    """A run-set file and the sha256 of its bytes. Raises ``SpecInvalid`` naming the field."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        remedy = "Name a run-set file that this user may read; `proctor init` writes one."
        raise SpecInvalid(f"The file can't be read: {error.strerror}.", where=str(path), remedy=remedy) from error
    return parse_spec(raw, where=str(path)), hashlib.sha256(raw).hexdigest()


def parse_spec(raw: bytes, *, where: str) -> RunSetSpec:
    """A run-set file's bytes as a checked spec. Raises ``SpecInvalid`` naming the field."""
    try:
        document = tomllib.loads(raw.decode())
    except UnicodeDecodeError as error:
        raise SpecInvalid("The file is not UTF-8 text.", where=where, remedy=_AS_TEXT) from error
    except tomllib.TOMLDecodeError as error:
        raise SpecInvalid(f"The file is not TOML: {error}.", where=where, remedy=_AS_TEXT) from error
    return check_spec(document, where=where)


def check_spec(document: Mapping[str, object], *, where: str) -> RunSetSpec:
    """A document as a checked spec. Raises ``SpecInvalid`` naming every field that is wrong, one a line."""
    try:
        spec = RunSetSpec.model_validate(document)
    except ValidationError as error:
        raise _told(_problems(error), where) from error
    unstorable = dict(_unstorable(document, ""))
    if unstorable:
        raise _told(unstorable, where)
    names = [profile.name for profile in spec.profiles]
    meant = [(name, "gate.profiles") for name in spec.gate.profiles]
    meant += [(name, f"faults[{n}].profiles") for n, fault in enumerate(spec.faults) for name in fault.profiles]
    meant += [(one.profile, f"limits[{n}].profile") for n, one in enumerate(spec.limits) if one.profile is not None]
    for name, field in meant:
        if name not in names:  # else nobody would be judged, and the gate met; or nobody hit
            raise SpecInvalid(f"There is no profile {name!r}.", where=f"{where}: {field}")
    _check_limits(spec, where)
    return spec


def _check_limits(spec: RunSetSpec, where: str) -> None:
    """A limit that nothing comes under, or a second one of the same, is a slip of the pen."""
    providers = {profile.provider for profile in spec.profiles}
    seen: set[tuple[str | None, str | None]] = set()
    for position, limit in enumerate(spec.limits):
        if limit.provider is not None and limit.provider not in providers:
            message = f"No profile's model is of provider {limit.provider!r}."
            raise SpecInvalid(message, where=f"{where}: limits[{position}].provider")
        if (limit.provider, limit.profile) in seen:
            raise SpecInvalid("There is a limit of this already.", where=f"{where}: limits[{position}]")
        seen.add((limit.provider, limit.profile))


def _unstorable(value: object, field: str) -> Iterator[tuple[str, str]]:
    """What TOML can say and neither a program's arguments nor a digest can carry."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from _unstorable(key, field)
            yield from _unstorable(item, f"{field}.{key}".removeprefix("."))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _unstorable(item, f"{field}[{index}]")
    elif isinstance(value, str) and "\x00" in value:
        yield field.replace("\x00", "?"), "It holds a NUL character."
    elif isinstance(value, float) and not math.isfinite(value):
        yield field, "It is no finite number."
    elif isinstance(value, int) and abs(value) > MAX_INTEGER:
        yield field, "It is an integer beyond 2**53, which JSON does not carry exactly."


def _told(problems: Mapping[str, str], where: str) -> SpecInvalid:
    (field, message), *more = problems.items()
    if not more:
        return SpecInvalid(message, where=f"{where}: {field}" if field else where)
    lines = (f"{field}: {message}" if field else message for field, message in problems.items())
    return SpecInvalid("\n  ".join([f"{len(problems)} fields are wrong:", *lines]), where=where)


def _problems(error: ValidationError) -> dict[str, str]:
    """What is wrong by field, in a person's words; mistyped keys before the keys that they were to be."""
    found: dict[str, str] = {}
    for problem in sorted(error.errors(include_url=False), key=lambda one: one["type"] != "extra_forbidden"):
        field = _field(problem["loc"])
        if field in _CHOICES:
            found[field] = f"It is {_CHOICES[field]}."
        else:
            found.setdefault(field, _words(problem))
    return found


_CHOICES: dict[str, str] = {
    "policy.agent_timeout": '"task", or seconds above 0',
    "policy.verifier_timeout": '"task", or seconds above 0',
}
"""Fields of several kinds, where each kind would complain of its own."""
_ARM = re.compile(r"function-|constrained-|nullable|literal\[|(str|int|float|bool|dict\[.*)$")
"""Pydantic's names for the kinds that a field may be of; they are no part of the field's."""


def _words(problem: ErrorDetails) -> str:
    if problem["type"] == "extra_forbidden":
        near = difflib.get_close_matches(str(problem["loc"][-1]), _known(problem["loc"][:-1]), n=1, cutoff=0.5)
        return "There is no such key." + (f" Did you mean {near[0]!r}?" if near else "")
    if problem["type"] == "missing":
        return "This key is missing."
    return f"{words_of(problem)}."


def _field(location: Iterable[int | str]) -> str:
    text = ""
    for part in location:
        if isinstance(part, int):
            text += f"[{part}]"
        elif not _ARM.match(part):
            text += f".{part}"
    return text.removeprefix(".")


def _known(location: Iterable[int | str]) -> list[str]:
    """The keys that the section at a location knows."""
    section: type[BaseModel] = RunSetSpec
    for part in location:
        if isinstance(part, int):
            continue
        annotation = section.model_fields[part].annotation if part in section.model_fields else None
        inner = [annotation, *get_args(annotation)]
        found = [one for one in inner if isinstance(one, type) and issubclass(one, BaseModel)]
        if not found:
            return []
        section = found[0]
    return list(section.model_fields)


def spec_document(spec: RunSetSpec) -> Mapping[str, Json]:
    """The spec as JSON, defaults included, for the run set's row.

    Limits that are not there are left out: a run set without a file is known by this document's digest, and those made
    before there were limits have to be found again.
    """
    document: Mapping[str, Json] = spec.model_dump(mode="json", exclude=None if spec.limits else {"limits"})
    return document
