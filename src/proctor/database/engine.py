"""The pool and the sessions: every statement runs for one tenant, or as the scheduler over the queue alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar
from uuid import UUID

import stamina
import structlog
from psycopg import errors
from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL
from sqlalchemy.engine.interfaces import DBAPIConnection
from sqlalchemy.exc import DBAPIError, DisconnectionError, OperationalError
from sqlalchemy.pool import ConnectionPoolEntry, PoolProxiedConnection

from proctor.database.deadlines import keep_deadlines
from proctor.database.errors import DatabaseFull, DatabaseUnavailable, UnsafeRole
from proctor.kernel.errors import ProctorError

__all__ = ["Database"]

RECYCLE_SEC: int = 180
"""A pooled connection's age; below the idle cut-offs of common TLS proxies and load balancers."""
RESTED_SEC: float = 0.1
"""A connection that nobody used for so long is tried before it is given out."""
POOL_SIZE: int = 5
POOL_OVERFLOW: int = 10
"""Ten more in a burst: a process with more than fifteen busy connections is doing work elsewhere's."""
STATEMENT_TIMEOUT_MS: int = 60_000
IDLE_IN_TRANSACTION_MS: int = 30_000
"""A transaction left open holds the event relay's horizon and vacuum back, so it is ended."""

RECONNECT_SEC: float = 45.0
"""How long a broken connection is tried again: under the lease, after which the work is somebody else's."""

T = TypeVar("T")

_log = structlog.get_logger(__name__)
stamina.instrumentation.set_on_retry_hooks(())  # its own warnings know neither our levels nor our words

_ROLE_CHECK = text("""
    SELECT r.rolsuper, r.rolbypassrls,
           EXISTS (SELECT FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                   WHERE n.nspname = 'proctor' AND c.relkind IN ('r', 'p') AND pg_has_role(r.oid, c.relowner, 'USAGE'))
    FROM pg_catalog.pg_roles r WHERE r.rolname = current_user
""")
_SET_TENANT = "SELECT set_config('proctor.tenant', %s, true)"


class Database:
    """Two pools: one for tenants' rows (``proctor_app``), one for the queue (``proctor_scheduler``).

    Both roles are checked at the first connection and refused if they could pass by row-level security.
    """

    def __init__(self, app: URL, scheduler: URL, *, revive: Callable[[], None] | None = None) -> None:
        """``revive`` is called before work is tried again: it may bring a server back that is ours to start."""
        self._revive = revive
        self._app = _engine(app)
        self._scheduler = _engine(scheduler)

    @contextmanager
    def tenant(self, tenant_id: UUID) -> Iterator[Connection]:
        """One transaction that sees and writes rows of that tenant only."""
        with _begin(self._app) as connection:
            connection.exec_driver_sql(_SET_TENANT, (str(tenant_id),))
            yield connection

    @contextmanager
    def scheduler(self) -> Iterator[Connection]:
        """One transaction over every tenant's queue rows, and over no other table unless a tenant is set."""
        with _begin(self._scheduler) as connection:
            yield connection

    @staticmethod
    def set_tenant(connection: Connection, tenant_id: UUID) -> None:
        """Let the rest of a scheduler's transaction write rows of that tenant too."""
        connection.exec_driver_sql(_SET_TENANT, (str(tenant_id),))

    def as_tenant(self, tenant_id: UUID, work: Callable[[Connection], T]) -> T:
        """Do work that is safe to repeat in a tenant's transaction, again if the connection breaks."""
        for attempt in _reconnecting():
            self._before(attempt)
            with attempt, self.tenant(tenant_id) as connection:
                return work(connection)
        raise AssertionError("unreachable: the last attempt raises")

    def as_scheduler(self, work: Callable[[Connection], T]) -> T:
        """Do work that is safe to repeat in a scheduler's transaction, again if the connection breaks."""
        for attempt in _reconnecting():
            self._before(attempt)
            with attempt, self.scheduler() as connection:
                return work(connection)
        raise AssertionError("unreachable: the last attempt raises")

    @contextmanager
    def apart(self) -> Iterator[Connection]:
        """A scheduler's connection outside of the pool, each statement a transaction: to listen, or to hold a lock."""
        with _telling(), self._scheduler.connect() as connection:
            connection.execution_options(isolation_level="AUTOCOMMIT").detach()
            yield connection

    def _before(self, attempt: stamina.Attempt) -> None:
        if attempt.num == 1:
            return
        _log.info("database.reconnecting", attempt=attempt.num)
        if self._revive is None:
            return
        try:
            self._revive()
        except ProctorError as error:
            _log.info("database.not_revived", reason=str(error))

    def close(self) -> None:
        """Close every pooled connection."""
        self._app.dispose()
        self._scheduler.dispose()


def _reconnecting() -> Iterable[stamina.Attempt]:
    return stamina.retry_context(on=_is_passing, attempts=None, timeout=RECONNECT_SEC, wait_max=2.0)


def _is_passing(error: Exception) -> bool:
    """A broken or refused connection, a full disk, or a transaction that lost to another; never what a statement
    did wrong."""
    if isinstance(error, DatabaseUnavailable):
        return True
    return isinstance(error, DBAPIError) and isinstance(
        error.orig, errors.SerializationFailure | errors.DeadlockDetected
    )


@contextmanager
def _begin(engine: Engine) -> Iterator[Connection]:
    with _telling(), engine.connect() as connection, connection.begin():
        yield connection


@contextmanager
def _telling() -> Iterator[None]:
    """A connection that can't be made or breaks on the way is ``DatabaseUnavailable``, no room on the server's disk
    ``DatabaseFull``."""
    try:
        yield
    except DBAPIError as error:
        if _interrupted(error.orig):
            raise KeyboardInterrupt from error
        refused = isinstance(error, OperationalError) and error.statement is None
        if error.connection_invalidated or refused or isinstance(error.orig, errors.AdminShutdown):
            raise DatabaseUnavailable(str(error.orig).strip()) from error
        if isinstance(error.orig, errors.DiskFull):
            raise DatabaseFull(str(error.orig).strip()) from error
        raise
    except errors.OperationalError as error:  # of a wait on the driver's own connection
        raise DatabaseUnavailable(str(error).strip()) from error


def _interrupted(error: BaseException | None) -> bool:
    """Whether it only hides an interrupt: a ping that was interrupted fails again as its connection is put right."""
    behind = error
    while behind is not None and not isinstance(behind, KeyboardInterrupt):
        behind = behind.__context__
    return behind is not None


def _engine(url: URL) -> Engine:
    engine = create_engine(
        url,
        pool_size=POOL_SIZE,
        max_overflow=POOL_OVERFLOW,
        pool_recycle=RECYCLE_SEC,
        hide_parameters=True,  # what is written is users' own, and an error of ours goes into the log
        connect_args={
            "connect_timeout": 10,
            "options": f"-c statement_timeout={STATEMENT_TIMEOUT_MS}"
            f" -c idle_in_transaction_session_timeout={IDLE_IN_TRANSACTION_MS} -c timezone=UTC",
        },
    )
    _ping_rested(engine)
    keep_deadlines(engine)
    checked = False

    @event.listens_for(engine, "engine_connect")
    def refuse_unsafe_role(connection: Connection) -> None:
        nonlocal checked
        if checked:
            return
        try:
            row = connection.execute(_ROLE_CHECK).one()
            connection.rollback()
            if any(row):
                raise UnsafeRole(f"role {url.username!r}: superuser={row[0]}, bypassrls={row[1]}, owner={row[2]}")
        except BaseException:
            connection.close()  # whoever asked for it never gets it, and would not close it
            raise
        checked = True  # only now: a connection that broke on the way has not been looked at

    return engine


def _ping_rested(engine: Engine) -> None:
    """Try a connection before it is given out, unless it worked a moment ago: a ping costs as much as a query."""

    @event.listens_for(engine, "checkin")
    def rest(_connection: DBAPIConnection | None, record: ConnectionPoolEntry) -> None:
        record.info["rested_at"] = time.monotonic()

    @event.listens_for(engine, "checkout")
    def wake(connection: DBAPIConnection, record: ConnectionPoolEntry, _proxy: PoolProxiedConnection) -> None:
        rested_at = record.info.get("rested_at")
        if rested_at is None or time.monotonic() - rested_at < RESTED_SEC:
            return
        try:
            engine.dialect.do_ping(connection)
        except errors.Error as error:
            if _interrupted(error):
                raise KeyboardInterrupt from error
            raise DisconnectionError(str(error)) from error
