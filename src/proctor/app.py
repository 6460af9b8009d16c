"""The only composition root: settings become a platform, with its adapters wired to its services."""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import UUID

from proctor.database.engine import Database
from proctor.database.errors import SchemaMissing, SchemaOlder
from proctor.database.upgrade import check_schema, upgrade
from proctor.engine.lanes import Allowed
from proctor.engine.pulls import SharedTurns
from proctor.engine.service import EngineService
from proctor.engine.step_reading import KeptSteps
from proctor.identity.service import ensure_tenant
from proctor.identity.vault.interfaces import Keyring
from proctor.kernel.clock import SystemClock
from proctor.kernel.errors import UsageError
from proctor.objects.store import ObjectStore
from proctor.sandboxes.interfaces import SandboxBackend
from proctor.sandboxes.pulls import PullTurns
from proctor.settings import Settings, docker_logins
from proctor.suites.service import SuiteService

if TYPE_CHECKING:
    from proctor.agents.interfaces import Agent
    from proctor.agents.layers.store import LayerStore
    from proctor.database.embedded import Connections, EmbeddedServer
    from proctor.datasets.service import DatasetService
    from proctor.engine.attempt_models import Models
    from proctor.engine.attempts import RunnerParts
    from proctor.evaluators.service import EvaluatorService
    from proctor.headroom import Node
    from proctor.kernel.canonical import Json
    from proctor.models.known import KnownModels

__all__ = [
    "BackendUnknown",
    "HomeUnusable",
    "Platform",
    "SecretUnusable",
    "Server",
    "TenantMissing",
    "data_folder",
    "docker_backend",
    "embedded_server",
    "keyring_of",
    "layer_store",
    "local_backend",
    "open_platform",
    "open_present",
    "open_server",
    "open_storage",
    "providers_file",
    "server_secret",
]

_SECRET_BYTES = 32
SECRETS_KEY: str = "secrets.key"
"""The key file of the data folder, beside ``server.key``."""
EMBEDDED_TENANT: str = "local"
"""The tenant that a new data folder names; with one's own PostgreSQL nothing is assumed."""


class TenantMissing(UsageError):
    """With PROCTOR_DATABASE_URL the tenant has to be named."""

    code = "tenant-missing"
    remedy = "Set PROCTOR_TENANT."


class HomeUnusable(UsageError):
    """The data folder can't be used."""

    code = "home-unusable"
    remedy = "Name another with PROCTOR_HOME, or let this user write it."


class SecretUnusable(UsageError):
    """A server with a PostgreSQL of one's own needs a secret that its processes share."""

    code = "server-secret"
    remedy = "Set PROCTOR_SERVER_SECRET to 32 random characters or more, the same for all, and keep it with backups."


class BackendUnknown(UsageError):
    """There is no such sandbox backend."""

    code = "sandbox-unknown"
    remedy = "Use sandbox = 'local' or 'docker'; kubernetes comes with a later release."


@dataclass(frozen=True, kw_only=True)
class Platform:
    """Everything, wired, for one tenant."""

    settings: Settings
    database: Database
    tenant: UUID
    objects: ObjectStore
    suites: SuiteService
    engine: EngineService
    steps: KeptSteps = field(default_factory=KeptSteps)
    """Trajectories that were read lately."""

    @property
    def keyring(self) -> Keyring:
        """What wraps the keys of secrets that are kept."""
        return keyring_of(self.settings)

    @property
    def datasets(self) -> DatasetService:
        """The dataset registry. Raises ``DataExtraMissing``."""
        from proctor.datasets.service import DatasetService
        from proctor.engine.scratch import scratch

        folder = _private(self.settings.home / "tmp")
        return DatasetService(self.database, self.objects, lambda: scratch(folder))

    def backend(self, name: str) -> SandboxBackend:
        """A sandbox backend by name. Raises ``BackendUnknown``."""
        if name == "local":
            return local_backend(self.settings)
        if name == "docker":
            return docker_backend(self.settings, SharedTurns(self.database, self.tenant))
        raise BackendUnknown(f"There is no sandbox backend {name!r}.", where="execution.sandbox")

    def node(self, backend: SandboxBackend) -> Node | None:
        """This machine, where sandboxes of that backend take room of one."""
        from proctor.headroom import Node, NodeReader

        footing = backend.footing()
        if footing is None:
            return None
        reader = NodeReader(SystemClock(), footing.disk, own_group=footing.own_group)
        return Node(reader, SystemClock(), overcommit=self.settings.cpu_overcommit)

    @property
    def layers(self) -> LayerStore:
        """Where the programs of agents are kept on this machine."""
        return layer_store(self.settings)

    def agents(self, name: str, options: Mapping[str, Json]) -> Agent:
        """An agent from its name and options; see ``build_agent``."""
        from proctor.agents.catalogue import build_agent

        return build_agent(name, options, self.layers)

    def runner_parts(self, backend: SandboxBackend, owner: str, secrets: Mapping[str, str]) -> RunnerParts:
        """What the attempts of one worker share."""
        from proctor.engine.attempts import RunnerParts
        from proctor.engine.library import CachedLibrary
        from proctor.engine.scratch import make_scratch

        return RunnerParts(
            backend=backend,
            objects=self.objects,
            library=CachedLibrary(self.suites, _private(self.settings.home / "cache" / "tasks")),
            clock=SystemClock(),
            owner=owner,
            scratch=make_scratch(_private(self.settings.home / "tmp")),
            agents=self.agents,
            layers=self.layers,
            secrets=secrets,
            models=self.open_models(),
        )

    @property
    def evaluators(self) -> EvaluatorService:
        """The registry of evaluators."""
        from proctor.evaluators.service import EvaluatorService

        return EvaluatorService(self.database)

    @property
    def known_models(self) -> KnownModels:
        """The providers and prices of this installation. Raises ``ProvidersInvalid``."""
        from proctor.models.opening import known_models

        return known_models(providers_file(self.settings))

    def open_models(self) -> Models:
        """The way to models for the attempts of this process, of whichever tenant."""
        from proctor.engine.attempt_models import Models
        from proctor.engine.budgets import EngineBudgets
        from proctor.identity.audit_log import starter_of
        from proctor.jobs.budgets import JobBudgets
        from proctor.models.opening import Installation
        from proctor.models.spending.reconciling import reconcile

        database = self.database

        def user_of(tenant: UUID, run_set: UUID) -> str:
            return str(database.as_tenant(tenant, lambda c: starter_of(c, tenant, run_set)) or "")

        journals = _private(self.settings.home / "journals")
        installed = Installation(
            database,
            self.objects,
            JobBudgets(EngineBudgets()),
            providers=providers_file(self.settings),
            journals=journals,
        )
        return Models(
            installed.gateway,
            self.known_models.catalogue,
            users=user_of,
            recover=lambda: reconcile(database, journals),
        )


def providers_file(settings: Settings) -> Path:
    """The operator's file of providers; it need not be there unless it is named. Raises ``ProvidersInvalid``."""
    from proctor.models.errors import ProvidersInvalid

    named = settings.providers_file
    if named is not None and not named.exists():
        raise ProvidersInvalid("There is no such file.", where=f"PROCTOR_PROVIDERS_FILE: {named}")
    return named or settings.home / "providers.toml"


def layer_store(settings: Settings) -> LayerStore:
    """The programs of agents below the data folder, or beside it where sandboxes' own users can't get to that."""
    from proctor.agents.layers.store import LayerStore
    from proctor.sandboxes.local.homes import home_of

    return LayerStore(folder=home_of(settings.home / "cache" / "layers"))


def local_backend(settings: Settings) -> SandboxBackend:
    """The sandboxes of this machine."""
    from proctor.sandboxes.local import LocalBackend

    return LocalBackend(settings.sandbox_root or settings.home / "sandboxes")


def docker_backend(settings: Settings, turns: PullTurns | None = None) -> SandboxBackend:
    """Containers of the engine that is found here; ``turns``: at registries, ``None``: this process's own."""
    from proctor.sandboxes.docker import DockerBackend, mark_of

    return DockerBackend(
        mark_of(settings.home),
        runtime=settings.docker_runtime,
        opened=tuple(one.strip() for one in settings.egress_networks.split(",") if one.strip()),
        logins=docker_logins(),
        turns=turns,
        images_kept=timedelta(days=settings.image_days),
    )


def embedded_server(settings: Settings) -> EmbeddedServer:
    """The embedded server of the data folder, whether it runs or not."""
    from proctor.database.embedded import EmbeddedServer

    return EmbeddedServer(settings.home / "postgres")


@dataclass(frozen=True, kw_only=True)
class Server:
    """The platform for all tenants: what roles of a server share."""

    settings: Settings
    database: Database
    objects: ObjectStore
    secret: bytes
    """Of this installation: what keyed hashes are taken with."""
    steps: KeptSteps = field(default_factory=KeptSteps)

    def platform(self, tenant: UUID) -> Platform:
        """As one tenant sees it."""
        return _of_tenant(self.settings, self.database, self.objects, tenant, self.steps)


@contextmanager
def open_server(settings: Settings) -> Iterator[Server]:
    """As ``open_platform``, for every tenant. Raises ``SecretUnusable``, ``SecretsKeyUnusable``."""
    secret = server_secret(settings)
    keyring_of(settings).check()
    with open_storage(settings) as (database, objects):
        yield Server(settings=settings, database=database, objects=objects, secret=secret)


@contextmanager
def open_storage(settings: Settings) -> Iterator[tuple[Database, ObjectStore]]:
    """What every tenant's rows and objects are kept in."""
    with _open_database(settings) as database:
        yield database, _objects(settings)


@contextmanager
def open_present(settings: Settings) -> Iterator[Database]:
    """The database that is there, as it is: none is made and none migrated. Raises ``HomeUnusable``,
    ``SchemaMismatch``."""
    if settings.database_url is not None:
        yield from _external(settings)
        return
    server = embedded_server(settings)
    if server.status().version is None:
        raise HomeUnusable("There is no database in the data folder.", where=str(settings.home))
    with server as connections:
        database = Database(connections.app, connections.scheduler, revive=server.revive)
        try:
            with database.scheduler() as connection:
                check_schema(connection)
            yield database
        finally:
            database.close()


@contextmanager
def open_platform(settings: Settings) -> Iterator[Platform]:
    """Connect, check or migrate the schema, and wire everything; the embedded server stops with its last client."""
    if settings.database_url is not None and settings.tenant is None:
        raise TenantMissing()
    with _open_database(settings) as database:
        tenant = ensure_tenant(database, settings.tenant or EMBEDDED_TENANT)
        objects = _objects(settings)
        yield _of_tenant(settings, database, objects, tenant)


@contextmanager
def _open_database(settings: Settings) -> Iterator[Database]:
    """One's own PostgreSQL where it is named, else the data folder's."""
    if settings.database_url is not None:
        yield from _external(settings)
        return
    _private(settings.home)
    server = embedded_server(settings)
    with server as connections:
        database = Database(connections.app, connections.scheduler, revive=server.revive)
        try:
            _migrate_embedded(settings, database, connections)
            yield database
        finally:
            database.close()


def _external(settings: Settings) -> Iterator[Database]:
    from proctor.database.roles import external_urls

    assert settings.database_url is not None
    scheduler = settings.database_scheduler_url
    urls = external_urls(settings.database_url.get_secret_value(), scheduler.get_secret_value() if scheduler else None)
    database = Database(urls.app, urls.scheduler)
    try:
        with database.scheduler() as connection:
            check_schema(connection)
        yield database
    finally:
        database.close()


def _migrate_embedded(settings: Settings, database: Database, connections: Connections) -> None:
    """Migrate where the schema is absent or older; what was there is dumped first."""
    with database.scheduler() as connection:
        try:
            check_schema(connection)
        except SchemaMissing:
            existing = False
        except SchemaOlder:
            existing = True
        else:
            return
    if existing:
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%SZ")
        embedded_server(settings).dump(_private(settings.home / "dumps") / f"before-upgrade-{stamp}.dump")
    upgrade(connections.owner)


def _objects(settings: Settings) -> ObjectStore:
    return ObjectStore(settings.objects_url or settings.home / "objects")


def _of_tenant(
    settings: Settings, database: Database, objects: ObjectStore, tenant: UUID, steps: KeptSteps | None = None
) -> Platform:
    """``steps``: those that several tenants of one process share."""
    limits = {name: Allowed(**limit.model_dump()) for name, limit in settings.provider_limits.items()}
    return Platform(
        settings=settings,
        database=database,
        tenant=tenant,
        objects=objects,
        suites=SuiteService(database, objects),
        engine=EngineService(database, tenant, limits),
        steps=steps or KeptSteps(),
    )


def server_secret(settings: Settings) -> bytes:
    """PROCTOR_SERVER_SECRET, or what the data folder keeps: made once, readable by its owner alone.

    Raises ``SecretUnusable`` where several servers share a database, which must share the secret too.
    """
    if settings.server_secret is not None:
        return settings.server_secret.get_secret_value().encode()
    if settings.database_url is not None:
        raise SecretUnusable()
    path = _private(settings.home / "secrets") / "server.key"
    with suppress(FileExistsError):
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(secrets.token_bytes(32))
            os.fsync(file.fileno())
    secret = path.read_bytes()
    if len(secret) < _SECRET_BYTES:
        raise SecretUnusable(f"{path} holds fewer than {_SECRET_BYTES} bytes.")
    return secret


def keyring_of(settings: Settings) -> Keyring:
    """What wraps the keys of secrets: a program, a file that is named, else a file of the data folder, made once.

    With a PostgreSQL of one's own, which several machines may share, no file is assumed.
    """
    from proctor.identity.vault.key_commands import CommandKeyring
    from proctor.identity.vault.key_files import FileKeyring, UnsetKeyring

    if settings.secrets_key_command is not None:
        return CommandKeyring(shlex.split(settings.secrets_key_command))
    if settings.secrets_key_file is not None:
        return FileKeyring(settings.secrets_key_file)
    if settings.database_url is not None:
        return UnsetKeyring()
    return FileKeyring(settings.home / "secrets" / SECRETS_KEY, made=True)


def data_folder(settings: Settings, name: str) -> Path:
    """A folder of the data folder, for what is not kept. Raises ``HomeUnusable``."""
    return _private(settings.home / name)


def _private(folder: Path) -> Path:
    """A folder of the data folder, made if need be. Raises ``HomeUnusable``."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise HomeUnusable(f"It can't be made: {error.strerror}.", where=str(folder)) from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise HomeUnusable("It can't be written.", where=str(folder))
    return folder
