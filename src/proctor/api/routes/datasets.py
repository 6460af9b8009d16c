"""Datasets: immutable versions of examples; long work on them is answered with a receipt."""

from __future__ import annotations

import tempfile
from typing import IO, Annotated

import anyio.to_thread
from fastapi import APIRouter, Depends, Path, Query, Request, Response
from pydantic import BaseModel, ConfigDict, Field

from proctor.api.answers import answered
from proctor.api.asking import Asked, needs
from proctor.api.idempotency import Repeatable
from proctor.api.lists import Page, Paging
from proctor.api.receipts import ACCEPTED, accepted
from proctor.api.threads import slowly
from proctor.api.uploads import kept, receive
from proctor.datasets.browsing import FitCount, ListedExample
from proctor.datasets.derivations import Derivation, Filter, NewVersion
from proctor.datasets.differing import VersionDiff
from proctor.datasets.exporting import ExportFormat
from proctor.datasets.formats.catalogue import Format
from proctor.datasets.quality import DatasetQuality
from proctor.datasets.queries import QUERY_CHARACTERS, parse_query
from proctor.datasets.references import check_name
from proctor.datasets.registry import DatasetRow
from proctor.datasets.service import DatasetDetail
from proctor.datasets.versions import TIMESTAMP, DatasetVersion, check_label
from proctor.evaluators.facts import DatasetFacts
from proctor.identity.audit_log import Action
from proctor.identity.permissions import Permission
from proctor.operations.service import Operation
from proctor.sdk.dataset_work import DATASET_BYTES, DatasetDeriveWork, DatasetExportWork, DatasetImportWork
from proctor.sdk.work import WorkKind

__all__ = ["router"]

router = APIRouter(tags=["datasets"], route_class=Repeatable)
DatasetReference = Annotated[
    str, Path(min_length=1, max_length=200, description="NAME, NAME@VERSION, or an id or its first 8 characters.")
]
_Reads = Annotated[Asked, needs(Permission.DATASETS_READ)]
_Writes = Annotated[Asked, needs(Permission.DATASETS_WRITE)]
_Word = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]+$")]
_Source = Annotated[str, Field(min_length=1, max_length=2000, pattern=r"^[^\x00]+$")]
_Query = Annotated[str, Field(min_length=1, max_length=QUERY_CHARACTERS, pattern=r"^[^\x00]+$")]
_QUERY: str = (
    "Words and terms that all fit: NAME=VALUE of a field, NAME=* any value of it; is:duplicate and more flaws; "
    "- before a term leaves out what fits. docs/reference/datasets.md has all of it."
)
_Pair = Annotated[str, Field(max_length=2000, pattern=r"^[^=\x00]{1,200}=[^\x00]*$")]
_InputField = Annotated[str, Query(min_length=1, max_length=200, description="What the file calls the input.")]
_ExpectedField = Annotated[
    str,
    Query(
        max_length=200,
        description="What the file calls what is expected. Empty: no field is that, and `expected` is metadata like "
        "any other.",
    ),
]
_IdField = Annotated[
    str | None,
    Query(
        max_length=200,
        description="What the file calls the id; without it `id`, where it is there. Empty: no field is the id, every "
        "example has one of its input, and `id` is metadata like any other.",
    ),
]


class DerivationWanted(BaseModel):
    """What is to be made, and of what."""

    model_config = ConfigDict(extra="forbid")

    new: NewVersion
    derivation: Derivation


class SplitsWanted(BaseModel):
    """Shares of the examples by the names of the splits. The same seed and shares are the same splits."""

    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"examples": [{"shares": {"train": 0.8, "test": 0.2}, "seed": 7}]}
    )

    shares: dict[_Word, Annotated[float, Field(gt=0, le=1)]] = Field(min_length=1, max_length=100)
    seed: int = Field(ge=0, lt=2**63)


class DatasetExportWanted(BaseModel):
    """The form that a version is to be written in. ``file``: its name in the download."""

    model_config = ConfigDict(extra="forbid")

    format: ExportFormat
    file: str = Field(default="export", min_length=1, max_length=200, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")


@router.get("/datasets", response_model=Page[DatasetRow])
def list_datasets(asked: _Reads, paging: Paging) -> Response:
    """Every dataset with its newest version, by name."""
    return answered(paging.cut(asked.client.datasets.all(), lambda row: row.name))


@router.get("/datasets/{dataset}", response_model=DatasetDetail)
def show_dataset(asked: _Reads, dataset: DatasetReference) -> Response:
    """A version with its objects, what it was made of, and its splits; the newest without a version."""
    return answered(asked.client.datasets.show(dataset))


@router.get("/datasets/{dataset}/facts", response_model=DatasetFacts)
@slowly
def show_dataset_facts(asked: _Reads, dataset: DatasetReference) -> Response:
    """How many of its examples expect what: which evaluators fit follows from it."""
    return answered(asked.client.evaluators.facts(dataset))


@router.get("/datasets/{dataset}/versions", response_model=Page[DatasetVersion])
def list_dataset_versions(asked: _Reads, paging: Paging, dataset: DatasetReference) -> Response:
    """A dataset's versions, the newest first."""
    (before,) = paging.place(int) or (None,)
    found = asked.platform.datasets.versions(asked.tenant, dataset, before=before, limit=paging.limit)
    following = [found[-1][0]] if len(found) == paging.limit else None
    return answered(
        {
            "items": paging.narrowed([version for _, version in found]),
            "next": None if following is None else paging.listing.cursor(following),
        }
    )


async def _filter(
    dataset: DatasetReference,
    tags: Annotated[list[_Word], Query(max_length=100, description="Only those with all of these.")] = [],  # noqa: B006
    without_tags: Annotated[list[_Word], Query(max_length=100, description="And none of these.")] = [],  # noqa: B006
    difficulty: Annotated[_Word | None, Query(description="Only those of this.")] = None,
    from_source: Annotated[_Source | None, Query(description="Whose source is this.")] = None,
    split: Annotated[_Word | None, Query(description="Only those of this split.")] = None,
    words: Annotated[
        _Word | None,
        Query(description="Only those in whose id, input or expected output this stands, whatever its case."),
    ] = None,
    query: Annotated[
        _Query | None, Query(description=_QUERY, examples=['refund segment=gift -tag="late order"'])
    ] = None,
) -> Filter:
    return Filter(
        source=dataset,
        tags=tags,
        without_tags=without_tags,
        difficulty=difficulty,
        from_source=from_source,
        split=split,
        words=words,
        query=query,
    )


_Filter = Annotated[Filter, Depends(_filter)]


@router.get("/datasets/{dataset}/examples", response_model=Page[ListedExample])
@slowly
def list_examples(asked: _Reads, paging: Paging, wanted: _Filter) -> Response:
    """A version's examples in their order, without their embeddings."""
    (start,) = paging.place(_position) or (0,)
    page = asked.client.datasets.examples(wanted, start=start, limit=paging.limit)
    following = None if page.next is None else paging.listing.cursor([page.next])
    return answered({"items": paging.narrowed(page.examples), "next": following})


@router.get("/datasets/{dataset}/examples/count", response_model=FitCount)
@slowly
def count_examples(asked: _Reads, wanted: _Filter) -> Response:
    """How many of a version's examples fit. It looks at all of them."""
    return answered(asked.client.datasets.count(wanted))


@router.get("/datasets/{dataset}/quality", response_model=DatasetQuality)
@slowly
def show_dataset_quality(asked: _Reads, dataset: DatasetReference) -> Response:
    """What to know of a version before trusting numbers on it: counts, each with the query of the examples counted."""
    return answered(asked.client.datasets.quality(dataset))


@router.get("/datasets/{dataset}/diff", response_model=VersionDiff)
@slowly
def show_diff(
    asked: _Reads,
    dataset: DatasetReference,
    against: Annotated[str, Query(min_length=1, max_length=200, description="The version before, as it is named.")],
    beyond: Annotated[str, Query(max_length=512, description="`next` of the page before.")] = "",
    limit: Annotated[int, Query(ge=1, le=1000, description="Examples of a page.")] = 100,
) -> Response:
    """How a version differs from another, by the ids of their examples."""
    return answered(asked.client.datasets.diff(against, dataset, beyond=beyond, limit=limit))


@router.post(
    "/datasets/imports",
    status_code=202,
    responses=ACCEPTED,
    response_model=Operation,
    openapi_extra={
        "requestBody": {
            "required": True,
            "content": {
                media: {"schema": {"type": "string", "format": "binary"}}
                for media in ("application/octet-stream", "application/x-tar")
            },
        }
    },
)
async def create_dataset_import(
    request: Request,
    asked: _Writes,
    name: Annotated[str, Query(min_length=1, max_length=100, description="The dataset's.")],
    format: Annotated[Format, Query(description="What is sent.")],
    file: Annotated[str, Query(min_length=1, max_length=200, pattern=r"^[^/\x00-\x1f]+$", description="Its name.")],
    version: Annotated[
        str | None, Query(max_length=100, description="1.2.0, timestamp, or the next minor one.")
    ] = None,
    metadata: Annotated[list[_Pair], Query(max_length=100, description="KEY=VALUE of the version.")] = [],  # noqa: B006
    id_field: _IdField = None,
    input_field: _InputField = "input",
    expected_field: _ExpectedField = "expected",
    skip_malformed: Annotated[bool, Query(description="Leave out what is no example.")] = False,
    dry_run: Annotated[bool, Query(description="Only tell what would change.")] = False,
) -> Response:
    """Import a file, or a folder as a tar. Compared by id with the newest version; the same again changes nothing."""
    new = _new(name, version, metadata)
    with tempfile.NamedTemporaryFile() as received:
        await receive(request, received, DATASET_BYTES)
        work = {
            "dataset": name,
            "new": new,
            "creator": asked.principal.name,
            "is_folder": request.headers.get("content-type", "").startswith("application/x-tar"),
            "file": file,
            "format": format,
            "id_field": id_field,
            "input_field": input_field,
            "expected_field": expected_field,
            "skip_malformed": skip_malformed,
            "dry_run": dry_run,
        }
        return await anyio.to_thread.run_sync(_import, asked, received, work)


@router.post("/datasets/derivations", status_code=202, responses=ACCEPTED, response_model=Operation)
def create_derivation(asked: _Writes, body: DerivationWanted) -> Response:
    """Make a version of others: filter, merge, relabel, dedupe or sample."""
    _new(body.new.dataset, body.new.version, ())
    derivation = body.derivation
    if derivation.operation == "filter" and derivation.query is not None:
        parse_query(derivation.query)
    datasets = asked.platform.datasets
    for reference in derivation.sources if derivation.operation == "merge" else [derivation.source]:
        datasets.find(asked.tenant, reference)
    work = DatasetDeriveWork(
        dataset=body.new.dataset, new=body.new, creator=asked.principal.name, derivation=derivation
    )
    return accepted(asked, WorkKind.DATASET_DERIVE, work)


@router.post("/datasets/{dataset}/splits", status_code=201, response_model=DatasetDetail)
def create_splits(asked: _Writes, dataset: DatasetReference, body: SplitsWanted) -> Response:
    """Give a version splits by the hashes of its ids; later versions of the dataset have them too."""
    done = asked.platform.datasets.split(
        asked.tenant, dataset, body.shares, seed=body.seed, creator=asked.principal.name
    )
    names = ", ".join(body.shares)
    return asked.noted(answered(done, 201), Action.DATASET_SPLIT, done.version.reference, splits=names)


@router.post("/datasets/{dataset}/exports", status_code=202, responses=ACCEPTED, response_model=Operation)
def create_dataset_export(asked: _Reads, dataset: DatasetReference, body: DatasetExportWanted) -> Response:
    """Export a version with its embeddings; the operation's download is the file in a gzipped tar."""
    version = asked.platform.datasets.find(asked.tenant, dataset)
    work = DatasetExportWork(dataset=version.dataset, version=str(version.id), format=body.format, file=body.file)
    return accepted(asked, WorkKind.DATASET_EXPORT, work)


def _position(part: object) -> int:
    if not isinstance(part, int) or part < 0:
        raise ValueError(part)
    return part


def _new(name: str, version: str | None, metadata: list[str] | tuple[()]) -> NewVersion:
    """What is to be made, refused at once where it can't be. Raises ``DatasetNameInvalid``, ``VersionInvalid``."""
    check_name(name)
    if version not in (None, TIMESTAMP):
        check_label(version)
    pairs = [one.partition("=") for one in metadata]
    return NewVersion(dataset=name, version=version, metadata={key: value for key, _, value in pairs})


def _import(asked: Asked, file: IO[bytes], work: dict[str, object]) -> Response:
    return kept(asked, file, WorkKind.DATASET_IMPORT, DatasetImportWork, work)
