"""Every type of evaluator keeps the contract, and so do the fakes."""

from __future__ import annotations

import pytest

from proctor.evaluators.catalogue import TYPES, AnyEvaluator, Kind, Means
from tests.contracts.evaluators import EvaluatorContract

LOCAL = [name for name, kind in TYPES.items() if kind.kind is not Kind.CODE]
CONFIGURED = {"checks": {"checks": [{"name": "same", "type": "exact-match"}, {"name": "valid", "type": "json-schema"}]}}


class TestLocal(EvaluatorContract):
    @pytest.fixture(params=LOCAL)
    def evaluator(self, request: pytest.FixtureRequest) -> AnyEvaluator:
        return TYPES[request.param].make(CONFIGURED.get(request.param, {}), Means())
