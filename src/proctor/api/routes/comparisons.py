"""Profiles and run sets compared: the differences with their intervals, by segment, and task by task."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.lists import Page, Paging
from proctor.api.threads import slowly
from proctor.engine.pairing import TasksAsked
from proctor.engine.pairs import Comparison, PairSegments, SegmentField, TaskOfPair
from proctor.identity.permissions import Permission

__all__ = ["router"]

router = APIRouter(tags=["run sets"])
_Reads = Annotated[Asked, needs(Permission.RUNS_READ)]
_Base = Annotated[str, Query(min_length=1, max_length=300, description="RUN_SET[:PROFILE] or label:NAME.")]
_With = Annotated[str, Query(alias="with", min_length=1, max_length=300, description="What it is compared with.")]


@router.get("/comparisons", response_model=Comparison)
@slowly
def compare(
    asked: _Reads,
    side: Annotated[list[str], Query(min_length=1, max_length=20, description="RUN_SET[:PROFILE] or label:NAME.")],
    alpha: Annotated[float, Query(gt=0, lt=1)] = 0.05,
    base_only: Annotated[bool, Query(description="Only the first side with each of the others.")] = False,
    listed: Annotated[
        int | None,
        Query(ge=0, le=1_000_000, description="How many tasks of a kind are named in only_a, only_b and unpaired."),
    ] = None,
) -> Response:
    """Profiles or run sets, task by task: the differences with their intervals."""
    return answered(asked.client.compare(side, alpha=alpha, base_only=base_only, listed=listed))


@router.get("/comparisons/segments", response_model=PairSegments)
@slowly
def compare_segments(
    asked: _Reads, base: _Base, other: _With, alpha: Annotated[float, Query(gt=0, lt=1)] = 0.05
) -> Response:
    """The first pair of two references, its tasks by the difficulty and the category that their authors name.

    Of each field the 50 segments with most tasks; p values are adjusted (Holm) over all of the answer.
    """
    return answered(asked.client.compare_segments(base, other, alpha=alpha))


@router.get("/comparisons/tasks", response_model=Page[TaskOfPair])
@slowly
def list_compared_tasks(
    asked: _Reads,
    paging: Paging,
    base: _Base,
    other: _With,
    show: Annotated[Literal["flips", "both_pass", "both_fail", "owed", "mixed", "all"], Query()] = "flips",
    segment: Annotated[
        str | None,
        Query(
            pattern="^(difficulty|category):.+$",
            max_length=200,
            description="FIELD:LABEL: of which their authors say so.",
        ),
    ] = None,
) -> Response:
    """The tasks of the first pair of two references: those that flipped first, the largest first, then by name.

    `difference`, `cost_nano` and `seconds` are the other's minus the base's. How many there are of each kind a
    comparison says, in the `kinds` of its pairs.
    """
    which = TasksAsked(
        kind=None if show == "all" else show,
        segment=None if segment is None else _segment(segment),
        after=paging.place(float, str, str),
        limit=paging.limit,
    )
    found = asked.client.compare_tasks(base, other, which)
    return answered(paging.page(found, lambda one: one.place))


def _segment(text: str) -> tuple[SegmentField, str]:
    field, _, label = text.partition(":")
    return ("difficulty" if field == "difficulty" else "category"), label
