"""Each agent that others made: installed from its registry, started in a sandbox, driven to a solution, and refused."""

from __future__ import annotations

import json

import pytest

from proctor.agents.interfaces import AgentLimit
from proctor.agents.trajectory import Agent, Trajectory, dump, parse
from tests.agents.conftest import DRIVEN, PROVIDER_KEY
from tests.contracts.sandboxes import shell

pytestmark = pytest.mark.timeout(600)

SUBMITTED = DRIVEN.replace(
    'text = "It is written."', 'calls = [{ shell = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT" }]'
)
"""mini-swe-agent knows that it is done by a command."""
EDIT = "Here it is.\n\nsolution.txt\n```\n<<<<<<< SEARCH\n=======\nhello\n>>>>>>> REPLACE\n```\n"
"""aider knows edits only; its examples are messages of the assistant too, so that any turn may be the first."""
EDITED = f"[[rules]]\nreplies = [{', '.join(f'{{ text = {json.dumps(EDIT)} }}' for _ in range(12))}]\n"

WIRES = [
    ("claude-code", "anthropic/claude-sonnet-4-5", DRIVEN, "/v1/messages"),
    ("codex", "openai/gpt-5-codex", DRIVEN, "/v1/responses"),
    ("gemini-cli", "gemini/gemini-2.5-pro", DRIVEN, "/v1beta/models/gemini-2.5-pro:streamGenerateContent"),
    ("opencode", "openai/gpt-5", DRIVEN, "/v1/chat/completions"),
    ("opencode", "anthropic/claude-sonnet-4-5", DRIVEN, "/v1/messages"),
    ("opencode", "gemini/gemini-2.5-pro", DRIVEN, "/v1beta/models/gemini-2.5-pro:streamGenerateContent"),
    ("mini-swe-agent", "openai/gpt-5", SUBMITTED, "/v1/chat/completions"),
    ("mini-swe-agent", "anthropic/claude-sonnet-4-5", SUBMITTED, "/v1/messages"),
    ("mini-swe-agent", "gemini/gemini-2.5-pro", SUBMITTED, "/v1beta/models/gemini-2.5-pro:generateContent"),
    ("aider", "openai/gpt-5", EDITED, "/v1/chat/completions"),
    ("aider", "anthropic/claude-sonnet-4-5", EDITED, "/v1/messages"),
    ("aider", "gemini/gemini-2.5-pro", EDITED, "/v1beta/models/gemini-2.5-pro:generateContent"),
]


@pytest.mark.parametrize(("name", "model", "script", "path"), WIRES)
async def test_an_agent_is_driven_to_a_solution(bench, name, model, script, path):
    async with bench(name, model, script) as at:
        run = await at.work()
        assert (run.exec.exit_code, run.limit) == (0, None), at.output.decode(errors="replace")
        assert await at.sandbox.read("/app/solution.txt", 100) == b"hello\n", at.output.decode(errors="replace")
        assert {request.path for request in at.asked} == {path}
        for secret in (at.session.token, PROVIDER_KEY):
            assert secret.encode() not in at.output
        assert at.session.failure is None
        assert at.session.totals.usage.total is not None
        assert at.session.totals.usage.total > 0
        assert at.session.totals.cost_nano is not None
        assert [tool for request in at.bodies for tool in provider_run(request)] == []
        assert await at.sandbox.processes() == 0
        left = (await shell(at.sandbox, "find /app /home /root -type f 2>/dev/null")).stdout
        assert left == b"/app/solution.txt\n", "its own files are elsewhere"
        document = Trajectory(agent=Agent(name=name, version=at.agent.identity.version), steps=at.steps)
        assert parse(dump(document)) == document
        if name != "aider":
            _judge_steps(at)


def provider_run(body) -> list[object]:
    """Tools of a request that the provider would run itself: the gateway refuses them."""
    tools = body.get("tools") or []
    ours = ("function", "custom", "functionDeclarations", "input_schema", "name")
    known = {"function", "custom", "local_shell", None}
    return [one for one in tools if one.get("type") not in known or not any(key in str(one) for key in ours)]


def _judge_steps(at) -> None:
    first = at.steps[0]
    assert first.message == "I write it."
    (call,), (result,) = first.tool_calls, first.observation.results
    assert "solution.txt" in json.dumps(call.arguments)
    assert result.source_call_id == call.tool_call_id
    assert "written" in result.content
    assert any(step.metrics is not None and step.metrics.prompt_tokens for step in at.steps)


NAMES = [
    ("claude-code", "anthropic/m"),
    ("codex", "openai/m"),
    ("gemini-cli", "gemini/m"),
    ("opencode", "openai/m"),
    ("mini-swe-agent", "openai/m"),
    ("aider", "openai/m"),
]


@pytest.mark.parametrize("status", [401, 429])
@pytest.mark.parametrize(("name", "model"), NAMES)
async def test_a_provider_that_always_refuses_leaves_nothing_hanging(bench, name, model, status):
    reply = f'{{ status = {status}, text = "no" }}'
    async with bench(name, model, f"[[rules]]\nreplies = [{', '.join([reply] * 12)}]\n") as at:
        run = await at.work(seconds=25)
        assert at.asked
        assert at.session.failure is not None
        assert at.session.failure.http_status == status
        assert run.limit in (None, AgentLimit.TIME)
        assert await at.sandbox.read("/app/solution.txt", 100) is None
        await at.sandbox.kill_all()
        assert await at.sandbox.processes() == 0


async def test_an_agent_stops_at_its_time(bench):
    script = '[[rules]]\n[[rules.replies]]\ncalls = [{ shell = "sleep 600" }]\n'
    async with bench("codex", "openai/m", script) as at:
        run = await at.work(seconds=8)
        assert run.limit is AgentLimit.TIME
        await at.sandbox.kill_all()
        assert await at.sandbox.processes() == 0


@pytest.mark.parametrize(
    ("name", "model", "script"),
    [
        ("codex", "openai/gpt-5-codex", DRIVEN),
        ("claude-code", "anthropic/claude-opus-4-6", DRIVEN),
        ("mini-swe-agent", "openai/gpt-5", SUBMITTED),
        ("aider", "openai/gpt-5", EDITED),
    ],
)
async def test_an_agent_is_told_how_much_to_think(bench, name, model, script):
    async with bench(name, model, script) as at:
        at.thinking = "low"
        run = await at.work()
        assert run.exec.exit_code == 0, at.output.decode(errors="replace")
        assert '"low"' in json.dumps(at.bodies)
