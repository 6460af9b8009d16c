"""What a server answers of datasets, evaluators, evaluation jobs and streams. What each takes is imported for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proctor.sdk.remote.datasets import RemoteDatasets
from proctor.sdk.remote.transport import Transport
from proctor.sdk.remote.work import RemoteWork

if TYPE_CHECKING:
    from proctor.sdk.remote.analyses import RemoteAnalyses
    from proctor.sdk.remote.evaluations import RemoteEvaluations
    from proctor.sdk.remote.evaluators import RemoteEvaluators
    from proctor.sdk.remote.prompts import RemotePrompts
    from proctor.sdk.remote.streams import RemoteStreams

__all__ = ["RemoteData"]


class RemoteData:
    """Of one tenant."""

    def __init__(self, transport: Transport) -> None:
        self.transport = transport
        self.work = RemoteWork(transport)
        self.datasets = RemoteDatasets(transport, self.work)

    @property
    def evaluators(self) -> RemoteEvaluators:
        """Evaluators of the tenant, and which of them a tenant may use."""
        from proctor.sdk.remote.evaluators import RemoteEvaluators

        return RemoteEvaluators(self.transport)

    @property
    def prompts(self) -> RemotePrompts:
        """Versions of prompts, which targets name."""
        from proctor.sdk.remote.prompts import RemotePrompts

        return RemotePrompts(self.transport)

    @property
    def analyses(self) -> RemoteAnalyses:
        """What is computed of evaluation jobs."""
        from proctor.sdk.remote.analyses import RemoteAnalyses

        return RemoteAnalyses(self.transport)

    @property
    def evaluations(self) -> RemoteEvaluations:
        """Evaluation jobs; what they take is imported for them alone."""
        from proctor.sdk.remote.evaluations import RemoteEvaluations

        return RemoteEvaluations(self.transport, self.work)

    @property
    def streams(self) -> RemoteStreams:
        """Streams; what they take is imported for them alone."""
        from proctor.sdk.remote.streams import RemoteStreams

        return RemoteStreams(self.transport)
