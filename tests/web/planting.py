"""Trajectories of the tests' own, put where an attempt's is: rich, hostile, long, or growing."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import create_engine, text

from proctor.database.embedded import EmbeddedServer
from proctor.engine.segments import segment_key
from proctor.engine.step_maps import map_of
from proctor.objects.store import ObjectStore
from tests.web.conftest import Site

Step = dict[str, Any]
HOSTILE = (
    '**bold** <script>document.title = "OWNED"</script> [link](javascript:alert(1)) '
    "![pixel](http://evil.example/x.png) "
    '<img src=x onerror="document.title=1"> <style>body { display: none }</style>'
)


def said(message: str, **more: Any) -> Step:
    return {"source": "agent", "message": message, **more}


def called(arguments: Mapping[str, Any], output: str, message: str = "", tool: str = "bash") -> Step:
    call = {"tool_call_id": "c", "function_name": tool, "arguments": dict(arguments)}
    result = {"source_call_id": "c", "content": output}
    return {"source": "agent", "message": message, "tool_calls": [call], "observation": {"results": [result]}}


def rich() -> list[Step]:
    """Every kind of step: 10 is the last that failed."""
    red = "\x1b[31mAssertionError: assert 1 == 2\x1b[0m"
    return [
        {"source": "user", "message": "# Mend it\n\nMake **all** tests pass."},
        said("I look first.", reasoning_content="What is there?"),
        called({"command": "cat run.py"}, "".join(f"{n}  line\n" for n in range(60)) + "[exit 0]"),
        called({"file_path": "run.py", "old_string": "a\n", "new_string": "b\nc\n"}, "ok", tool="edit"),
        called(
            {"command": "pytest"}, "".join(f"frame {n}\n" for n in range(200)) + f"{red}\n[exit 1]", "Now the tests."
        ),
        said(HOSTILE),
        called({"command": "cat big.log"}, "a line that goes on\n" * 20_000 + "[exit 0]"),
        called({"path": "more.py", "content": "x = 1\n"}, "written", tool="write"),
        said("Once more."),
        called({"command": "pytest"}, f"# no heading   and   columns\n{HOSTILE}\n[exit 2]"),
        said("I give up."),
    ]


def many(count: int = 50_000) -> list[Step]:
    steps = [called({"command": f"run {n}"}, "line of output\n" * (20 + n % 30) + "[exit 0]") for n in range(count - 1)]
    return [*steps, said("The last word is sesame.")]


@dataclass(frozen=True)
class Planting:
    """Of one attempt."""

    site: Site
    attempt: str

    def whole(self, steps: Iterable[Step]) -> None:
        """The document of an attempt that has ended, as a worker leaves it."""
        numbered = [{**step, "step_id": number} for number, step in enumerate(steps, start=1)]
        document = {"schema_version": "ATIF-v1.7", "agent": {"name": "x", "version": "1"}, "steps": numbered}
        data = json.dumps(document).encode()
        stored = self._objects.put(f"{self._tenant}/attempts/{self.attempt}/planted-{len(data)}.json", data)
        map_of(self._objects, self._tenant, stored)  # which keeps it
        named = {"name": "trajectory.json", "key": stored.key, "sha256": stored.sha256, "size": stored.size}
        self._update("artifacts = CAST(:value AS jsonb)", json.dumps([named]))

    def nothing(self) -> None:
        """It left no trajectory, and its agent never began."""
        self._update("artifacts = CAST(:value AS jsonb)", "[]")
        for key in self._objects.list(f"{self._tenant}/attempts/{self.attempt}/trajectory/"):
            self._objects.delete(key)  # where it took longer than a second
        self._do("DELETE FROM proctor.evidence WHERE attempt_id = :id AND phase NOT IN ('prepare', 'image')", "")

    @contextmanager
    def running(self) -> Iterator[None]:
        """It has not ended, until the end."""
        self._update("artifacts = CAST(:value AS jsonb), ended_at = NULL, phase = 'agent'", "[]")
        self._do("DELETE FROM proctor.outcome WHERE attempt_id = :id", "")
        try:
            yield
        finally:
            self._update("ended_at = CAST(:value AS timestamptz)", "2026-12-01T00:00:00Z")

    def segment(self, number: int, first: int, count: int, output: str = "out\n" * 5) -> None:
        """More steps of an attempt that runs."""
        steps = [{**called({"command": f"step {n}"}, output), "step_id": n} for n in range(first, first + count)]
        lines = b"".join(json.dumps(step).encode() + b"\n" for step in steps)
        self._objects.put(segment_key(self._tenant, UUID(self.attempt), "trajectory", number), lines)

    @property
    def _objects(self) -> ObjectStore:
        return ObjectStore(self.site.folder / "home" / "objects")

    @property
    def _tenant(self) -> UUID:
        with self.site.api() as api:
            return UUID(api.get("me").json()["tenant"])

    def _update(self, what: str, value: str) -> None:
        self._do(f"UPDATE proctor.attempt SET {what} WHERE id = :id", value)

    def _do(self, statement: str, value: str) -> None:
        with EmbeddedServer(self.site.folder / "home" / "postgres") as urls:
            engine = create_engine(urls.owner)
            with engine.begin() as connection:
                tenant = {"tenant": str(self._tenant)}
                connection.execute(text("SELECT set_config('proctor.tenant', :tenant, true)"), tenant)
                given = {"value": value} if ":value" in statement else {}
                connection.execute(text(statement), {**given, "id": UUID(self.attempt)})
            engine.dispose()
