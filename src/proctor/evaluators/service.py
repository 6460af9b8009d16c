"""The registry: evaluators are registered in versions, found by name, allowed or forbidden, measured and suggested."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from sqlalchemy import Connection, Row, Select, case, func, insert, select

from proctor.database.engine import Database
from proctor.database.queries import run_query
from proctor.evaluators import measures, rules
from proctor.evaluators.catalogue import TYPES, AnyEvaluator, Means, built, current, defined, is_local, usual_cost
from proctor.evaluators.configuration import Definition, configured
from proctor.evaluators.errors import ConfigurationInvalid, EvaluatorForbidden, EvaluatorsFull
from proctor.evaluators.facts import DatasetFacts
from proctor.evaluators.models import evaluator_version
from proctor.evaluators.references import check_name, parse_reference, unknown_evaluator
from proctor.evaluators.rows import EvaluatorDetail, EvaluatorRow, Known, detail_of, detail_of_type, row_of, row_of_type
from proctor.evaluators.rules import EvaluatorRule, is_allowed
from proctor.evaluators.suggesting import Suggestion, suggested
from proctor.kernel.canonical import Json, canonical_json

__all__ = ["MOST_VERSIONS", "EvaluatorDetail", "EvaluatorRow", "EvaluatorService", "Registration"]

MOST_VERSIONS: int = 10_000
"""Of a tenant: a program that registers a version for each run meets this before its list becomes unusable."""
LONGEST_DESCRIPTION: int = 2_000
"""Characters: a paragraph for a reader of the list."""
DEAREST_NANO: int = 10**15
"""A million dollars for one evaluation is a mistyped number."""
_PACKAGE = "proctor.evaluators"


@dataclass(frozen=True, kw_only=True)
class Registration:
    """What is to be registered. ``cost_nano``: of one evaluation, where it costs money and that is known."""

    name: str
    type: str
    configuration: Mapping[str, Json] = field(default_factory=dict)
    cost_nano: int | None = None
    description: str = ""


class EvaluatorService:
    """What can be done with evaluators, for one tenant at a time."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # --- the registry -------------------------------------------------------------------------------------------------

    def register(self, tenant: UUID, wanted: Registration) -> EvaluatorDetail:
        """The version of a name that is of this definition: a new one, or the one that is there already.

        Raises ``EvaluatorNameInvalid``, ``TypeUnknown``, ``ConfigurationInvalid``, ``EvaluatorForbidden``,
        ``EvaluatorsFull``, ``DataExtraMissing``.
        """
        check_name(wanted.name)
        _check_words(wanted)
        definition = defined(wanted.type, wanted.configuration)

        def work(connection: Connection) -> EvaluatorDetail:
            known = _known(connection, tenant)
            if not is_allowed(known.rules, wanted.name, definition):
                raise EvaluatorForbidden(where=wanted.type)
            run_query(_PACKAGE, connection, "lock_name", tenant=str(tenant), name=wanted.name)
            found = _of_digest(connection, tenant, wanted.name, definition.digest)
            return detail_of(found or _inserted(connection, tenant, wanted, definition), known)

        return self._database.as_tenant(tenant, work)

    def list_evaluators(self, tenant: UUID) -> list[EvaluatorRow]:
        """Every type, then every registered version by name, the newest of each first."""

        def work(connection: Connection) -> list[EvaluatorRow]:
            known = _known(connection, tenant)
            rows = connection.execute(_listed(tenant))
            return [*(row_of_type(name, known) for name in TYPES), *(row_of(row, known) for row in rows)]

        return self._database.as_tenant(tenant, work)

    def find(self, tenant: UUID, reference: str) -> EvaluatorDetail:
        """A type by its name, or a version by ``name@version``; ``name`` is the newest. Raises ``EvaluatorUnknown``."""
        wanted = parse_reference(reference)

        def work(connection: Connection) -> EvaluatorDetail:
            known = _known(connection, tenant)
            if wanted.version is None and wanted.name in TYPES:
                return detail_of_type(wanted.name, known)
            table = evaluator_version.c
            query = select(evaluator_version).where(table.tenant_id == tenant, table.name == wanted.name)
            if wanted.version is not None:
                query = query.where(table.version == wanted.version)
            row = connection.execute(query.order_by(table.version.desc()).limit(1)).one_or_none()
            if row is None:
                raise unknown_evaluator(reference, _names(connection, tenant))
            return detail_of(row, known)

        return self._database.as_tenant(tenant, work)

    def usable(self, tenant: UUID, reference: str, means: Means) -> tuple[EvaluatorDetail, AnyEvaluator]:
        """An evaluator, ready to judge.

        Raises ``EvaluatorUnknown``, ``EvaluatorForbidden``, ``EvaluatorOutdated``, ``EvaluatorNotHere``,
        ``ConfigurationInvalid`` for a type that can't be used before it is configured, ``DataExtraMissing``.
        """
        detail, definition = self._allowed(tenant, reference)
        return detail, built(definition, means)

    def judging(self, tenant: UUID, reference: str) -> EvaluatorDetail:
        """An evaluator that may judge, here or where there are the sandboxes and models that it waits for.

        Raises what ``usable`` does but ``EvaluatorNotHere``."""
        detail, definition = self._allowed(tenant, reference)
        if is_local(definition):
            built(definition, Means())
        else:
            configured(current(definition).configuration, definition.configuration)
        return detail

    def _allowed(self, tenant: UUID, reference: str) -> tuple[EvaluatorDetail, Definition]:
        detail = self.find(tenant, reference)
        row = detail.row
        if not row.allowed:
            raise EvaluatorForbidden(where=reference)
        return detail, Definition(type=row.type, implementation=row.implementation, configuration=detail.said)

    def suggest(self, tenant: UUID, facts: DatasetFacts) -> list[Suggestion]:
        """The evaluators that fit a dataset and that the tenant may use, the best first."""
        return suggested(facts, self.list_evaluators(tenant))

    # --- what is said and measured of them ----------------------------------------------------------------------------

    def rules(self, tenant: UUID) -> list[EvaluatorRule]:
        """What the installation's administrator says of a tenant's evaluators, by subject."""
        return self._database.as_tenant(tenant, lambda c: rules.rules_of(c, tenant))

    def allow(self, tenant: UUID, subject: str, *, allowed: bool | None) -> None:
        """Allow or forbid a type, or a name in all its versions; ``None``: say nothing of it any more.

        Safe to repeat. Raises ``EvaluatorUnknown`` for what can be neither."""

        def work(connection: Connection) -> None:
            if allowed is None:
                rules.forget_rule(connection, tenant, subject)
            else:
                rules.set_rule(connection, tenant, subject, allowed=allowed)

        self._database.as_tenant(tenant, work)

    def note_latency(self, tenant: UUID, digest: str, *, evaluations: int, seconds: float) -> None:
        """Add a batch that took so long in all to the running mean of a definition."""
        self._database.as_tenant(
            tenant, lambda c: measures.note_latency(c, tenant, digest, evaluations=evaluations, seconds=seconds)
        )

    def note_accuracy(self, tenant: UUID, digest: str, accuracy: float, *, source: str) -> None:
        """Keep how often a definition judges as people do, and against which labels that was measured."""
        self._database.as_tenant(tenant, lambda c: measures.note_accuracy(c, tenant, digest, accuracy, source=source))


def _check_words(wanted: Registration) -> None:
    if len(wanted.description) > LONGEST_DESCRIPTION or "\0" in wanted.description:
        told = f"It has {LONGEST_DESCRIPTION:,} characters at the most, and no NUL."
        raise ConfigurationInvalid(told, where="description")
    if wanted.cost_nano is not None and not 0 <= wanted.cost_nano <= DEAREST_NANO:
        raise ConfigurationInvalid("It is an amount from 0 to a million dollars.", where="cost")


def _known(connection: Connection, tenant: UUID) -> Known:
    said = {one.subject: one.allowed for one in rules.rules_of(connection, tenant)}
    return Known(rules=said, measures=measures.measures_of(connection, tenant))


def _names(connection: Connection, tenant: UUID) -> list[str]:
    table = evaluator_version.c
    return [*TYPES, *connection.execute(select(table.name).where(table.tenant_id == tenant).distinct()).scalars()]


def _listed(tenant: UUID) -> Select[tuple[object, ...]]:
    """A megabyte of configuration a row is not read for a list; rules look into that of checks alone."""
    table = evaluator_version.c
    said = case((table.type == "checks", table.configuration), else_="{}").label("configuration")
    others = [column for column in table if column.name != "configuration"]
    query = select(*others, said).where(table.tenant_id == tenant)
    return query.order_by(table.name, table.version.desc())


def _of_digest(connection: Connection, tenant: UUID, name: str, digest: str) -> Row[tuple[object, ...]] | None:
    table = evaluator_version.c
    query = select(evaluator_version).where(table.tenant_id == tenant, table.name == name, table.digest == digest)
    return connection.execute(query.order_by(table.version.desc()).limit(1)).one_or_none()


def _inserted(
    connection: Connection, tenant: UUID, wanted: Registration, definition: Definition
) -> Row[tuple[object, ...]]:
    table = evaluator_version.c
    mine = table.tenant_id == tenant
    if connection.execute(select(func.count()).where(mine)).scalar_one() >= MOST_VERSIONS:
        raise EvaluatorsFull(f"There are {MOST_VERSIONS:,} versions of evaluators.")
    newest = select(func.coalesce(func.max(table.version), 0)).where(mine, table.name == wanted.name)
    values = {
        "tenant_id": tenant,
        "name": wanted.name,
        "version": connection.execute(newest).scalar_one() + 1,
        "type": definition.type,
        "implementation": definition.implementation,
        "configuration": canonical_json(definition.configuration).decode(),
        "digest": definition.digest,
        "cost_nano": usual_cost(definition) if wanted.cost_nano is None else wanted.cost_nano,
        "description": wanted.description,
    }
    return connection.execute(insert(evaluator_version).values(values).returning(evaluator_version)).one()
