"""Whether one attempt is hit, asked by the ports' wrappers when the moment has come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from proctor.engine.assignments import Assignment, TaskLibrary
from proctor.engine.faults.plan import FaultKind, PlannedFault
from proctor.kernel.canonical import Json

__all__ = ["Hit"]


class Hit:
    """The fault of one attempt: the first entry that fits it, if one does. Remembers what was made until it is told."""

    def __init__(self, candidates: Sequence[PlannedFault], assignment: Assignment, library: TaskLibrary) -> None:
        self._candidates, self._assignment, self._library = candidates, assignment, library
        self._made = False

    @cached_property
    def fault(self) -> PlannedFault | None:
        """The entry. The task's name decides, so it is first asked for after the task was loaded."""
        loaded = self._library.load(self._assignment.tenant, self._assignment.content_digest)
        return next((one for one in self._candidates if one.hits_task(loaded.name)), None)

    def makes(self, kind: FaultKind) -> bool:
        """Whether this kind is to be made now; the evidence of the phase will name the entry."""
        made = self.fault is not None and self.fault.kind is kind
        self._made |= made
        return made

    def remarks(self) -> Mapping[str, Json]:
        """What evidence adds for a reader: ``fault`` for a phase in which one was made."""
        made, self._made = self._made, False
        return {"fault": self.fault.name} if made and self.fault is not None else {}
