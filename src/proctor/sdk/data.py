"""What the client answers of datasets, evaluators, evaluation jobs and streams. What each takes is imported for it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from proctor.app import Platform

if TYPE_CHECKING:
    from proctor.sdk.analyses import JobAnalyses
    from proctor.sdk.datasets import Datasets
    from proctor.sdk.evaluations import Evaluations
    from proctor.sdk.evaluators import Evaluators
    from proctor.sdk.prompts import Prompts
    from proctor.sdk.streams import Streams

__all__ = ["DataCalls"]


class DataCalls:
    """Of one tenant's platform. Most commands have nothing to do with it, and it takes long to import."""

    _platform: Platform

    @property
    def datasets(self) -> Datasets:
        """Datasets and their versions."""
        from proctor.sdk.datasets import Datasets

        return Datasets(self._platform)

    @property
    def evaluators(self) -> Evaluators:
        """The registry of evaluators."""
        from proctor.sdk.evaluators import Evaluators

        return Evaluators(self._platform)

    @property
    def prompts(self) -> Prompts:
        """Versions of prompts, which targets name."""
        from proctor.sdk.prompts import Prompts

        return Prompts(self._platform)

    @property
    def evaluations(self) -> Evaluations:
        """Evaluation jobs, and the outputs that they judge."""
        from proctor.sdk.evaluations import Evaluations

        return Evaluations(self._platform)

    @property
    def analyses(self) -> JobAnalyses:
        """What is computed of evaluation jobs."""
        from proctor.sdk.analyses import JobAnalyses

        return JobAnalyses(self._platform)

    @cached_property
    def streams(self) -> Streams:
        """Streams; one for all threads, so that what they send at once is added together."""
        from proctor.sdk.streams import Streams

        return Streams(self._platform)
