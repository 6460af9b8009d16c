"""Terminal-Bench 1 folders: what is read, what the digests cover, and that hostile ones are told about by field."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.kernel.canonical import sha256_hex
from proctor.suites.archives import lay_out
from proctor.suites.errors import SuitePathInvalid
from proctor.suites.formats.terminal_bench import load_terminal_bench_task
from proctor.suites.loaded import LoadedTask
from proctor.suites.loading import load_suite
from proctor.suites.tasks import Need, Task, VerdictSource, VerificationMode
from tests.unit.test_suites_harbor import make, write

TASKS = Path(__file__).parents[1] / "fixtures" / "terminal-bench"
YAML = "instruction: Do it.\ndifficulty: easy\n"
COMPOSE = "services:\n  client:\n    build: .\n"


def task_folder(folder: Path, yaml: str | bytes = YAML, **extra: str | bytes) -> Path:
    """A task with the least that one needs; ``extra`` maps file names to contents, __ for a slash."""
    files: dict[str, str | bytes] = {
        "task.yaml": yaml,
        "Dockerfile": "FROM debian:12\nWORKDIR /work\n",
        "run-tests.sh": "#!/bin/bash\n",
        "tests/test_outputs.py": "def test_a(): pass\n",
    }
    return write(folder, {**files, **{name.replace("__", "/"): content for name, content in extra.items()}})


def good(loaded: LoadedTask) -> Task:
    assert loaded.problems == ()
    assert loaded.task is not None
    return loaded.task


def told(loaded: LoadedTask) -> str:
    assert loaded.task is None
    assert loaded.content_digest == loaded.agent_digest == loaded.verifier_digest
    return "\n".join(str(problem) for problem in loaded.problems)


# --- what is read -------------------------------------------------------------------------------------------------


def test_a_whole_task_is_read() -> None:
    loaded = load_terminal_bench_task(TASKS / "word-count")
    task = good(loaded)
    assert loaded.notes == ()
    assert task.name == "word-count"
    assert task.instruction.startswith("Count the words of /app/text/poem.txt")
    assert (task.agent.timeout_sec, task.verifier.timeout_sec) == (30.0, 20.0)
    assert task.verifier.mode is VerificationMode.LIVE
    assert (task.verifier.script, task.verifier.verdict) == ("run-tests.sh", VerdictSource.PYTEST_SUMMARY)
    assert task.userland is not None
    assert (task.userland.tools, dict(task.userland.copy)) == (("bash", "wc"), {"text": "/app/text"})
    assert (task.workdir, task.environment.env) == ("/app", {"TEST_DIR": "/tests"})
    assert (task.has_solution, task.needs) == (True, frozenset())
    assert task.metadata["difficulty"] == "easy"
    assert task.metadata["tags"] == ["counting"]


def test_defaults_are_those_of_terminal_bench(tmp_path: Path) -> None:
    task = good(load_terminal_bench_task(task_folder(tmp_path)))
    assert (task.agent.timeout_sec, task.verifier.timeout_sec, task.workdir) == (360.0, 60.0, "/work")
    assert not task.has_solution


def test_without_an_opt_in_the_image_is_needed_and_said(tmp_path: Path) -> None:
    dockerfile = "FROM debian:12\nRUN apt-get update \\\n  && apt-get install -y tmux\nCOPY a /a\n"
    loaded = load_terminal_bench_task(task_folder(tmp_path, Dockerfile=dockerfile, a="x"))
    task = good(loaded)
    assert task.needs == {Need.IMAGE}
    assert task.environment.image_reason == "Dockerfile: FROM debian:12; RUN apt-get update && apt-get install -y tmux"
    assert [(note.file, "proctor: {local: …}" in note.text) for note in loaded.notes] == [("Dockerfile", True)]


@pytest.mark.parametrize(
    ("compose", "fields"),
    [
        (COMPOSE, []),
        ("version: '3'\nservices:\n  client:\n    environment: {TEST_DIR: '${T_BENCH_TEST_DIR}'}\n", []),
        (COMPOSE + "  db:\n    image: postgres:16\n", ["services.db"]),
        (
            COMPOSE + "    ports: ['80:80']\n    privileged: true\n",
            ["services.client.ports", "services.client.privileged"],
        ),
        (COMPOSE + "    environment: [TEST_DIR=/x]\n", ["services.client.environment"]),
        (COMPOSE + "    environment: [{a: b}]\n", ["services.client.environment"]),
        (COMPOSE + "    volumes: ['/:/host']\n", ["services.client.volumes"]),
        (COMPOSE + "networks: {n: {}}\n", ["networks"]),
        ("services:\n  client:\n    build: ./client\n", ["services.client.build"]),
        ("services:\n  client:\n", ["services.client"]),
    ],
)
def test_only_the_standard_service_needs_no_compose(tmp_path: Path, compose: str, fields: list[str]) -> None:
    loaded = load_terminal_bench_task(task_folder(tmp_path, **{"docker-compose.yaml": compose}))
    task = good(loaded)
    assert [note.field for note in loaded.notes if note.file == "docker-compose.yaml"] == fields
    assert (Need.COMPOSE in task.needs) == bool(fields)
    assert (task.environment.image_reason == f"docker-compose.yaml: {', '.join(fields)}") == bool(fields)


def test_compose_with_an_opt_in_contradict_each_other(tmp_path: Path) -> None:
    compose = COMPOSE + "  db: {image: postgres}\n"
    folder = task_folder(tmp_path, YAML + "proctor: {local: {}}\n", **{"docker-compose.yaml": compose})
    assert "task.yaml: proctor.local: is there, but Compose is needed by docker-compose.yaml: services.db" in told(
        load_terminal_bench_task(folder)
    )


def test_an_image_of_compose_needs_no_dockerfile(tmp_path: Path) -> None:
    folder = task_folder(tmp_path, **{"docker-compose.yaml": "services:\n  client:\n    image: debian:12\n"})
    (folder / "Dockerfile").unlink()
    assert Need.COMPOSE in good(load_terminal_bench_task(folder)).needs


@pytest.mark.parametrize(
    ("dockerfile", "workdir"),
    [
        ("FROM a\nWORKDIR /x\nWORKDIR y\n", "/x/y"),
        ("FROM a\nWORKDIR /x\nFROM b\n", "/app"),
        ("FROM a\nWORKDIR $HOME\n", "/app"),
        ("FROM a\nWORKDIR /x/../..\n", "/app"),
        ("FROM a\nworkdir '/quoted'\n", "/quoted"),
        ("FROM a\nWORKDIR /x\nRUN cat <<EOF > q.py\nfrom os import path\nWORKDIR /y\nEOF\n", "/x"),
        ("FROM a\nRUN <<-'A' <<B\nA\nWORKDIR /y\nB\nWORKDIR /z\n", "/z"),
    ],
)
def test_the_work_directory_is_the_dockerfiles(tmp_path: Path, dockerfile: str, workdir: str) -> None:
    assert good(load_terminal_bench_task(task_folder(tmp_path, Dockerfile=dockerfile))).workdir == workdir


# --- the solution ---------------------------------------------------------------------------------------------------


def test_commands_become_a_script(tmp_path: Path) -> None:
    loaded = load_terminal_bench_task(TASKS / "port-table")
    lay_out(loaded.files, tmp_path / "as-run")
    script = (tmp_path / "as-run" / "solution" / "solve.sh").read_text()
    assert script == "#!/bin/bash\ncd /app\nsleep 0.1\nsort -n -k 2 services.txt \\\n  > sorted.txt\n"
    assert good(loaded).has_solution


@pytest.mark.parametrize("entry", ["{command: C-c}", "{command: vim x, append_enter: false}", "{command: Escape}"])
def test_keys_are_no_script(tmp_path: Path, entry: str) -> None:
    loaded = load_terminal_bench_task(task_folder(tmp_path, **{"solution.yaml": f"- command: ls\n- {entry}\n"}))
    assert not good(loaded).has_solution
    assert ("solution.yaml", "[1]") in [(note.file, note.field) for note in loaded.notes]


def test_a_script_goes_before_commands(tmp_path: Path) -> None:
    folder = task_folder(tmp_path, **{"solution.yaml": "- {command: false}\n", "solution.sh": "true\n"})
    loaded = load_terminal_bench_task(folder)
    assert [file.source.rpartition("/")[2] for file in loaded.files if file.path == "solution/solve.sh"] == [
        "solution.sh"
    ]
    assert ("solution.yaml", "is ignored beside solution.sh") in [(note.file, note.text) for note in loaded.notes]


# --- layout and digests -----------------------------------------------------------------------------------------------


def test_the_files_are_laid_out_as_a_runner_wants_them(tmp_path: Path) -> None:
    lay_out(load_terminal_bench_task(TASKS / "word-count").files, tmp_path / "as-run")
    found = {str(path.relative_to(tmp_path / "as-run")) for path in (tmp_path / "as-run").rglob("*") if path.is_file()}
    assert found == {
        "task.yaml",
        "environment/Dockerfile",
        "environment/docker-compose.yaml",
        "environment/text/poem.txt",
        "solution/solve.sh",
        "tests/run-tests.sh",
        "tests/check_outputs.sh",
    }


def test_the_content_digest_is_the_fields_over_the_folders_own_files() -> None:
    folder = TASKS / "word-count"
    files = sorted((str(path.relative_to(folder)), path.read_bytes()) for path in folder.rglob("*") if path.is_file())
    lines = "".join(f"{name}\0{sha256_hex(content)}\n" for name, content in files)
    assert load_terminal_bench_task(folder).content_digest == sha256_hex(lines.encode())


A, V = "agent", "verifier"


@pytest.mark.parametrize(
    ("change", "moved"),
    [
        ({"README.md": "For people.\n"}, set()),
        ({"task.yaml": YAML + "tags: [a]\nauthor_name: me\nmax_test_timeout_sec: 60\n"}, set()),
        ({"solution.sh": "true\n"}, set()),
        ({"task.yaml": YAML + "max_test_timeout_sec: 61\n"}, {V}),
        ({"task.yaml": YAML + "proctor: {verification: snapshot}\n"}, {V}),
        ({"run-tests.sh": "exit 1\n"}, {V}),
        ({"tests/test_outputs.py": "\n"}, {V}),
        ({"task.yaml": YAML + "max_agent_timeout_sec: 5\n"}, {A}),
        ({"task.yaml": "instruction: Do that.\ndifficulty: easy\n"}, {A}),
        ({"task.yaml": YAML + "proctor: {local: {tools: [git]}}\n"}, {A}),
        ({"Dockerfile": "FROM debian:13\nWORKDIR /work\n"}, {A}),
        ({"data.csv": "1\n"}, {A}),
    ],
)
def test_what_moves_which_digest(tmp_path: Path, change: dict[str, str | bytes], moved: set[str]) -> None:
    before = load_terminal_bench_task(task_folder(tmp_path))
    after = load_terminal_bench_task(write(tmp_path, change))
    assert after.problems == ()
    assert after.content_digest != before.content_digest
    assert (after.agent_digest != before.agent_digest) == (A in moved)
    assert (after.verifier_digest != before.verifier_digest) == (V in moved)


def test_a_checkouts_repository_and_ignored_files_are_no_part(tmp_path: Path) -> None:
    before = load_terminal_bench_task(task_folder(tmp_path)).content_digest
    write(tmp_path, {".git/HEAD": "ref: x\n", "tests/__pycache__/a.pyc": "x"})
    assert load_terminal_bench_task(tmp_path).content_digest == before


# --- malformed and hostile --------------------------------------------------------------------------------------------


BOMB = "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\n" + YAML


@pytest.mark.parametrize(
    ("yaml", "said"),
    [
        ("difficulty: easy\n", "task.yaml: instruction: is missing"),
        ("instruction: x\n", "task.yaml: difficulty: is missing"),
        (
            "instruction: x\ndifficulty: deadly\n",
            "task.yaml: difficulty: should be 'easy', 'medium', 'hard' or 'unknown'",
        ),
        ("instruction: '  '\ndifficulty: easy\n", "task.yaml: instruction: is empty"),
        (YAML + "parser_name: swebench\n", "task.yaml: parser_name: 'swebench' is a parser that Proctor has not"),
        (YAML + "run_tests_in_same_shell: true\n", "task.yaml: run_tests_in_same_shell: is true, but"),
        (YAML + "max_agent_timeout_sec: 0\n", "task.yaml: max_agent_timeout_sec: should be greater than 0"),
        (YAML + "max_agent_timeout_sec: .inf\n", "task.yaml: max_agent_timeout_sec: inf is not a finite number"),
        (YAML + "max_agent_timeout_sec: true\n", "task.yaml: max_agent_timeout_sec: is true or false"),
        (YAML + "tags: [1]\n", "task.yaml: tags[0]: should be a valid string"),
        (YAML + "x: 2026-13-45\n", "task.yaml: is not valid YAML: month must be in 1..12"),
        (YAML + "x: " + "9" * 5000 + "\n", "task.yaml: is not valid YAML: Exceeds the limit"),
        (YAML + "x: !!binary aGk=\n", "task.yaml: x: has a type that JSON lacks"),
        (YAML + "x: !!python/object/apply:os.system [id]\n", "task.yaml: is not valid YAML: could not determine"),
        (YAML + "on: {1: x}\n", "is a key that is no text"),
        (YAML + "? [a]\n: b\n", "task.yaml: is not valid YAML: a key is no text"),
        (YAML + "difficulty: hard\n", "task.yaml: is not valid YAML: the key 'difficulty' stands twice (line 3)"),
        (YAML + "<<: {tags: [a]}\n", "task.yaml: is not valid YAML: merge keys (<<) are not read"),
        (YAML + "---\n" + YAML, "task.yaml: holds several documents"),
        (YAML + "x: [\n", "task.yaml: is not valid YAML"),
        (BOMB, "task.yaml: uses an alias (*a)"),
        ("x: &x [*x]\n" + YAML, "task.yaml: uses an alias (*x)"),
        (YAML + "x: " + "[" * 40 + "]" * 40, "task.yaml: is nested more than 32 deep"),
        (YAML + "x: " + "[" * 50_000, "task.yaml: is not valid YAML: exceeded maximum nesting depth"),
        (YAML + "x: [" + "1," * 20_000 + "]\n", "task.yaml: holds more than 20000 values"),
        (YAML + "# " + "x" * 300_000 + "\n", "task.yaml: is larger than 262144 bytes"),
        ("just text\n", "task.yaml: is no table of keys and values"),
        ("", "task.yaml: is no table of keys and values"),
        (b"instruction: \xff\n", "task.yaml: is not UTF-8 at byte 13"),
        (b"instruction: a\x00b\n", "task.yaml: holds a NUL character"),
        (YAML + "proctor: {lokal: {}}\n", "task.yaml: proctor.lokal: is unknown; did you mean 'local'?"),
        (YAML + "proctor: {verification: separate}\n", "task.yaml: proctor.verification: "),
        (YAML + "proctor: {local: {tools: ['a b']}}\n", "task.yaml: proctor.local.tools: "),
        (YAML + "proctor: {local: {copy: {../x: /app}}}\n", "task.yaml: proctor.local.copy: '../x' is no path below"),
        (YAML + "proctor: {local: {copy: {a: /tests}}}\n", "task.yaml: proctor.local.copy: '/tests' is filled by"),
        (
            YAML + "proctor: {local: {copy: {tests: /app/t}}}\n",
            "task.yaml: proctor.local.copy.tests: is not in the build",
        ),
        (
            YAML + "proctor: {local: {copy: {solution.sh: /s}}}\n",
            "task.yaml: proctor.local.copy.solution.sh: is not in",
        ),
    ],
)
def test_a_malformed_task_yaml_names_the_field(tmp_path: Path, yaml: str | bytes, said: str) -> None:
    assert said in told(load_terminal_bench_task(task_folder(tmp_path, yaml)))


def _link(name: str, target: str) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        path = folder / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(target)

    return change


def _write(name: str, content: str) -> Callable[[Path], object]:
    return lambda folder: write(folder, {name: content})


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "run-tests.sh").unlink(), "run-tests.sh: is missing"),
        (lambda folder: (folder / "Dockerfile").unlink(), "Dockerfile: is missing"),
        (_link("task.yaml", "/etc/hostname"), "task.yaml: is a link out of the task folder"),
        (_link("solution.yaml", "../../secret.yaml"), "solution.yaml: is a link out of the task folder"),
        (_link("solution.sh", "/etc/passwd"), "solution.sh: is a link out of the task folder"),
        (_link("run-tests.sh", "/bin/sh"), "run-tests.sh: is a link out of the task folder"),
        (_link("tests", "/etc"), "tests: is a link out of the task folder"),
        (_link("tests/secret", "/etc/shadow"), "tests/secret: is a link out of the task folder"),
        (_link("tests/loop", "."), "tests/loop: is a link to a folder"),
        (_link("data", "nowhere"), "data: is a link that leads nowhere"),
        (_write("tests/run-tests.sh", "x"), "tests/run-tests.sh: is in the way of run-tests.sh"),
        (_write("docker-compose.yaml", "a: &a 1\nservices: {client: {x: *a}}\n"), "docker-compose.yaml: uses an alias"),
        (
            _write("docker-compose.yaml", "services: {main: {}}\n"),
            "docker-compose.yaml: services: has no service 'client'",
        ),
        (_write("docker-compose.yaml", "- a\n"), "docker-compose.yaml: services: has no service 'client'"),
        (_write("solution.yaml", "command: ls\n"), "solution.yaml: should be a valid list"),
        (_write("solution.yaml", "- {block: true}\n"), "solution.yaml: [0].command: Field required"),
        (
            _write("solution.yaml", "- {command: ls, min_timeout_sec: 1e9}\n"),
            "solution.yaml: [0].min_timeout_sec: should",
        ),
        (_write("solution.yaml", "- &a {command: ls}\n- *a\n"), "solution.yaml: uses an alias"),
    ],
)
def test_a_malformed_folder_names_the_file(tmp_path: Path, change: Callable[[Path], object], said: str) -> None:
    folder = task_folder(tmp_path / "task")
    change(folder)
    assert said in told(load_terminal_bench_task(folder))


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_make_it_raise(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    folder = task_folder(tmp_path_factory.mktemp("fuzz"), content, **{"solution.yaml": content})
    write(folder, {"docker-compose.yaml": content})
    loaded = load_terminal_bench_task(folder)
    assert (loaded.task is None) == bool(loaded.problems)


def test_unknown_keys_become_notes(tmp_path: Path) -> None:
    loaded = load_terminal_bench_task(task_folder(tmp_path, YAML + "max_agent_timout_sec: 5\n"))
    assert "did you mean 'max_agent_timeout_sec'?" in next(note for note in loaded.notes if note.field).text


# --- beside other tasks -----------------------------------------------------------------------------------------------


def test_both_formats_stand_in_one_suite_and_a_malformed_one_stops_none(tmp_path: Path) -> None:
    make(tmp_path / "a-harbor")
    task_folder(tmp_path / "b-terminal-bench", "instruction: [\n")
    shutil.copytree(TASKS / "word-count", tmp_path / "c-terminal-bench")
    suite = load_suite(tmp_path)
    assert [(task.name, bool(task.problems)) for task in suite.tasks] == [
        ("a-harbor", False),
        ("b-terminal-bench", True),
        ("c-terminal-bench", False),
    ]


def test_harbors_file_decides_where_both_are(tmp_path: Path) -> None:
    make(tmp_path, **{"task.yaml": YAML})
    (task,) = load_suite(tmp_path).tasks
    assert task.task is not None
    assert task.task.verifier.verdict is VerdictSource.REWARD_FILE


def test_a_folder_without_tasks_is_still_refused(tmp_path: Path) -> None:
    with pytest.raises(SuitePathInvalid):
        load_suite(tmp_path)
