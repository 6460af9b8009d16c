"""A run set that is submitted to a server: a spec without files, whose suite is stored there already."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sqlalchemy import Connection

from proctor.app import Platform
from proctor.engine.errors import SpecInvalid
from proctor.engine.planning import RunSetRow
from proctor.engine.quotas import refuse_over_budget
from proctor.engine.resolving import resolve
from proctor.engine.service import Opened
from proctor.engine.spec import RunSetSpec, check_spec
from proctor.engine.tracing import tell_opened
from proctor.sdk.answers import Prepared
from proctor.sdk.requests import RunRequest
from proctor.sdk.secrets import not_kept, refuse_missing

__all__ = ["Sent", "Submitted", "prepare", "submit"]

_NO_FOLDER = Path("/nonexistent")
"""Where relative paths begin: a server reads no file that a caller names."""


@dataclass(frozen=True, kw_only=True)
class Submitted:
    """A run set that the server's workers go on with."""

    run_set: RunSetRow
    created: bool
    why_new: str
    queued: int
    remarks: tuple[str, ...]
    malformed: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Sent:
    """A run-set file as it is sent. ``scripts``: texts of its script files, by the paths in it."""

    document: Mapping[str, object]
    digest: str
    scripts: Mapping[str, str] = field(default_factory=dict)


def submit(
    platform: Platform,
    sent: Sent,
    request: RunRequest,
    within: Callable[[Callable[[Connection], Submitted]], Submitted],
) -> Submitted:
    """Find or make the run set of a spec and queue what it owes, in the transaction that ``within`` makes.

    Raises ``SpecInvalid``, ``SecretMissing`` naming the field.
    """
    refuse_over_budget(platform.database, platform.tenant)
    prepared = prepare(platform, sent, fresh=request.fresh)
    refuse_missing(platform, prepared.spec, where="spec.secrets.names")
    resolved, began = prepared.resolved, time.time_ns()
    last: list[Opened] = []

    def opening(connection: Connection) -> Submitted:
        opened = platform.engine.open_in(
            connection, resolved, on_moved=request.on_moved, fresh=request.fresh, selection=request.selection
        )
        last[:] = [opened]
        return Submitted(
            run_set=opened.run_set,
            created=opened.created,
            why_new=opened.why_new,
            queued=opened.queued,
            remarks=resolved.remarks,
            malformed=tuple(f"{task.name}: {task.problems[0]}" for task in resolved.malformed),
        )

    done = within(opening)
    for opened in last:
        tell_opened(resolved.plan, opened, began)
    return done


def prepare(platform: Platform, sent: Sent, *, fresh: bool) -> Prepared:
    """A submitted spec, resolved and not started. Raises ``SpecInvalid`` naming the field."""
    spec = check_spec(sent.document, where="spec")
    _refuse_files(spec, platform.settings.server_sandbox, sent.scripts)
    backend = platform.backend(spec.execution.sandbox)
    resolved = resolve(
        spec,
        sent.digest,
        tenant=platform.tenant,
        base=_NO_FOLDER,
        suites=platform.suites,
        backend=backend,
        fresh=fresh,
        scripts=sent.scripts,
        models=platform.known_models,
        agents=platform.agents,
    )
    missing = tuple(not_kept(platform, spec))
    return Prepared(spec=spec, resolved=resolved, backend=backend, secrets={}, missing_secrets=missing)


def _refuse_files(spec: RunSetSpec, sandbox: str, scripts: Mapping[str, str]) -> None:
    """Raises ``SpecInvalid`` for what a server can't have or would have to read from its own disk."""
    if spec.suite.startswith(("/", "~", ".")) or ".." in spec.suite.split("/"):
        raise SpecInvalid("A server knows suites by label or id.", where="spec.suite", remedy="Import it there first.")
    if spec.execution.sandbox != sandbox:
        what = f"This server's sandboxes are {sandbox!r}."
        raise SpecInvalid(what, where="spec.execution.sandbox", remedy=f"Set it to {sandbox!r}.")
    for number, profile in enumerate(spec.profiles):
        if profile.script is not None and profile.script not in scripts:
            what, remedy = "A server reads no file of its own.", "Send the script's text in `scripts`, by this path."
            raise SpecInvalid(what, where=f"spec.profiles[{number}].script", remedy=remedy)
