"""What a trial was run with, in the fields that Harbor has for it: the task, the agent, and every override."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from proctor.kernel.canonical import Json
from proctor.reports.harbor.names import plain
from proctor.suites.service import StoredTask
from proctor.suites.tasks import VerificationMode

__all__ = ["ExportedProfile", "ExportedTask", "exported_profiles", "trial_inputs", "trial_lock"]

_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*")
_MODES: Mapping[str, str] = {VerificationMode.LIVE: "shared", VerificationMode.SEPARATE: "separate"}
"""Verification modes that Harbor has a word for; ``snapshot`` it has not."""


@dataclass(frozen=True, kw_only=True)
class ExportedTask:
    """A task as Harbor refers to it. ``dataset``: the name its trials are counted under."""

    name: str
    content_digest: str
    dataset: str
    steps: tuple[str, ...] = ()

    @classmethod
    def of(cls, stored: StoredTask, dataset: str) -> ExportedTask:
        """From a stored task; a malformed one has no steps."""
        steps = () if stored.task is None else tuple(step.name for step in stored.task.steps)
        return cls(name=stored.name, content_digest=stored.content_digest, dataset=dataset, steps=steps)

    @property
    def digest(self) -> str:
        """Its content digest, which is Harbor's own, as Harbor writes it."""
        return f"sha256:{self.content_digest}"

    @property
    def is_package(self) -> bool:
        """Whether its name is of the form organisation/name, by which Harbor finds it with its digest."""
        return _PACKAGE.fullmatch(self.name) is not None

    def config(self) -> dict[str, Json]:
        """``TaskConfig``."""
        if self.is_package:
            return {"name": self.name, "ref": self.digest, "source": self.dataset}
        return {"path": plain(self.name), "source": self.dataset}

    def id(self) -> dict[str, Json]:
        """``PackageTaskId`` or ``LocalTaskId``."""
        if not self.is_package:
            return {"path": plain(self.name)}
        organisation, _, name = self.name.partition("/")
        return {"org": organisation, "name": name, "ref": self.digest}

    def lock(self) -> dict[str, Json]:
        """``TaskLock``."""
        kind: dict[str, Json] = {"type": "package"} if self.is_package else {"type": "local", "path": plain(self.name)}
        return {"name": self.name, "digest": self.digest, "source": self.dataset, **kind}


@dataclass(frozen=True, kw_only=True)
class ExportedProfile:
    """A profile as Harbor's fields tell it. ``agent``: the name its trials are counted under."""

    name: str
    series: str
    configuration: str
    document: Mapping[str, Any]
    agent: str

    @property
    def version(self) -> str:
        """The agent's version."""
        return str(self.document["agent"]["version"])

    @property
    def model(self) -> str | None:
        """The model as it was asked for."""
        return None if self.document["model"] is None else str(self.document["model"])

    def info(self) -> dict[str, Json]:
        """``AgentInfo``."""
        return {"name": self.agent, "version": self.version, "model_info": _model_info(self.model)}

    def agent_config(self) -> dict[str, Json]:
        """``AgentConfig``; the effort stands where Harbor's viewer looks for it."""
        effort = self.document["thinking"]
        return {
            "name": self.agent,
            "model_name": self.model,
            "override_timeout_sec": _number(self._policy("agent_timeout")),
            "kwargs": {} if effort is None else {"reasoning_effort": effort},
        }

    def environment_config(self) -> dict[str, Json]:
        """``EnvironmentConfig``: not one of Harbor's environments, so it is named by an import path of ours."""
        resources = self._policy("resources")
        chosen: Mapping[str, Any] = resources if isinstance(resources, Mapping) else {}
        memory, storage = _number(chosen.get("memory_mb")), _number(chosen.get("storage_mb"))
        return {
            "import_path": f"proctor:{self.document['sandbox']['backend']}",
            "override_cpus": _number(chosen.get("cpus")),
            "override_memory_mb": None if memory is None else int(memory),
            "override_storage_mb": None if storage is None else int(storage),
        }

    def verifier_config(self) -> dict[str, Json]:
        """``VerifierConfig``."""
        return {"override_timeout_sec": _number(self._policy("verifier_timeout"))}

    def _policy(self, name: str) -> object:
        """``task``, or what a run set says instead."""
        policy: object = self.document["policies"].get(name)
        return policy


def exported_profiles(profiles: Sequence[Mapping[str, Any]]) -> dict[int, ExportedProfile]:
    """A run set's profiles by position.

    Harbor counts trials by agent, model and dataset. Where several profiles share agent and model, each agent's name
    has its profile's after an @, so that no mean is over two configurations.
    """
    shared = Counter(_counted_as(one["document"]) for one in profiles)
    return {
        one["position"]: ExportedProfile(
            name=one["name"],
            series=one["series"],
            configuration=one["configuration"],
            document=one["document"],
            agent=_agent(one, alone=shared[_counted_as(one["document"])] == 1),
        )
        for one in profiles
    }


def trial_inputs(profile: ExportedProfile) -> dict[str, Json]:
    """What ``TrialConfig``, ``TrialLock`` and ``JobConfig`` share."""
    return {
        "timeout_multiplier": 1.0,
        "environment": profile.environment_config(),
        "verifier": profile.verifier_config(),
    }


def trial_lock(task: ExportedTask, profile: ExportedProfile, mode: str | None) -> dict[str, Json]:
    """``TrialLock``. ``mode``: how it was verified; Harbor has no word for it in tasks with steps."""
    known = None if mode is None or task.steps else environment_mode(mode)
    return {
        "schema_version": 2,
        "task": task.lock(),
        "agent": profile.agent_config(),
        **trial_inputs(profile),
        "verifier": {**profile.verifier_config(), "environment_mode": known},
    }


def environment_mode(mode: str) -> str | None:
    """Harbor's word for a verification mode, if it has one."""
    return _MODES.get(mode)


def _agent(profile: Mapping[str, Any], *, alone: bool) -> str:
    name = str(profile["document"]["agent"]["name"])
    return name if alone else f"{name}@{profile['name']}"


def _counted_as(document: Mapping[str, Any]) -> tuple[str, str | None]:
    """Of a model the part that Harbor counts by."""
    model = document["model"]
    return str(document["agent"]["name"]), None if model is None else _split(str(model))[1]


def _model_info(model: str | None) -> dict[str, Json] | None:
    if model is None:
        return None
    provider, name = _split(model)
    return {"name": name, "provider": provider}


def _split(model: str) -> tuple[str | None, str]:
    """Provider and name of ``provider/name``."""
    provider, slash, name = model.partition("/")
    return (provider, name) if slash and name else (None, model)


def _number(value: object) -> float | int | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None
