"""Outputs judged by a metric, and by code of a user's in real sandboxes."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from proctor.evaluators.catalogue import AnyEvaluator, Means, built, defined, judged
from proctor.evaluators.code.rooms import Rooms
from proctor.evaluators.metrics.catalogue import METRICS
from proctor.evaluators.samples import Missing, Sample, Score, rows_of, samples_of
from proctor.kernel.canonical import Json
from proctor.kernel.ids import new_id
from proctor.sandboxes.interfaces import Labels, SandboxBackend
from proctor.sandboxes.local import LocalBackend
from tests.contracts.evaluators import keeps_its_word


def judge(metric: str, *pairs: tuple[Json | Missing, Json], **configuration: Json) -> list[Score]:
    """Outputs against what was expected."""
    evaluator = METRICS[metric].make(configuration, "configuration")
    return rows_of(evaluator.score(samples_of([Sample(input="", expected=one, output=two) for one, two in pairs])))


def one(metric: str, expected: Json | Missing, output: Json, **configuration: Json) -> float | None:
    """The score of one output; ``None`` for none."""
    (found,) = judge(metric, (expected, output), **configuration)
    return found.score


ROWS = [Sample(input=f"q{number}", expected=str(number), output=str(number % 2)) for number in range(4)]


def labels(lasting: timedelta) -> Labels:
    batch = new_id()
    return Labels(
        tenant=new_id(), run_set=batch, attempt=batch, owner="test:1:1.0", expires_at=datetime.now(UTC) + lasting
    )


@contextmanager
def sandboxes() -> Iterator[LocalBackend]:
    """Sandboxes' own users have to pass through its folder; pytest's is private."""
    with tempfile.TemporaryDirectory(prefix="sandboxes-") as name:
        Path(name).chmod(0o711)
        yield LocalBackend(Path(name))


def means(backend: SandboxBackend) -> Means:
    return Means(rooms=lambda: Rooms(backend=backend, labels=labels))


def python(backend: SandboxBackend, source: str, **more: Json) -> AnyEvaluator:
    return built(defined("python", {"source": source, **more}), means(backend))


def command(backend: SandboxBackend, *argv: str, **more: Json) -> AnyEvaluator:
    return built(defined("command", {"command": list(argv), **more}), means(backend))


async def rows(evaluator: AnyEvaluator, samples: list[Sample] = ROWS) -> list[Score]:
    scores = await judged(evaluator, samples_of(samples))
    keeps_its_word(scores)
    return rows_of(scores)
