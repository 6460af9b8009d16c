"""Breakers: what attempts that failed may be laid on, and the smallest scope that explains them. Pure functions.

Nothing that an agent or a task can bring about closes what others use. A registry is blamed for what only a registry
can say, a node for sandboxes that failed before any agent worked and for several tasks, a provider by the gateway's
word. An agent's own memory limit is nobody's, and so are a service that did not become ready, and a fault made on
purpose but for its provider's.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from uuid import UUID

from proctor.engine.evidence import Evidence, Phase, last_error
from proctor.engine.outcomes import Outcome, OutcomeClass, Owner
from proctor.sandboxes.registries import registry_of

__all__ = [
    "IN_A_ROW",
    "MANY",
    "Ends",
    "Kind",
    "Scope",
    "blame_of",
    "class_counts",
    "explain",
    "registries_that_worked",
    "scopes_of",
    "told",
    "troubled",
]

SHARE: float = 0.2
"""Of recent attempts, what infrastructure and providers may end before the scope that explains it is closed."""
LEAST: int = 10
"""Attempts that a share is taken of: of fewer it says little."""
LASTING_SEC: float = 120.0
"""Sandboxes that are lost for as long as this are no engine that was started again."""
IN_A_ROW: int = 10
"""Failures without one success in between that close a scope, whatever went well before."""


MANY: int = 10
"""Tasks of which it is no longer their own fault that their sandboxes do not start, however many others' do."""
_AGENT_WORKED: frozenset[str] = frozenset(
    {
        OutcomeClass.PASSED,
        OutcomeClass.FAILED,
        OutcomeClass.AGENT_LIMIT,
        OutcomeClass.AGENT_REFUSED,
        OutcomeClass.AGENT_ERROR,
        OutcomeClass.VERIFIER_ERROR,
    }
)


class Kind(StrEnum):
    """What can be to blame, from the narrowest; ``NOBODY``: nothing that a breaker could help with."""

    NOBODY = ""
    PROVIDER = "provider"
    REGISTRY = "registry"
    NODE = "node"
    RUN_SET = "run_set"
    LOSS = "loss"
    """A sandbox or its node, lost under an agent: retries get over a moment of it; the run set's, where it lasts."""


@dataclass(frozen=True, kw_only=True, order=True)
class Scope:
    """One provider, registry or node."""

    kind: Kind
    name: str

    @classmethod
    def of_image(cls, image: str) -> Scope:
        """The registry of an image."""
        return cls(kind=Kind.REGISTRY, name=registry_of(image))

    @classmethod
    def of_registry(cls, key: str) -> Scope | None:
        """The registry that the queue has by this name, if it is one's."""
        kind, _, name = key.partition("/")
        return cls(kind=Kind.REGISTRY, name=name) if name and kind == Kind.REGISTRY else None

    @property
    def key(self) -> str:
        """The queue's name of it. A provider's name has no slash: it is what stands before one in a model's name."""
        return self.name if self.kind is Kind.PROVIDER else f"{self.kind.value}/{self.name}"


@dataclass(frozen=True, kw_only=True)
class Ends:
    """Attempts that ended alike. ``registry``: the one that was asked, if one was."""

    run_set: UUID
    provider: str
    registry: str
    node: str
    blame: Kind
    outcome: str
    attempts: int
    task: str
    several: bool = False
    """Whether they were of more tasks than this one."""
    tasks: frozenset[str] = frozenset()
    """Of what they were, as far as that was kept; at least ``MANY`` where there were as many."""
    lasted_sec: float = 0.0
    """From the minute of the first to that of the last."""


def blame_of(outcome: Outcome, evidence: Sequence[Evidence]) -> Kind:
    """The narrowest kind of scope that the end of an attempt may be laid on."""
    if outcome.owner is Owner.PROVIDER:
        return Kind.PROVIDER
    on_purpose = any("fault" in item.detail for item in evidence)
    if on_purpose or outcome.owner is not Owner.INFRASTRUCTURE or outcome.outcome is OutcomeClass.OUT_OF_MEMORY:
        return Kind.NOBODY
    ended = last_error(evidence)
    if ended is not None and "service_fault" in ended.detail:  # a task can bring that about
        return Kind.NOBODY
    if outcome.outcome is OutcomeClass.IMAGE_ERROR:
        return Kind.REGISTRY if ended is not None and ended.detail.get("registry") else Kind.RUN_SET
    if outcome.outcome in (OutcomeClass.SANDBOX_ERROR, OutcomeClass.AGENT_SETUP_ERROR, OutcomeClass.NODE_LOST):
        return Kind.LOSS if any(item.phase is Phase.AGENT for item in evidence) else Kind.NODE
    return Kind.RUN_SET


def registries_that_worked(evidence: Sequence[Evidence]) -> list[str]:
    """The registries that an attempt's images came from; what was here already says nothing of one."""
    asked = [item.detail.get("asked") for item in evidence if item.phase is Phase.IMAGE]
    return [str(name) for names in asked if isinstance(names, list | tuple) for name in names]


def scopes_of(ends: Ends) -> list[Scope]:
    """Which breakers a failure may open, the likeliest first; none where only its run set can be at fault."""
    provider = Scope(kind=Kind.PROVIDER, name=ends.provider)
    registry, node = Scope(kind=Kind.REGISTRY, name=ends.registry), Scope(kind=Kind.NODE, name=ends.node)
    known = {Kind.PROVIDER: [provider], Kind.REGISTRY: [registry, node], Kind.NODE: [node]}.get(ends.blame, [])
    return [scope for scope in known if scope.name or scope.kind is Kind.PROVIDER]


def explain(failed: Ends, recent: Sequence[Ends], in_a_row: Mapping[Scope, int]) -> Scope | None:
    """The smallest scope to close for a failure, given what else ended lately; ``None``: no scope explains it yet."""
    suspects = [scope for scope in scopes_of(failed) if not _contradicted(scope, failed, recent)]
    return next((scope for scope in suspects if _over(scope, recent, in_a_row.get(scope, 0))), None)


def troubled(run_set: UUID, recent: Sequence[Ends]) -> Mapping[str, int] | None:
    """The failures by class of a run set whose share of them is too large; ``None`` where it is not.

    ``recent``: without what a closed provider, registry or node explains. One task alone never stops its run set, and
    what a smaller scope may yet explain does not either.
    """
    own = [ends for ends in recent if ends.run_set == run_set]
    failed = [
        ends
        for ends in own
        if ends.blame not in (Kind.NOBODY, Kind.PROVIDER)
        and not _is_tasks_own(ends, recent)
        and (ends.blame is not Kind.LOSS or ends.lasted_sec >= LASTING_SEC)
        and all(_attempts(_inside(scope, recent)) >= LEAST for scope in scopes_of(ends))
    ]
    return class_counts(failed) if _too_many(own, failed) and _of_several_tasks(failed) else None


def class_counts(ends: Iterable[Ends]) -> Mapping[str, int]:
    """Attempts by class."""
    counts: Counter[str] = Counter()
    for one in ends:
        counts[one.outcome] += one.attempts
    return counts


def told(counts: Mapping[str, int]) -> str:
    """Class counts in words, most first."""
    return ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def _over(scope: Scope, recent: Sequence[Ends], in_a_row: int) -> bool:
    own = _inside(scope, recent)
    failed = [ends for ends in own if scope in scopes_of(ends)]
    return (in_a_row >= IN_A_ROW or _too_many(own, failed)) and (
        scope.kind is not Kind.NODE or _of_several_tasks(failed)
    )


def _inside(scope: Scope, recent: Sequence[Ends]) -> list[Ends]:
    """What ended within a scope."""

    def name_in(ends: Ends) -> str:
        return {Kind.PROVIDER: ends.provider, Kind.REGISTRY: ends.registry, Kind.NODE: ends.node}[scope.kind]

    return [ends for ends in recent if name_in(ends) == scope.name]


def _attempts(ends: Sequence[Ends]) -> int:
    return sum(one.attempts for one in ends)


def _too_many(all_: Sequence[Ends], failed: Sequence[Ends]) -> bool:
    attempts = _attempts(all_)
    return attempts >= LEAST and _attempts(failed) > SHARE * attempts


def _of_several_tasks(ends: Sequence[Ends]) -> bool:
    return any(one.several for one in ends) or len({one.task for one in ends}) > 1


def _is_tasks_own(failed: Ends, recent: Sequence[Ends]) -> bool:
    """Sandboxes of a few tasks that do not start, on a node where agents of more other tasks worked."""
    if failed.blame is not Kind.NODE:
        return False
    node = Scope(kind=Kind.NODE, name=failed.node)
    own = _inside(node, recent)
    failing = _tasks(ends for ends in own if node in scopes_of(ends))
    working = _tasks(ends for ends in own if ends.outcome in _AGENT_WORKED) - failing
    return len(failing) < min(len(working), MANY)


def _tasks(ends: Iterable[Ends]) -> set[str]:
    return {task for one in ends for task in (*one.tasks, one.task)}


def _contradicted(scope: Scope, failed: Ends, recent: Sequence[Ends]) -> bool:
    """A registry that works on other nodes than those it fails on is not what fails; nor is a node on which one
    registry fails, unless that one works elsewhere, or one on which a few tasks fail and more others work."""
    if failed.blame is not Kind.REGISTRY:
        return _is_tasks_own(failed, recent)
    refused = [ends for ends in recent if ends.blame is Kind.REGISTRY]
    failing_on = {ends.node for ends in refused if ends.registry == failed.registry}
    works_elsewhere = any(
        ends.registry == failed.registry and ends.blame is not Kind.REGISTRY and ends.node not in failing_on
        for ends in recent
    )
    if scope.kind is Kind.REGISTRY:
        return works_elsewhere
    return not works_elsewhere and len({ends.registry for ends in refused if ends.node == failed.node}) == 1
