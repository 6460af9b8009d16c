"""What a process sets up once: its log level, the secrets it knows, where its lines are kept and its spans go."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime

from proctor.objects.store import ObjectStore
from proctor.settings import Settings
from proctor.telemetry.logs import configure_logs
from proctor.telemetry.places import sweep
from proctor.telemetry.redaction import hide

__all__ = ["begin_logs", "telling"]


def begin_logs(settings: Settings, *, level: str) -> None:
    """Write lines from the settings' level on, or from ``level`` where they name none; never a secret of theirs."""
    hide(settings.secret_texts)
    configure_logs(settings.log_level or level)


@contextmanager
def telling(settings: Settings, objects: ObjectStore, *, tenant: str = "") -> Iterator[None]:
    """Keep this process's lines and send its spans meanwhile, as far as the settings want it.

    ``tenant``: of a process that works for one alone, such as a command on this machine; it also removes its old lines,
    which on a server is the operations role's work. Raises ``TracesExtraMissing``.
    """
    with _sending(settings), _keeping(settings, objects, tenant):
        yield


@contextmanager
def _sending(settings: Settings) -> Iterator[None]:
    if settings.otlp_endpoint is None:
        yield
        return
    from proctor.telemetry.exporting import Collector, tracing

    headers = settings.collector_headers
    with tracing(Collector(endpoint=settings.otlp_endpoint, headers=headers, ratio=settings.otlp_ratio)):
        yield


@contextmanager
def _keeping(settings: Settings, objects: ObjectStore, tenant: str) -> Iterator[None]:
    if settings.log_days == 0:
        yield
        return
    from proctor.telemetry.keeping import kept

    with kept(objects, default=tenant) as keeper:
        yield
    if tenant and keeper.stored:
        with suppress(Exception):  # the next command that logs something tries again
            sweep(objects, tenant, days=settings.log_days, now=datetime.now(UTC))
