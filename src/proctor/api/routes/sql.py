"""SQL over a tenant's results, answered as an Arrow stream."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from io import BytesIO
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, ConfigDict, Field

from proctor.api.asking import Asked, needs
from proctor.api.threads import slowly
from proctor.identity.permissions import Permission
from proctor.results import errors as _errors  # noqa: F401  the document names what a query is refused with

if TYPE_CHECKING:
    from proctor.results.sql import Answer

__all__ = ["router"]

router = APIRouter(tags=["evaluation jobs"])
_Reads = Annotated[Asked, needs(Permission.EVALUATORS_READ)]
ARROW: str = "application/vnd.apache.arrow.stream"
SECONDS: int = 50
"""Of a query: a request has sixty, and who asks is to hear why it was too long."""
_ANSWER: dict[int | str, dict[str, Any]] = {200: {"content": {ARROW: {}}, "description": "Columns, then rows."}}


class QueryWanted(BaseModel):
    """One SELECT over `results`, `daily` sums of them or `rollups`, as docs/reference/results-schema.md names them."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"sql": "SELECT evaluator, avg(score) FROM results GROUP BY evaluator"}]},
    )

    sql: str = Field(min_length=1, max_length=1 << 20)
    jobs: list[Annotated[str, Field(min_length=1, max_length=100)]] = Field(
        default_factory=list, max_length=1000, description="Only results of these; of all without."
    )


@router.post("/sql", response_class=StreamingResponse, responses=_ANSWER)
@slowly
def run_query(asked: _Reads, body: QueryWanted) -> StreamingResponse:
    """Run it in a process of its own, which sees the tenant's results and nothing else of the machine."""
    from proctor.results.sql import QueryLimits

    held = ExitStack()
    limits = QueryLimits(seconds=SECONDS)
    found = held.enter_context(asked.client.evaluations.sql(body.sql, body.jobs, limits=limits))
    return StreamingResponse(_stream(found, held), media_type=ARROW)


def _stream(found: Answer, held: ExitStack) -> Iterator[bytes]:
    """As Arrow's stream format. One that breaks off has no end, which readers take for an error."""
    import pyarrow as pa

    sent = BytesIO()
    with held:
        with pa.ipc.new_stream(sent, found.schema) as writer:
            for batch in found.batches:
                writer.write_batch(batch)
                yield _taken(sent)
        yield _taken(sent)


def _taken(sent: BytesIO) -> bytes:
    data = sent.getvalue()
    sent.seek(0)
    sent.truncate()
    return data
