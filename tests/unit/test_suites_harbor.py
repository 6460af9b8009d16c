"""Harbor task folders: what is read, and that every malformed thing is told with its file and field."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.suites import files as suite_files
from proctor.suites.formats.harbor import load_task
from proctor.suites.loaded import LoadedTask
from proctor.suites.tasks import Need, NetworkMode, NetworkPolicy, RewardStrategy, Task, VerificationMode

MINIMAL = 'schema_version = "1.4"\n'


def write(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def make(folder: Path, config: str | bytes = MINIMAL, **extra: str | bytes) -> Path:
    """A task folder with the least that one needs; ``extra`` maps paths, with / written as __, to contents."""
    files: dict[str, str | bytes] = {
        "task.toml": config,
        "instruction.md": "Do it.\n",
        "tests/test.sh": "#!/bin/bash\necho 1 > /logs/verifier/reward.txt\n",
    }
    return write(folder, {**files, **{name.replace("__", "/"): content for name, content in extra.items()}})


def good(loaded: LoadedTask) -> Task:
    assert loaded.problems == ()
    assert loaded.task is not None
    return loaded.task


def told(loaded: LoadedTask) -> str:
    assert loaded.task is None
    return "\n".join(str(problem) for problem in loaded.problems)


FULL = """
schema_version = "1.4"
artifacts = ["/app/out", { source = "/var/log/x", destination = "x", exclude = ["*.tmp"], service = "db" }]

[task]
name = "org/full"
description = "A full one."
keywords = ["a"]

[metadata]
difficulty = "hard"
created = 2026-03-01

[metadata.proctor]
verification = "snapshot"
pass_threshold = 0.5
primary_reward = "quality"
changes_system = true

[metadata.proctor.local]
tools = ["git", "bash"]
copy = { "app" = "/app" }

[agent]
timeout_sec = 300
user = 1000
network_mode = "allowlist"
allowed_hosts = ["PyPI.org.", "*.example.com", "10.0.0.0/8", "2001:DB8::1"]

[verifier]
timeout_sec = 60.0
user = "judge"
env = { KEY = "${API_KEY}", MODE = "${MODE:-fast}" }
collect = [{ command = "dump" }]

[environment]
docker_image = "debian:12"
cpus = 2
memory_mb = 2048
storage_mb = 10240
gpus = 1
workdir = "/work"
skills_dir = "/skills"
network_mode = "no-network"
env = { LANG = "C" }

[environment.healthcheck]
command = "true"
retries = 5

[[environment.mcp_servers]]
name = "docs"
transport = "http"
url = "https://example.com/mcp"
headers = { Authorization = "Bearer ${TOKEN}", X-Version = "2" }

[solution]
env = { A = "b" }
"""


def test_every_field_is_read(tmp_path: Path) -> None:
    task = good(load_task(make(tmp_path, FULL, environment__app__a="x", **{"solution/solve.sh": ""})))
    assert task.name == "org/full"
    assert (task.pass_threshold, task.primary_reward, task.changes_system) == (0.5, "quality", True)
    assert task.metadata["created"] == "2026-03-01"
    assert task.agent.user == "1000"
    assert task.agent.network is not None
    assert task.agent.network.allowed_hosts == ("pypi.org", "*.example.com", "10.0.0.0/8", "2001:db8::1")
    assert (task.verifier.timeout_sec, task.verifier.user) == (60.0, "judge")
    assert (task.verifier.collect[0].service, task.verifier.collect[0].timeout_sec) == ("main", 60.0)
    assert task.verifier.mode is VerificationMode.SNAPSHOT
    environment = task.environment
    assert (environment.cpus, environment.memory_mb, environment.storage_mb) == (2.0, 2048, 10240)
    assert environment.network == NetworkPolicy(mode=NetworkMode.NONE)
    assert environment.healthcheck is not None
    assert (environment.healthcheck.retries, environment.healthcheck.interval_sec) == (5, 5.0)
    assert environment.mcp_servers[0].transport == "streamable-http"
    assert task.userland is not None
    assert (task.userland.tools, dict(task.userland.copy)) == (("bash", "git"), {"app": "/app"})
    assert [artifact.service for artifact in task.artifacts] == [None, "db"]
    assert task.solution_env == {"A": "b"}
    assert task.has_solution
    assert task.needs == {Need.GPU}


def test_the_least_there_is_runs_on_the_hosts_userland(tmp_path: Path) -> None:
    task = good(load_task(make(tmp_path / "small")))
    assert task.name == "small"
    assert (task.agent.timeout_sec, task.verifier.timeout_sec) == (None, 600.0)
    assert task.environment.network is None
    assert task.verifier.mode is VerificationMode.LIVE
    assert task.userland is not None
    assert dict(task.userland.copy) == {".": "/app"}
    assert not task.has_solution


@pytest.mark.parametrize("name", ["environment__Dockerfile", "environment__docker-compose.yaml"])
def test_an_image_without_a_word_about_the_userland_is_needed(tmp_path: Path, name: str) -> None:
    task = good(load_task(make(tmp_path, **{name: "FROM debian:12\n"})))
    assert task.needs_image
    assert Need.IMAGE in task.needs


def test_a_compose_file_is_read_with_the_task_and_what_is_wrong_with_it_is_noted(tmp_path: Path) -> None:
    compose = "services:\n  db:\n    image: i\n    volumes: ['./app:/app']\n"
    files = {"environment__docker-compose.yaml": compose, "environment__Dockerfile": "FROM x\n"}
    task = good(load_task(make(tmp_path / "good", **files, environment__app__a="")))
    assert task.environment.services is not None
    assert [one.mounts[0].source for one in task.environment.services.beside] == ["app"]
    loaded = load_task(
        make(tmp_path / "bad", **{**files, "environment__docker-compose.yaml": compose + "    tty: true\n"})
    )
    assert good(loaded).environment.services is None
    assert [str(problem) for problem in good(loaded).environment.compose_problems] == [
        "environment/docker-compose.yaml: services.db.tty: is not supported",
        "environment/docker-compose.yaml: services.db.volumes[0]: there is no environment/app",
    ]
    assert [note.field for note in loaded.notes] == ["services.db.tty", "services.db.volumes[0]"]


def test_a_compose_file_under_another_name_is_noted(tmp_path: Path) -> None:
    loaded = load_task(
        make(tmp_path, environment__Dockerfile="FROM x\n", **{"environment__compose.yml": "services: {}\n"})
    )
    assert good(loaded).environment.services is None
    assert [(note.file, "is not read" in note.text) for note in loaded.notes] == [("environment/compose.yml", True)]


@pytest.mark.parametrize("content", ["\xff\xfe", "x" * 1_200_000])
def test_a_compose_file_that_is_no_text_is_told(tmp_path: Path, content: str) -> None:
    folder = make(tmp_path, environment__Dockerfile="FROM x\n")
    (folder / "environment" / "docker-compose.yaml").write_bytes(content.encode("latin-1"))
    (problem,) = good(load_task(folder)).environment.compose_problems
    assert problem.reason in ("is not UTF-8 at byte 0", "is larger than 1 MiB")


def test_old_schema_keys_mean_what_they_meant(tmp_path: Path) -> None:
    config = 'version = "1.0"\n[environment]\nmemory = "2G"\nstorage = "512M"\nallow_internet = false\n'
    loaded = load_task(make(tmp_path, config))
    task = good(loaded)
    assert (task.environment.memory_mb, task.environment.storage_mb) == (2048, 512)
    assert task.environment.network == NetworkPolicy(mode=NetworkMode.NONE)
    assert loaded.notes == ()


def test_data_markers_at_the_head_are_not_shown_to_agents(tmp_path: Path) -> None:
    marked = "<!-- benchmark canary GUID 1 -->\n# Canary 2\n\nDo it.\n# canary of the text\n"
    assert good(load_task(make(tmp_path, **{"instruction.md": marked}))).instruction == (
        "Do it.\n# canary of the text\n"
    )


def test_unknown_keys_become_notes_with_the_nearest_known_key(tmp_path: Path) -> None:
    loaded = load_task(make(tmp_path, "[agent]\ntimout_sec = 5\n[environment.healthcheck]\ncommand = 'x'\nretry = 1\n"))
    good(loaded)
    notes = {(note.field, note.text) for note in loaded.notes}
    assert ("agent.timout_sec", "is unknown and ignored; did you mean 'timeout_sec'?") in notes
    assert ("environment.healthcheck.retry", "is unknown and ignored; did you mean 'retries'?") in notes


@pytest.mark.parametrize(
    ("config", "mode"),
    [
        ("", VerificationMode.LIVE),
        ("[verifier]\nenvironment_mode = 'shared'", VerificationMode.LIVE),
        ("[verifier]\nenvironment_mode = 'separate'", VerificationMode.SEPARATE),
        ("[verifier.environment]\ndocker_image = 'x'", VerificationMode.SEPARATE),
        ("[metadata.proctor]\nverification = 'snapshot'", VerificationMode.SNAPSHOT),
        ("[metadata.proctor]\nverification = 'live'", VerificationMode.LIVE),
        ("[metadata.proctor]\nverification = 'separate'", VerificationMode.SEPARATE),
    ],
)
def test_the_verification_mode_is_resolved(tmp_path: Path, config: str, mode: VerificationMode) -> None:
    assert good(load_task(make(tmp_path, config))).verifier.mode is mode


def test_a_separate_verifiers_image_may_bring_the_tests(tmp_path: Path) -> None:
    folder = make(tmp_path, "[verifier]\nenvironment_mode = 'separate'", tests__Dockerfile="FROM debian:12\n")
    (folder / "tests/test.sh").unlink()
    verifier = good(load_task(folder)).verifier
    assert verifier.bundled_tests
    assert verifier.environment is not None
    assert verifier.environment.dockerfile


STEPS = """
multi_step_reward_strategy = "final"
[[steps]]
name = "one"
min_reward = 0.5
artifacts = ["/a"]
[[steps]]
name = "two"
min_reward = { quality = 1.0 }
[steps.verifier]
environment_mode = "separate"
[steps.agent]
timeout_sec = 5
"""


def test_steps_are_described_and_marked(tmp_path: Path) -> None:
    files = {"steps/one/instruction.md": "First.", "steps/two/instruction.md": "Second.", "steps/two/tests/test.sh": ""}
    folder = make(tmp_path, STEPS, **files)
    (folder / "instruction.md").unlink()
    task = good(load_task(folder))
    assert Need.MULTI_STEP in task.needs
    assert [step.instruction for step in task.steps] == ["First.", "Second."]
    assert [dict(step.min_reward) for step in task.steps] == [{"reward": 0.5}, {"quality": 1.0}]
    assert [step.verifier.mode for step in task.steps] == [VerificationMode.LIVE, VerificationMode.SEPARATE]
    assert task.steps[1].agent.timeout_sec == 5.0
    assert task.reward_strategy is RewardStrategy.FINAL
    assert not task.has_solution


@pytest.mark.parametrize(
    ("solutions", "whole"),
    [
        (("solution/solve.sh",), True),
        (("steps/one/solution/solve.sh", "steps/two/solution/solve.sh"), True),
        (("solution/solve.sh", "steps/two/solution/solve.sh"), True),
        (("steps/one/solution/solve.sh",), False),
        (("solution/solve.sh", "steps/two/solution/other.sh"), False),
    ],
)
def test_every_step_needs_a_solution_its_own_or_the_tasks(
    tmp_path: Path, solutions: tuple[str, ...], whole: bool
) -> None:
    files = {"steps/one/instruction.md": "First.", "steps/two/instruction.md": "Second."}
    folder = make(tmp_path, STEPS, **files, **dict.fromkeys(solutions, "#!/bin/bash\n"))
    assert good(load_task(folder)).has_solution is whole


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ("[agent\n", "task.toml: is not valid TOML: Expected ']' at the end of a table declaration (at line 1"),
        ("a = 1\na = 2\n", "is not valid TOML: Cannot overwrite a value (at line 2"),
        (b"name = '\xff'\n", "task.toml: is not UTF-8 at byte 8"),
        ("[task]\ndescription = 'x'\n", "task.toml: task.name: is missing"),
        ("[task]\nname = 'noslash'\n", "task.toml: task.name: 'noslash' is not of the form organisation/name"),
        ("[task]\nname = 'a/..b'\n", "is not of the form"),
        ("[agent]\ntimeout_sec = 'soon'\n", "task.toml: agent.timeout_sec: should be a valid number"),
        ("[agent]\ntimeout_sec = 0\n", "agent.timeout_sec: should be greater than 0"),
        ("[agent]\ntimeout_sec = true\n", "agent.timeout_sec: is true or false, a number is wanted"),
        ("[agent]\ntimeout_sec = nan\n", "agent.timeout_sec: nan is not a finite number"),
        ("[verifier]\ntimeout_sec = inf\n", "verifier.timeout_sec: inf is not a finite number"),
        ("[environment]\nnetwork_mode = 'offline'\n", "environment.network_mode: should be 'no-network'"),
        ("[environment]\nallowed_hosts = ['a.b']\n", "environment: allowed_hosts is only valid where network_mode"),
        (
            "[agent]\nnetwork_mode='allowlist'\nallowed_hosts = ['https://a.b']\n",
            "agent.allowed_hosts: 'https://a.b' is no",
        ),
        ("[agent]\nnetwork_mode='allowlist'\nallowed_hosts = ['a.b:80']\n", "agent.allowed_hosts: 'a.b:80' is no"),
        ("[agent]\nnetwork_mode='allowlist'\nallowed_hosts = ['*.10.0.0.1']\n", "a wildcard goes before a host name"),
        ("[agent]\nnetwork_mode='allowlist'\nallowed_hosts = ['10.0.0.1/8']\n", "'10.0.0.1/8' is no"),
        ("[environment]\nmemory = '2 gigs'\n", "environment: memory = '2 gigs' is no size such as '2G'"),
        ("[environment]\nmemory = 2\n", "environment: memory = 2 is no size such as '2G'"),
        ("[environment]\nmemory = '2G'\nmemory_mb = 1\n", "environment: memory = '2G' contradicts memory_mb = 1"),
        ("[environment]\nallow_internet = 'no'\n", "environment: allow_internet = 'no' is neither true nor false"),
        ("[environment]\nmemory_mb = -1\n", "environment.memory_mb: should be greater than 0"),
        ("[environment]\ncpus = inf\n", "environment.cpus: inf is not a finite number"),
        ("[environment]\nos = 'Windows'\n", "environment.os: is windows"),
        ("[environment]\nos = 'plan9'\n", "environment.os: should be 'linux' or 'windows'"),
        ("[environment]\nworkdir = 'app'\n", "environment.workdir: 'app' is no absolute path"),
        ("[environment]\nenv = { A = 1 }\n", "environment.env.A: should be a valid string"),
        ("[environment]\nenv = { A = '${1X}' }\n", "environment.env: A has a '${' that begins no ${NAME}"),
        ("[verifier]\nenv = { A = '${X' }\n", "verifier.env: A has a '${' that begins no ${NAME}"),
        ("[environment.tpu]\ntype = 'v6e'\ntopology = '2by4'\n", "environment.tpu.topology: '2by4' is no topology"),
        ("[environment.healthcheck]\nretries = 3\n", "environment.healthcheck.command: is missing"),
        (
            "[verifier]\nenvironment_mode='shared'\n[verifier.environment]\n",
            "verifier: environment_mode 'shared' contradicts",
        ),
        ("[verifier]\nenvironment_mode='both'\n", "verifier.environment_mode: should be 'shared' or 'separate'"),
        ("[[verifier.collect]]\ncommand='x'\nservice='a b'\n", "verifier.collect[0].service: 'a b' is no name"),
        ("artifacts = ['../x']\n", "artifacts[0].source: '../x' is empty or has '..'"),
        ("artifacts = [{source='/a', destination='/b'}]\n", "artifacts[0].destination: '/b' is no relative path"),
        ("artifacts = [{source='a', service='db'}]\n", "artifacts[0]: 'a' of service 'db' must be an absolute path"),
        ("[[steps]]\nname = 'a/b'\n", "steps[0].name: 'a/b' is no portable folder name"),
        ("[[steps]]\nname = 'a'\n[[steps]]\nname = 'A'\n", "steps: two steps are named 'A'"),
        ("[[steps]]\nname = 'a'\n", "steps/a/instruction.md: is missing"),
        (
            "[metadata.proctor]\nverifcation = 'live'\n",
            "metadata.proctor.verifcation: is unknown; did you mean 'verification'?",
        ),
        ("[metadata.proctor.local]\ntool = []\n", "metadata.proctor.local.tool: is unknown; did you mean 'tools'?"),
        (
            "[metadata.proctor.local]\ntools = ['rm -rf']\n",
            "metadata.proctor.local.tools: 'rm -rf' is no name of a program",
        ),
        (
            "[metadata.proctor.local]\ncopy = {'app'='/app'}\n",
            "metadata.proctor.local.copy.app: there is no environment/app",
        ),
        ("[metadata.proctor.local]\ncopy = {'../x'='/app'}\n", "'../x' is no path below environment/"),
        ("[metadata.proctor.local]\ncopy = {'.'='/tests/x'}\n", "'/tests/x' is filled by the sandbox itself"),
        ("[metadata]\nproctor = 3\n", "metadata.proctor: should be a valid dictionary"),
        (
            "[metadata.proctor]\nverification='live'\n[verifier.environment]\n",
            "metadata.proctor.verification: is live, but",
        ),
        ("[metadata.proctor]\nverification='separate'\n[verifier]\nenvironment_mode='shared'\n", "is separate, but"),
        ("[metadata]\nbig = 9007199254740992\n", "metadata.big: is an integer beyond 2**53"),
        ('[metadata]\ntext = "a\\u0000b"\n', "metadata.text: holds a NUL character"),
        ("metadata = 3\n", "task.toml: metadata: should be a valid dictionary"),
        (f"[{'.'.join('a' * 60)}]\n", "is nested more than 32 deep"),
        (f"a = {'[' * 5000}", "task.toml: is nested too deeply"),
    ],
)
def test_a_malformed_config_names_the_field(tmp_path: Path, config: str | bytes, said: str) -> None:
    assert said in told(load_task(make(tmp_path, config)))


MCP = "[[environment.mcp_servers]]\nname = 'x'\nurl = 'http://x'\n"


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("headers = { Authorization = 'Bearer abc' }", "headers: Authorization holds a literal credential"),
        (
            "command = 'x'\n[[environment.mcp_servers]]\nname = 'y'\nurl = 'http://u:pw@h/mcp'",
            "url holds a literal cred",
        ),
        ("headers = { X-Api-Key = '${KEY:-abc}' }", "X-Api-Key holds a literal credential"),
        ("headers = { 'a b' = 'x' }", "'a b' is no valid HTTP header"),
        ("headers = { X = '${' }", "X has a '${'"),
        ("transport = 'stdio'", "environment.mcp_servers[0]: a server of transport 'stdio' needs a command"),
        ("transport = 'carrier pigeon'", "environment.mcp_servers[0].transport: should be"),
    ],
)
def test_a_malformed_tool_server_names_the_field(tmp_path: Path, lines: str, said: str) -> None:
    assert said in told(load_task(make(tmp_path, MCP + lines)))


def _remove(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def _link(name: str, target: str) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).symlink_to(target)

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_remove("task.toml"), "task.toml: is missing"),
        (_remove("instruction.md"), "instruction.md: is missing"),
        (_remove("tests/test.sh"), "tests/test.sh: is missing"),
        (lambda folder: write(folder, {"instruction.md": b"caf\xe9"}), "instruction.md: is not UTF-8 at byte 3"),
        (lambda folder: write(folder, {"instruction.md": " \n"}), "instruction.md: is empty"),
        (lambda folder: write(folder, {"instruction.md": "a\0b"}), "instruction.md: holds a NUL character"),
        (lambda folder: write(folder, {"instruction.md": "x" * 2**20}), "instruction.md: is larger than 1 MiB"),
        (lambda folder: write(folder, {"environment": "x"}), "environment: is no folder"),
        (lambda folder: write(folder, {".gitignore": b"\xff"}), ".gitignore: can't be read as UTF-8 text"),
        (_link("environment/passwd", "/etc/passwd"), "environment/passwd: is a link out of the task folder"),
        (_link("environment/up", "../.."), "environment/up: is a link out of the task folder"),
        (_link("environment/loop", "loop"), "environment/loop: is a link that leads nowhere"),
        (_link("environment/gone", "nothing"), "environment/gone: is a link that leads nowhere"),
        (_link("environment/tests", "../tests"), "environment/tests: is a link to a folder"),
        (_link("solution", "/etc"), "solution: is a link out of the task folder"),
        (lambda folder: os.mkfifo(folder / "tests/pipe"), "tests/pipe: is no plain file"),
        (
            lambda folder: os.truncate(write(folder, {"tests/big": ""}) / "tests/big", 2**40),
            "tests/big: is larger than",
        ),
        (lambda folder: os.mkdir(folder / "README.md"), "README.md: is no plain file"),
        (lambda folder: write(folder / os.fsdecode(b"tests/\xff"), {"x": ""}), "tests/?/x: the file name is not UTF-8"),
    ],
)
def test_a_malformed_folder_names_the_file(tmp_path: Path, change: Callable[[Path], object], said: str) -> None:
    folder = make(tmp_path / "task")
    before = load_task(folder).content_digest
    change(folder)
    loaded = load_task(folder)
    assert said in told(loaded)
    assert len(loaded.content_digest) == 64
    assert loaded.content_digest != before
    assert loaded.agent_digest == loaded.verifier_digest == loaded.content_digest


def test_too_many_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_files, "MAX_ENTRIES", 5)
    assert "more than 5 files" in told(load_task(make(tmp_path, **{f"environment__{n}": "" for n in range(9)})))


def test_ignored_files_do_not_count_towards_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_files, "MAX_ENTRIES", 5)
    files = {f"environment/node_modules/{number}": "" for number in range(9)}
    good(load_task(make(tmp_path, **files, **{".gitignore": "node_modules/\n"})))


def test_folders_without_end_are_refused(tmp_path: Path) -> None:
    folder = make(tmp_path, **{f"environment/{'d/' * 500}x": ""})
    assert "is more than 64 folders deep" in told(load_task(folder))


def test_several_problems_are_told_at_once(tmp_path: Path) -> None:
    folder = make(tmp_path, "[environment]\nos = 'windows'\n[metadata.proctor]\nnope = 1\n")
    (folder / "instruction.md").unlink()
    assert len(load_task(folder).problems) == 3


def test_a_hostile_name_is_shown_harmlessly(tmp_path: Path) -> None:
    loaded = load_task(make(tmp_path / "bad\x1b[31mname", "[agent\n"))
    assert loaded.name == "bad?[31mname"


def _mutated(text: bytes, seed: int) -> bytes:
    choice = random.Random(seed)
    raw = bytearray(text)
    for _ in range(choice.randint(1, 12)):
        place = choice.randrange(len(raw))
        if choice.random() < 0.5:
            raw[place] = choice.choice(b"[]{}=\"'.\n#$0-\xff\x00ae")
        else:
            del raw[place : place + choice.randint(1, 20)]
    return bytes(raw) or b"x"


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.integers(0, 10**9))
def test_no_config_makes_the_importer_raise(tmp_path_factory: pytest.TempPathFactory, seed: int) -> None:
    folder = make(tmp_path_factory.getbasetemp() / "fuzz", _mutated(FULL.encode(), seed), environment__app__a="x")
    loaded = load_task(folder)
    assert (loaded.task is None) == bool(loaded.problems)
    assert all(problem.file for problem in loaded.problems)


@pytest.mark.parametrize("key", ["schema_version", "version"])
def test_a_schema_version_that_is_not_known_is_a_problem(tmp_path: Path, key: str) -> None:
    assert told(load_task(make(tmp_path, f'{key} = "9.9"\n'))).startswith("task.toml: schema_version: '9.9' is not")


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2", "1.3", "1.4"])
def test_known_schema_versions_are_read_by_both_names(tmp_path: Path, version: str) -> None:
    good(load_task(make(tmp_path / "new", f'schema_version = "{version}"\n')))
    good(load_task(make(tmp_path / "old", f'version = "{version}"\n')))
