"""Tasks with a Compose file as a user has them: a database-like service beside the agent, and everything around it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from proctor.sandboxes.docker import mark_of
from tests.acceptance.conftest import Cli, cli  # noqa: F401 - a fixture
from tests.docker.conftest import BASE, refusing_registry
from tests.docker.test_runs import RUN_SET, outcomes

TASK = """
schema_version = "1.4"
artifacts = [{{ source = "/dump", service = "db", destination = "dump" }}]
[task]
name = "own/{name}"
[agent]
user = "agent"
timeout_sec = 60
[verifier]
user = "root"
timeout_sec = 60
[[verifier.collect]]
command = "cat /data/* > /dump; id -un > /who"
service = "db"
[environment]
network_mode = "no-network"
memory_mb = 256
[metadata.proctor]
verification = "{mode}"
"""
DOCKERFILE = f"FROM {BASE}\nRUN useradd --create-home agent && mkdir /work && chown agent /work\nWORKDIR /work\n"
DATABASE = """
import contextlib, os, socket, sys
os.makedirs("/data", exist_ok=True)
server = socket.create_server(("0.0.0.0", 5432))
while True:
    line, _ = server.accept()
    text = line.makefile().readline().strip()
    if text == "die":
        sys.exit(3)
    if text:
        open("/data/rows", "a").write(text + "\\n")
    with contextlib.suppress(OSError):
        line.sendall(f"{open('/seed/first').read()}{os.environ['GREETING']}".encode())
    line.close()
"""
COMPOSE = """
services:
  main:
    build: .
    depends_on:
      db: { condition: service_healthy }
      schema: { condition: service_completed_successfully }
  db:
    build: ./db
    command: python3 /db.py
    environment: { GREETING: hello }
    volumes: ["./seed:/seed:ro", "rows:/data"]
    healthcheck:
      test: python3 -c "import socket; socket.create_connection(('127.0.0.1', 5432))"
      interval: 1s
      retries: 20
  schema:
    image: ${MAIN_IMAGE_NAME}
    command: [python3, -c, "import socket; socket.create_connection(('db', 5432)).sendall(b'created' + bytes([10]))"]
    depends_on:
      db: { condition: service_healthy }
volumes:
  rows:
"""
ASK = """import socket, sys
line = socket.create_connection(("db", 5432), 5)
line.sendall((sys.argv[1] + "\\n").encode())
print(line.makefile().read())
"""
SOLVE = "python3 /ask.py from-$(id -un) > answer\n"
LIVE = """python3 /ask.py "" > /tmp/said
grep -q "^seed$" answer && grep -q "^hello$" answer && grep -q "^seed$" /tmp/said
good=$?; mkdir -p /logs/verifier; echo $((1 - good)) > /logs/verifier/reward.txt
"""
COPY = """[ "$(cat /dump)" = "created
from-agent" ] && ! grep -q from-agent /data/rows 2>/dev/null && python3 /ask.py "" | grep -q hello
good=$?; mkdir -p /logs/verifier; echo $((1 - good)) > /logs/verifier/reward.txt
"""
TALK = "python3 -c \"import socket; socket.create_connection(('db', 5432)).sendall(b'die\\n')\"; sleep 1"


def left(mark: str) -> dict[str, list[str]]:
    """Everything of an installation that an engine holds, images but for those that are kept for the next time."""
    asked = {
        "containers": ["ps", "--all", "--quiet"],
        "networks": ["network", "ls", "--quiet"],
        "volumes": ["volume", "ls", "--quiet"],
        "half images": ["images", "--quiet", "--filter", "dangling=true"],
    }
    only = ["--filter", f"label=dev.proctor.sandbox={mark}"]
    found = {
        kind: subprocess.run(["docker", *command, *only], capture_output=True, text=True, check=True).stdout.split()
        for kind, command in asked.items()
    }
    return {kind: names for kind, names in found.items() if names}


def mark(cells: Cli) -> str:
    return mark_of(Path(cells.environment()["PROCTOR_HOME"]))


@pytest.fixture
def cells(cli: Cli, base: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cli]:  # noqa: F811
    """The command line with the engine's address in its environment; nothing is left behind."""
    plain = Cli.environment
    monkeypatch.setattr(
        Cli, "environment", lambda self, **more: plain(self, DOCKER_HOST=os.environ["DOCKER_HOST"], **more)
    )
    yield cli
    assert left(mark(cli)) == {}


def task(cells: Cli, name: str, mode: str, *, compose: str = COMPOSE, test: str | None = None) -> None:
    folder = f"tasks/{name}"
    files = {
        "task.toml": TASK.format(name=name, mode=mode),
        "instruction.md": f"Tell the database who you are ({name}).\n",
        "environment/Dockerfile": DOCKERFILE + "COPY ask.py /ask.py\n",
        "environment/ask.py": ASK,
        "environment/docker-compose.yaml": compose,
        "environment/db/Dockerfile": f"FROM {BASE}\nCOPY db.py /db.py\n",
        "environment/db/db.py": DATABASE,
        "environment/seed/first": "seed\n",
        "solution/solve.sh": SOLVE,
        "tests/test.sh": test or (LIVE if mode == "live" else COPY),
    }
    for path, text in files.items():
        cells.write(f"{folder}/{path}", text)


def run(cells: Cli, *, other: str = "n", command: str = "true", code: int = 0, trials: int = 1) -> None:
    cells.write("r.toml", RUN_SET.format(trials=trials, at_once=4, other=other, command=command))
    cells("run", "r.toml", code=code)


def attempt(cells: Cli, profile: int = 0) -> dict[str, object]:
    chosen = [cell["attempt"] for cell in cells.json("cells")["cells"] if cell["profile"] == profile]
    found: dict[str, object] = cells.json("attempt", "show", chosen[0])
    return found


def tries(cells: Cli) -> int:
    row = attempt(cells)["attempt"]
    assert isinstance(row, dict)
    return int(row["number"])


def evidence(cells: Cli, phase: str, profile: int = 0) -> dict[str, object]:
    listed = attempt(cells, profile)["evidence"]
    assert isinstance(listed, list)
    detail: dict[str, object] = next(one for one in listed if one["phase"] == phase)["detail"]
    return detail


@pytest.mark.timeout(240)
def test_a_database_beside_the_agent_in_every_mode(cells: Cli) -> None:
    for mode in ("live", "snapshot", "separate"):
        task(cells, mode, mode)
    run(cells)
    assert outcomes(cells) == {(0, "passed"): 3, (1, "failed"): 3}
    image = evidence(cells, "image")
    services = image["services"]
    assert isinstance(services, dict)
    assert set(services) == {"db", "schema"}
    assert services["schema"] == image["image"] != services["db"]
    assert str(services["db"]).startswith("sha256:")
    hooks = evidence(cells, "collect")["hooks"]
    assert isinstance(hooks, list)
    assert [(hook["service"], hook["exit_code"]) for hook in hooks] == [("db", 0)]


def test_a_service_that_the_agent_ends_is_no_excuse(cells: Cli) -> None:
    task(cells, "killer", "snapshot")
    run(cells, other="killer", command=TALK)
    assert outcomes(cells) == {(0, "passed"): 1, (1, "failed"): 1}
    hooks = evidence(cells, "collect", 1)["hooks"]
    assert isinstance(hooks, list)
    assert "exit code 3" in hooks[0]["not_running"]


def test_a_service_that_twice_is_not_ready_is_the_tasks_own_fault(cells: Cli) -> None:
    sick = COMPOSE.replace("retries: 20", "retries: 2").replace("python3 /db.py", "sh -c 'echo last-words; sleep 60'")
    task(cells, "sick", "live", compose=sick)
    run(cells, code=3)
    assert outcomes(cells) == {(0, "task_invalid"): 1, (1, "task_invalid"): 1}
    start = evidence(cells, "start")
    assert "service 'db' was not healthy within 2 s" in str(start["message"])
    assert "last-words" in str(start["message"])
    assert (start["service"], start["service_fault"], start["repeated"]) == ("db", "unhealthy", True)
    assert tries(cells) == 2


def test_a_service_without_its_program_is_the_tasks_own_fault_at_once(cells: Cli) -> None:
    task(cells, "hollow", "live", compose=COMPOSE.replace("python3 /db.py", "no-such-program"))
    run(cells, code=3)
    assert outcomes(cells) == {(0, "task_invalid"): 1, (1, "task_invalid"): 1}
    assert "no-such-program" in str(evidence(cells, "start")["message"])
    assert tries(cells) == 1


def test_a_service_that_somebody_kills_is_the_infrastructures(cells: Cli) -> None:
    task(cells, "shot", "live", compose=COMPOSE.replace("python3 /db.py", "sh -c 'exit 137'"))
    run(cells, code=3)
    assert outcomes(cells) == {(0, "sandbox_error"): 1, (1, "sandbox_error"): 1}


def test_a_services_image_that_is_not_there_is_an_image_error(cells: Cli) -> None:
    with refusing_registry(404, "MANIFEST_UNKNOWN") as registry:
        task(cells, "imageless", "live", compose=COMPOSE.replace("build: ./db", f"image: {registry}/none:1"))
        run(cells, code=3)
    assert outcomes(cells) == {(0, "image_error"): 1, (1, "image_error"): 1}


def test_keys_outside_of_the_subset_are_named_before_anything_starts(cells: Cli) -> None:
    bad = COMPOSE.replace("    build: ./db\n", "    build: ./db\n    privileged: true\n    pid: host\n")
    task(cells, "bad", "live", compose=bad)
    task(cells, "good", "live")
    cells.write("r.toml", RUN_SET.format(trials=1, at_once=2, other="n", command="true"))
    dry = cells("run", "r.toml", "--dry-run")
    told = (
        "environment/docker-compose.yaml: services.db.privileged: is not supported; services.db.pid: is not supported"
    )
    assert told in " ".join(dry.stdout.split())
    cells("run", "r.toml", code=3)
    assert outcomes(cells) == {(0, "passed"): 1, (0, "task_invalid"): 1, (1, "failed"): 1, (1, "task_invalid"): 1}


def test_a_volume_of_the_main_service_and_an_unknown_service_are_refused_by_name(cells: Cli) -> None:
    shared = COMPOSE.replace("    build: .\n", '    build: .\n    volumes: ["rows:/data"]\n')
    task(cells, "shared", "snapshot", compose=shared)
    task(cells, "unknown", "snapshot")
    config = Path(cells.folder) / "tasks/unknown/task.toml"
    config.write_text(config.read_text().replace('"db"', '"cache"'))
    cells.write("r.toml", RUN_SET.format(trials=1, at_once=2, other="n", command="true"))
    dry = cells("run", "r.toml", "--dry-run")
    said = dry.stdout + dry.stderr
    assert "services.main.volumes: no kept state holds a volume" in said
    assert "there is no service 'cache'" in said


def test_a_volume_is_shared_where_it_is_verified_live(cells: Cli) -> None:
    shared = COMPOSE.replace("    build: .\n", '    build: .\n    volumes: ["rows:/data"]\n')
    test = "grep -q from-agent /data/rows; mkdir -p /logs/verifier; echo $((1 - $?)) > /logs/verifier/reward.txt\n"
    test = test.replace("mkdir", "good=$?; mkdir").replace("$((1 - $?))", "$((1 - good))")
    task(cells, "shared", "live", compose=shared, test=test)
    run(cells)
    assert outcomes(cells) == {(0, "passed"): 1, (1, "failed"): 1}


@pytest.mark.timeout(240)
def test_sixteen_cells_at_once_do_not_see_each_other(cells: Cli) -> None:
    task(cells, "many", "snapshot")
    cells.write("r.toml", RUN_SET.format(trials=8, at_once=16, other="n", command="true"))
    cells("run", "r.toml")
    assert outcomes(cells) == {(0, "passed"): 8, (1, "failed"): 8}


def test_a_killed_workers_services_networks_and_volumes_are_reaped(cells: Cli) -> None:
    task(cells, "slow", "live")
    cells.write("r.toml", RUN_SET.format(trials=1, at_once=2, other="slow", command="sleep 8"))
    command = [sys.executable, "-m", "proctor", "run", "r.toml"]
    environment = cells.environment(PROCTOR_LEASE_SEC="4")
    with subprocess.Popen(command, cwd=cells.folder, env=environment, stderr=subprocess.DEVNULL) as process:
        deadline = time.monotonic() + 60
        while len(left(mark(cells)).get("containers", [])) < 5:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        process.send_signal(signal.SIGKILL)
    assert set(left(mark(cells))) == {"containers", "networks", "volumes"}
    cells("run", "r.toml", PROCTOR_LEASE_SEC="4")
    assert outcomes(cells) == {(0, "passed"): 1, (1, "failed"): 1}


def test_a_terminal_bench_task_has_its_services_too(cells: Cli) -> None:
    summary = "=== short test summary info ===\n%s tests/test_outputs.py::test_a\n"
    files = {
        "task.yaml": "instruction: Ask the server.\ndifficulty: easy\n",
        "docker-compose.yaml": """
services:
  client:
    build: { dockerfile: Dockerfile }
    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}
    container_name: ${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}
    command: ["sh", "-c", "sleep infinity"]
    environment: ["TEST_DIR=${T_BENCH_TEST_DIR}"]
    volumes:
      - ${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}
      - ${T_BENCH_TASK_AGENT_LOGS_PATH}:${T_BENCH_CONTAINER_AGENT_LOGS_PATH}
    depends_on: { db: { condition: service_healthy } }
  db:
    build: ./db
    image: ${T_BENCH_TASK_DOCKER_NAME_PREFIX}__db
    container_name: ${T_BENCH_TASK_DOCKER_NAME_PREFIX}__db
    environment: { GREETING: hello }
    command: python3 /db.py
    healthcheck:
      test: [CMD, python3, -c, "import socket; socket.create_connection(('client', 1)) if 0 else None"]
""",
        "Dockerfile": f"FROM {BASE}\nWORKDIR /srv\nCOPY ask.py /ask.py\n",
        "ask.py": ASK,
        "db/Dockerfile": f"FROM {BASE}\nCOPY db.py first /seed/\nRUN mv /seed/db.py /db.py\n",
        "db/db.py": DATABASE,
        "db/first": "seed\n",
        "solution.sh": "python3 /ask.py me > answer\n",
        "tests/test_outputs.py": "def test_a(): pass\n",
        "run-tests.sh": f"grep -q hello answer && word=PASSED || word=FAILED\nprintf '{summary}' $word\n",
    }
    for name, text in files.items():
        cells.write(f"tasks/tb/{name}", text)
    run(cells)
    assert outcomes(cells) == {(0, "passed"): 1, (1, "failed"): 1}
