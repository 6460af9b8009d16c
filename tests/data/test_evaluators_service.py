"""The registry in a real PostgreSQL: versions, references, rules, measures and suggestions."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from sqlalchemy import text

from proctor.database.engine import Database
from proctor.evaluators import service
from proctor.evaluators.catalogue import TYPES, Means
from proctor.evaluators.configuration import Definition
from proctor.evaluators.errors import (
    ConfigurationInvalid,
    EvaluatorForbidden,
    EvaluatorNameInvalid,
    EvaluatorOutdated,
    EvaluatorsFull,
    EvaluatorUnknown,
    TypeUnknown,
)
from proctor.evaluators.facts import DatasetFacts
from proctor.evaluators.service import EvaluatorService, Registration
from proctor.identity.service import ensure_tenant
from proctor.kernel.canonical import Json, digest
from proctor.kernel.ids import new_id

pytestmark = pytest.mark.database


@pytest.fixture
def evaluators(database: Database) -> EvaluatorService:
    return EvaluatorService(database)


@pytest.fixture
def other(database: Database) -> UUID:
    return ensure_tenant(database, f"t-{new_id().hex}")


def bleu(order: int = 4, name: str = "ours") -> Registration:
    return Registration(name=name, type="bleu", configuration={"order": order})


# --- versions ---------------------------------------------------------------------------------------------------------


def test_another_definition_is_another_version_and_the_same_is_none(evaluators: EvaluatorService, tenant: UUID) -> None:
    made = [evaluators.register(tenant, bleu(order)).row.reference for order in (4, 2, 4, 2, 3)]
    assert made == ["ours@1", "ours@2", "ours@1", "ours@2", "ours@3"]
    assert evaluators.find(tenant, "ours").row.reference == "ours@3"
    assert evaluators.find(tenant, "ours@2").configuration["order"] == 2


def test_the_digest_is_of_type_implementation_and_what_is_not_as_it_is_anyway(
    evaluators: EvaluatorService, tenant: UUID
) -> None:
    said = evaluators.register(tenant, bleu(4)).row
    assert said.digest == digest({"type": "bleu", "implementation": 1, "configuration": {}})
    assert said.digest == evaluators.find(tenant, "bleu").row.digest
    detail = evaluators.register(tenant, bleu(2))
    assert detail.said == {"order": 2}
    assert detail.configuration == {"tokenize": "13a", "smooth": "exp", "order": 2, "ignore_case": False}
    assert detail.row.digest == digest({"type": "bleu", "implementation": 1, "configuration": {"order": 2}})


def test_versions_that_are_registered_at_once_have_numbers_of_their_own(
    evaluators: EvaluatorService, tenant: UUID
) -> None:
    with ThreadPoolExecutor(4) as pool:
        made = list(pool.map(lambda order: evaluators.register(tenant, bleu(order)).row, [1, 2, 3, 4, 5, 6, 1, 2]))
    assert {row.version for row in made} == {1, 2, 3, 4, 5, 6}
    assert len({(row.version, row.digest) for row in made}) == 6


def test_a_version_is_immutable(evaluators: EvaluatorService, tenant: UUID, database: Database) -> None:
    evaluators.register(tenant, bleu())
    for statement in ("UPDATE proctor.evaluator_version SET cost_nano = 0", "DELETE FROM proctor.evaluator_version"):
        with pytest.raises(Exception, match="permission denied"):
            database.as_tenant(tenant, lambda c, s=statement: c.execute(text(s)))  # type: ignore[misc]


def test_a_definition_of_another_implementation_does_not_judge(
    evaluators: EvaluatorService, tenant: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    evaluators.register(tenant, bleu())
    evaluators.usable(tenant, "ours", Means())
    monkeypatch.setitem(TYPES, "bleu", replace(TYPES["bleu"], implementation=2))  # type: ignore[misc]
    with pytest.raises(EvaluatorOutdated, match="implementation 2"):
        evaluators.usable(tenant, "ours", Means())
    assert evaluators.register(tenant, bleu()).row.reference == "ours@2"


def test_a_configuration_is_kept_as_it_was_said(evaluators: EvaluatorService, tenant: UUID) -> None:
    schema: Json = {"type": "number", "maximum": 1e-7, "const": 1e21, "description": "ß\u2028😀\\u0000"}
    wanted = Registration(name="schema", type="json-schema", configuration={"schema": schema})
    detail = evaluators.register(tenant, wanted)
    found = evaluators.find(tenant, "schema")
    assert found == detail
    definition = Definition(type="json-schema", implementation=1, configuration=found.said)
    assert definition.digest == found.row.digest
    assert evaluators.register(tenant, wanted).row.version == 1


@pytest.mark.parametrize(
    ("type_name", "configuration", "error", "told"),
    [
        ("blue", {}, TypeUnknown, "Did you mean 'bleu'"),
        ("bleu", {"ordre": 2}, ConfigurationInvalid, "Did you mean 'order'"),
        ("bleu", {"order": "2"}, ConfigurationInvalid, "whole number"),
        ("bleu", {"order": 0}, ConfigurationInvalid, "greater than or equal to 1"),
        ("bleu", {"tokenize": "flores101"}, ConfigurationInvalid, "'13a'"),
        ("regex", {"pattern": "(?<=a)b"}, ConfigurationInvalid, "RE2"),
        ("json-schema", {"schema": {"$ref": "http://x"}}, ConfigurationInvalid, "nothing is fetched"),
        ("checks", {"checks": []}, ConfigurationInvalid, "at least 1"),
        ("checks", {"checks": [{"name": "a", "type": "regexp"}]}, ConfigurationInvalid, "Did you mean 'regex'"),
        ("checks", {"checks": [{"name": "a", "type": "python"}]}, ConfigurationInvalid, "no metric"),
        ("python", {}, ConfigurationInvalid, "This key is missing"),
        ("python", {"source": "x" * 2_000_000}, ConfigurationInvalid, "bytes"),
        ("command", {"command": ["x"], "files": {"../x": ""}}, ConfigurationInvalid, "can't name a file"),
        ("numeric", {"absolute": float("inf")}, ConfigurationInvalid, "JSON form"),
    ],
)
def test_what_can_not_be_registered_is_told_and_leaves_nothing(
    evaluators: EvaluatorService,
    tenant: UUID,
    type_name: str,
    configuration: dict[str, Json],
    error: type[Exception],
    told: str,
) -> None:
    with pytest.raises(error) as caught:
        evaluators.register(tenant, Registration(name="x", type=type_name, configuration=configuration))
    assert told in str(caught.value)
    assert len(evaluators.list_evaluators(tenant)) == len(TYPES)


def test_the_place_in_a_check_is_named(evaluators: EvaluatorService, tenant: UUID) -> None:
    configuration: Json = {"checks": [{"name": "a", "type": "regex", "configuration": {"patern": "x"}}]}
    with pytest.raises(ConfigurationInvalid) as caught:
        evaluators.register(tenant, Registration(name="x", type="checks", configuration=configuration))  # type: ignore[arg-type]
    assert caught.value.where == "configuration.checks.0.configuration.patern"
    assert "Did you mean 'pattern'" in caught.value.message


@pytest.mark.parametrize("wrong", [{"description": "a\0"}, {"description": "x" * 2001}, {"cost_nano": -1}])
def test_words_that_no_row_holds_are_told(evaluators: EvaluatorService, tenant: UUID, wrong: dict[str, object]) -> None:
    with pytest.raises(ConfigurationInvalid) as caught:
        evaluators.register(tenant, Registration(name="x", type="bleu", **wrong))  # type: ignore[arg-type]
    assert caught.value.where in ("description", "cost")


@pytest.mark.parametrize("name", ["", "a b", "-a", "a@1", "../x", "x" * 101, "bleu", "python", "é"])
def test_names_that_are_refused(evaluators: EvaluatorService, tenant: UUID, name: str) -> None:
    with pytest.raises(EvaluatorNameInvalid):
        evaluators.register(tenant, bleu(name=name))


def test_a_tenant_has_so_many_versions(
    evaluators: EvaluatorService, tenant: UUID, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "MOST_VERSIONS", 2)
    for order in (1, 2):
        evaluators.register(tenant, bleu(order))
    with pytest.raises(EvaluatorsFull):
        evaluators.register(tenant, bleu(3, name="another"))
    assert evaluators.register(tenant, bleu(1)).row.version == 1


# --- references -------------------------------------------------------------------------------------------------------


def test_every_type_is_there_without_being_registered(evaluators: EvaluatorService, tenant: UUID) -> None:
    rows = evaluators.list_evaluators(tenant)
    assert [row.name for row in rows] == list(TYPES)
    needs = {row.name for row in rows if row.digest is None}
    assert needs == {"checks", "python", "command"}
    for row in rows:
        if row.digest is None:
            with pytest.raises(ConfigurationInvalid):
                evaluators.usable(tenant, row.name, Means())
        else:
            evaluators.usable(tenant, row.name, Means())


@pytest.mark.parametrize("reference", ["our", "ours@9", "ours@0", "bleu@1", "a b", "", "ours@1@2", "x" * 5000])
def test_a_reference_that_leads_nowhere(evaluators: EvaluatorService, tenant: UUID, reference: str) -> None:
    evaluators.register(tenant, bleu())
    with pytest.raises(EvaluatorUnknown) as caught:
        evaluators.find(tenant, reference)
    assert len(str(caught.value)) < 500
    if reference == "our":
        assert "Did you mean ours" in str(caught.value)


def test_a_tenant_sees_its_own_alone(evaluators: EvaluatorService, tenant: UUID, other: UUID) -> None:
    evaluators.register(tenant, bleu())
    evaluators.note_latency(tenant, digest({}), evaluations=1, seconds=1)
    with pytest.raises(EvaluatorUnknown):
        evaluators.find(other, "ours")
    assert {row.version for row in evaluators.list_evaluators(other)} == {None}


# --- rules ------------------------------------------------------------------------------------------------------------


def test_a_type_that_is_forbidden_is_neither_used_nor_registered(
    evaluators: EvaluatorService, tenant: UUID, other: UUID
) -> None:
    evaluators.register(tenant, bleu())
    evaluators.allow(tenant, "bleu", allowed=False)
    for reference in ("bleu", "ours", "ours@1"):
        assert not evaluators.find(tenant, reference).row.allowed
        with pytest.raises(EvaluatorForbidden):
            evaluators.usable(tenant, reference, Means())
    with pytest.raises(EvaluatorForbidden):
        evaluators.register(tenant, bleu(2))
    evaluators.usable(other, "bleu", Means())
    evaluators.allow(tenant, "bleu", allowed=None)
    evaluators.usable(tenant, "ours", Means())
    assert evaluators.rules(tenant) == []


def test_what_is_said_of_a_name_counts_before_what_is_said_of_its_type(
    evaluators: EvaluatorService, tenant: UUID
) -> None:
    evaluators.register(tenant, bleu())
    evaluators.allow(tenant, "bleu", allowed=False)
    evaluators.allow(tenant, "ours", allowed=True)
    evaluators.usable(tenant, "ours", Means())
    evaluators.allow(tenant, "ours", allowed=False)
    evaluators.allow(tenant, "bleu", allowed=True)
    with pytest.raises(EvaluatorForbidden):
        evaluators.usable(tenant, "ours", Means())
    assert [(rule.subject, rule.allowed) for rule in evaluators.rules(tenant)] == [("bleu", True), ("ours", False)]


@pytest.mark.parametrize("subject", ["ours@1", "a b", ""])
def test_a_rule_is_for_a_type_or_a_name(evaluators: EvaluatorService, tenant: UUID, subject: str) -> None:
    with pytest.raises(EvaluatorUnknown):
        evaluators.allow(tenant, subject, allowed=False)
    assert evaluators.rules(tenant) == []


def test_a_type_that_is_forbidden_is_not_used_inside_of_checks(evaluators: EvaluatorService, tenant: UUID) -> None:
    evaluators.allow(tenant, "regex", allowed=False)
    configuration: dict[str, Json] = {"checks": [{"name": "a", "type": "regex", "configuration": {"pattern": "x"}}]}
    with pytest.raises(EvaluatorForbidden):
        evaluators.register(tenant, Registration(name="x", type="checks", configuration=configuration))


# --- measures and suggestions -----------------------------------------------------------------------------------------


def test_latency_is_the_mean_over_all_batches_and_accuracy_the_newest(
    evaluators: EvaluatorService, tenant: UUID
) -> None:
    row = evaluators.register(tenant, bleu(2)).row
    assert (row.latency_sec, row.evaluations, row.accuracy, row.cost_nano) == (None, 0, None, 0)
    assert row.digest is not None
    evaluators.note_accuracy(tenant, row.digest, 0.5, source="labels of May")
    evaluators.note_latency(tenant, row.digest, evaluations=1, seconds=4.0)
    evaluators.note_latency(tenant, row.digest, evaluations=3, seconds=2.0)
    evaluators.note_accuracy(tenant, row.digest, 0.9, source="labels of June")
    found = evaluators.find(tenant, "ours").row
    assert (found.latency_sec, found.evaluations) == (1.5, 4)
    assert (found.accuracy, found.accuracy_source) == (0.9, "labels of June")
    for wrong in (float("nan"), 1.1, -0.1):
        with pytest.raises(ValueError, match="accuracy"):
            evaluators.note_accuracy(tenant, row.digest, wrong, source="x")
        with pytest.raises(ValueError, match="evaluations"):
            evaluators.note_latency(tenant, row.digest, evaluations=0, seconds=wrong)


def test_a_cost_that_is_not_known_is_not_nothing(evaluators: EvaluatorService, tenant: UUID) -> None:
    model: dict[str, Json] = {"model": "openai/text-embedding-3-small"}
    wanted = Registration(name="meaning", type="embedding-similarity", configuration=model)
    assert evaluators.register(tenant, wanted).row.cost_nano is None
    assert evaluators.find(tenant, "embedding-similarity").row.cost_nano == 0


def test_suggestions_begin_with_what_fits_and_leave_out_what_is_forbidden(
    evaluators: EvaluatorService, tenant: UUID
) -> None:
    row = evaluators.register(tenant, Registration(name="close", type="numeric", configuration={"relative": 0.01})).row
    assert row.digest is not None
    evaluators.note_accuracy(tenant, row.digest, 0.97, source="labels")
    facts = DatasetFacts(number=98, missing=2)
    found = evaluators.suggest(tenant, facts)
    assert [one.evaluator.reference for one in found[:3]] == ["close@1", "numeric", "exact-match"]
    assert found[0].fit == pytest.approx(0.98)
    assert found[0].reasons == ("98 of 100 expect a number: numbers are compared within a tolerance",)
    evaluators.allow(tenant, "numeric", allowed=False)
    assert [one.evaluator.reference for one in evaluators.suggest(tenant, facts)][:1] == ["exact-match"]
