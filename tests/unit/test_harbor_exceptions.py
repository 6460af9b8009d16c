"""What Harbor's exceptions mean in our words."""

from __future__ import annotations

import pytest

from proctor.agents.harbor.exceptions import Ended, meaning
from proctor.agents.interfaces import AgentLimit

CASES = [
    ("AgentTimeoutError", Ended(limit=AgentLimit.TIME)),
    ("ContextWindowExceededError", Ended(limit=AgentLimit.CONTEXT)),
    ("OutputLengthExceededError", Ended(limit=AgentLimit.CONTEXT)),
    ("AgentSafetyRefusalError", Ended(refused=True)),
    ("ContentPolicyViolationError", Ended(refused=True)),
    ("AgentSetupTimeoutError", Ended(setup=True)),
    ("SandboxBuildFailedError", Ended(setup=True)),
    ("ApiRateLimitError", Ended()),
    ("AuthenticationError", Ended()),
    ("NonZeroAgentExitCodeError", Ended()),
    ("SomethingNew", Ended()),
]


@pytest.mark.parametrize(("name", "ended"), CASES)
def test_an_exception_is_known_by_its_class_and_by_those_above_it(name: str, ended: Ended) -> None:
    kind = type(name, (Exception,), {})
    assert meaning(kind("x")) == ended
    assert meaning(type("Derived", (kind,), {})("x")) == ended
