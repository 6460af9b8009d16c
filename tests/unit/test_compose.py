"""The declared subset of Compose: what is read, and that everything else is refused by its path in the file."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proctor.suites.formats.compose import ComposeFile, read_compose
from proctor.suites.formats.compose_dialects import HARBOR, TERMINAL_BENCH
from proctor.suites.formats.compose_values import Dialect
from proctor.suites.services import Build, Composed, Mount, Readiness, ReadyProbe, Service, SharedVolume

PATHS = frozenset(
    {
        "environment/Dockerfile",
        "environment/docker-compose.yaml",
        "environment/db/Dockerfile",
        "environment/db/Other",
        "environment/seed/a.sql",
        "tests/test.sh",
    }
)
FULL = """
version: "3.8"
services:
  main:
    build: .
    command: sleep infinity
    environment: [URL=http://api:80]
    depends_on:
      api: {condition: service_healthy}
      job: {condition: service_completed_successfully}
    volumes: ["./seed:/data", "shared:/shared:ro"]
    networks: [front]
  api:
    image: ghcr.io/o/api:1@sha256:0123
    entrypoint: /run --name 'a b'
    command: ["serve", "80"]
    environment: {PORT: 80, TOKEN: "${TOKEN}", MODE: "${MODE:-fast}", PRICE: "1$$"}
    expose: ["80", 81/tcp, 3000-3005]
    healthcheck: {test: curl -f localhost, interval: 1s, timeout: 1m30s, retries: 5, start_period: 500ms}
    depends_on: [db]
    networks: {front: null, back: {}}
    volumes:
      - {type: volume, source: shared, target: /shared}
      - {type: bind, source: ./seed/a.sql, target: /seed.sql, read_only: true}
      - /scratch
  job:
    image: ${MAIN_IMAGE_NAME}
    command: "true"
  watch:
    image: w
    depends_on: [main, db]
  db:
    build: {context: ./db, dockerfile: Other}
    healthcheck: {test: [CMD, pg_isready]}
    networks: [back]
networks:
  front: {}
  back: {internal: true}
volumes:
  shared:
"""


def read(text: str, dialect: Dialect = HARBOR, paths: frozenset[str] = PATHS) -> ComposeFile:
    found = read_compose(text, paths, dialect)
    assert (found.composed is None) == bool(found.problems)
    return found


def good(text: str, dialect: Dialect = HARBOR) -> Composed:
    found = read(text, dialect)
    assert found.composed is not None, found.problems
    return found.composed


def refused(text: str, dialect: Dialect = HARBOR) -> list[str]:
    return [str(problem) for problem in read(text, dialect).problems]


def service(body: str, *, more: str = "") -> Service:
    (found,) = good("services:\n  db:\n    image: i\n" + body + more).beside
    return found


def test_all_of_the_subset() -> None:
    composed = good(FULL)
    assert composed.main == Service(
        name="main",
        build=Build(),
        env={"URL": "http://api:80"},
        mounts=(Mount(source="seed", target="/data"),),
        volumes=(SharedVolume(name="shared", target="/shared", read_only=True),),
        needs={"api": Readiness.HEALTHY, "job": Readiness.COMPLETED},
        networks=("front",),
    )
    by_name = {one.name: one for one in composed.beside}
    assert composed.names == {"main", "api", "job", "watch", "db"}
    assert composed.inward == ("back",)
    assert by_name["api"] == Service(
        name="api",
        image="ghcr.io/o/api:1@sha256:0123",
        entrypoint=("/run", "--name", "a b"),
        command=("serve", "80"),
        env={"PORT": "80", "TOKEN": "${TOKEN}", "MODE": "${MODE:-fast}", "PRICE": "1$"},
        mounts=(Mount(source="seed/a.sql", target="/seed.sql"),),
        volumes=(SharedVolume(name="shared", target="/shared"),),
        probe=ReadyProbe(
            argv=("/bin/sh", "-c", "curl -f localhost"),
            interval_sec=1,
            timeout_sec=90,
            retries=5,
            start_period_sec=0.5,
        ),
        needs={"db": Readiness.STARTED},
        networks=("front", "back"),
    )
    assert by_name["db"].build == Build(context="db", dockerfile="Other")
    assert by_name["db"].probe == ReadyProbe(argv=("pg_isready",))
    assert (by_name["job"].image, by_name["job"].build, by_name["job"].command) == (None, None, ("true",))
    assert [composed.outward(by_name[name]) for name in ("api", "job", "db")] == [True, True, False]


def test_each_comes_after_what_it_waits_for() -> None:
    order = [one.name for one in good(FULL).beside]
    assert order.index("db") < order.index("api")


def test_without_a_main_service_it_is_the_tasks_own_image() -> None:
    composed = good("services: {db: {image: postgres}}\n")
    assert composed.main == Service(name="main")
    assert good("services: {main: }\n").beside == ()
    assert good("") == Composed(main=Service(name="main"))


@pytest.mark.parametrize(
    ("test", "argv"),
    [
        ("[CMD-SHELL, a b]", ("/bin/sh", "-c", "a b")),
        ("[CMD, a, b]", ("a", "b")),
        ("[NONE]", ()),
        ("a | b", ("/bin/sh", "-c", "a | b")),
    ],
)
def test_healthchecks(test: str, argv: tuple[str, ...]) -> None:
    probe = service(f"    healthcheck: {{test: {test}}}\n").probe
    assert probe == ReadyProbe(argv=argv)
    assert service("").probe is None


KEYS = [
    "privileged",
    "ports",
    "restart",
    "cap_add",
    "devices",
    "env_file",
    "extends",
    "network_mode",
    "pid",
    "ipc",
    "security_opt",
    "user",
    "working_dir",
    "deploy",
    "secrets",
    "configs",
    "tmpfs",
    "sysctls",
    "ulimits",
    "extra_hosts",
    "dns",
    "links",
    "container_name",
    "hostname",
    "volumes_from",
    "userns_mode",
    "x-a",
]


@pytest.mark.parametrize("key", KEYS)
def test_any_other_key_is_refused_by_its_path(key: str) -> None:
    assert refused(f"services: {{db: {{image: i, {key}: true}}}}\n") == [
        f"environment/docker-compose.yaml: services.db.{key}: is not supported"
    ]


@pytest.mark.parametrize(
    ("text", "place", "reason"),
    [
        ("include: [a]", "include", "is not supported"),
        ("name: x", "name", "is not supported"),
        ("- a", "services", "is no table"),
        ("services: [a]", "services", "is no table"),
        ("services: {db: [a]}", "services.db", "is no table"),
        ("services: {'../x': {image: i}}", "services", "is no name"),
        ("services: {db: {}}", "services.db", "neither build nor image"),
        ("services: {db: {image: 'a b'}}", "services.db.image", "no name of an image"),
        ("services: {db: {image: '--x'}}", "services.db.image", "no name of an image"),
        ("services: {db: {image: '${TAG}'}}", "services.db.image", "${TAG} is of the machine"),
        ("services: {db: {image: 'a:${TAG:-1}'}}", "services.db.image", "is of the machine"),
        ("services: {db: {build: ../..}}", "services.db.build.context", "no path inside"),
        ("services: {db: {build: /etc}}", "services.db.build.context", "no path inside"),
        ("services: {db: {build: 'https://x/y.git'}}", "services.db.build", "there is no environment/https:/x"),
        ("services: {db: {build: nothing}}", "services.db.build", "there is no environment/nothing/Dockerfile"),
        ("services: {db: {build: {context: ., args: {A: b}}}}", "services.db.build.args", "is not supported"),
        ("services: {db: {build: {dockerfile: ../tests/test.sh}}}", "services.db.build.dockerfile", "no path inside"),
        ("services: {db: {image: i, command: 'a \"b'}}", "services.db.command", "can't be split"),
        ("services: {db: {image: i, command: echo $HOME}}", "services.db.command", "is of the machine"),
        ("services: {db: {image: i, command: [a, true]}}", "services.db.command[1]", "is no text"),
        ("services: {db: {image: i, environment: [HOME]}}", "services.db.environment[0]", "has no value"),
        ("services: {db: {image: i, environment: {HOME: null}}}", "services.db.environment.HOME", "has no value"),
        ("services: {db: {image: i, environment: {A: true}}}", "services.db.environment.A", "is no text"),
        ("services: {db: {image: i, environment: {A: 'x${B}'}}}", "services.db.environment.A", "is of the machine"),
        ("services: {db: {image: i, environment: {A: '$${B}'}}}", "services.db.environment.A", "name of a secret"),
        ("services: {db: {image: i, environment: ['A B=c']}}", "services.db.environment[0]", "no name of a variable"),
        ("services: {db: {image: i, environment: a}}", "services.db.environment", "is no table"),
        ("services: {db: {image: i, volumes: ['/:/host']}}", "services.db.volumes[0]", "no path inside"),
        ("services: {db: {image: i, volumes: ['../a:/b']}}", "services.db.volumes[0]", "no path inside"),
        ("services: {db: {image: i, volumes: ['./seed/../../x:/b']}}", "services.db.volumes[0]", "no path inside"),
        ("services: {db: {image: i, volumes: ['~/x:/b']}}", "services.db.volumes[0]", "no path inside"),
        (
            "services: {db: {image: i, volumes: ['/var/run/docker.sock:/var/run/docker.sock']}}",
            "services.db.volumes[0]",
            "no path inside",
        ),
        (
            "services: {db: {image: i, volumes: ['./none:/b']}}",
            "services.db.volumes[0]",
            "there is no environment/none",
        ),
        ("services: {db: {image: i, volumes: ['vv:/b']}}", "services.db.volumes[0]", "not among the file's volumes"),
        ("services: {db: {image: i, volumes: ['./seed:b']}}", "services.db.volumes[0]", "no absolute path"),
        ("services: {db: {image: i, volumes: ['./seed:/proc/x']}}", "services.db.volumes[0]", "is the system's"),
        ("services: {db: {image: i, volumes: ['./seed:/b:z']}}", "services.db.volumes[0]", "is none of SOURCE:TARGET"),
        ("services: {db: {image: i, volumes: ['./seed:/b', './seed:/b']}}", "services.db.volumes[1]", "named twice"),
        ("services: {db: {image: i, volumes: [{type: tmpfs}]}}", "services.db.volumes[0].type", "neither bind nor"),
        (
            "services: {db: {image: i, volumes: [{type: volume, source: /etc, target: /b}]}}",
            "services.db.volumes[0].source",
            "exactly where type is bind",
        ),
        ("services: {main: {volumes: ['./seed:/tests']}}", "services.main.volumes", "filled by the sandbox itself"),
        ("services: {main: {command: serve}}", "services.main.command", "the main service runs what the agent runs"),
        ("services: {main: {entrypoint: serve}}", "services.main.entrypoint", "the main service runs"),
        ("services: {main: {healthcheck: {test: x}}}", "services.main.healthcheck", "[environment.healthcheck]"),
        ("services: {db: {image: i, healthcheck: {test: [a]}}}", "services.db.healthcheck.test", "is none of"),
        (
            "services: {db: {image: i, healthcheck: {test: a, interval: 5}}}",
            "services.db.healthcheck.interval",
            "no time",
        ),
        (
            "services: {db: {image: i, healthcheck: {test: a, timeout: 9h}}}",
            "services.db.healthcheck.timeout",
            "more than",
        ),
        (
            "services: {db: {image: i, healthcheck: {test: a, retries: 0}}}",
            "services.db.healthcheck.retries",
            "no number",
        ),
        (
            "services: {db: {image: i, healthcheck: {disable: true}}}",
            "services.db.healthcheck.disable",
            "not supported",
        ),
        ("services: {db: {image: i, depends_on: [x]}}", "services.db.depends_on.x", "there is no such service"),
        ("services: {db: {image: i, depends_on: {main: {}}}}", "services.db.depends_on.main.condition", "is none of"),
        (
            "services: {db: {image: i, depends_on: {main: {condition: service_healthy}}}}",
            "services.db.depends_on.main",
            "nothing else can be waited for",
        ),
        (
            "services: {a: {image: i, depends_on: [b]}, b: {image: i, depends_on: [a]}}",
            "services.a.depends_on",
            "goes round: a -> b -> a",
        ),
        ("services: {a: {image: i, depends_on: [a]}}", "services.a.depends_on", "goes round: a -> a"),
        ("services: {db: {image: i, networks: [x]}}", "services.db.networks.x", "not among the file's networks"),
        (
            "services: {db: {image: i, networks: {default: {aliases: [a]}}}}",
            "services.db.networks.default.aliases",
            "not",
        ),
        ("networks: {n: {driver: host}}", "networks.n.driver", "is not supported"),
        ("networks: {n: {external: true}}", "networks.n.external", "is not supported"),
        ("volumes: {n: {driver_opts: {device: /}}}", "volumes.n.driver_opts", "is not supported"),
        ("services: {db: {image: i, expose: [a]}}", "services.db.expose[0]", "is no port"),
        ("services:", "services", "is no table"),
        ("services: {db: {image: i}}\nvolumes:", "volumes", "is no table"),
        ("version: 3.8", "version", "put it in quotes"),
        ("services: {db: {image: 5}}", "services.db.image", "put it in quotes"),
        ("services: {db: {image: i, command: [a, 5]}}", "services.db.command[1]", "put it in quotes"),
        ("services: {db: {image: i, command: 'a; b'}}", "services.db.command", "write a list"),
        ("services: {db: {image: i, command: 'a > b'}}", "services.db.command", "write a list"),
        ("services: {db: {image: i, command: 'a `b c`'}}", "services.db.command", "write a list"),
        ("services: {db: {image: i, command: 'a \"b\\nc\"'}}", "services.db.command", "write a list"),
        ("services: {db: {image: i, environment: }}", "services.db.environment", "is no table"),
        ("services: {db: {image: i, environment: {A: '${B:-x}y}'}}}", "services.db.environment.A", "of the machine"),
        ("services: {db: {image: i, environment: {A: '${B:-${C}}'}}}", "services.db.environment.A", "of the machine"),
        ("services: {db: {image: i, depends_on: }}", "services.db.depends_on", "is no table"),
        ("services: {db: {image: i, depends_on: [a, a]}}", "services.db.depends_on[1]", "stands twice"),
        ("services: {db: {image: i, networks: [a, a]}}", "services.db.networks[1]", "stands twice"),
        ("services: {db: {image: i, volumes: ['v:/b']}}\nvolumes: {v: }", "services.db.volumes[0]", "longer name"),
        ("services: {db: {image: i, healthcheck: {test: a, timeout: }}}", "services.db.healthcheck.timeout", "no time"),
        ("services: {db: {image: i, environment: {A: 1.0}}}", None, "1.0 is not the same to all readers"),
        ("services: {db: {image: i, environment: {A: 010}}}", None, "010 is not the same"),
        ("services: {db: {image: i, environment: {A: 1:30}}}", None, "1:30 is not the same"),
        ("services: {db: {image: i, environment: {A: yes}}}", None, "yes is not the same"),
        ("services: {db: {image: i, environment: {A: 2020-01-01}}}", None, "2020-01-01 is not the same"),
        ("services: {db: {image: i, environment: {A: !!int '5'}}}", None, "tags are not read (line 1)"),
        ("a: &a 1\nservices: *a", None, "uses an alias"),
        ("services: {a: 1, a: 2}", None, "stands twice"),
        ("services: {<<: {}}", None, "merge keys"),
        ("\x01", None, "is not valid YAML"),
        ("services: !!python/object:os.system {}", None, "is not valid YAML"),
        ("services: {" + ", ".join(f"s{n}: {{image: i}}" for n in range(17)) + "}", "services", "are more than 16"),
    ],
)
def test_what_can_t_be_had_is_named(text: str, place: str | None, reason: str) -> None:
    (problem,) = read(text + "\n").problems
    assert (problem.file, problem.field) == ("environment/docker-compose.yaml", place)
    assert reason in problem.reason


def test_everything_that_is_wrong_is_told_at_once() -> None:
    told = refused("services: {a: {image: i, ports: [1], pid: host}, b: {image: i, tty: true}}\nsecrets: {}\n")
    assert [line.split(": ")[1] for line in told] == ["secrets", "services.a.ports", "services.a.pid", "services.b.tty"]


TB = """
services:
  client:
    build: {dockerfile: Dockerfile}
    image: ${T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME}
    container_name: ${T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME}
    command: ["sh", "-c", "sleep infinity"]
    environment: ["TEST_DIR=${T_BENCH_TEST_DIR}"]
    volumes:
      - ${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}
      - ${T_BENCH_TASK_AGENT_LOGS_PATH}:${T_BENCH_CONTAINER_AGENT_LOGS_PATH}
  server:
    build: ./db
    image: ${T_BENCH_TASK_DOCKER_NAME_PREFIX}__server
    container_name: ${T_BENCH_TASK_DOCKER_NAME_PREFIX}__server
"""


def test_the_variables_of_terminal_bench_mean_what_they_mean_there() -> None:
    composed = good(TB, TERMINAL_BENCH)
    assert composed.main == Service(name="client", build=Build(), env={"TEST_DIR": "/tests"})
    assert composed.beside == (Service(name="server", build=Build(context="db")),)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (("./db", "."), None),
        (("    build: ./db\n", ""), "services.server.image: ${T_BENCH_TASK_DOCKER_NAME_PREFIX} is of the machine"),
        (("container_name: ${T_BENCH_TASK_DOCKER_NAME_PREFIX}__server", "container_name: x"), "container_name: is not"),
        (
            ("    build: ./db\n", "    build: ./db\n    volumes: ['${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_TEST_DIR}']\n"),
            "services.server.volumes[0]: ${T_BENCH_TASK_LOGS_PATH} is of the machine",
        ),
        (
            (
                "    build: ./db\n",
                "    build: ./db\n    volumes: ['${T_BENCH_TASK_LOGS_PATH}:${T_BENCH_CONTAINER_LOGS_PATH}']\n",
            ),
            "services.server.volumes[0]: is a folder of the machine",
        ),
    ],
)
def test_those_that_a_task_can_t_have_are_refused(change: tuple[str, str], told: str | None) -> None:
    problems = refused(TB.replace(*change), TERMINAL_BENCH)
    assert (not problems) if told is None else (told in problems[0])


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=200))
def test_no_text_makes_it_raise(text: str) -> None:
    read(text)


KEY = st.sampled_from(["services", "networks", "volumes", "main", "db", "build", "image", "depends_on", "healthcheck"])
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=8)
    | st.sampled_from(["./seed:/x", "$x", "${y}", "db"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEY | st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=300, deadline=None)
@given(st.dictionaries(st.sampled_from(["services", "networks", "volumes"]), st.dictionaries(KEY, JSON, max_size=3)))
def test_no_shape_makes_it_raise(document: dict[str, Any]) -> None:
    import json

    read(json.dumps(document))
