"""A server over the test database, asked as its users ask; two tenants that must never see each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient
from httpx2 import Response

from proctor.api import create_app
from proctor.api.metrics import Metrics
from proctor.api.middleware import Limits
from proctor.app import Server
from proctor.database.engine import Database
from proctor.identity.audit_log import Actor
from proctor.identity.permissions import Role
from proctor.identity.service import tenant_id
from proctor.identity.setup import found_tenant
from proctor.kernel.ids import new_id
from proctor.objects.store import ObjectStore
from proctor.serving.operations import work_once
from proctor.settings import Settings

SECRET = b"a secret of the tests' own, 32 bytes or more"
API = "/api/v1"


@dataclass
class Asker:
    """Somebody with an API key."""

    http: TestClient
    key: str | None = field(repr=False)

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Response:
        said = {} if self.key is None else {"Authorization": f"Bearer {self.key}"}
        kept = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.http.request(method, f"{API}/{path}", json=body, headers={**said, **kept})

    def get(self, path: str, code: int = 200) -> Any:
        return self._checked(self("GET", path), code)

    def post(self, path: str, body: Any = None, code: int = 201, **headers: str) -> Any:
        return self._checked(self("POST", path, body, **headers), code)

    @staticmethod
    def _checked(response: Response, code: int) -> Any:
        assert response.status_code == code, response.text
        return response.json()


@dataclass
class Tenant:
    """A tenant with a key for each role."""

    id: UUID
    name: str
    http: TestClient
    owner_key: str

    def __post_init__(self) -> None:
        self.owner = Asker(self.http, self.owner_key)
        self._askers = {Role.OWNER: self.owner}

    def as_role(self, role: Role) -> Asker:
        """Somebody of that role, made when first asked for."""
        if role not in self._askers:
            user = self.owner.post("users", {"name": f"{role.value}@{self.name}.example", "role": role.value})
            key = self.owner.post("keys", {"name": "test", "user": user["id"]})
            self._askers[role] = Asker(self.http, key["secret"])
        return self._askers[role]


@pytest.fixture
def server(database: Database, objects: ObjectStore, tmp_path: Path) -> Server:
    return Server(settings=Settings(home=tmp_path / "home"), database=database, objects=objects, secret=SECRET)


@pytest.fixture
def app(server: Server, monkeypatch: pytest.MonkeyPatch) -> Iterator[FastAPI]:
    """The app; whatever a test has it answer, its document says that it may."""
    seen: set[tuple[str, str, int]] = set()
    count = Metrics.answered

    def answered(metrics: Metrics, method: str, route: str, status: int, seconds: float) -> None:
        seen.add((method, route, status))
        count(metrics, method, route, status, seconds)

    monkeypatch.setattr(Metrics, "answered", answered)
    made = create_app(server, Limits(per_second=1e6, burst=1_000_000))
    yield made
    described = _described(made)
    unsaid = [one for one in seen if one[2] not in described.get((one[0], one[1].replace(":path", "")), {one[2]})]
    assert not unsaid, f"answers that the OpenAPI document does not name: {unsaid}"


_DESCRIBED: dict[tuple[str, str], set[int]] = {}


def _described(app: FastAPI) -> dict[tuple[str, str], set[int]]:
    """What the document says that each route may answer: of routes alone, so that it is made once, in a second."""
    if not _DESCRIBED:
        paths = app.openapi()["paths"].items()
        found = [(path, method, operation) for path, item in paths for method, operation in item.items()]
        for path, method, operation in found:
            _DESCRIBED[method.upper(), path.removeprefix(API)] = {int(status) for status in operation["responses"]}
    return _DESCRIBED


@pytest.fixture
def http(app: FastAPI) -> Iterator[TestClient]:
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests of this folder are of the server."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.server)


def send(asker: Asker, path: str, content: bytes, kind: str = "application/octet-stream") -> Response:
    """A POST of bytes as they are."""
    said = {"Content-Type": kind, **({} if asker.key is None else {"Authorization": f"Bearer {asker.key}"})}
    return asker.http.post(f"{API}/{path}", content=content, headers=said)


def work_until_done(server: Server, asker: Asker, operation: str) -> Any:
    """Do waiting work until that operation has ended; it as it is then."""
    while (seen := asker.get(f"operations/{operation}"))["ended_at"] is None:
        assert work_once(server), seen
    return seen


def new_tenant(server: Server, http: TestClient, *, administrator: bool = False) -> Tenant:
    name = f"t-{new_id().hex}"
    founded = server.database.as_tenant(
        tenant_id(name),
        lambda c: found_tenant(
            c, SECRET, Actor(), name=name, owner=f"owner@{name}.example", administrator=administrator
        ),
    )
    return Tenant(id=founded.tenant, name=name, http=http, owner_key=founded.issued.secret)


@pytest.fixture
def acme(server: Server, http: TestClient) -> Tenant:
    return new_tenant(server, http)


@pytest.fixture
def rival(server: Server, http: TestClient) -> Tenant:
    return new_tenant(server, http)


@pytest.fixture
def nobody(http: TestClient) -> Asker:
    return Asker(http, None)
