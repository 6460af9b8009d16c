"""Looking at this machine: what can run here, and the embedded database's life."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING

from proctor.app import docker_backend, embedded_server, local_backend, open_platform
from proctor.database.upgrade import upgrade
from proctor.kernel.errors import ProctorError, UsageError
from proctor.models.errors import ProvidersInvalid
from proctor.sandboxes.interfaces import Check
from proctor.sdk.installed import Installed
from proctor.sdk.leaks import leaks
from proctor.settings import Settings

if TYPE_CHECKING:
    from proctor.database.embedded import Status

__all__ = ["DoctorReport", "database_status", "examine", "stop_database", "upgrade_database"]


class OwnerMissing(UsageError):
    """Migrations run as the database's owner, whose URL is not set."""

    code = "database-owner-missing"
    remedy = "Set PROCTOR_DATABASE_OWNER_URL. The embedded database migrates itself."


@dataclass(frozen=True, kw_only=True)
class DoctorReport:
    """Every check, and the declared strength of each sandbox limit here."""

    checks: tuple[Check, ...]
    limits: Mapping[str, str]


def examine(settings: Settings | None = None) -> DoctorReport:
    """Check database, object store and the local sandbox; starts what it checks."""
    settings = settings or Settings()
    backend = local_backend(settings)
    strengths = {kind.value: strength.value for kind, strength in backend.capabilities().limits.items()}
    return DoctorReport(
        checks=(_database(settings), *backend.doctor(), *_engine(settings), _models(settings), _leaks(settings)),
        limits=strengths,
    )


def _engine(settings: Settings) -> list[Check]:
    """A container engine is no fault where there is none: only ``sandbox = "docker"`` needs it."""
    return [
        one
        if one.ok
        else Check(name=one.name, ok=True, detail=f"none ({one.detail}); only sandbox = 'docker' needs one")
        for one in docker_backend(settings).doctor()
    ]


def _models(settings: Settings) -> Check:
    """What is missing is no fault: a run set without models needs none of it, and a server keeps keys of its own."""
    try:
        providers = Installed(settings).providers()
    except ProvidersInvalid as error:
        detail = f"{error.where}: {error.message}" if error.where else error.message
        return Check(name="models", ok=False, detail=detail, remedy=error.remedy)
    opened = [one.name for one in providers if one.keys_set]
    parts = (
        "providers over HTTP"
        if find_spec("aiohttp")
        else "no provider over HTTP (the extra 'models' is not installed)",
        f"keys set here for {', '.join(opened)}" if opened else "no key set here",
        "litellm" if find_spec("litellm") else "no litellm",
    )
    return Check(name="models", ok=True, detail="; ".join(parts))


def _leaks(settings: Settings) -> Check:
    found = leaks(settings)
    detail = ", ".join(f"{name} {count:,}" for name, count in found.items())
    remedy = "The next run removes them, and so does `proctor audit --apply`."
    return Check(name="sandboxes left behind", ok=not any(found.values()), detail=detail, remedy=remedy)


def _database(settings: Settings) -> Check:
    where = "embedded" if settings.database_url is None else "PROCTOR_DATABASE_URL"
    try:
        with open_platform(settings) as platform:
            platform.objects.put(f"{platform.tenant}/doctor", b"ok")
            platform.objects.delete(f"{platform.tenant}/doctor")
    except ProctorError as error:
        return Check(name="database and objects", ok=False, detail=f"{where}: {error.message}", remedy=error.remedy)
    return Check(name="database and objects", ok=True, detail=f"{where}, schema and roles right; {settings.home}")


def stop_database(settings: Settings | None = None) -> bool:
    """Stop the embedded server; whether one ran."""
    return embedded_server(settings or Settings()).stop()


def database_status(settings: Settings | None = None) -> Status:
    """The embedded server as it is."""
    return embedded_server(settings or Settings()).status()


def upgrade_database(settings: Settings | None = None) -> bool:
    """Migrate one's own PostgreSQL as its owner; whether anything changed. Raises ``OwnerMissing``."""
    settings = settings or Settings()
    if settings.database_owner_url is None:
        raise OwnerMissing()
    from sqlalchemy.engine import make_url

    return upgrade(make_url(settings.database_owner_url.get_secret_value()).set(drivername="postgresql+psycopg"))
