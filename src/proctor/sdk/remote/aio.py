"""The same client for asyncio: every call of ``RemoteClient``, awaited.

Calls are made in threads of their own, many at once; a call that is cancelled is waited for no longer, and ends by
itself. Events come over the loop, and end with whoever reads them.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, asynccontextmanager
from functools import partial, wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from proctor.engine.reading import RunSetStatus
from proctor.sdk.remote.client import RemoteClient
from proctor.sdk.remote.datasets import RemoteDatasets
from proctor.sdk.remote.errors import ServerFault, ServerRefused, ServerUnreachable
from proctor.sdk.remote.evaluations import RemoteEvaluations
from proctor.sdk.remote.events import (
    FIRST_WAIT_SEC,
    LONGEST_WAIT_SEC,
    QUIET_SEC,
    Blocks,
    EventsLost,
    LiveEvent,
    passes,
    read_block,
)
from proctor.sdk.remote.spending import RemoteSpendings
from proctor.sdk.remote.streams import RemoteStreams
from proctor.sdk.remote.trajectories import RemoteTrajectories
from proctor.sdk.remote.transport import API, checked, given, transport_errors
from proctor.sdk.remote.usage import RemoteUsages

if TYPE_CHECKING:
    from httpx2 import AsyncClient as Http

    from proctor.results.sql import Answer
    from proctor.sdk.remote.analyses import RemoteAnalyses
    from proctor.sdk.remote.evaluators import RemoteEvaluators
    from proctor.sdk.remote.prompts import RemotePrompts

__all__ = ["AsyncClient"]

P = ParamSpec("P")
T = TypeVar("T")
CALLS_AT_ONCE: int = 32


class AsyncClient:
    """One tenant's platform on a server, for asyncio."""

    def __init__(self, client: RemoteClient, http: Http) -> None:
        self._client, self._http = client, http
        self._pool = ThreadPoolExecutor(CALLS_AT_ONCE, thread_name_prefix="proctor-sdk")
        soon = self._soon
        self.run_sets = soon(client.run_sets)
        self.find = soon(client.find)
        self.status = soon(client.status)
        self.leaderboard = soon(client.leaderboard)
        self.task_names = soon(client.task_names)
        self.cells = soon(client.cells)
        self.cell = soon(client.cell)
        self.matrix = soon(client.matrix)
        self.matrix_ids = soon(client.matrix_ids)
        self.running = soon(client.running)
        self.stalled = soon(client.stalled)
        self.attempt = soon(client.attempt)
        self.artifact = soon(client.artifact)
        self.save_artifact = soon(client.save_artifact)
        self.final_state = soon(client.final_state)
        self.logs = soon(client.logs)
        self.history = soon(client.history)
        self.profiles = soon(client.profiles)
        self.compare = soon(client.compare)
        self.compare_segments = soon(client.compare_segments)
        self.compare_tasks = soon(client.compare_tasks)
        self.gate = soon(client.gate)
        self.sides = soon(client.sides)
        self.check_reference = soon(client.check_reference)
        self.standings = soon(client.standings)
        self.agents = soon(client.agents)
        self.providers = soon(client.providers)
        self.pause = soon(client.pause)
        self.cancel = soon(client.cancel)
        self.resume = soon(client.resume)
        self.unblock = soon(client.unblock)
        self.label = soon(client.label)
        self.labels = soon(client.labels)
        self.prepare = soon(client.prepare)
        self.prepare_tasks = soon(client.prepare_tasks)
        self.dry_run = soon(client.dry_run)
        self.open_run_set = soon(client.open_run_set)
        self.plan_regrade = soon(client.plan_regrade)
        self.regrade = soon(client.regrade)
        self.reclassify = soon(client.reclassify)
        self.move_pin = soon(client.move_pin)
        self.audit = soon(client.audit)
        self.import_results = soon(client.import_results)
        self.export = soon(client.export)
        self.suites = soon(client.suites)
        self.suite = soon(client.suite)
        self.suite_board = soon(client.suite_board)
        self.knows_suite = soon(client.knows_suite)
        self.import_suite = soon(client.import_suite)
        self.import_dataset = soon(client.import_dataset)
        self.send_suite = soon(client.send_suite)
        self.set_alias = soon(client.set_alias)
        self.aliases = soon(client.aliases)
        self.usage = AsyncUsages(client.usage, self)
        self.spend = AsyncSpendings(client.spend, self)
        self.trajectories = AsyncTrajectories(client.trajectories, self)
        self.datasets = AsyncDatasets(client.datasets, self)
        self.evaluations = AsyncEvaluations(client.evaluations, self)
        self.streams = AsyncStreams(client.streams, self)
        self.evaluators = AsyncEvaluators(client.evaluators, self)
        self.prompts = AsyncPrompts(client.prompts, self)
        self.analyses = AsyncAnalyses(client.analyses, self)

    @classmethod
    @asynccontextmanager
    async def open(cls, server: str, key: str) -> AsyncIterator[AsyncClient]:
        """Connections are made as they are needed."""
        from httpx2 import AsyncClient as Http

        with RemoteClient.open(server, key) as client:
            async with Http(base_url=server, follow_redirects=False, timeout=QUIET_SEC) as http:
                opened = cls(client, http)
                try:
                    yield opened
                finally:
                    opened._pool.shutdown(wait=False, cancel_futures=True)

    async def ended(self, reference: str | None, *, every_sec: float = 1.0) -> RunSetStatus:
        """Wait until nothing of a run set is left to do, or somebody stopped it; how it stands then."""
        while True:
            status = await self.status(reference)
            if status.run_set.state != "running":
                return status
            await asyncio.sleep(every_sec)

    async def log_segments(self, attempt: Any, *, after: int = 0) -> AsyncIterator[tuple[int, bytes]]:
        """What an attempt printed after the segment numbered so, as one piece with the number of its last."""
        for segment in await self._soon(lambda: list(self._client.log_segments(attempt, after=after)))():
            yield segment

    async def steps(self, detail: Any, *, after: int = 0) -> AsyncIterator[Mapping[str, Any]]:
        """The steps of an attempt's trajectory (ATIF) numbered above ``after``, as far as it has come."""
        for step in await self._soon(lambda: list(self._client.steps(detail, after=after)))():
            yield step

    async def events(
        self, *, topics: Sequence[str] = (), after: str | None = None, wait: float | None = None
    ) -> AsyncIterator[LiveEvent | EventsLost]:
        """What happens, from an event's id on or from now on, as long as one reads; ``wait=0``: what is kept.

        A topic is ``run-set:ID`` or ``job:ID``; without any, it is all that happens to run sets, attempts and jobs. A
        server that is away is waited for. Raises ``ServerRefused``.
        """
        pause = FIRST_WAIT_SEC
        while True:
            try:
                async for line_after, event in self._connected(topics, after, wait):
                    pause, after = FIRST_WAIT_SEC, line_after
                    if event is not None:
                        yield event
            except (ServerUnreachable, ServerFault, ServerRefused) as error:
                if wait is not None or not passes(error):
                    raise
            if wait is not None:
                return
            await asyncio.sleep(pause)
            pause = min(2 * pause, LONGEST_WAIT_SEC)

    async def _connected(
        self, topics: Sequence[str], after: str | None, wait: float | None
    ) -> AsyncIterator[tuple[str | None, LiveEvent | EventsLost | None]]:
        """One connection: where to go on after, each time it moves, with what happened there."""
        transport, blocks = self._client.transport, Blocks()
        params = given({"topic": list(topics) or None, "after": after, "wait": wait})
        try:
            async with self._http.stream("GET", f"{API}/events", params=params, headers=transport.headers) as response:
                if response.status_code >= 400:
                    await response.aread()
                checked(response, transport.server)
                async for line in response.aiter_lines():
                    block = blocks.feed(line)
                    if block is None:
                        continue
                    after = block.id or after
                    yield after, None
                    for event in read_block(block):
                        yield after, event
        except transport_errors() as error:
            raise ServerUnreachable(f"{type(error).__name__}: {error}", where=transport.server) from error

    def _soon(self, call: Callable[P, T]) -> Callable[P, Awaitable[T]]:
        """A call made in a thread, with the same words."""

        @wraps(call)
        async def later(*words: P.args, **named: P.kwargs) -> T:
            return await asyncio.get_running_loop().run_in_executor(self._pool, partial(call, *words, **named))

        return later


class AsyncTrajectories:
    """``RemoteTrajectories``, awaited."""

    def __init__(self, trajectories: RemoteTrajectories, client: AsyncClient) -> None:
        soon = client._soon
        self.index = soon(trajectories.index)
        self.page = soon(trajectories.page)
        self.find = soon(trajectories.find)
        self.step = soon(trajectories.step)


class AsyncUsages:
    """``RemoteUsages``, awaited."""

    def __init__(self, usages: RemoteUsages, client: AsyncClient) -> None:
        soon = client._soon
        self.report = soon(usages.report)
        self.of_tenants = soon(usages.of_tenants)
        self.quota = soon(usages.quota)
        self.set_quota = soon(usages.set_quota)
        self.allowance = soon(usages.allowance)
        self.ledger = soon(usages.ledger)
        self.set_budget = soon(usages.set_budget)
        self.user_budgets = soon(usages.user_budgets)
        self.user_budget = soon(usages.user_budget)
        self.set_user_budget = soon(usages.set_user_budget)


class AsyncSpendings:
    """``RemoteSpendings``, awaited."""

    def __init__(self, spendings: RemoteSpendings, client: AsyncClient) -> None:
        soon = client._soon
        self.report = soon(spendings.report)
        self.of_tenants = soon(spendings.of_tenants)
        self.undecided = soon(spendings.undecided)
        self.entries = soon(spendings.entries)
        self.month = soon(spendings.month)


class AsyncEvaluations:
    """``RemoteEvaluations``, awaited."""

    def __init__(self, evaluations: RemoteEvaluations, client: AsyncClient) -> None:
        soon = client._soon
        self.add_outputs = soon(evaluations.add_outputs)
        self.sample_sets = soon(evaluations.sample_sets)
        self.samples = soon(evaluations.samples)
        self.submit = soon(evaluations.submit)
        self.jobs = soon(evaluations.jobs)
        self.job = soon(evaluations.job)
        self.standing = soon(evaluations.standing)
        self.results = soon(evaluations.results)
        self.pause = soon(evaluations.pause)
        self.resume = soon(evaluations.resume)
        self.cancel = soon(evaluations.cancel)
        self.delete = soon(evaluations.delete)
        self.delete_samples = soon(evaluations.delete_samples)
        self.hold = soon(evaluations.hold)
        self.release = soon(evaluations.release)
        self.retention = soon(evaluations.retention)
        self.set_retention = soon(evaluations.set_retention)
        self._sql, self._soon = evaluations.sql, soon

    @asynccontextmanager
    async def sql(self, query: str, jobs: Sequence[str] = ()) -> AsyncIterator[Answer]:
        """The answer of one SELECT over the tenant's results, of those jobs or of all."""
        with ExitStack() as stack:
            yield await self._soon(stack.enter_context)(self._sql(query, jobs))


class AsyncStreams:
    """``RemoteStreams``, awaited."""

    def __init__(self, streams: RemoteStreams, client: AsyncClient) -> None:
        soon = client._soon
        self.open = soon(streams.open)
        self.append = soon(streams.append)
        self.append_lines = soon(streams.append_lines)
        self.stream = soon(streams.stream)
        self.refusals = soon(streams.refusals)
        self.close = soon(streams.close)


class AsyncAnalyses:
    """``RemoteAnalyses``, awaited."""

    def __init__(self, analyses: RemoteAnalyses, client: AsyncClient) -> None:
        soon = client._soon
        self.compare = soon(analyses.compare)
        self.moved = soon(analyses.moved)
        self.segments = soon(analyses.segments)
        self.failures = soon(analyses.failures)
        self.distribution = soon(analyses.distribution)
        self.repeats = soon(analyses.repeats)
        self.agreement = soon(analyses.agreement)
        self.history = soon(analyses.history)
        self.power = soon(analyses.power)
        self.report = soon(analyses.report)


class AsyncDatasets:
    """``RemoteDatasets``, awaited."""

    def __init__(self, datasets: RemoteDatasets, client: AsyncClient) -> None:
        soon = client._soon
        self.all = soon(datasets.all)
        self.versions = soon(datasets.versions)
        self.show = soon(datasets.show)
        self.examples = soon(datasets.examples)
        self.count = soon(datasets.count)
        self.quality = soon(datasets.quality)
        self.diff = soon(datasets.diff)
        self.import_file = soon(datasets.import_file)
        self.derive = soon(datasets.derive)
        self.split = soon(datasets.split)
        self.export = soon(datasets.export)


class AsyncEvaluators:
    """``RemoteEvaluators``, awaited."""

    def __init__(self, evaluators: RemoteEvaluators, client: AsyncClient) -> None:
        soon = client._soon
        self.all = soon(evaluators.all)
        self.show = soon(evaluators.show)
        self.register = soon(evaluators.register)
        self.facts = soon(evaluators.facts)
        self.suggest = soon(evaluators.suggest)
        self.try_out = soon(evaluators.try_out)
        self.rules = soon(evaluators.rules)
        self.allow = soon(evaluators.allow)


class AsyncPrompts:
    """``RemotePrompts``, awaited."""

    def __init__(self, prompts: RemotePrompts, client: AsyncClient) -> None:
        soon = client._soon
        self.all = soon(prompts.all)
        self.show = soon(prompts.show)
        self.add = soon(prompts.add)
