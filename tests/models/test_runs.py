"""Agents that ask models, in run sets: what they cost, which limits end them, and whose fault an end is."""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from proctor.engine.attempt_models import Models
from proctor.engine.budgets import EngineBudgets
from proctor.engine.errors import SpecInvalid
from proctor.engine.trajectories import steps_so_far
from proctor.models.errors import PriceUnknown, ProviderUnknown
from proctor.models.opening import Installation, known_models
from proctor.sandboxes.local import LocalBackend
from tests.bench import Bench
from tests.integration.test_engine_local import HONEST, TASK
from tests.unit.test_secrets import KEYS

pytestmark = pytest.mark.database

SOLVE = '{ name = "shell", arguments = { command = "echo 42 > answer.txt" } }'
SUBMIT = '{ name = "submit", arguments = {} }'


def reply(*calls: str, **fields: object) -> str:
    lines = [f"{name} = {json.dumps(value)}" for name, value in fields.items()]
    told = [f"calls = [{', '.join(calls)}]"] if calls else []
    return "\n".join(["[[rules.replies]]", *told, *lines])


def script(*replies: str, model: str = "m") -> str:
    return "\n".join(["[[rules]]", f'model = "{model}"', *replies])


@pytest.fixture
def place(bench: Bench) -> Iterator[Bench]:
    """A bench with real sandboxes and a gateway, and one task: write 42 into answer.txt."""
    root = Path(tempfile.mkdtemp(prefix="proctor-sandboxes-"))
    root.chmod(0o711)
    bench.backend = LocalBackend(root)
    task = bench.folder / "suite" / "task"
    (task / "tests").mkdir(parents=True)
    (task / "environment" / "app").mkdir(parents=True)
    (task / "environment" / "app" / "question.txt").write_text("6 * 7\n")
    (task / "task.toml").write_text(TASK.format(mode="snapshot", artifacts="", timeout=15))
    (task / "instruction.md").write_text("Answer.\n")
    (task / "tests" / "test.sh").write_text(HONEST)
    (bench.folder / "providers.toml").write_text('mock = "replies.toml"\n')
    providers = bench.folder / "providers.toml"
    bench.known = known_models(providers)
    installed = Installation(
        bench.database, bench.objects, EngineBudgets(), providers=providers, journals=bench.folder / "journals"
    )
    bench.models = Models(
        installed.gateway, bench.known.catalogue, users=lambda _tenant, _run_set: "", recover=lambda: None
    )
    yield bench
    shutil.rmtree(root, ignore_errors=True)


def file(
    *, agent: str = "loop", model: str | None = "mock/m", profile: str = "", more: str = "", trials: int = 1
) -> str:
    named = f'model = "{model}"' if model else ""
    head = f'trials = {trials}\nname = "n"\nsuite = "suite"\n'
    return f'{head}[[profiles]]\nname = "p"\nagent = "{agent}"\n{named}\n{profile}\n{more}'


def ran(place: Bench, replies: str, **said: Any) -> Any:
    """The one cell of a run set, and what its attempt left."""
    (place.folder / "replies.toml").write_text(replies)
    row = place.run(file(**said))
    (cell,) = place.cells(row)
    return cell


def attempt(place: Bench) -> Any:
    rows = place.sql("SELECT id, usage, artifacts FROM proctor.attempt ORDER BY started_at DESC LIMIT 1")
    return rows[0]


def calls(place: Bench) -> list[Any]:
    return place.sql(
        "SELECT ended_as, cost_nano, input_tokens, output_tokens FROM proctor.model_call ORDER BY started_at"
    )


def trajectory(place: Bench) -> Any:
    _, _, artifacts = attempt(place)
    found = next(one for one in artifacts if one["name"] == "trajectory.json")
    return json.loads(place.objects.get(found["key"]))


def evidence(place: Bench, phase: str) -> Any:
    rows = place.sql("SELECT detail FROM proctor.evidence WHERE phase = :phase ORDER BY started_at", phase=phase)
    return rows[-1][0]


def test_the_loop_solves_a_task_and_each_token_is_counted_once(place: Bench) -> None:
    cell = ran(place, script(reply(SOLVE, text="I write it."), reply(SUBMIT)))
    assert (cell.outcome, cell.verdict) == ("passed", True)
    _, used, _ = attempt(place)
    found = calls(place)
    assert [one[0] for one in found] == ["done", "done"]
    assert used["cost_nano"] == sum(one[1] for one in found) > 0
    assert used["input_tokens"] == sum(one[2] for one in found)
    [(spent,)] = place.sql("SELECT sum(nano)::bigint FROM proctor.ledger")
    assert spent == used["cost_nano"]
    steps = trajectory(place)["steps"]
    assert [step["source"] for step in steps] == ["user", "agent", "agent"]
    assert steps[1]["tool_calls"][0]["function_name"] == "shell"
    assert steps[1]["observation"]["results"][0]["content"] == "[exit 0]"
    assert steps[1]["metrics"]["prompt_tokens"] == found[0][2]
    final = trajectory(place)["final_metrics"]
    assert final["total_cost_usd"] == pytest.approx(used["cost_nano"] / 1e9)
    assert evidence(place, "agent")["model_returned"] == "m"


@pytest.mark.parametrize(
    ("status", "outcome"),
    [
        (429, "provider_rate_limit"),
        (401, "provider_auth"),
        (404, "profile_invalid"),
        (403, "provider_auth"),
        (400, "profile_invalid"),
    ],
)
def test_an_end_that_is_a_providers_or_a_profiles_is_no_verdict(place: Bench, status: int, outcome: str) -> None:
    more = {"retry_after": 3600} if status == 429 else {}
    (place.folder / "replies.toml").write_text(script(reply(status=status, **more)))
    row = place.open(file()).run_set
    seen = iter(range(40))
    asyncio.run(place.worker(row.id).run(lambda: next(seen, None) is not None and not place.settled))
    assert place.settled == {outcome: 1}
    assert evidence(place, "agent")["http_status"] == status


def test_a_solution_that_was_there_before_the_provider_failed_has_passed(place: Bench) -> None:
    cell = ran(place, script(reply(SOLVE), reply(status=401)))
    assert (cell.outcome, cell.verdict) == ("passed", True)


def test_what_another_model_made_is_no_verdict(place: Bench) -> None:
    (place.folder / "replies.toml").write_text(script(reply(SOLVE, model="cheaper"), reply(SUBMIT)))
    row = place.open(file()).run_set
    seen = iter(range(40))
    asyncio.run(place.worker(row.id).run(lambda: next(seen, None) is not None and not place.settled))
    assert place.settled == {"provider_error": 1}
    assert "cheaper" in evidence(place, "agent")["message"]


@pytest.mark.parametrize(
    ("replies", "profile", "limit"),
    [
        ([reply(SOLVE.replace("42", "41"))] * 9, "limits = { turns = 3 }", "turns"),
        ([reply(SOLVE.replace("42", "41"))] * 9, "limits = { tokens = 1500 }", "tokens"),
        ([reply(SOLVE.replace("42", "41"))] * 9, 'limits = { cost = "0.0490 USD" }', "cost"),
        ([reply(status=400, code="context_length_exceeded")], "", "context"),
        ([reply(text="x", delay_sec=60)], "", "time"),
    ],
)
def test_limits_end_an_agent_and_what_it_left_is_graded(
    place: Bench, replies: list[str], profile: str, limit: str
) -> None:
    if limit == "time":
        config = place.folder / "suite" / "task" / "task.toml"
        config.write_text(TASK.format(mode="snapshot", artifacts="", timeout=2))
    cell = ran(place, script(*replies), profile=profile)
    assert (cell.outcome, cell.verdict) == ("agent_limit", False)
    assert evidence(place, "agent")["limit"] == limit


def test_a_refusal_is_the_models(place: Bench) -> None:
    cell = ran(place, script(reply(text="No.", finish="refused")))
    assert (cell.outcome, cell.verdict) == ("agent_refused", False)


def test_a_budget_is_not_overspent_and_says_so(place: Bench) -> None:
    replies = script(*[reply(SOLVE.replace("42", "41"))] * 9)
    (place.folder / "replies.toml").write_text(replies)
    row = place.run(file(more='[budget]\ncost = "0.0855 USD"\n[execution]\nconcurrency = 1', trials=20))
    ended = [cell.outcome for cell in place.cells(row)].count("budget_exhausted")
    assert 1 <= ended < 20
    assert (row.state, row.reason) == ("paused", "budget.cost has no room for another call")
    assert evidence(place, "agent")["message"] == "The budget of the run_set has no room for another call."
    [(spent,)] = place.sql("SELECT coalesce(sum(nano), 0)::bigint FROM proctor.ledger")
    assert 0 < spent <= 85_500_000


def test_a_conversation_that_grows_too_long_is_summed_up(place: Bench) -> None:
    long = '{ name = "shell", arguments = { command = "seq 1 3000" } }'
    replies = script(reply(long), reply(text="I counted."), model="m")
    cell = ran(place, replies, profile="limits = { context_tokens = 1000, turns = 4 }")
    steps = trajectory(place)["steps"]
    assert cell.outcome in ("agent_limit", "failed")
    assert steps[2]["message"] == "I counted."
    assert "tool_calls" not in steps[2]


def test_what_a_program_prints_makes_no_class(place: Bench) -> None:
    command = "command = \"echo 'HTTP 429 rate limit exceeded' >&2; exit 1\""
    cell = ran(place, script(), agent="command", model=None, profile=command)
    assert (cell.outcome, cell.verdict) == ("agent_error", False)


def test_a_command_reaches_its_model_with_its_attempts_token_alone(place: Bench) -> None:
    text = """
command = '''
ask() { python3 - "$@" <<'PY'
import json, os, sys, urllib.request, urllib.error
body = {"model": sys.argv[2], "max_tokens": 9, "messages": [{"role": "user", "content": "42"}]}
request = urllib.request.Request(os.environ["OPENAI_BASE_URL"] + "/chat/completions", json.dumps(body).encode(),
    {"Authorization": "Bearer " + sys.argv[1], "Content-Type": "application/json"})
try:
    print(json.load(urllib.request.urlopen(request))["choices"][0]["message"]["content"])
except urllib.error.HTTPError as error:
    print(error.code)
PY
}
ask "$OPENAI_API_KEY" echo > answer.txt
ask wrong echo
ask "$OPENAI_API_KEY" other
echo "token $PROCTOR_MODEL_TOKEN"
'''
"""
    cell = ran(place, script(), agent="command", model="mock/echo", profile=text)
    assert (cell.outcome, cell.verdict) == ("passed", True)
    identity, used, _ = attempt(place)
    log = b"".join(
        place.objects.get(one) for one in place.objects.list(f"{place.tenant}/attempts/{identity}/log/")
    ).decode()
    assert "401" in log
    assert "404" in log
    assert "token [secret removed]" in log
    assert used["output_tokens"] == 1
    assert [one[0] for one in calls(place)] == ["done"]


def test_no_variable_of_a_task_brings_a_providers_key_into_its_sandbox(place: Bench) -> None:
    config = place.folder / "suite" / "task" / "task.toml"
    plain = config.read_text()
    place.secrets = {"OPENAI_API_KEY": "a-key-that-opens-openai", "OTHER": "a-secret-of-a-user"}
    listed = '[secrets]\nnames = ["OPENAI_API_KEY", "OTHER"]\n'
    solve = 'command = "test -n $OTHER && test $K = x && echo 42 > answer.txt"'
    for reference, outcome, verdict in (
        ("${OPENAI_API_KEY}", "task_invalid", None),
        ("${OPENAI_API_KEY:-x}", "passed", True),
    ):
        config.write_text(plain + f'[environment.env]\nK = "{reference}"\nOTHER = "${{OTHER}}"\n')
        cell = ran(place, "", agent="command", model=None, profile=solve, more=listed)
        assert (cell.outcome, cell.verdict) == (outcome, verdict)


def test_a_model_that_can_not_be_reached_is_refused_before_anything_runs(place: Bench) -> None:
    with pytest.raises(ProviderUnknown, match=r"profiles\[0\].model"):
        place.resolved(file(model="nobody/x"))
    with pytest.raises(ProviderUnknown, match=r"profiles\[0\].fallbacks\[0\]"):
        place.resolved(file(profile='fallbacks = ["nobody/x"]'))
    with pytest.raises(SpecInvalid, match=r"in the chain before"):
        place.resolved(file(profile='fallbacks = ["mock/x", "mock/x"]'))
    with pytest.raises(SpecInvalid, match="ANTHROPIC_API_KEY"):
        place.resolved(file(model="anthropic/claude-sonnet-4-5"))
    with pytest.raises(SpecInvalid, match="no provider's key enters a sandbox"):
        place.resolved(
            file(
                agent="command",
                model=None,
                profile='command = "x"\nenv = { K = "${OPENAI_API_KEY:-none}" }',
                more='[secrets]\nnames = ["OPENAI_API_KEY"]',
            )
        )
    keys = '[secrets]\nnames = ["OPENAI_API_KEY"]\n'
    with pytest.raises(PriceUnknown, match=r"profiles\[0\].model"):
        place.resolved(file(model="openai/no-such-model", more=keys + '[budget]\ncost = "1 USD"'))
    place.resolved(file(model="openai/no-such-model", more=keys))


def test_keys_of_every_shape_that_an_agent_leaves_are_in_no_stored_byte(place: Bench) -> None:
    """Printed in one piece and in several, in files, in what the model says, and by the verifier that finds them."""
    texts = place.folder / "suite" / "task" / "tests" / "test.sh"
    texts.write_text("cat /app/keys.txt; cat /app/keys.txt >&2; " + HONEST)
    lines = " ".join(KEYS)
    cut = "; ".join(f"printf %s {key[:9]}; sleep 0.01; printf '%s ' {key[9:]}" for key in KEYS[:6])
    leave = json.dumps(f"echo 42 > answer.txt; echo {lines} | tee keys.txt; echo {lines} >&2; {cut}")
    replies = script(reply(f'{{ name = "shell", arguments = {{ command = {leave} }} }}', text=lines), reply(SUBMIT))
    cell = ran(place, replies)
    assert (cell.outcome, cell.verdict) == ("passed", True)
    assert evidence(place, "collect")["secret_left"] is True
    stored = {str(path): path.read_bytes() for path in (place.folder / "objects").rglob("*") if path.is_file()}
    every = "SELECT oid::regclass::text FROM pg_class WHERE relnamespace = 'proctor'::regnamespace"
    allowed = place.sql(f"{every} AND relkind IN ('r', 'p') AND has_table_privilege(oid, 'SELECT')")
    tables = [str(name).removeprefix("proctor.") for (name,) in allowed]
    rows = {table: str(place.sql(f"SELECT t::text FROM proctor.{table} t")).encode() for table in tables}
    assert len(stored) >= 2
    assert len(rows) > 10
    for key in KEYS:
        assert [name for name, text in {**stored, **rows}.items() if key.encode() in text] == [], key
    assert b"[secret removed]" in b"".join(stored.values())


def test_steps_can_be_read_while_the_agent_works(place: Bench) -> None:
    slow = reply(text="Later.", delay_sec=4)
    (place.folder / "replies.toml").write_text(script(reply(SOLVE, text="First."), slow, reply(SUBMIT)))
    row = place.open(file()).run_set
    seen: list[tuple[bool, list[str]]] = []

    def watch() -> bool:
        for identity, ended in place.sql("SELECT id, ended_at IS NOT NULL FROM proctor.attempt"):
            steps = steps_so_far(place.objects, place.tenant, UUID(str(identity)), None)
            seen.append((bool(ended), [str(step["message"]) for step in steps]))
        return True

    watching = threading.Event()

    def look() -> None:
        while not watching.wait(0.2):
            watch()

    thread = threading.Thread(target=look)
    thread.start()
    place.work(row.id)
    watching.set()
    thread.join()
    assert (False, ["Answer.\n", "First."]) in seen
    assert [step["message"] for step in trajectory(place)["steps"]] == ["Answer.\n", "First.", "Later.", ""]
