"""Compose files as docker compose v2 reads them: the same services, and refused wherever v2 refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from proctor.suites.formats.compose import read_compose
from proctor.suites.formats.compose_dialects import HARBOR, TERMINAL_BENCH
from proctor.suites.formats.compose_values import Dialect
from proctor.suites.services import Composed, ReadyProbe, Service
from proctor.suites.variables import resolve_variables
from tests.docker import test_compose as docker_tests
from tests.foreign.conftest import Ask
from tests.foreign.environments import COMPOSE
from tests.unit import test_compose as unit_tests

ROOT = Path(__file__).resolve().parents[2]
PATHS = unit_tests.PATHS | {"environment/my dir/a", "environment/seed/first", "environment/db/db.py"}
SECRETS = {"TOKEN": "a token", "POSTGRES_PASSWORD": "p"}
VARIABLES: Mapping[str, str] = {
    **SECRETS,
    "MAIN_IMAGE_NAME": "own-image",
    "CONTEXT_DIR": ".",
    "TEST_DIR": "/tests",
    "HOST_VERIFIER_LOGS_PATH": "/of-the-host/verifier",
    "ENV_VERIFIER_LOGS_PATH": "/logs/verifier",
    "HOST_AGENT_LOGS_PATH": "/of-the-host/agent",
    "ENV_AGENT_LOGS_PATH": "/logs/agent",
    "T_BENCH_TASK_DOCKER_CLIENT_IMAGE_NAME": "own-image",
    "T_BENCH_TASK_DOCKER_CLIENT_CONTAINER_NAME": "client",
    "T_BENCH_TASK_DOCKER_NAME_PREFIX": "prefix",
    "T_BENCH_TEST_DIR": "/tests",
    "T_BENCH_TASK_LOGS_PATH": "/of-the-host/logs",
    "T_BENCH_CONTAINER_LOGS_PATH": "/logs",
    "T_BENCH_TASK_AGENT_LOGS_PATH": "/of-the-host/agent-logs",
    "T_BENCH_CONTAINER_AGENT_LOGS_PATH": "/agent-logs",
}
HARBORS = "services: {main: {image: own-image}}\n"
"""Harbor puts a file of its own before the task's."""
IN_SECONDS: Mapping[str, float] = {"h": 3600, "m": 60, "s": 1, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}
DB = "services:\n  db:\n    image: i\n    "
TWO = "\n  db2: {image: j}\n"


# --- both in one form -------------------------------------------------------------------------------------------------


def of_ours(composed: Composed) -> dict[str, object]:
    services = {one.name: _our_service(one) for one in (composed.main, *composed.beside)}
    used = {name for one in (composed.main, *composed.beside) for name in one.networks}
    return {"services": services, "inward": sorted(used.intersection(composed.inward))}


def _our_service(one: Service) -> dict[str, object]:
    probe = None if one.probe is None else _probe_form(one.probe.argv, one.probe.__dict__)
    return {
        "image": one.image,
        "build": None if one.build is None else (one.build.context, one.build.dockerfile),
        "command": one.command,
        "entrypoint": one.entrypoint,
        "env": resolve_variables(one.env, SECRETS),
        "probe": probe,
        "needs": {name: needed.value for name, needed in one.needs.items()},
        "networks": sorted(one.networks),
        "mounts": sorted((mount.source, mount.target) for mount in one.mounts),
        "volumes": sorted((shared.name, shared.target, shared.read_only) for shared in one.volumes),
    }


def of_theirs(config: Mapping[str, Any], dialect: Dialect) -> dict[str, object]:
    services = {name: _their_service(one, name == dialect.main) for name, one in config["services"].items()}
    networks = config.get("networks") or {}
    return {"services": services, "inward": sorted(name for name, one in networks.items() if one.get("internal"))}


def _their_service(one: Mapping[str, Any], is_main: bool) -> dict[str, object]:
    volumes = one.get("volumes") or []
    binds = [(_inside(it["source"]), it["target"]) for it in volumes if it["type"] == "bind"]
    named = [(it["source"], it["target"], it.get("read_only", False)) for it in volumes if it.get("source")]
    image = None if "build" in one or one.get("image") == VARIABLES["MAIN_IMAGE_NAME"] else one.get("image")
    return {
        "image": image,
        "build": _build(one["build"]) if "build" in one else None,
        "command": None if is_main else _words(one["command"]),
        "entrypoint": None if is_main else _words(one["entrypoint"]),
        "env": one.get("environment") or {},
        "probe": _their_probe(one.get("healthcheck")),
        "needs": {name: needed["condition"] for name, needed in (one.get("depends_on") or {}).items()},
        "networks": sorted(one["networks"]),
        "mounts": sorted(bind for bind in binds if not bind[0].startswith("/of-the-host")),
        "volumes": sorted(one for one in named if not one[0].startswith("/")),
    }


def _words(value: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if value is None else tuple(value)


def _inside(path: str) -> str:
    return path.removeprefix("/project").removeprefix("/") or "." if path.startswith("/project") else path


def _build(build: Mapping[str, str]) -> tuple[str, str]:
    return _inside(build["context"]), build["dockerfile"].removeprefix("./")


def _their_probe(check: Mapping[str, Any] | None) -> object:
    if check is None:
        return None
    kind, *argv = check["test"]
    found = () if kind == "NONE" else ("/bin/sh", "-c", *argv) if kind == "CMD-SHELL" else tuple(argv)
    times = {f"{key}_sec": _seconds(check[key]) for key in ("interval", "timeout", "start_period") if key in check}
    return _probe_form(found, {**times, **({"retries": check["retries"]} if "retries" in check else {})})


def _probe_form(argv: tuple[str, ...], given: Mapping[str, Any]) -> object:
    """What is 0 is the engine's usual."""
    usual = ReadyProbe()
    keys = ("interval_sec", "timeout_sec", "start_period_sec", "retries")
    return argv, [round(given.get(key) or getattr(usual, key), 6) for key in keys]


def _seconds(text: str) -> float:
    return sum(float(number) * IN_SECONDS[unit] for number, unit in re.findall(r"([\d.]+)(h|ms|m|s|µs|ns)", text))


def compare(ask: Ask, texts: Sequence[str], dialect: Dialect = HARBOR) -> list[bool]:
    """Whether ours reads each, having compared it with v2's reading."""
    before = [HARBORS] if dialect is HARBOR else []
    answers = ask(COMPOSE, "compose", [{"files": [*before, text], "variables": VARIABLES} for text in texts])
    read = [read_compose(text, PATHS, dialect) for text in texts]
    for text, answer, found in zip(texts, answers, read, strict=True):
        if "refused" in answer:
            assert found.composed is None, f"v2 refuses it, {answer['refused']}:\n{text}"
        elif found.composed is not None:
            assert of_ours(found.composed) == of_theirs(answer, dialect), text
    return [found.composed is not None for found in read]


# --- files ------------------------------------------------------------------------------------------------------------

OWN: Sequence[str] = (unit_tests.FULL, docker_tests.COMPOSE)


def test_every_compose_file_of_ours_is_read_alike(ask: Ask) -> None:
    assert all(compare(ask, OWN))
    assert all(compare(ask, [unit_tests.TB], TERMINAL_BENCH))
    found = [path for top in ("examples", "tests") for path in (ROOT / top).rglob("docker-compose.y*ml")]
    assert found
    for path in found:
        dialect = HARBOR if path.parent.name == "environment" else TERMINAL_BENCH
        assert all(compare(ask, [path.read_text()], dialect)), path


READ: Sequence[str] = (
    *(f"{DB}command: {one}" for one in ("[]", "''", "null", "['']", "[a, '5', \"b c\"]", "a # b", "'a \"\" b'")),
    *(f"{DB}entrypoint: {one}" for one in ("[]", "''", "null", "/run -x", "[sh, -c, 'a; b']")),
    DB + 'command: "a \'b c\' \\"d\\" e\\\\ f"',
    DB + "command: 'a \"$$X\" $${Y} ''b;c'' \"d|e\"'",
    DB + "command: >\n      a b\n      c\n",
    DB + "command: |\n      a b\n      c\n",
    DB + 'command: "a \\\\\\n b"',
    DB + "command: 'a *.c ~ {b,c} d=e f? a! ^ % , : @ \\;'",
    DB + "command: !!str 5",
    *(
        f"{DB}healthcheck: {{test: {one}}}"
        for one in ("a b", "NONE", "[NONE]", "[CMD, a, 'b c']", "[CMD-SHELL, 'a | b $$X']", "''")
    ),
    *(f"{DB}healthcheck: {{test: a, interval: {one}}}" for one in ("1m30s", "1.5s", "500ms", "100us", "1s1m", "0s")),
    DB + "healthcheck: {test: a, interval: 2s, timeout: 1m, start_period: 1h, retries: 7}",
    *(
        f"{DB}environment: {{A: {one}}}"
        for one in ("''", "5", "-5", "0.5", "1.10", "' b '", "'1.0'", "'yes'", "y", "1.2.3", "a$$b", "'$$'", "a=b")
    ),
    *(f"{DB}environment: {{A: '{one}'}}" for one in ("${TOKEN}", "${TOKEN:-x}", "${NO:-x y}", "${NO:-}", "${NO:-{a}")),
    *(f"{DB}environment: {one}" for one in ("[]", "[A=]", "['A=b=c', 'A=d']", "['A= b ']", "['A=\"b\"', B=$$]")),
    DB + "environment: ['A=${TOKEN}', 'B=${NO:-x}']",
    DB + 'environment: {A.b-c: "l1\\nl2"}',
    *(f"{DB}depends_on: {one}{TWO}" for one in ("[]", "[db2]", "{db2: {condition: service_started}}")),
    *(
        f"{DB}depends_on: {{db2: {{condition: {one}}}}}\n  db2: {{image: j, healthcheck: {{test: a}}}}\n"
        for one in ("service_healthy", "service_completed_successfully")
    ),
    DB + "depends_on: [main]",
    *(f"{DB}networks: {one}\nnetworks: {{a: , b: {{internal: true}}}}\n" for one in ("[]", "{}", "[a, b]", "{a: }")),
    DB + "networks: {a: {}, default: }\nnetworks: {a: {internal: false}, default: {internal: true}}\n",
    *(
        f"{DB}volumes: {one}\nvolumes: {{vv: , w.w: {{}}}}\n"
        for one in (
            "[]",
            "[/x, /y/]",
            "['./seed:/x', './seed/:/y/:rw', '././seed//a.sql:/z', '.:/a//b', './my dir:/c:ro']",
            "['vv:/x', 'vv:/y:ro', 'w.w:/z']",
            "[{type: bind, source: ./seed, target: /x}, {type: volume, source: vv, target: /y, read_only: true}]",
            "[{type: volume, target: /x}]",
            "['${CONTEXT_DIR}/seed:/x']",
        )
    ),
    DB + "expose: [80, '81', 82-83/tcp, 84/udp]",
    *(f"services:\n  db:\n    build: {one}" for one in (".", "./db", "db", "./db/", "{}", "{context: ./db/.}")),
    *(f"services:\n  db:\n    build: {one}" for one in ("{context: db, dockerfile: Other}", "{dockerfile: db/Other}")),
    "services: {db: {build: {context: ., dockerfile: ./db/Dockerfile}, image: 'i:1'}}",
    "services: {db: {image: '${MAIN_IMAGE_NAME}'}}",
    "",
    "services: {main: }",
    "services: {main: {}, a.b: {image: i}, A: {image: 'r.io:5000/o/i:1@sha256:0123'}}",
    "services: {main: {build: ., command: sleep infinity, environment: {A: b}, volumes: ['./seed:/x']}}",
    'version: "3.8"\nservices: {db: {image: i}}\nnetworks: {n: {}}\nvolumes: {ww: }',
    "services: {main: {volumes: ['${HOST_AGENT_LOGS_PATH}:${ENV_AGENT_LOGS_PATH}']}}",
)
"""Awkward and valid: both read them, and alike."""


def test_awkward_files_are_read_alike(ask: Ask) -> None:
    read = compare(ask, READ)
    assert [text for text, is_read in zip(READ, read, strict=True) if not is_read] == []


def test_what_ours_refuses_by_name_may_be_anything_there(ask: Ask) -> None:
    """Wherever v2 refuses ours does, and these ours refuses itself."""
    texts = [text for text, _, _ in _refused_in_unit_tests() if "\x01" not in text]
    assert not any(compare(ask, texts))


def _refused_in_unit_tests() -> list[tuple[str, str | None, str]]:
    (mark,) = unit_tests.test_what_can_t_be_had_is_named.pytestmark  # type: ignore[attr-defined]
    cases: list[tuple[str, str | None, str]] = mark.args[1]
    return cases


REFUSED: Sequence[str] = (
    *(f"{DB}{one}" for one in ("command: 5", "command: [c, 1.5]", "command: a (b)", "command: 'a \"b'")),
    *(f"{DB}{key}: null" for key in ("environment", "depends_on", "networks", "volumes", "expose", "healthcheck")),
    *(f"{DB}healthcheck: {{test: {one}}}" for one in ("[CMD, 5]", "5", "a, timeout: null", "a, interval: 5")),
    f"{DB}depends_on: [db2, db2]{TWO}",
    DB + "networks: [a, a]\nnetworks: {a: }",
    *("services:", "services: {db: }", "services: {db: {image: i}}\nnetworks:", "version: 3\n" + DB),
)
"""By v2."""


def test_what_v2_refuses_is_refused(ask: Ask) -> None:
    answers = ask(COMPOSE, "compose", [{"files": [HARBORS, text], "variables": VARIABLES} for text in REFUSED])
    assert [text for text, answer in zip(REFUSED, answers, strict=True) if "refused" not in answer] == []
    assert not any(compare(ask, REFUSED))


# --- made up ----------------------------------------------------------------------------------------------------------

SCALARS = st.text("0123456789.-+eExob_:aAyYnNoOfFsStTrRuUlL~ ", min_size=1, max_size=7)
COMMANDS = st.text("ab $\\\"'`;|&<>(){}#*~\n\t=", max_size=12)


@settings(max_examples=3, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(st.lists(SCALARS, min_size=30, max_size=40), st.lists(COMMANDS, min_size=30, max_size=40))
def test_made_up_scalars_and_commands(ask: Ask, scalars: list[str], commands: list[str]) -> None:
    plain = [f"{DB}environment:\n      A: {one}\n      B: x\n" for one in scalars]
    listed = [f"{DB}command:\n      - {one}\n      - x\n" for one in scalars]
    split = [DB + "command: '" + one.replace("'", "''").replace("\n", "\n\n      ") + "'\n" for one in commands]
    compare(ask, [*plain, *listed, *split])
