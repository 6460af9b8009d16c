"""Analyses of evaluation jobs on a server: what ``proctor.sdk.analyses.JobAnalyses`` answers, answered by it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

from proctor.analysis.power import Design
from proctor.jobs.analyses.differences import JobComparison, MovedExample
from proctor.jobs.analyses.figures import JobReport
from proctor.jobs.analyses.planning import Plan
from proctor.jobs.analyses.values import Agreement, By, History, JobFailures, Repeats, Segments, Spread
from proctor.sdk.cursors import Listing
from proctor.sdk.remote.answers import part, read
from proctor.sdk.remote.transport import API, Transport

__all__ = ["RemoteAnalyses"]

_LARGEST_PAGE = 1000


class RemoteAnalyses:
    """What a server computes of evaluation jobs. Each call as ``JobAnalyses`` has it."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def compare(
        self,
        job: str,
        against: str,
        *,
        evaluators: Sequence[str] = (),
        margin: float | None = None,
        alpha: float = 0.05,
    ) -> JobComparison:
        """A job less another, example by example. ``margin``: asks for a verdict, and is how much worse is none."""
        asked = {"against": against, "evaluator": list(evaluators), "margin": margin, "alpha": alpha}
        return read(JobComparison, self._transport.get(f"jobs/{part(job)}/comparison", **asked))

    def moved(
        self, job: str, against: str, *, evaluator: str | None = None, after: int = -1, limit: int = 100
    ) -> list[MovedExample]:
        """A page of the examples that are scored differently, the largest drops first: after the ``after``-th."""
        asked = {"against": against, **({} if evaluator is None else {"evaluator": evaluator})}
        listing = Listing(f"{API}/jobs/{job}/moved", tuple(asked.items()))
        cursor, found = (None if after < 0 else listing.cursor([after])), list[MovedExample]()
        while True:
            size = min(_LARGEST_PAGE, limit - len(found))
            page = self._transport.get(f"jobs/{part(job)}/moved", **asked, limit=size, cursor=cursor)
            found += read(list[MovedExample], page["items"])
            cursor = page["next"]
            if cursor is None or len(found) >= limit:
                return found

    def segments(self, job: str, by: By = By.TAG, *, evaluators: Sequence[str] = ()) -> list[Segments]:
        """Each evaluator's scores by tag, difficulty or source of the examples, corrected (Holm)."""
        asked = {"by": by.value, "evaluator": list(evaluators)}
        return read(list[Segments], list(self._transport.pages(f"jobs/{part(job)}/segments", **asked)))

    def failures(self, job: str, *, evaluator: str | None = None) -> JobFailures:
        """What has no score: by status, and by what the errors say."""
        return read(JobFailures, self._transport.get(f"jobs/{part(job)}/failures", evaluator=evaluator))

    def distribution(self, job: str, *, evaluators: Sequence[str] = ()) -> list[Spread]:
        """How each evaluator's scores are spread."""
        return read(
            list[Spread],
            list(self._transport.pages(f"jobs/{part(job)}/distribution", evaluator=list(evaluators))),
        )

    def repeats(self, job: str, ks: Sequence[int] = (1,), *, evaluators: Sequence[str] = ()) -> list[Repeats]:
        """pass@k and pass^k."""
        asked = {"k": list(ks), "evaluator": list(evaluators)}
        return read(list[Repeats], list(self._transport.pages(f"jobs/{part(job)}/repeats", **asked)))

    def agreement(
        self, job: str, *, evaluators: Sequence[str] = (), level: str | None = None, decimals: int | None = None
    ) -> Agreement:
        """How far evaluators agree beyond chance. ``decimals``: round scores first."""
        asked = {"evaluator": list(evaluators), "level": level, "decimals": decimals}
        return read(Agreement, self._transport.get(f"jobs/{part(job)}/agreement", **asked))

    def history(self, jobs: Sequence[str], *, evaluators: Sequence[str] = (), alpha: float = 0.01) -> History:
        """Means over time, and where the level changed. A name stands for all jobs that have it."""
        asked = {"job": list(jobs), "evaluator": list(evaluators), "alpha": alpha}
        return read(History, self._transport.get("job-history", **asked))

    def report(self, job: str, against: str | None = None) -> JobReport:
        """Numbers, comparison, distributions, segments and failures of a job, each figure with its SQL."""
        return read(JobReport, self._transport.get(f"jobs/{part(job)}/report", against=against))

    def power(self, design: Design, *, difference: float | None, items: int | None, power: float = 0.8) -> Plan:
        """What a comparison of that design takes, or shows."""
        asked = {**asdict(design), "difference": difference, "items": items, "power": power}
        return read(Plan, self._transport.get("power", **asked))
